"""What can go wrong between us and a memory server, each with what is true afterwards.

```
MemoryTrouble
├── CommandRefused        nothing was started
├── ConnectFailed         nothing was called; the child is gone
└── CallFailed            `sent` tells whether a byte of the request left us
    ├── ConnectionLost    make a new connection; never send the call again
    ├── CallTimedOut      the server may still do it
    ├── AnswerUnreadable  an answer came, or seems to have come, and cannot be trusted
    └── CallRejected      the server answered with a protocol error
```
"""

from __future__ import annotations

from typing import Literal

type CommandReason = Literal["not-found", "relative", "inside-checkout"]
type ConnectReason = Literal["unstartable", "timeout", "garbage", "exited", "protocol"]


class MemoryTrouble(Exception):
    """Root of this package's errors."""


class CommandRefused(MemoryTrouble):
    """The configured command may not be started, or is not there; nothing was started."""

    def __init__(self, command: str, reason: CommandReason) -> None:
        super().__init__(f"{command}: {reason}")
        self.command = command
        self.reason: CommandReason = reason


class ConnectFailed(MemoryTrouble):
    """No session came about; nothing was called, and the child, if there was one, was ended."""

    def __init__(self, reason: ConnectReason) -> None:
        super().__init__(f"no memory server: {reason}")
        self.reason: ConnectReason = reason


class CallFailed(MemoryTrouble):
    """A call brought no usable answer.

    Attributes:
        code: A short word of ours; never the server's text.
        sent: False proves that no byte of the request left this process. True
            means that the server may have done what was asked.
    """

    def __init__(self, code: str, *, sent: bool) -> None:
        super().__init__(f"{code} ({'sent' if sent else 'not sent'})")
        self.code = code
        self.sent = sent


class ConnectionLost(CallFailed):
    """The server is gone, or was gone already; this connection will answer nothing more."""


class CallTimedOut(CallFailed):
    """No answer within the bound; the connection stays usable for other calls."""


class AnswerUnreadable(CallFailed):
    """What came back is not an answer that can be relied on; for a call that writes, the outcome is unknown."""


class CallRejected(CallFailed):
    """The server answered this request with a JSON-RPC error."""

    def __init__(self, code: str, *, sent: bool, text: str) -> None:
        super().__init__(code, sent=sent)
        self.text = text
        """The server's own words: may be shown, is never recorded."""
