"""What the performers of one session share: its journal, its host, its memory, its settings. It decides nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import anyio

from continuity.checkout import Filed
from continuity.commands import Command, CommandRejected, Observe, Observed
from continuity.profile import Profile
from continuity.shell.clock import Clock
from continuity.shell.git import git_facts
from continuity.shell.ledger import Ledger
from continuity.shell.link import MemoryLink
from continuity.shell.opening import trouble
from continuity.shell.ports import Mirror, Model, SessionSource, Voice
from continuity.shell.settings import Settings
from continuity.state import Capture, State
from journal.chain import body_digest
from journal.codec import clean
from journal.errors import JournalError
from journal.events import RecallAnswered, RecallFailed, RecallPlanned
from journal.ids import BranchId, CaptureId, EntryId, SessionId, Sha256
from journal.row import Row, WriterRecord

LONGEST_BODY = 4_000_000
"""Characters of one text kept beside the chain."""

PINNING = "another program holds the file open in one long read; it shrinks once that ends"

MOST_WAITING = 200
"""Facts kept for a journal that is not made yet."""


@dataclass
class Desk:
    """One session's working table. `ledger` is None until the first prompt, or for good when there can be none."""

    session_id: SessionId
    profile: Profile
    settings: Settings
    clock: Clock
    writer: WriterRecord
    link: MemoryLink
    source: SessionSource
    model: Model
    voice: Voice
    ledger: Ledger | None = None
    mirror: Mirror | None = None
    """Where the host takes receipts at any moment; elsewhere they wait for a prompt."""
    checkout: Callable[[Profile], Awaitable[Filed]] = git_facts
    """Tells what a coding checkpoint says of its checkout, and how it is filed."""
    filed: Filed | None = None
    """How the newest checkpoint of this process was filed."""
    waiting: list[Observed] = field(default_factory=list[Observed])
    """Facts from before the journal was made."""
    dropped: int = 0
    """How many there was no room for, or were refused with the journal itself."""
    late: list[tuple[Observed, BranchId | None]] = field(default_factory=list[tuple[Observed, BranchId | None]])
    """Outcomes of what was sent or not sent that are not on disk yet; nothing more is sent before they are."""
    unfound: set[CaptureId] = field(default_factory=set[CaptureId])
    """Confirmed checkpoints whose note the newest look did not find: no new note is linked with them."""
    tokens: dict[CaptureId, tuple[int, int]] = field(default_factory=dict[CaptureId, tuple[int, int]])
    """What the model told of its cost for captures that are not finished yet: an attempt may end before its time is up."""
    asked: bool = False
    """A person asked for a checkpoint and was not told yet what came of it."""
    stops: int = 0
    """How often recording failed."""
    _catching: anyio.Lock = field(default_factory=anyio.Lock)
    _pinned: bool = False
    trouble: str | None = None
    """Why recording stopped, in words for a person, until it goes on."""
    wake: Callable[[], None] = lambda: None
    """Makes whoever performs what is owed look again; where nobody does, nothing."""

    async def apply(
        self,
        command: Command,
        *,
        tip: EntryId | None = None,
        branch: BranchId | None = None,
        bodies: Mapping[Sha256, str] | None = None,
    ) -> tuple[Row, ...]:
        """Append what `command` amounts to.

        Raises:
            CommandRejected: Nothing was written.
            JournalError: Nothing was written, unless the error says otherwise.
        """
        if self.ledger is None:
            raise CommandRejected(type(command).__name__, "this session has no journal")
        rows = await self.ledger.apply(command, tip=tip, branch=branch, bodies=bodies)
        self.recorded(rows)
        return rows

    async def note(
        self,
        *facts: Observed,
        tip: EntryId | None = None,
        branch: BranchId | None = None,
        bodies: Mapping[Sha256, str] | None = None,
    ) -> bool:
        """Record facts that nothing waits for; one that cannot be recorded is counted and said. True if all were."""
        return await self.noted(*facts, tip=tip, branch=branch, bodies=bodies) is not None

    async def noted(
        self,
        *facts: Observed,
        tip: EntryId | None = None,
        branch: BranchId | None = None,
        bodies: Mapping[Sha256, str] | None = None,
    ) -> Sequence[Row] | None:
        """Do the same and return the rows; None where not all could be recorded."""
        if self.ledger is None:
            self._keep(facts)
            return None
        recorded: list[Row] = []
        try:
            for group in _together(facts):
                rows = await self.ledger.apply(*map(Observe, group), tip=tip, branch=branch, bodies=bodies)
                self.recorded(rows)
                recorded += rows
        except CommandRejected:
            return None
        except JournalError as error:
            self.unrecorded(error)
            return None
        return recorded

    def _keep(self, facts: Sequence[Observed]) -> None:
        """Keep `facts` for the journal to come; an old round of questions gives way to newer facts, and is counted."""
        self.waiting.extend(facts)
        while len(self.waiting) > MOST_WAITING:
            rounds = [n for n, fact in enumerate(self.waiting) if n and isinstance(fact, RecallPlanned)]
            gone = rounds[0] if rounds else 1
            del self.waiting[:gone]
            self.dropped += gone

    async def flush(self) -> None:
        """Record what was kept for the journal, in the order in which it came."""
        waiting, self.waiting, dropped, self.dropped = self.waiting, [], self.dropped, 0
        if dropped and self.ledger is not None:
            self.ledger.missed("before-the-journal", dropped)
        await self.note(*waiting)

    async def outcome(self, fact: Observed, *, branch: BranchId | None = None) -> Row | None:
        """Record what became of a call, and return its row. If that fails, it is kept until it can be recorded.

        Nobody else knows it.
        """
        self.late.append((fact, branch))
        return next((row for row in await self._record_late() if row.event == fact), None)

    async def catch_up(self) -> bool:
        """Record outcomes that are not on disk yet, oldest first and each once; True if none is left."""
        await self._record_late()
        return not self.late

    async def _record_late(self) -> Sequence[Row]:
        rows: list[Row] = []
        async with self._catching:
            while self.late and self.ledger is not None:
                fact, branch = self.late[0]
                try:
                    rows += await self.ledger.apply(Observe(fact), tip=None, branch=branch)
                except CommandRejected:
                    pass
                except JournalError as error:
                    self.stopped(error)
                    break
                del self.late[0]
        return rows

    def unrecorded(self, error: JournalError) -> None:
        """Count a notification that did not reach the journal, and say that recording stopped."""
        self.missed(type(error).__name__)
        self.stopped(error)

    def missed(self, reason: str) -> None:
        """Count a notification that did not reach the journal, or for which there is none yet."""
        if self.ledger is not None:
            self.ledger.missed(reason)
        else:
            self.dropped += 1

    def passed_by(self) -> None:
        """Count a notification that came while the journal could not be made; before the first prompt none is due."""
        if self.trouble is not None:
            self.missed("no-journal")

    @property
    def missing(self) -> int:
        """How many notifications are not on record and will be told of by their number only."""
        return self.ledger.missing if self.ledger is not None else self.dropped

    def recorded(self, rows: Sequence[Row]) -> None:
        """Say that recording goes on, if it was said that it had stopped; and that a reader makes the log grow."""
        if rows:
            self._weigh_log()
        if rows and self.trouble is not None:
            self.trouble = None
            self.voice.say("journal", "Continuity records again.")

    def _weigh_log(self) -> None:
        """Say once that somebody keeps the log from being begun anew, and once that it is short again."""
        pinned = self.ledger is not None and self.ledger.journal.log_is_pinned
        if pinned != self._pinned:
            self._pinned = pinned
            text = (
                f"Continuity: the log of this session's journal grows, because {PINNING}. Nothing is lost."
                if pinned
                else "Continuity: the log of this session's journal is short again."
            )
            self.voice.say("log", text, "warning" if pinned else "info")

    def stopped(self, error: JournalError) -> None:
        """Say that nothing can be recorded now. What is owed stays owed."""
        self.stops += 1
        self.trouble = trouble(error)
        self.voice.say(
            "journal",
            f"Continuity cannot record: {self.trouble}. Nothing is saved until it can. "
            "See /bm-status; check space and rights of its folder with `continuity paths`.",
            "error",
        )

    def state(self, branch: BranchId) -> State | None:
        """Return a branch's state, or None without a journal."""
        return self.ledger.states.get(branch) if self.ledger is not None else None

    def live(self, identity: CaptureId, branch: BranchId) -> Capture | None:
        """Return a branch's capture that is not settled for good, if it has it."""
        state = self.state(branch)
        return state.live(identity) if state is not None else None

    async def body(self, digest: Sha256 | None) -> str | None:
        """Return a kept text, or None when there is none or it was erased."""
        if digest is None or self.ledger is None:
            return None
        return await self.ledger.journal.body(digest)


def _together(facts: Sequence[Observed]) -> Iterator[Sequence[Observed]]:
    """Yield `facts` in groups that may be recorded at once: the answers of a round depend on no state."""
    answers: list[Observed] = []
    for fact in facts:
        if isinstance(fact, RecallAnswered | RecallFailed):
            answers.append(fact)
            continue
        if answers:
            yield answers
            answers = []
        yield (fact,)
    if answers:
        yield answers


def kept(text: str) -> tuple[Sha256, dict[Sha256, str]]:
    """Return the digest of `text` and the bodies to append with the event that names it."""
    exact = clean(text, LONGEST_BODY)
    digest = body_digest(exact)
    return digest, {digest: exact}
