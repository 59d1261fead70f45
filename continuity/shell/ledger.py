"""The journal of one open session with the states of its branches: decides, appends, evolves. It performs no effect."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import anyio
import anyio.to_thread

from continuity.causes import Causes
from continuity.commands import Command, EraseBodies, Fork
from continuity.decide import decide
from continuity.evolve import evolve
from continuity.lineage import Trail
from continuity.shell.clock import Clock
from continuity.spent import Spent, spend, together
from continuity.state import Capture, State
from journal.codec import fitted
from journal.errors import (
    AlreadySubmitted,
    EventRejected,
    JournalBusy,
    JournalClosed,
    JournalFull,
    JournalVanished,
    NoSuchPlace,
)
from journal.events import Event, Gap, NoteWithdrawn
from journal.ids import BranchId, CaptureId, EntryId, Sha256
from journal.lock import JournalLock
from journal.reader import open_reader
from journal.row import FIRST_BRANCH, Header, Record, Row, WriterRecord
from journal.store import Journal

_NOT_WRITTEN = (EventRejected, AlreadySubmitted, NoSuchPlace, JournalBusy, JournalFull, JournalVanished, JournalClosed)
"""Errors after which it is certain that nothing was written."""

_NONE: Mapping[Sha256, str] = MappingProxyType({})

type Choose = Callable[[Sequence[State]], tuple[Sha256, ...]]
"""Names kept texts, given the states of all branches. It may read the journal: it is called in a thread."""

type Then = Callable[[State], tuple[Command, EntryId | None] | None]
"""What is to follow in a branch that begins in this state, and the message it is recorded at; None is the branch's tip."""


class Branch:
    """One branch as the ledger keeps it: its state, its tips, its causes."""

    def __init__(self, branch: BranchId) -> None:
        self.state = State(branch=branch)
        self.causes = Causes()
        self.saved: dict[CaptureId, Capture] = {}
        """Every checkpoint that was this branch's newest once, as it was known last."""
        self.withdrawn: set[CaptureId] = set()
        self.spent = Spent()
        """What this branch asked of the model itself."""
        self._tips: dict[EntryId, int] = {}

    @property
    def trail(self) -> Trail:
        """The branch as lineage sees it."""
        return Trail(self.state.branch, tuple((position, tip) for tip, position in self._tips.items()))

    def take(self, row: Row, *, own: bool) -> None:
        """Follow one recorded row; `own` rows are the branch's, others its ancestors'."""
        before, self.state = self.state, evolve(self.state, row)
        self.causes.saw(row)
        checkpoint = self.state.checkpoint
        if checkpoint is not None and checkpoint is not before.checkpoint:
            self.saved[checkpoint.capture_id] = checkpoint
        if isinstance(row.event, NoteWithdrawn):
            self.withdrawn.add(row.event.capture_id)
        if own:
            self.spent = spend(self.spent, row.event)
        if own and row.tip is not None:
            self._tips.pop(row.tip, None)  # a tip that comes again stands where it came last
            self._tips[row.tip] = row.position


