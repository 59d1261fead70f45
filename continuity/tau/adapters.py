"""Fits the host's session and model to what the shell asks for; holds no context and decides nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from continuity.capture import PublicMessage
from continuity.shell.ports import PathView
from continuity.shell.recalling import Composed
from continuity.tau.entries import Entry, Json, MessageKey, Parsed, material, public_messages, receipts_on
from continuity.tau.entries import context_of as shown_of
from continuity.tau.host import HostGone, Tau, Told, append_receipt, context_of, told_path
from continuity.tau.host.model_call import ModelAnswer, ModelCall, ModelSnapshot, ModelUnavailable, summarize_by_host
from continuity.tau.session_file import SessionFile
from journal.ids import EntryId, Sha256


class FileSource:
    """The session as its file tells it (level B), read in a worker thread from where the last look stopped."""

    def __init__(self, path: Path) -> None:
        self.file = SessionFile(path)
        self._viewer = Viewer()

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
        return self._viewer.view(
            active.entries, root=self.file.root, certain=active.matched, unreadable=self.file.damaged
        )


class ToldSource:
    """The session as an announcing host tells it (level A): no file is opened, and no entry is read twice."""

    def __init__(self) -> None:
        self.told: Told | None = None
        """The path of the latest boundary."""
        self.ask: Callable[[], Told | None] = lambda: None
        """Asks the host for its path by now, outside of any boundary; None where it does not tell."""
        self._viewer = Viewer()
        self._mutex = threading.Lock()
        self._by_id: dict[EntryId, Entry] = {}
        self._first: dict[tuple[str, int, int], EntryId] = {}
        self._root: EntryId | None = None

    def tell(self, told: Told) -> None:
        """Take over the path that the host told at a boundary."""
        self.told = told

    async def view(self, anchor: object | None) -> PathView:
        """Return the path that was told at the boundary `anchor` (a `Told`), or at the latest one."""
        if not isinstance(anchor, Told):
            self.told = self.ask() or self.told
        told = anchor if isinstance(anchor, Told) else self.told
        return await anyio.to_thread.run_sync(self._view, told)

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        """Return the public messages up to `tip`, if any path told had it; cut answers between."""
        return await anyio.to_thread.run_sync(self._messages, tip)

    def _view(self, told: Told | None) -> PathView:
        path = self._taken(told) if told is not None else ()
        self._root = self._root or next((entry.id for entry in path), None)
        return self._viewer.view(path, root=self._root, certain=True)

    def _taken(self, told: Told) -> tuple[Entry, ...]:
        with self._mutex:
            for parsed in told.take(self._by_id):
                self._by_id[parsed.entry.id] = self._known_as(parsed)
            return tuple(self._by_id[known] for known in told.ids if known in self._by_id)

    def _known_as(self, parsed: Parsed) -> Entry:
        """A message that Tau copied when it repaired its history is the one it was: role, time and text say so."""
        if parsed.key is None or not parsed.key.timestamp_ms:
            return parsed.entry
        key = (parsed.key.role, parsed.key.timestamp_ms, hash(parsed.key.text))
        first = self._first.setdefault(key, parsed.entry.id)
        return parsed.entry if first == parsed.entry.id else replace(parsed.entry, first_id=first)

    def _messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        if self.told is not None:
            self._taken(self.told)
        with self._mutex:
            upwards: list[Entry] = []
            at = self._by_id.get(tip)
            while at is not None and len(upwards) < len(self._by_id):
                upwards.append(at)
                at = self._by_id.get(at.parent_id) if at.parent_id is not None else None
        return material(upwards[::-1])


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


class HostModel:
    """The session's model as the host itself asks it; once the host went on, as it was at the boundary (level A)."""

    def __init__(self, tau: Tau, session_id: str, noted: SessionModel) -> None:
        self._tau = tau
        self._session_id = session_id
        self._noted = noted

    async def summarize(self, text: str, *, instructions: str, timeout: float) -> ModelAnswer:
        """Ask it once; a question that a reload or another session cut off is asked again over a way of our own.

        Raises:
            ModelUnavailable: A `ModelFailed`: no usable answer within `timeout` seconds.
        """
        context = context_of(self._tau, self._session_id)
        if context is not None:
            try:
                return await summarize_by_host(context, text, instructions=instructions, timeout_seconds=timeout)
            except ModelUnavailable:
                if context_of(self._tau, self._session_id) is not None:
                    raise
        return await self._noted.summarize(text, instructions=instructions, timeout=timeout)


class HostMirror:
    """Puts receipts into the session of an announcing host at any moment, only where they belong (level A)."""

    def __init__(self, tau: Tau, session_id: str) -> None:
        self._tau = tau
        self._session_id = session_id

    async def __call__(self, receipt: Mapping[str, Json], tip: EntryId) -> bool:
        """Append `receipt` if the active path holds `tip`; tell whether it is there. What is not, a prompt brings later."""
        context = context_of(self._tau, self._session_id)
        try:
            if context is None or tip not in told_path(context).ids:
                return False
            await append_receipt(self._tau, receipt)
        except (HostGone, OSError):
            return False
        return True


class _Viewed(NamedTuple):
    """A path, and what the shell needs to know of its entries."""

    path: tuple[Entry, ...] = ()
    public: tuple[PublicMessage, ...] = ()
    compactions: tuple[EntryId, ...] = ()
    receipts: tuple[Mapping[str, Json], ...] = ()
    briefs: frozenset[Sha256] = frozenset()

    def followed(self, path: tuple[Entry, ...]) -> _Viewed:
        """Return the same of `path`; if it goes on from this one, only what is new is gone through."""
        before = self if path[: len(self.path)] == self.path else _Viewed()
        new = path[len(before.path) :]
        compactions = tuple(entry.id for entry in new if entry.kind == "compaction")
        shown = shown_of(path) if compactions else new
        briefs = frozenset(_brief_digests(shown))
        return _Viewed(
            path,
            before.public + public_messages(new),
            before.compactions + compactions,
            before.receipts + receipts_on(new),
            briefs if compactions else before.briefs | briefs,
        )


class Viewer:
    """Makes the views of a path that mostly grows at its end, so that a long session costs no longer look."""

    def __init__(self) -> None:
        self._latest = _Viewed()

    def view(self, path: tuple[Entry, ...], *, root: EntryId | None, certain: bool, unreadable: int = 0) -> PathView:
        """Return what the shell needs to know of `path`; `root` is the session's first entry, on whatever branch."""
        latest = self._latest = self._latest.followed(path)  # replaced as a whole: several threads may look
        return PathView(
            root=root,
            public=latest.public,
            compactions=latest.compactions,
            receipts=latest.receipts,
            briefs_in_context=latest.briefs,
            certain=certain,
            unreadable=unreadable,
            torn=bool(path) and path[0].parent_id is not None,
        )


def details_of(composed: Composed) -> Mapping[str, Json]:
    """Return what the host keeps beside a brief: its digest, and the one it has without the prompt's topic."""
    return {"digest": composed.brief.sha256, "ahead": composed.ahead_sha256}


def _brief_digests(shown: Sequence[Entry]) -> list[Sha256]:
    """Both digests of each: what is known ahead of a prompt is seen whatever its topic added."""
    noted = (entry.details for entry in shown if entry.in_context and entry.details is not None)
    details = [detail for detail in noted if isinstance(detail, Mapping)]
    digests = [detail.get(name) for detail in details for name in ("digest", "ahead")]
    return [Sha256(digest) for digest in digests if isinstance(digest, str)]
