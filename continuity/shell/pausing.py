"""On and off the record: a person's wish holds at once, and is in the journal as soon as there is one. It asks nobody."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from continuity.capture import PublicMessage
from continuity.commands import Pause, Resume
from continuity.offrecord import entered, on_record
from continuity.shell.desk import Desk
from continuity.shell.ledger import Ledger
from continuity.state import State
from journal.errors import JournalError
from journal.ids import BranchId, EntryId

type Switched = Literal["recorded", "waiting", "already", "after-this", "unrecorded", "unread"]
"""What came of the wish: on record, to be recorded, so already, so once the answer under way ends, refused, no place found."""


def spoken(desk: Desk, branch: BranchId, messages: Sequence[PublicMessage]) -> tuple[PublicMessage, ...]:
    """Return those of `messages`, a path of this branch from its root, that are on the record."""
    state = desk.state(branch)
    return on_record(messages, state.off if state is not None else ())


class Pausing:
    """One session's pauses. Every branch of its journal has the same say, so that whoever moves about stays paused.

    Of branches that differ (a process was killed between two of them, a fork began in a paused stretch) the one that
    is paused counts.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._waiting: list[tuple[Pause | Resume, EntryId | None]] = []
        self._resumes_later = False
        self.running = False
        """The model is at work: its answer belongs to what was asked."""

    @property
    def paused(self) -> bool:
        """Whether what is said now is off the record."""
        return isinstance(self._waiting[-1][0], Pause) if self._waiting else self.recorded

    @property
    def recorded(self) -> bool:
        """Whether the journal says so, whatever was wished since."""
        return any(state.paused for state in self._states)

    @property
    def owes(self) -> bool:
        """Something was wished that is not recorded."""
        return bool(self._waiting)

    @property
    def since_ms(self) -> int | None:
        """Since when, if that is recorded."""
        return min((state.paused_ms for state in self._states if state.paused), default=None)

    @property
    def _states(self) -> list[State]:
        ledger = self._desk.ledger
        return list(ledger.states.values()) if ledger is not None else []

    async def pause(self, anchor: object | None) -> Switched:
        """Leave out what is said after the message `anchor`, the newest one seen when the person asked."""
        self._resumes_later = False
        if self.paused:
            return "already"
        try:
            tip = await self._newest(anchor)
        except OSError:
            tip = self._known  # more is left out
        return await self._want(Pause(), tip)

    async def resume(self, anchor: object | None) -> Switched:
        """Go on with what is said after the message `anchor`; an answer under way still belongs to what it answers."""
        if not self.paused:
            return "already"
        if self.running:
            self._resumes_later = True
            return "after-this"
        try:
            return await self._want(Resume(), await self._newest(anchor))
        except OSError:
            return "unread"

    def rested(self, tip: EntryId | None) -> None:
        """The agent came to rest at `tip`: an answer that was waited for has ended."""
        self.running = False
        if self._resumes_later:
            self._resumes_later = False
            self._waiting.append((Resume(), tip))
            self._desk.voice.say("record", "Continuity: on the record again, from your next prompt on.")

    async def enter(self, path: Sequence[EntryId], *, seen: EntryId | None, paused: bool) -> None:
        """The session goes on with the branch being written: it is there as it was before, and then as was wished since.

        Of `path`, where it is, everything through `seen` was there before.

        Raises:
            JournalError: What could not be recorded is kept, or is seen again when the branch is entered again.
        """
        await self._carry(path, seen, paused=paused)
        if self._waiting:
            await self._record(path)
            await self._carry(path, seen, paused=self.recorded)

    async def _carry(self, path: Sequence[EntryId], seen: EntryId | None, *, paused: bool) -> None:
        ledger = self._desk.ledger
        if ledger is not None:
            step = entered(ledger.state, path, seen=seen, paused=paused, left=ledger.state.off)
            if step is not None:
                await self._desk.apply(step[0], tip=step[1])

    async def _record(self, path: Sequence[EntryId] | None = None) -> None:
        """Record what was wished and is not in the journal yet, oldest first.

        A wish from elsewhere than on `path` counts from where the journal stands: then more is left out.

        Raises:
            JournalError: What could not be recorded is kept.
        """
        ledger = self._desk.ledger
        while self._waiting and ledger is not None:
            command, tip = self._waiting[0]
            await self._everywhere(ledger, command, tip if path is None or tip in path else None)
            del self._waiting[0]

    async def _want(self, command: Pause | Resume, tip: EntryId | None) -> Switched:
        if self._desk.ledger is None and self._waiting and tip is None and self._waiting[-1][1] is None:
            self._waiting.pop()  # nothing was ever said, and neither is on record
        else:
            self._waiting.append((command, tip))
        if self._desk.ledger is None:
            return "waiting"
        try:
            await self._record()
        except JournalError as error:
            self._desk.stopped(error)
            return "unrecorded"
        return "recorded"

    async def _everywhere(self, ledger: Ledger, command: Pause | Resume, tip: EntryId | None) -> None:
        """On every branch that was ever opened; last on the one being written, which then still is the last written."""
        for branch in ledger.states:
            if branch != ledger.current:
                await self._desk.apply(command, branch=branch)
        await self._desk.apply(command, tip=tip)

    async def _newest(self, anchor: object | None) -> EntryId | None:
        """The newest public message up to `anchor`; before the first of this process, the one the journal knows.

        So it is too where the path has left that one: this branch's row is about this branch. What is beyond it is seen
        when the branch is entered again.
        """
        known = self._known
        if anchor is None and self._desk.ledger is not None:
            return known
        view = await self._desk.source.view(anchor)
        left = known is not None and all(message.entry_id != known for message in view.public)
        return known if left else view.tip

    @property
    def _known(self) -> EntryId | None:
        return self._desk.ledger.state.tip if self._desk.ledger is not None else None
