"""Fits the host's session and model to what the shell asks for; holds no context and decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from continuity.capture import PublicMessage
from continuity.shell.ports import PathView
from continuity.tau.entries import Entry, MessageKey, context_of, public_messages, receipts_on
from continuity.tau.model_call import ModelAnswer, ModelCall, ModelSnapshot
from continuity.tau.session_file import SessionFile
from journal.ids import EntryId, Sha256


class Sighting(NamedTuple):
    """A path, and whether it is known to be the host's."""

    view: PathView
    certain: bool
    """The path ends at the event's own message; only then may anything be mirrored into the session."""


class FileSource:
    """The session as its file tells it (level B), read in a worker thread from where the last look stopped."""

    def __init__(self, path: Path) -> None:
        self.file = SessionFile(path)

    async def view(self, anchor: object | None) -> PathView:
        """Return the path that ends at the message `anchor` (a `MessageKey`), or at the file's newest entry.

        Raises:
            OSError: The file cannot be read; what was read before is kept.
        """
        return (await self.look(anchor if isinstance(anchor, MessageKey) else None)).view

    async def look(self, anchor: MessageKey | None) -> Sighting:
        """Like `view`, and tell whether the anchor was found."""
        return await anyio.to_thread.run_sync(self._look, anchor)

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        """Return the public messages from the root to `tip`, which need not be on the active path."""
        return await anyio.to_thread.run_sync(self._messages, tip)

    def _messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        self.file.read_new()
        return public_messages(self.file.path_to(tip))

    def _look(self, anchor: MessageKey | None) -> Sighting:
        self.file.read_new()
        active = self.file.active_path(anchor)
        return Sighting(path_view(active.entries), active.matched)


class ToldSource:
    """The session as an announcing host tells it (level A): the path of the latest boundary."""

    def __init__(self) -> None:
        self._view = path_view(())

    def tell(self, entries: Sequence[Entry]) -> None:
        """Take over the path that `host.branch_entries` returned at a boundary."""
        self._view = path_view(entries)

    async def view(self, anchor: object | None) -> PathView:
        """Return that path; the host's own tip needs no anchor."""
        del anchor
        return self._view

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        """Return the public messages up to `tip`, if it is on the path last told."""
        ends = [n for n, message in enumerate(self._view.public, start=1) if message.entry_id == tip]
        return self._view.public[: ends[-1]] if ends else ()


class SessionModel:
    """The model a session used at one boundary."""

    def __init__(self, calls: ModelCall, of: ModelSnapshot) -> None:
        self._calls = calls
        self._of = of

    async def summarize(self, text: str, *, instructions: str, timeout: float) -> ModelAnswer:
        """Ask it once.

        Raises:
            ModelUnavailable: A `ModelFailed`: no usable answer within `timeout` seconds.
        """
        return await self._calls.summarize(self._of, text, instructions=instructions, timeout_seconds=timeout)


def path_view(path: Sequence[Entry]) -> PathView:
    """Return what the shell needs to know of a path from root to tip."""
    return PathView(
        root=path[0].id if path else None,
        public=public_messages(path),
        compactions=tuple(entry.id for entry in path if entry.kind == "compaction"),
        receipts=receipts_on(path),
        briefs_in_context=frozenset(_brief_digests(context_of(path))),
    )


def _brief_digests(shown: Sequence[Entry]) -> list[Sha256]:
    details = [entry.details for entry in shown if isinstance(entry.details, Mapping)]
    digests = [detail.get("digest") for detail in details]
    return [Sha256(digest) for digest in digests if isinstance(digest, str)]