class Ledger:
    """The one way to append to a session's journal.

    Appends are serialised; each decides on the state left by the one before.
    """

    def __init__(self, journal: Journal, lock: JournalLock, path: Path, clock: Clock) -> None:
        self.journal = journal
        self.path = path
        self._lock = lock
        self._clock = clock
        self._turn = anyio.Lock()
        self._branches: dict[BranchId, Branch] = {}
        self._gap: Gap | None = None
        self._open_commit = False
        self.current = FIRST_BRANCH

    @classmethod
    async def create(cls, path: Path, header: Header, writer: WriterRecord, clock: Clock) -> Ledger:
        """Make a new journal and hold its lock.

        Raises:
            JournalLocked: Another process writes here; nothing was made.
            JournalError: The file could not be made.
        """
        lock = await anyio.to_thread.run_sync(JournalLock.acquire, path, writer)
        try:
            journal = await Journal.create(path, header)
        except BaseException:
            lock.release()
            raise
        ledger = cls(journal, lock, path, clock)
        ledger._branches[FIRST_BRANCH] = Branch(FIRST_BRANCH)
        return ledger

    @classmethod
    async def open(cls, path: Path, writer: WriterRecord, clock: Clock) -> Ledger:
        """Hold the lock, verify and replay every branch; recovery is this and nothing else.

        Raises:
            JournalLocked: Another process writes here; nothing was touched.
            JournalUnreadable, RowUnreadable: The file was left as it is.
        """
        lock = await anyio.to_thread.run_sync(JournalLock.acquire, path, writer)
        try:
            branches, last = await anyio.to_thread.run_sync(replay, path)
            journal = await Journal.open(path)
        except BaseException:
            lock.release()
            raise
        ledger = cls(journal, lock, path, clock)
        ledger._branches = branches
        ledger.current = last
        return ledger

    @property
    def state(self) -> State:
        """The state of the branch being written."""
        return self._branches[self.current].state

    @property
    def states(self) -> Mapping[BranchId, State]:
        """Every branch's state; a branch left behind may still be owed a verdict."""
        return {branch: kept.state for branch, kept in self._branches.items()}

    @property
    def trails(self) -> Sequence[Trail]:
        """Every branch as lineage sees it."""
        return [kept.trail for kept in self._branches.values()]

    @property
    def saved(self) -> Sequence[Capture]:
        """Every checkpoint that any branch knows as stored, without those whose note is proven gone."""
        gone = self.withdrawn
        known = {name: one for kept in self._branches.values() for name, one in kept.saved.items()}
        return [one for name, one in known.items() if name not in gone]

    @property
    def last_saved(self) -> Capture | None:
        """The checkpoint that was the newest of the branch being written, even if its note is proven gone since."""
        return self.state.checkpoint or next(reversed(self._branches[self.current].saved.values()), None)

    @property
    def withdrawn(self) -> frozenset[CaptureId]:
        """Captures whose note was proven to be gone, on whatever branch."""
        return frozenset(name for kept in self._branches.values() for name in kept.withdrawn)

    @property
    def spent(self) -> Spent:
        """What the session asked of the model for memory's sake, in whatever process."""
        return together(tuple(kept.spent for kept in self._branches.values()))

    async def apply(
        self,
        command: Command,
        *more: Command,
        tip: EntryId | None,
        branch: BranchId | None = None,
        bodies: Mapping[Sha256, str] | None = None,
    ) -> tuple[Row, ...]:
        """Decide `command` on its branch and append what it amounts to; return the rows.

        With `more`, all are decided on the same state and land together: only for what does not depend on each other.

        Raises:
            CommandRejected: The state does not allow it; nothing was written.
            JournalError: Nothing was written, unless the error says otherwise.
        """
        async with self._turn:
            await self._made_certain()
            return await self._append(
                self._branches[branch or self.current], (command, *more), tip=tip, bodies=bodies or {}
            )

    async def _append(
        self,
        kept: Branch,
        commands: Sequence[Command],
        *,
        tip: EntryId | None = None,
        bodies: Mapping[Sha256, str] = _NONE,
        erase: Sequence[Sha256] = (),
    ) -> tuple[Row, ...]:
        events = tuple(event for each in commands for event in decide(kept.state, each))
        if not events:
            return ()
        if self._gap is not None:
            events = (self._gap, *events)
        with self._committing():
            rows = await self.journal.append(
                kept.state.branch,
                self._records(kept, events, tip if tip is not None else kept.state.tip),
                expected=kept.state.position,
                bodies=bodies,
                erase=erase,
            )
        self._gap = None
        for row in rows:
            kept.take(row, own=True)
        return rows

    async def erase(self, choose: Choose, *, reason: str) -> int:
        """Erase the kept texts that `choose` names, seeing every branch and the journal as they are now; return how many.

        They and the row that says so are one commit.

        Raises:
            CommandRejected: Work under way needs one of them; nothing was erased.
            JournalError: Nothing was erased, unless the error says otherwise.
        """
        async with self._turn:
            await self._made_certain()
            digests = await anyio.to_thread.run_sync(choose, tuple(self.states.values()))
            if digests:
                await self._append(
                    self._branches[self.current], [EraseBodies(digests=digests, reason=reason)], erase=digests
                )
            return len(digests)

    async def fork(self, parent: BranchId, position: int, command: Fork, then: Then = lambda _: None) -> None:
        """Begin a branch at `position` of `parent` and make it current; its first event says why.

        What `then` tells of the state there, to be recorded at a message, is in the same commit.
        """
        async with self._turn:
            await self._made_certain()
            kept = await anyio.to_thread.run_sync(_replayed_to, self.path, parent, position)
            records = self._records(kept, decide(kept.state, command), kept.state.tip)
            more = then(kept.state)
            if more is not None:
                records += self._records(kept, decide(kept.state, more[0]), more[1] or kept.state.tip)
            with self._committing():
                child, rows = await self.journal.fork(parent, position, records)
            for row in rows:
                kept.take(row, own=True)
            self._branches[child.branch] = kept
            self.current = child.branch

    def missed(self, reason: str, count: int = 1) -> None:
        """Count notifications that could not be recorded; a later append says so."""
        before = self._gap
        self._gap = Gap(
            reason=reason,
            count=count if before is None else before.count + count,
            since_ms=self._clock.now_ms() if before is None else before.since_ms,
        )

    @property
    def missing(self) -> int:
        """How many notifications are not recorded yet."""
        return 0 if self._gap is None else self._gap.count

    async def close(self) -> None:
        """Let go of the file, then of the lock."""
        try:
            await self.journal.close()
        finally:
            self._lock.release()

    @contextmanager
    def _committing(self) -> Generator[None]:
        """Remember an append of which it is not known whether it is on disk: an error of the disk, an interruption."""
        try:
            yield
        except _NOT_WRITTEN:
            raise
        except BaseException:
            self._open_commit = True
            raise

    async def _made_certain(self) -> None:
        """After such an append the file is the authority: what it holds is taken in before anything is decided."""
        if not self._open_commit:
            return
        await self.journal.refresh()  # first: it says in its own words that the file is not there any more
        self._branches, _ = await anyio.to_thread.run_sync(replay, self.path)
        self._open_commit = False

    def _records(self, kept: Branch, events: Sequence[Event], tip: EntryId | None) -> list[Record]:
        at_ms = self._clock.now_ms()
        return [Record(event=fitted(event), at_ms=at_ms, tip=tip, cause=kept.causes.of(event)) for event in events]


def replay(path: Path) -> tuple[dict[BranchId, Branch], BranchId]:
    """Return every branch after its verified history, and the branch written last. Blocking.

    Raises:
        JournalUnreadable, RowUnreadable: The file was left as it is.
    """
    with open_reader(path) as reader:
        branches: dict[BranchId, Branch] = {}
        for described in reader.branches:
            kept = Branch(described.branch)
            for row in reader.verified(described.branch):
                kept.take(row, own=row.branch == described.branch)
            branches[described.branch] = kept
        return branches, reader.last_branch()


def _replayed_to(path: Path, branch: BranchId, position: int) -> Branch:
    with open_reader(path) as reader:
        kept = Branch(branch)
        for row in reader.verified(branch, position):
            kept.take(row, own=False)
        return kept
