"""Takes over what was saved elsewhere: receipts of the path, other branches, notes at addresses we know. It only reads."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import islice
from typing import ClassVar, Literal

import anyio
import msgspec

from continuity import handoff
from continuity.capture import address, capture_id
from continuity.commands import Adopt, CommandRejected, Observe
from continuity.lineage import deepest, newest, reached, starts_from_note
from continuity.memory import notes, probes
from continuity.memory.calls import Caller
from continuity.privacy import mask
from continuity.privacy.quoting import printable
from continuity.shell.desk import Desk, kept
from continuity.shell.ledger import Ledger
from continuity.shell.mirroring import adoptable
from continuity.shell.ports import PathView
from continuity.shell.reconciling import looked_for
from continuity.state import PENDING, Capture, State, is_ours
from journal.events import BasisTaken, ReceiptAdopted
from journal.events.writes import Observation
from journal.ids import BranchId, CaptureId, EntryId, ProjectName, Sha256

MOST_SOUGHT = 20
"""Addresses read for a session of which this machine knows no checkpoint: its newest public messages."""

LONGEST_BASIS_CHARS = 40_000
"""A longer note is no handoff, whoever wrote it."""


class Reading(msgspec.Struct, frozen=True):
    """The one effect of this lane: read what the current branch lacks. It is owed by what is known, and never by a state."""

    lane: ClassVar[Literal["adopt"]] = "adopt"
    key: ClassVar[str] = "adopt"


class Adopter:
    """One session's adoption: at a boundary from what lies on this disk, between boundaries by reading notes."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._paths: dict[BranchId, tuple[EntryId, ...]] = {}
        """The path each branch was last seen on."""
        self._seen: tuple[BranchId, int] | None = None
        self._sought: BranchId | None = None
        """The branch whose checkpoint is to be looked for by address, once."""
        self._unusable: set[CaptureId] = set()
        """Checkpoints whose note gave no basis; the session itself does, at a cost."""
        self._turn = anyio.Lock()

    # -- at a boundary -------------------------------------------------------

    async def placed(self, ledger: Ledger, view: PathView, *, opened: bool = False) -> None:
        """A boundary placed us on a branch: take over what lies deeper on its path than what it knows.

        A journal that was just `opened` and knows no checkpoint of a session
        that is older than it has its notes looked for, in the background.

        Raises:
            JournalError: As `Ledger.apply`.
        """
        path = tuple(message.entry_id for message in view.public)
        self._paths[ledger.current] = path
        if self._seen != (ledger.current, len(view.receipts)):
            await self._receipts(ledger, view, path)
            self._seen = (ledger.current, len(view.receipts))
        await self._siblings(ledger, path)
        if opened and path and ledger.state.checkpoint is None and self._desk.profile.project is not None:
            self._sought = ledger.current

    async def _receipts(self, ledger: Ledger, view: PathView, path: Sequence[EntryId]) -> None:
        """Receipts settle what is open here; then the deepest is the checkpoint. One of an unknown tip is the last resort."""
        found, skipped = adoptable(view, self._desk.profile.project)
        if skipped:
            self._desk.voice.say("receipts", f"{skipped} unreadable receipt(s) in this session were passed over.")
        gone = ledger.withdrawn
        facts = {fact.capture_id: fact for fact in reversed(found) if fact.capture_id not in gone}
        for fact in facts.values():
            open_here = ledger.state.capture(fact.capture_id)
            if open_here is not None and open_here.status in PENDING | {"lost"}:
                await ledger.apply(Adopt(receipt=fact), tip=None)
        tip = deepest(path, (fact.source_tip for fact in facts.values()), beyond=reached(ledger.state))
        chosen = [fact for fact in facts.values() if tip in (fact.source_tip, None)][-1:]
        if chosen and (tip is not None or not reached(ledger.state)):
            await self._adopt(ledger, ledger.current, chosen[0])

    async def _siblings(self, ledger: Ledger, path: Sequence[EntryId]) -> None:
        """A checkpoint that another branch settled after we left it is ours too, as far as the path is."""
        project = self._desk.profile.project
        elsewhere = [one for one in ledger.saved if one.project == project and one.capture_id not in self._desk.unfound]
        tip = deepest(path, (one.source_tip for one in elsewhere), beyond=reached(ledger.state))
        for one in elsewhere:
            if one.source_tip == tip and one.content_sha256 is not None and one.path is not None:
                await self._adopt(ledger, ledger.current, _sibling(one, one.content_sha256, one.path))
                with suppress(CommandRejected):  # a capture of this branch's own was confirmed at this moment
                    await self._basis_of(ledger, one, path)

    async def _basis_of(self, ledger: Ledger, one: Capture, path: Sequence[EntryId]) -> None:
        """The sibling's handoff is kept in this very journal: no note need be read for it, unless it was edited."""
        digest, wanted = one.handoff_sha256, starts_from_note(path, ledger.state)
        if digest is None or not wanted or one.edited or await ledger.journal.body(digest) is None:
            return
        taken = BasisTaken(capture_id=one.capture_id, source_tip=one.source_tip, handoff_sha256=digest, edited=False)
        await ledger.apply(Observe(taken), tip=None)

    async def _adopt(
        self, ledger: Ledger, branch: BranchId, fact: ReceiptAdopted, read: Observation | None = None
    ) -> bool:
        current = ledger.states[branch].checkpoint
        over = current.capture_id if current is not None else None
        return bool(await ledger.apply(Adopt(receipt=fact, over=over, read=read), tip=None, branch=branch))

    # -- between boundaries --------------------------------------------------

    def owes(self, branch: BranchId) -> bool:
        """Whether there is a note to be read for this branch, as far as is known without reading anything."""
        if self._sought == branch:
            return True
        state = self._state(branch)
        checkpoint = state.checkpoint if state is not None else None
        if state is None or checkpoint is None or checkpoint.capture_id in self._unusable:
            return False
        return starts_from_note(self._paths.get(branch, ()), state)

    async def read(self, branch: BranchId) -> None:
        """Look for this branch's checkpoint if that is due, and take the handoff out of its note if none is kept here.

        Raises:
            JournalError: Nothing was recorded of what was read.
        """
        async with self._turn:
            connection = self._desk.link.connection
            if connection is None:
                return
            with anyio.move_on_after(self._desk.settings.timeout_seconds):
                if self._sought == branch:
                    await self._search(connection, branch)
                await self._basis(connection, branch)
            if self._sought == branch and self._desk.link.connection is connection:
                self._sought = None

    async def before_capture(self, branch: BranchId, tip: EntryId) -> None:
        """Let nothing be read by the model that a note tells already; a server that is coming is waited for, bounded."""
        if tip not in self._paths.get(branch, ()):
            self._paths[branch] = tuple(one.entry_id for one in await self._desk.source.messages(tip) if not one.cut)
        if not self.owes(branch) and not await self._erased(branch):
            return
        if self._desk.link.coming:
            await self._desk.link.up(self._desk.settings.timeout_seconds)
        await self.read(branch)

    async def _erased(self, branch: BranchId) -> bool:
        """The handoff of the checkpoint was kept here and is no more; its note may still be there."""
        state = self._state(branch)
        if state is None or state.checkpoint is None or state.handoff is None:
            return False
        own = state.handoff.capture_id == state.checkpoint.capture_id
        return own and await self._desk.body(state.handoff.sha256) is None

    async def _search(self, connection: Caller, branch: BranchId) -> None:
        """Read where the captures of the newest public messages would be, newest first, until one of ours is there."""
        project, state = self._desk.profile.project, self._state(branch)
        if project is None or state is None:
            return
        for tip in islice(newest(self._paths.get(branch, ()), beyond=reached(state)), MOST_SOUGHT):
            identity = capture_id(project, self._desk.session_id, "checkpoint", tip)
            asked = address(identity, self._desk.profile.checkpoint_folder, "checkpoint")
            note = await notes.read_note(connection, project, asked.file_path, self._desk.settings.timeout_seconds)
            seen = probes.observe("address", note)
            if (seen.capture_id, seen.source_tip) == (identity, tip):
                await self._found(branch, ProjectName(project), identity, tip, seen)
                return

    async def _found(
        self, branch: BranchId, project: ProjectName, identity: CaptureId, tip: EntryId, seen: Observation
    ) -> None:
        body = seen.declared_sha256 or seen.content_sha256
        ledger, state = self._desk.ledger, self._state(branch)
        if ledger is None or state is None or body is None or seen.file_path is None or identity in ledger.withdrawn:
            return
        if deepest(self._paths.get(branch, ()), [tip], beyond=reached(state)) is None:
            return  # what was saved meanwhile lies deeper
        fact = ReceiptAdopted(
            capture_id=identity,
            attempt=1,
            kind="checkpoint",
            project=project,
            source_tip=tip,
            content_sha256=body,
            file_path=seen.file_path,
            origin="address",
        )
        if await self._adopt(ledger, branch, fact, seen):
            self._sought = None
            self._desk.voice.say(
                "adopted", f"A checkpoint of this session was found at {seen.file_path}; work goes on from there."
            )

    async def _basis(self, connection: Caller, branch: BranchId) -> None:
        """Take the handoff in the checkpoint's note as what the next synthesis starts from; without one it does without."""
        state = self._state(branch)
        checkpoint = state.checkpoint if state is not None else None
        if checkpoint is None or checkpoint.path is None or not (self.owes(branch) or await self._erased(branch)):
            return
        seconds = self._desk.settings.timeout_seconds
        note = await notes.read_note(connection, checkpoint.project, checkpoint.path, seconds)
        seen = probes.observe("address", note)
        other = note.outcome == "found" and not is_ours(checkpoint, seen)
        looked_for(self._desk, checkpoint, "missing" if other else note.outcome)
        text = None if other else _handoff_in(note)
        if text is None:
            if self._desk.link.connection is connection:
                self._unusable.add(checkpoint.capture_id)
            return
        digest, bodies = kept(text)
        taken = BasisTaken(
            capture_id=checkpoint.capture_id,
            source_tip=checkpoint.source_tip,
            handoff_sha256=digest,
            edited=checkpoint.edited or seen.content_sha256 != checkpoint.content_sha256,
        )
        with suppress(CommandRejected):  # another checkpoint came meanwhile
            await self._desk.apply(Observe(taken), branch=branch, bodies=bodies)

    def _state(self, branch: BranchId) -> State | None:
        return self._desk.ledger.states.get(branch) if self._desk.ledger is not None else None


def _sibling(one: Capture, body: Sha256, path: str) -> ReceiptAdopted:
    return ReceiptAdopted(
        capture_id=one.capture_id,
        attempt=one.attempt,
        kind="checkpoint",
        project=one.project,
        source_tip=one.source_tip,
        content_sha256=body,
        file_path=path,
        origin="sibling",
    )


def _handoff_in(note: notes.NoteRead) -> str | None:
    """The handoff a note holds, masked anew and without control characters: somebody else may have written in it."""
    if note.content is None or len(note.content) > LONGEST_BASIS_CHARS:
        return None
    made = handoff.from_kept(mask(printable(note.content)).text)
    return handoff.kept_text(made) if made is not None else None
