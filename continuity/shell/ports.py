"""What the shell needs from a host, as narrow interfaces; no host is named or imported here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Literal, Protocol

import msgspec

from continuity.capture import PublicMessage
from journal.ids import EntryId, Sha256

type NoticeLevel = Literal["info", "warning", "error"]


class PathView(msgspec.Struct, frozen=True, kw_only=True):
    """The host's active path at one boundary, from the session's root to its tip."""

    root: EntryId | None
    public: tuple[PublicMessage, ...]
    compactions: tuple[EntryId, ...]
    receipts: tuple[Mapping[str, object], ...]
    """Data of the custom entries in our namespace, on this path, oldest first."""
    briefs_in_context: frozenset[Sha256]
    """Digests of our briefs that the model still sees."""
    certain: bool
    """The path is known to be the host's; only then may anything be mirrored into the session."""
    unreadable: int = 0
    """Records of the session that were passed over, on whatever branch."""
    torn: bool = False
    """The path's first entry names one before it that is not there."""

    @property
    def tip(self) -> EntryId | None:
        """The newest public message, which alone moves a tip."""
        return self.public[-1].entry_id if self.public else None

    @property
    def unanswered(self) -> bool:
        """The newest public message is the person's."""
        return bool(self.public) and self.public[-1].role == "user"

    @property
    def path(self) -> tuple[EntryId, ...]:
        """The public messages by their ids."""
        return tuple(message.entry_id for message in self.public)

    def before(self, prompt: EntryId | None) -> EntryId | None:
        """Return the newest public message before `prompt`; the newest of all if that is not on this path."""
        path = self.path
        at = path.index(prompt) if prompt in path else len(path)
        return path[at - 1] if at else None

    def since(self, known: EntryId | None) -> tuple[PublicMessage, ...]:
        """Return the public messages after `known`; all of them if that is not on this path."""
        at = next((n for n, message in enumerate(self.public, start=1) if message.entry_id == known), 0)
        return self.public[at:]


class SessionSource(Protocol):
    """The session as the host persisted it."""

    async def view(self, anchor: object | None) -> PathView:
        """Return the path that ends at the message `anchor` stands for, or at the newest entry.

        `anchor` is the host adapter's own; the shell only hands it back.
        """
        ...

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        """Return the public messages from the root to `tip`, whatever path is active now; none if it is not known.

        Answers that were cut off stand between them, marked: `view` does not have them.
        """
        ...


type Mirror = Callable[[Mapping[str, str | int | None], EntryId], Awaitable[bool]]
"""Puts a receipt into the session if its active path holds this tip, and tells whether it did; it never fails."""


class ModelAnswer(Protocol):
    """One finished answer."""

    @property
    def text(self) -> str: ...
    @property
    def model(self) -> str: ...
    @property
    def tokens_in(self) -> int: ...
    @property
    def tokens_out(self) -> int: ...


class ModelFailed(Exception):
    """The model gave no answer; `code` is one of our own words, never the provider's."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Model(Protocol):
    """The session's active model, asked without tools and outside the conversation."""

    async def summarize(self, text: str, *, instructions: str, timeout: float) -> ModelAnswer:
        """Return one answer.

        Raises:
            ModelFailed: No usable answer within `timeout` seconds; nothing else happened.
        """
        ...


class Voice(Protocol):
    """How we speak to the person in front of the host."""

    def say(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        """Show `text` unless it is what was last said on `topic`; it may wait until the next turn."""
        ...

    def at_once(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        """The same, for what cannot wait: a person has to know it before it happens, or it came of their own command."""
        ...

    def answer(self, text: str, level: NoticeLevel = "info") -> None:
        """Show what a person asked for, each time, and keep nothing of it."""
        ...


class NoSession:
    """What there is where no session is open: no path, no messages, and no model to be asked."""

    async def view(self, anchor: object | None) -> PathView:
        """Return a path with nothing on it."""
        del anchor
        return PathView(root=None, public=(), compactions=(), receipts=(), briefs_in_context=frozenset(), certain=False)

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        """Return none."""
        del tip
        return ()

    async def summarize(self, text: str, *, instructions: str, timeout: float) -> ModelAnswer:
        """Return nothing.

        Raises:
            ModelFailed: Always.
        """
        del text, instructions, timeout
        raise ModelFailed("no-session")
