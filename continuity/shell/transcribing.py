"""Keeps the next message of a transcript, ready to be sent, or passes by what gets no note. It sends nothing itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from continuity.capture import PublicMessage, capture_id
from continuity.commands import BeginCapture, Observe
from continuity.due import Transcribe, transcript_stopped
from continuity.handoff.transcript import transcript_note, unwritten
from continuity.shell.desk import Desk
from continuity.shell.noting import begin, is_kept
from continuity.shell.pausing import spoken
from continuity.shell.screening import screened_alone
from continuity.state import State
from journal.events import TranscriptPassed
from journal.ids import BranchId, EntryId, ProjectName

_CONTEXT = 5
"""Messages before one that it is masked with: a key may have begun in them."""

LOOK_AGAIN_MS = 300_000
"""How long a path that the host did not know is not asked for: it is told when the session goes on there, or is resumed."""


class _Unknown(NamedTuple):
    """A tip whose path the host did not know when it was asked."""

    until: EntryId
    at_ms: int


class Transcriber:
    """Keeps one session's messages. A path that the host does not know stays owed, and is asked for again later."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._unknown: dict[BranchId, _Unknown] = {}
        self._stopped: set[BranchId] = set()

    def tell(self, state: State) -> None:
        """Say that a branch's transcript stopped, once each time it does."""
        stopped = transcript_stopped(state)
        if not stopped:
            self._stopped.discard(state.branch)
        elif state.branch not in self._stopped:
            self._stopped.add(state.branch)
            self._desk.voice.say(
                f"transcript-stopped:{self._desk.session_id}:{state.position}",
                f"Continuity: the transcript stopped, for {stopped} of its notes are not settled. What was said since "
                "is stored once they are: see /bm-pending.",
                "warning",
            )

    def unknown(self, branch: BranchId) -> object:
        """What is remembered of a branch's path; the same until it was asked for again."""
        return self._unknown.get(branch)

    def again_ms(self, effect: Transcribe, branch: BranchId, now_ms: int) -> int | None:
        """When to ask for an unknown path again; None for now. A session that goes on has a new tip, and is asked at once."""
        asked = self._unknown.get(branch)
        if asked is None or asked.until != effect.until or not asked.at_ms <= now_ms < asked.at_ms + LOOK_AGAIN_MS:
            return None
        return asked.at_ms + LOOK_AGAIN_MS

    async def transcribe(self, effect: Transcribe, branch: BranchId) -> None:
        """Keep the oldest message that has no note and gets one; what comes before it is passed by, once and for good.

        Withheld is what may hold a credential; passed by too is what was off the record, is empty, or was sent already.
        """
        path = tuple(one for one in await self._desk.source.messages(effect.until) if not one.cut)
        if not path or path[-1].entry_id != effect.until:
            self._unknown[branch] = _Unknown(effect.until, self._desk.clock.now_ms())
            return  # a message that was not read is not passed by
        said = frozenset(one.entry_id for one in spoken(self._desk, branch, path))
        numbers = {one.entry_id: number for number, one in enumerate(path, start=1)}
        run = _Run(self._desk, branch)
        for message in unwritten(path, effect.first, effect.after):
            number = numbers[message.entry_id]
            if message.entry_id in said and await run.keeps(path[max(0, number - _CONTEXT) : number], number):
                return
            run.passes(message)
        await run.record(effect.until)


class _Run:
    """One look for the next message, and what was passed by before it."""

    def __init__(self, desk: Desk, branch: BranchId) -> None:
        self._desk = desk
        self._branch = branch
        self._through: EntryId | None = None
        self._messages = 0
        self._withheld = 0

    async def keeps(self, messages: Sequence[PublicMessage], number: int) -> bool:
        """Keep the last of `messages`, the `number`th of the session, if it gets a note; tell whether it does."""
        project, ledger = self._desk.profile.project, self._desk.ledger
        entry = messages[-1].entry_id
        if project is None or ledger is None or not messages[-1].text.strip():
            return False
        identity = capture_id(project, self._desk.session_id, "transcript", entry)
        if await is_kept(ledger, identity):
            return False
        message, maskings = await screened_alone(self._desk, messages)
        if message is None:
            self._withheld += 1
            return False
        if self._through is not None:
            await self.record(self._through)
        note = transcript_note(message, identity, self._desk.settings.capture_folder, number)
        command = BeginCapture(
            capture_id=identity,
            kind="transcript",
            project=ProjectName(project),
            source_tip=entry,
            reason="transcript",
        )
        await begin(self._desk, command, note, maskings, branch=self._branch)
        return True

    def passes(self, message: PublicMessage) -> None:
        """The message gets no note."""
        self._through = message.entry_id
        self._messages += 1

    async def record(self, through: EntryId) -> None:
        """Record what was passed by, and say what was withheld of it."""
        passed = TranscriptPassed(through=through, messages=self._messages, withheld=self._withheld)
        await self._desk.apply(Observe(passed), branch=self._branch)
        if self._withheld:
            left = "1 message gets" if self._withheld == 1 else f"{self._withheld} messages get"
            self._desk.voice.say(
                f"transcript:{through}",
                f"Continuity: {left} no transcript note, for a credential may be in there that no rule knows.",
                "warning",
            )
