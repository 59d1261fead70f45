"""A memory server as a child process: lines in, lines out, and an end that is bounded in every state.

The SDK's own stdio client hides the pid, withholds the environment, mixes the
child's stderr into ours and can take half a minute to close. This one knows
the process group, and knows of every request whether a byte of it left.
It starts nothing twice and reads no environment.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import IO, NamedTuple, Self

import anyio
import anyio.lowlevel
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from continuity.memory import liveness
from continuity.memory.calls import TICKET, Ticket
from continuity.memory.errors import ConnectFailed
from continuity.memory.server import ServerSpec

type Inbox = MemoryObjectReceiveStream[SessionMessage | Exception]

MAX_LINE_BYTES = 64 * 1024 * 1024
"""A longer line is no message; reading on would only fill memory."""

_CHUNK_BYTES = 256 * 1024
_POLL_SECONDS = 0.02
_WATCH_SECONDS = 0.5
_LAST_WORDS_SECONDS = 0.5
"""A server that stopped listening may have answered just before; its output is read a little longer."""


class Grace(NamedTuple):
    """Seconds a server has after each way of asking it to end; their sum bounds every close."""

    eof: float = 1.0
    term: float = 1.0
    kill: float = 2.0


class Outbox:
    """The stream the SDK writes to. Sending never waits, so that cancelling a call never waits for a deaf server."""

    def __init__(self) -> None:
        self._lines: deque[tuple[bytes, Ticket | None]] = deque()
        self._filled = anyio.Event()
        self._closed = False

    async def send(self, item: SessionMessage, /) -> None:
        if self._closed:
            raise anyio.ClosedResourceError
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        self._lines.append((line, TICKET.get()))
        self._filled.set()

    async def next(self) -> tuple[bytes, Ticket | None] | None:
        """Return the oldest line not withdrawn, or None once closed; what was still waiting is not sent."""
        while not self._closed:
            while self._lines:
                line, ticket = self._lines.popleft()
                if ticket is None or not ticket.withdrawn:
                    return line, ticket
            self._filled = anyio.Event()
            await self._filled.wait()
        return None

    @property
    def closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        self._closed = True
        self._filled.set()

    async def aclose(self) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.close()


class Lines:
    """Cuts bytes into lines at each newline byte, and at nothing else."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """Return the lines completed by `chunk`.

        Raises:
            OverflowError: The line being gathered is longer than any message.
        """
        first, *rest = chunk.split(b"\n")
        self._held.append(first)
        self._size += len(first)
        if self._size > MAX_LINE_BYTES:
            raise OverflowError("a line without end")
        if not rest:
            return []
        lines = [b"".join(self._held), *rest[:-1]]
        self._held, self._size = [rest[-1]], len(rest[-1])
        return lines


class ServerProcess:
    """A running server. It is ended by leaving `stdio_server`, in the task that entered it."""

    def __init__(
        self, popen: subprocess.Popen[bytes], inbox: MemoryObjectSendStream[SessionMessage | Exception]
    ) -> None:
        self.process = liveness.identify(popen.pid)
        self.outbox = Outbox()
        self.lost = anyio.Event()
        """Set when the server can no longer be talked to."""
        self.unreadable_count = 0
        """Lines of its output that were no JSON-RPC message."""
        self._popen = popen
        self._stdin, self._stdout = _pipe(popen.stdin), _pipe(popen.stdout)
        self._inbox = inbox
        self._writing = anyio.CancelScope()
        self._written = anyio.Event()

    @property
    def deaf(self) -> bool:
        """Nothing sent from now on will reach it, though a last answer may still come."""
        return self.outbox.closed

    @property
    def returncode(self) -> int | None:
        return self._popen.poll()

    async def headless(self) -> None:
        """Return when what was started has ended; what it started itself may go on, and may hold the pipes open."""
        while self.returncode is None:  # noqa: ASYNC110 -- nothing that works everywhere tells of a child's end
            await anyio.sleep(_WATCH_SECONDS)

    async def read(self) -> None:
        """Deliver the server's messages until its output ends; go on reading when nobody wants them."""
        descriptor, lines = self._stdout.fileno(), Lines()
        with suppress(OSError, OverflowError):
            while chunk := await _read_some(descriptor):
                for line in lines.feed(chunk):
                    await self._deliver(line)
        self.give_up()

    async def _deliver(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self.unreadable_count += 1
            return
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._inbox.send(SessionMessage(message))

    async def write(self) -> None:
        """Send what is in the outbox until it closes or the server stops listening."""
        descriptor = self._stdin.fileno()
        try:
            with self._writing, suppress(OSError):
                while (item := await self.outbox.next()) is not None:
                    await _write_all(descriptor, *item)
        finally:
            self.outbox.close()
            self._written.set()
        with anyio.move_on_after(_LAST_WORDS_SECONDS):
            await self.lost.wait()
        self.give_up()

    def give_up(self) -> None:
        """Talk to it no more.

        Closing the inbox is what tells the session, and so every waiting call, that nothing more will come.
        """
        self.outbox.close()
        self._inbox.close()
        self.lost.set()

    async def end(self, grace: Grace) -> None:
        """End the server and its group: close its input, then TERM, then KILL. Bounded by the sum of `grace`."""
        self.outbox.close()
        self._writing.cancel()
        await self._written.wait()
        self._stdin.close()
        if await self._gone_within(grace.eof):
            return
        for number, seconds in ((signal.SIGTERM, grace.term), (signal.SIGKILL, grace.kill)):
            self._signal(number)
            if await self._gone_within(seconds):
                return

    async def _gone_within(self, seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            while not self._gone():  # noqa: ASYNC110 -- nothing tells of the end of a whole group
                await anyio.sleep(_POLL_SECONDS)
            return True
        return False

    def _gone(self) -> bool:
        return self._popen.poll() is not None and liveness.group_state(self.process) != "alive"

    def _signal(self, number: signal.Signals) -> None:
        """Signal the group, and those of the session that left the group. A number that is not ours any more is let be."""
        group = self.process.process_group
        sight = liveness.look(group)
        if liveness.judge(self.process, sight) == "gone":
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
        for member in liveness.living(self.process, sight.members):
            if member.group != group:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(member.pid, number)

    def close_pipes(self) -> None:
        for pipe in (self._stdin, self._stdout):
            with suppress(OSError):
                pipe.close()
        self._inbox.close()


@asynccontextmanager
async def stdio_server(spec: ServerSpec, grace: Grace | None = None) -> AsyncGenerator[tuple[ServerProcess, Inbox]]:
    """Start a server and yield it with the stream of its messages; whatever happens inside, it is ended on leaving.

    The ending is shielded from cancellation and bounded by `grace`.

    Raises:
        ConnectFailed: The command could not be started; there is no child.
    """
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception]()
    try:
        server = ServerProcess(_start(spec), send)
    except OSError as error:
        send.close()
        receive.close()
        raise ConnectFailed("unstartable") from error
    failure: Exception | None = None
    try:
        async with anyio.create_task_group() as pumps:
            pumps.start_soon(server.read)
            pumps.start_soon(server.write)
            try:
                yield server, receive
            except Exception as error:  # noqa: BLE001 -- raised again below, outside the group that would wrap it
                failure = error
            finally:
                with anyio.CancelScope(shield=True):
                    await server.end(grace or Grace())
                pumps.cancel_scope.cancel()
    finally:
        server.close_pipes()
        receive.close()
    if failure is not None:
        raise failure


def _start(spec: ServerSpec) -> subprocess.Popen[bytes]:
    """Start the child as leader of its own session, so that one number names all it starts and no Ctrl-C reaches it."""
    popen = subprocess.Popen(
        [spec.command, *spec.args],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=spec.cwd,
        env=dict(spec.env),
        start_new_session=True,
    )
    for pipe in (popen.stdin, popen.stdout):
        os.set_blocking(_pipe(pipe).fileno(), False)
    return popen


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise OSError("the child was started without a pipe")
    return stream


async def _read_some(descriptor: int) -> bytes:
    while True:
        await anyio.lowlevel.checkpoint()  # a server that never stops talking must not keep others from running
        try:
            return os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            await anyio.wait_readable(descriptor)


async def _write_all(descriptor: int, line: bytes, ticket: Ticket | None) -> None:
    """Write `line` to its end, unless its ticket is withdrawn before the first byte."""
    rest = memoryview(line)
    while rest and not (ticket is not None and ticket.withdrawn):
        try:
            written = os.write(descriptor, rest)
        except BlockingIOError:
            await anyio.wait_writable(descriptor)
            continue
        if ticket is not None:
            ticket.mark_sent()
        rest = rest[written:]
