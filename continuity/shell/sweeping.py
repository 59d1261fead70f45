"""Finds what killed sessions of the same work left open, and settles it by reading. It writes no note and hurries nobody."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread

from continuity.due import PROBE_SPACING_MS
from continuity.profile import Profile
from continuity.shell.link import MemoryLink
from continuity.shell.ports import NoticeLevel, Voice
from continuity.shell.reconciling import seen_at
from continuity.shell.unattended import Left, MovedOn, NoServer, Settled, Visitor, settle
from continuity.state import Capture
from journal.errors import JournalError
from journal.events import CaptureProbed
from journal.events.lifecycle import Profile as Filed
from journal.ids import BranchId, SessionId
from journal.lock import holder

NEWEST = 20
"""Journals looked into; older ones are settled when their session is resumed, or by a person's command."""

SPACING_MS = PROBE_SPACING_MS[-1]
"""A write that was read for is left alone so long for each time that it was: every other session that starts looks too."""

MOST_SPACED = 12
"""Reads after which the wait grows no more."""


class Work(NamedTuple):
    """What makes sessions one work: where their notes go, and what they are about."""

    destination: str
    kind: str
    about: str


def work_of(profile: Profile) -> Work | None:
    """Return the work that `profile` files, or None if nothing of it is written."""
    return _work(profile.project, profile.recorded())


def _work(destination: str | None, filed: Filed) -> Work | None:
    return Work(destination, filed.kind, filed.repository or filed.scope) if destination is not None else None


class Visits:
    """Keeps this process's sweep and its sessions from meeting in one journal."""

    def __init__(self, occupied: Callable[[SessionId], bool]) -> None:
        """`occupied` tells which sessions this process has itself."""
        self.occupied = occupied
        self._free: dict[SessionId, anyio.Event] = {}

    def free(self, session_id: SessionId) -> anyio.Event | None:
        """Return what a session that starts now waits for: a visit records and lets go, in milliseconds."""
        return self._free.get(session_id)

    @contextmanager
    def gate(self, session_id: SessionId) -> Generator[bool]:
        """Visit a session's journal for the length of the block; false if the session is here."""
        if self.occupied(session_id):
            yield False
            return
        free = self._free[session_id] = anyio.Event()
        try:
            yield True
        finally:
            del self._free[session_id]
            free.set()


class Sweep:
    """One pass over the journals in `folder`, for one work."""

    def __init__(self, folder: Path, work: Work, visitor: Visitor, visits: Visits) -> None:
        self._folder = folder
        self._work = work
        self._visitor = visitor
        self._visits = visits

    async def run(self, link: MemoryLink, voice: Voice) -> None:
        """Settle what can be settled, one read at a time, and say once what came of it; it ends early with the server."""
        settled: list[tuple[CaptureProbed, str]] = []
        try:
            for path in await anyio.to_thread.run_sync(self._newest):
                connection = link.connection
                if connection is None or connection.stalled:
                    break  # who needs it more must not wait behind us
                found = await self._settled(path, link)
                settled += _news(found) if found is not None else []
        except NoServer:
            pass
        finally:
            if settled:
                voice.say("sweep", *_told(settled))

    def _newest(self) -> Sequence[Path]:
        """The journals written last, of sessions that this process does not have. Blocking."""
        found = sorted(((_written(path), path) for path in self._folder.glob("*.journal")), reverse=True)
        return [path for at, path in found if at > 0 and not self._visits.occupied(SessionId(path.stem))][:NEWEST]

    async def _settled(self, path: Path, link: MemoryLink) -> Settled | None:
        """A journal that has a writer, or cannot be read, is left as it is."""
        try:
            if (await anyio.to_thread.run_sync(holder, path)).live:
                return None
            found = await settle(path, self._owed, link, self._visitor, gate=self._visits.gate)
        except (JournalError, MovedOn):
            return None
        return found if found.recorded else None

    def _owed(self, found: Left) -> Sequence[tuple[BranchId, Capture]]:
        """The doubted writes of the same work that nobody read for lately."""
        opened = found.states[found.last].opened
        work = _work(opened.destination, opened.profile) if opened is not None else None
        if work != self._work or self._visits.occupied(found.header.session_id):
            return ()
        now_ms = self._visitor.clock.now_ms()
        return [
            (branch, capture)
            for branch, state in found.states.items()
            for capture in state.captures
            if self._doubtful(capture) and _rested(capture, now_ms)
        ]

    def _doubtful(self, capture: Capture) -> bool:
        """An intent of this very process may still be under way, though its session let go of the journal."""
        ours = capture.intent is not None and capture.intent.event.writer == self._visitor.writer.writer
        return capture.status == "in_doubt" or (capture.status == "intended" and not ours)


def _rested(capture: Capture, now_ms: int) -> bool:
    """A clock that was set back says nothing of how long ago the last read was."""
    wait_ms = SPACING_MS * min(capture.probes, MOST_SPACED)
    return not capture.probed_ms <= now_ms < capture.probed_ms + wait_ms


def _written(path: Path) -> float:
    """When the journal was last written to: a killed writer leaves its newest rows in the log beside it."""
    times = [0.0]
    for name in (path, Path(f"{path}-wal")):
        try:
            times.append(name.stat().st_mtime)
        except OSError:
            continue
    return max(times)


# -- words -------------------------------------------------------------------

_OUTCOMES = {
    "present_same": "stored at {path}",
    "present_edited": "stored at {path} and edited since",
    "present_twin": "another process stored the same at {path}",
    "conflicted": "another note is at {path}, nothing was overwritten",
    "absent_final": "never stored at {path}, its text is kept",
}
_ONE = "1 interrupted save of an earlier session was"
_FOR_A_PERSON = frozenset({"conflicted", "absent_final"})


def _news(found: Settled) -> list[tuple[CaptureProbed, str]]:
    return [(drawn, _where(found, drawn)) for drawn in found.verdicts if drawn.verdict in _OUTCOMES]


def _where(found: Settled, drawn: CaptureProbed) -> str:
    captures = (state.capture(drawn.capture_id) for state in found.left.states.values())
    return seen_at(drawn) or next((c.path for c in captures if c is not None and c.path), None) or drawn.capture_id[:12]


def _told(settled: Sequence[tuple[CaptureProbed, str]]) -> tuple[str, NoticeLevel]:
    many = len(settled) > 1
    begun = f"{len(settled)} interrupted saves of earlier sessions were" if many else _ONE
    each = "; ".join(_OUTCOMES[drawn.verdict].format(path=path) for drawn, path in settled)
    undecided = any(drawn.verdict in _FOR_A_PERSON for drawn, _ in settled)
    hint = " `continuity unproven` says what to decide." if undecided else ""
    return f"{begun} settled by reading: {each}.{hint}", "warning" if undecided else "info"
