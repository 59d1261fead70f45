"""Fits the host's session and model to what the shell asks for; holds no context and decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio.to_thread

from continuity.capture import PublicMessage
from continuity.shell.ports import PathView
from continuity.shell.recalling import Composed
from continuity.tau.entries import Entry, Json, MessageKey, context_of, material, public_messages, receipts_on
from continuity.tau.model_call import ModelAnswer, ModelCall, ModelSnapshot
from continuity.tau.session_file import SessionFile
from journal.ids import EntryId, Sha256


class FileSource:
    """The session as its file tells it (level B), read in a worker thread from where the last look stopped."""

    def __init__(self, path: Path) -> None:
        self.file = SessionFile(path)

    async def view(self, anchor: object | None) -> PathView:
        """Return the path that ends at the message `anchor` (a `MessageKey`), or at the file's newest entry.

        Raises:
            OSError: The file cannot be read; what was read before is kept.
        """
        return await anyio.to_thread.run_sync(self._view, anchor if isinstance(anchor, MessageKey) else None)

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        """Return the public messages from the root to `tip`, which need not be on the active path; cut answers between."""
        return await anyio.to_thread.run_sync(self._messages, tip)

    def _messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        self.file.read_new()
        return material(self.file.path_to(tip))

    def _view(self, anchor: MessageKey | None) -> PathView:
        self.file.read_new()
        active = self.file.active_path(anchor)
        return path_view(active.entries, root=self.file.root, certain=active.matched, unreadable=self.file.damaged)


class ToldSource:
    """The session as an announcing host tells it (level A): the path of the latest boundary."""

    def __init__(self) -> None:
        self._view = path_view((), root=None, certain=True)
        self._path: tuple[Entry, ...] = ()

    def tell(self, entries: Sequence[Entry]) -> None:
        """Take over the path that `host.branch_entries` returned at a boundary."""
        root = self._view.root or next((entry.id for entry in entries), None)
        self._view = path_view(entries, root=root, certain=True)
        self._path = tuple(entries)

    async def view(self, anchor: object | None) -> PathView:
        """Return that path; the host's own tip needs no anchor."""
        del anchor
        return self._view

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        """Return the public messages up to `tip`, if it is on the path last told; cut answers between."""
        ends = [n for n, entry in enumerate(self._path, start=1) if entry.id == tip]
        return material(self._path[: ends[-1]]) if ends else ()


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


def path_view(path: Sequence[Entry], *, root: EntryId | None, certain: bool, unreadable: int = 0) -> PathView:
    """Return what the shell needs to know of a path; `root` is the session's first entry, on whatever branch."""
    return PathView(
        root=root,
        public=public_messages(path),
        compactions=tuple(entry.id for entry in path if entry.kind == "compaction"),
        receipts=receipts_on(path),
        briefs_in_context=frozenset(_brief_digests(context_of(path))),
        certain=certain,
        unreadable=unreadable,
        torn=bool(path) and path[0].parent_id is not None,
    )


def details_of(composed: Composed) -> Mapping[str, Json]:
    """Return what the host keeps beside a brief: its digest, and the one it has without the prompt's topic."""
    return {"digest": composed.brief.sha256, "ahead": composed.ahead_sha256}


def _brief_digests(shown: Sequence[Entry]) -> list[Sha256]:
    """Both digests of each: what is known ahead of a prompt is seen whatever its topic added."""
    details = [entry.details for entry in shown if isinstance(entry.details, Mapping)]
    digests = [detail.get(name) for detail in details for name in ("digest", "ahead")]
    return [Sha256(digest) for digest in digests if isinstance(digest, str)]
