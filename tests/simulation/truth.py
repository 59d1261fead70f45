"""Watches the world and the disks, knows what is true of every write, and says at once when the machine is wrong.

It follows each journal by what the disk took, folds it with the core's own
`evolve`, and keeps beside it a record of its own of how far each write got.
The invariants are the design's promises; `Truth.step` runs after every step.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from continuity.evolve import evolve, fold
from continuity.state import Capture, State
from journal import codec
from journal.disk import uri
from journal.events import (
    BranchForked,
    CaptureBegun,
    CaptureProbed,
    CaptureResolved,
    CaptureSuperseded,
    CheckpointReferenced,
    Event,
    NoteWithdrawn,
    ReceiptAdopted,
    SessionOpened,
    SynthesisFinished,
    WriteAnswered,
    WriteIntended,
)
from journal.ids import BranchId, Sha256
from journal.row import Row, unpack_tip
from tests.simulation.host import SessionFile
from tests.simulation.machine import Written
from tests.simulation.notes import Identity
from tests.simulation.process import TauProcess
from tests.simulation.server import Memory, Sent
from tests.simulation.world import Actor, World

_PRESENT = ("present_same", "present_edited", "present_twin")


@dataclass
class Track:
    """How far the write of one capture got, by the rows alone and by rules written down a second time."""

    identity: Identity
    branch: int
    status: str = "begun"
    attempt: int = 0
    writer: str = ""


@dataclass
class Branch:
    """One branch as the disk has it."""

    state: State
    rows: list[Row] = field(default_factory=list[Row])
    """Its own; its ancestors' are theirs."""
    parent: int | None = None
    fork_position: int = 0


class Mirror:
    """One journal as the disk has it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.branches: dict[int, Branch] = {1: Branch(State(branch=BranchId(1)))}
        self.tracks: dict[tuple[int, str], Track] = {}
        """By branch and capture."""
        self.confirmed: set[str] = set()
        self.withdrawn: set[str] = set()

    def begin(self, branch: int, parent: int, position: int) -> None:
        inherited = fold(self.history(parent, position), State(branch=BranchId(parent)))
        self.branches[branch] = Branch(inherited, [], parent, position)

    def history(self, branch: int, at: int) -> list[Row]:
        kept = self.branches[branch]
        own = [row for row in kept.rows if row.position <= at]
        if kept.parent is None:
            return own
        return [*self.history(kept.parent, min(at, kept.fork_position)), *own]

    @property
    def rows(self) -> int:
        return sum(len(branch.rows) for branch in self.branches.values())


class Truth:
    """The auditor with the advantage of having seen everything."""

    def __init__(self, world: World, memory: Memory, processes: Sequence[TauProcess]) -> None:
        self.world = world
        self.memory = memory
        self.processes = processes
        self.journals: dict[str, Mirror] = {}
        self.unsent: set[tuple[str, int]] = set()
        self.accepted_by_person: set[str] = set()
        self.mirrored: set[str] = set()
        """Confirmed by a journal that was lost."""
        self._compared: dict[tuple[str, int], State] = {}
        self._heard: dict[int, int] = {}
        self._read: dict[str, int] = {}
        self.files: dict[str, SessionFile] = {}

    # -- after every step ----------------------------------------------------

    def step(self) -> None:
        while self.memory.received:
            self._arrived(self.memory.received.pop())
        self._one_note_each()
        for process in self.processes:
            if process.alive:
                self._live_is_replayed(process)
                self._nothing_false_was_said(process)
        for file in self.files.values():
            self._only_confirmed_is_mirrored(file)

    def _arrived(self, sent: Sent) -> None:
        """Promises 1 and 2, at the moment the bytes are there: the intent is on the disk, and was not used before."""
        identity = sent.identity[0]
        intents = [intent for path in self.journals for intent in _intents(path) if intent.capture_id == identity]
        if not intents:
            self.world.fail(f"write {identity[:8]} arrived without its intent on disk")
            return
        intent = max(intents, key=lambda one: one.attempt)
        sent.attempt = intent.attempt
        earlier = [one for one in self.memory.sent if one is not sent and not one.forgotten]
        if any(one.identity == sent.identity and one.attempt == sent.attempt for one in earlier):
            self.world.fail(f"attempt {intent.attempt} of {identity[:8]} was sent twice")
        if (identity, intent.attempt) in self.unsent:
            self.world.fail(f"attempt {intent.attempt} of {identity[:8]} was sent after it was recorded as not sent")
        if sent.path != intent.address.file_path or sent.arguments["overwrite"] is not False:
            self.world.fail(f"write {identity[:8]} is not what was intended")
        writers = {p.writer.writer for p in self.processes if p.number == sent.actor}
        if intent.writer not in writers:
            self.world.fail(f"write {identity[:8]} was sent by another process than its intent's")

    def _one_note_each(self) -> None:
        """Never two notes of ours for one capture."""
        ours = [note.identity for note in self.memory.notes.all if note.maker == "machine" and note.identity[0]]
        if len(set(ours)) < len(ours):
            self.world.fail("there are two notes of ours for one capture")

    def _live_is_replayed(self, process: TauProcess) -> None:
        """Promise 4: what the live process believes is the fold of what the disk has."""
        for session in process.sessions.values():
            ledger = session.desk.ledger
            if ledger is None or str(ledger.path) not in self.journals:
                continue
            mirror = self.journals[str(ledger.path)]
            for number, live in ledger.states.items():
                if self._compared.get((mirror.path, number)) is not live and number in mirror.branches:
                    self._compare(mirror, number, live)

    def _compare(self, mirror: Mirror, number: BranchId, live: State) -> None:
        replayed = mirror.branches[number].state
        if live.position > replayed.position:
            self.world.fail(f"branch {number} is live at {live.position} and on disk at {replayed.position}")
        if live.position == replayed.position:
            self._compared[mirror.path, number] = live
            if live != replayed:
                self.world.fail(f"branch {number} is not what its replay gives at {live.position}")

    def _nothing_false_was_said(self, process: TauProcess) -> None:
        """Promise 3 in words: saved is said only of what a server answered for."""
        said = process.voice.said
        for topic, text in said[self._heard.get(process.number, 0) :]:
            if topic.startswith("save:") and text.startswith("Checkpoint saved: "):
                path = text.removeprefix("Checkpoint saved: ").partition(" (")[0]
                if not any(_accepted(sent) and sent.said and sent.said.file_path == path for sent in self.memory.sent):
                    self.world.fail(f"the person was told that {path} was saved")
        self._heard[process.number] = len(said)
        if (process.link.error or "").startswith("unforeseen"):
            self.world.fail(f"the link met something nobody foresaw: {process.link.error}")

    def _only_confirmed_is_mirrored(self, file: SessionFile) -> None:
        if self._read.get(file.id, 0) == len(file.entries):
            return
        for entry in list(file.entries.values())[self._read.get(file.id, 0) :]:
            identity = str(entry.data.get("capture_id"))
            confirmed = self.mirrored.union(*(mirror.confirmed for mirror in self.journals.values()))
            if entry.kind == "receipt" and identity not in confirmed:
                self.world.fail(f"a receipt of {identity[:8]} was mirrored unconfirmed")
        self._read[file.id] = len(file.entries)

    def lost(self, path: str) -> None:
        """A journal is gone, and with it the account of what it sent."""
        for suffix in ("", "-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        self.world.off_the_record.clear()  # that they were is what the journal knew
        mirror = self.journals.pop(path)
        captures = {capture_id for _, capture_id in mirror.tracks}
        self.memory.forget(captures)
        self.unsent = {(capture_id, attempt) for capture_id, attempt in self.unsent if capture_id not in captures}
        self._compared = {place: state for place, state in self._compared.items() if place[0] != path}
        self.mirrored |= mirror.confirmed

    # -- after every commit --------------------------------------------------

    def committed(self, actor: Actor, written: Written) -> None:
        """Follow what a disk took."""
        mirror = self.journals.setdefault(written.path, Mirror(written.path))
        for branch, parent, position, _ in written.branches:
            mirror.begin(branch, parent, position)
        for stored in written.rows:
            row = _row(stored)
            branch = mirror.branches[row.branch]
            before = branch.state
            branch.state = evolve(before, row)
            branch.rows.append(row)
            self.world.tell(
                f"row {Path(mirror.path).stem} {row.branch}@{row.position} {_brief(row.event)} by {actor.number}"
            )
            self.world.counts[f"event {stored[5]}"] += 1
            self._track(mirror, row)
            self._moved(mirror, row, before, branch.state)

    def _moved(self, mirror: Mirror, row: Row, before: State, after: State) -> None:
        """What the state may do at this event, whatever it did."""
        event = row.event
        if isinstance(event, BranchForked):
            if after.captures or after.gathered.tip is not None or after.checkpoint != before.checkpoint:
                self.world.fail("a fork inherited owed work, or lost a receipt")
            return
        kept = {capture.capture_id for capture in after.captures}
        for capture in before.captures:
            left = mirror.tracks[row.branch, capture.capture_id].status
            held = left in ("lost", "refused") and _later(after.checkpoint, capture)
            if capture.capture_id not in kept and left not in _SETTLED and not held:
                self.world.fail(f"{capture.capture_id[:8]} was forgotten at {type(event).__name__}")
        self._checkpoint(row, before.checkpoint, after.checkpoint)
        if isinstance(event, ReceiptAdopted) and event.capture_id not in {one.capture_id for one in before.captures}:
            self._deeper(event, before.checkpoint)
        for capture in after.captures:
            track = mirror.tracks.get((row.branch, capture.capture_id))
            if track is None or track.status != capture.status:
                known = track.status if track else "unknown here"
                self.world.fail(f"{capture.capture_id[:8]} counts as {capture.status}, and it is {known}")

    def _checkpoint(self, row: Row, before: Capture | None, after: Capture | None) -> None:
        if after is None or (before is not None and before.capture_id == after.capture_id):
            if after is None and before is not None and not isinstance(row.event, NoteWithdrawn):
                self.world.fail("the current checkpoint was dropped")
            return
        if before is not None and before.begun_position > after.begun_position:
            self.world.fail("an older checkpoint became the current one")
        identity = (str(after.capture_id), str(after.source_tip))
        if after.evidence == "answered" and not self._answered(identity):
            self.world.fail(f"{identity[0][:8]} is confirmed as answered, and no server answered so")
        seen = self.memory.read | self.accepted_by_person
        if after.evidence in ("read", "indexed", "on_disk") and after.capture_id not in seen:
            self.world.fail(f"{identity[0][:8]} is confirmed as read, and was never read")

    def _deeper(self, event: ReceiptAdopted, before: Capture | None) -> None:
        """A receipt from elsewhere takes the place of one that lies before it on the path, and of no other."""
        tip = before.source_tip if before is not None else None
        over = (file.path(tip) for file in self.files.values() if tip in file.entries)
        if any(entry.id == event.source_tip for path in over for entry in path):
            self._fail(event.capture_id, "was adopted, and lies no deeper than what was known")

    def _answered(self, identity: Identity) -> bool:
        return any(sent.identity == identity and _accepted(sent) for sent in self.memory.sent)

    # -- a second account of every write -------------------------------------

    def _track(self, mirror: Mirror, row: Row) -> None:
        event = row.event
        place = (row.branch, str(getattr(event, "capture_id", "")))
        match event:
            case CaptureBegun():
                if place in mirror.tracks:
                    self._fail(event.capture_id, "was begun twice")
                mirror.tracks[place] = Track((str(event.capture_id), str(event.source_tip)), row.branch)
            case SessionOpened():
                self._only_the_dead(event)
                for track in mirror.tracks.values():
                    if (track.branch, track.status) == (row.branch, "intended") and track.writer in event.writers_ended:
                        track.status = "in_doubt"
            case ReceiptAdopted():
                self._adopted(mirror, row, event)
            case CheckpointReferenced():
                if event.capture_id not in mirror.confirmed:
                    self._fail(event.capture_id, "was referenced unconfirmed")
            case _ if place in mirror.tracks:
                self._follow(mirror, mirror.tracks[place], event)
            case WriteIntended():
                self._fail(event.capture_id, "was intended on a branch that did not begin it")
            case CaptureProbed() | NoteWithdrawn():
                self._follow(mirror, self._inherited(mirror, row, event.capture_id), event)
            case _:
                pass

    def _inherited(self, mirror: Mirror, row: Row, capture_id: str) -> Track:
        """A confirmed capture of an ancestor's, or one that was adopted: it is read here and never written."""
        checkpoint = mirror.branches[row.branch].state.checkpoint
        tips = [str(checkpoint.source_tip)] if checkpoint is not None and checkpoint.capture_id == capture_id else []
        tips += [track.identity[1] for track in mirror.tracks.values() if track.identity[0] == capture_id]
        return Track((capture_id, tips[0] if tips else ""), row.branch, "confirmed")

    def _only_the_dead(self, event: SessionOpened) -> None:
        living = {process.writer.writer for process in self.processes if process.alive}
        if living.intersection(event.writers_ended):
            self.world.fail("a living writer was declared ended")

    def _follow(self, mirror: Mirror, track: Track, event: Event) -> None:
        match event:
            case SynthesisFinished():
                track.status = "ready"
            case CaptureSuperseded():
                if track.status != "ready":
                    self._fail(track.identity[0], f"was superseded while {track.status}")
                track.status = "superseded"
            case WriteIntended():
                self._intended(track, event)
            case WriteAnswered():
                self._told(mirror, track, event)
            case CaptureProbed():
                self._probed(mirror, track, event)
            case CaptureResolved():
                self._resolved(mirror, track, event)
            case NoteWithdrawn():
                mirror.withdrawn.add(track.identity[0])
                if any(note.maker == "machine" for note in self.memory.notes.bearing(track.identity)):
                    self._fail(track.identity[0], "counts as withdrawn, and is there")
            case _:
                pass

    def _intended(self, track: Track, event: WriteIntended) -> None:
        if track.status != "ready":
            self._fail(track.identity[0], f"was submitted again while {track.status}")
        if event.attempt <= track.attempt:
            self._fail(track.identity[0], f"has attempt {event.attempt} after {track.attempt}")
        if self._there_or_coming(track.identity):
            self._fail(track.identity[0], "was submitted again, and an earlier attempt is there or may still land")
        track.status, track.attempt, track.writer = "intended", event.attempt, event.writer

    def _told(self, mirror: Mirror, track: Track, event: WriteAnswered) -> None:
        if track.status != "intended" or event.attempt != track.attempt:
            self._fail(track.identity[0], f"took an answer to attempt {event.attempt} while {track.status}")
            return
        self.world.counts[f"outcome {event.outcome}"] += 1
        sent = self._sent(track)
        said = sent.said if sent is not None else None
        match event.outcome:
            case "accepted":
                self._confirm(mirror, track)
                if said is None or said.outcome != "accepted" or said.file_path != event.file_path:
                    self._fail(track.identity[0], "counts as accepted, and no server said so")
            case "refused":
                track.status = "refused"
                if sent is None or sent.landed is not None or self.memory.may_land(sent):
                    self._fail(track.identity[0], "counts as refused, and is there or may still land")
            case "unknown":
                track.status = "in_doubt"
            case "not-sent":
                track.status = "ready"
                self.unsent.add((track.identity[0], track.attempt))
                if sent is not None:
                    self._fail(track.identity[0], "counts as not sent, and it was")

    def _probed(self, mirror: Mirror, track: Track, event: CaptureProbed) -> None:
        self.world.counts[f"verdict {event.verdict} of {track.status}"] += 1
        if event.verdict in _PRESENT and track.identity not in self.memory.notes.ever:
            self._fail(track.identity[0], f"counts as {event.verdict}, and never existed")
        if event.verdict == "absent_final" and self._there_or_coming(track.identity):
            self._fail(track.identity[0], "counts as finally absent, and is there or may still land")
        if track.status not in ("intended", "in_doubt", "conflicted", "lost"):
            return
        if event.verdict in _PRESENT:
            self._confirm(mirror, track)
        elif event.verdict == "conflicted":
            track.status = "conflicted"
        elif event.verdict == "absent_final":
            track.status = "lost"

    def _resolved(self, mirror: Mirror, track: Track, event: CaptureResolved) -> None:
        self.world.counts[f"resolved {event.decision}"] += 1
        match event.decision:
            case "accept":
                self.accepted_by_person.add(track.identity[0])
                self._confirm(mirror, track)
            case "abandon":
                track.status = "abandoned"
            case "rewrite":
                if track.status not in ("lost", "refused"):
                    self._fail(track.identity[0], f"is to be written again while {track.status}")
                track.status = "ready"

    def _adopted(self, mirror: Mirror, row: Row, event: ReceiptAdopted) -> None:
        identity = (str(event.capture_id), str(event.source_tip))
        known = identity in self.memory.notes.ever or self._answered(identity)
        if not known and event.capture_id not in self.accepted_by_person:
            self._fail(event.capture_id, "was adopted, and never existed")
        self.world.counts[f"adopted {event.origin}"] += 1
        if event.origin == "sibling" and event.capture_id not in mirror.confirmed:
            self._fail(event.capture_id, "was adopted from a sibling that does not know it as stored")
        track = mirror.tracks.get((row.branch, event.capture_id))
        if track is not None:
            self._confirm(mirror, track)
        elif event.capture_id in mirror.withdrawn:
            self._fail(event.capture_id, "was adopted, and was proven to be gone")
        mirror.confirmed.add(event.capture_id)

    def _confirm(self, mirror: Mirror, track: Track) -> None:
        track.status = "confirmed"
        mirror.confirmed.add(track.identity[0])

    def _sent(self, track: Track) -> Sent | None:
        """What was sent for the attempt under way."""
        for sent in self.memory.sent:
            if not sent.forgotten and sent.identity == track.identity and sent.attempt == track.attempt:
                return sent
        return None

    def _there_or_coming(self, identity: Identity) -> bool:
        ours = any(note.maker == "machine" for note in self.memory.notes.bearing(identity))
        own = (sent for sent in self.memory.sent if sent.identity == identity and not sent.forgotten)
        return ours or any(self.memory.may_land(sent) for sent in own)

    def _fail(self, capture_id: str, what: str) -> None:
        self.world.fail(f"{capture_id[:8]} {what}")


_SETTLED = ("confirmed", "superseded", "abandoned")


def _later(checkpoint: Capture | None, capture: Capture) -> bool:
    """Whether `checkpoint` was begun later: it holds what the capture held."""
    return checkpoint is not None and checkpoint.begun_position > capture.begun_position


def _brief(event: Event) -> str:
    """What a trace shows of an event."""
    words = [str(getattr(event, name, ""))[:12] for name in ("capture_id", "attempt", "outcome", "verdict", "decision")]
    return " ".join([type(event).__name__, *filter(None, words)])


def _accepted(sent: Sent) -> bool:
    return sent.said is not None and sent.said.outcome == "accepted"


def _row(stored: tuple[Any, ...]) -> Row:
    branch, position, at_ms, tip, cause, type_, payload, digest = stored
    return Row(
        event=codec.decode(type_, payload),
        branch=branch,
        position=position,
        at_ms=at_ms,
        tip=unpack_tip(tip),
        cause=None if cause is None else Sha256(cause.hex()),
        digest=Sha256(digest.hex()),
    )


def _intents(path: str) -> list[WriteIntended]:
    """Every intent that another process would find on the disk now."""
    with closing(sqlite3.connect(uri(Path(path), "mode=ro"), uri=True)) as reader:
        found = reader.execute("SELECT type, payload FROM events WHERE type GLOB 'write-intended.*'").fetchall()
    return [cast("WriteIntended", codec.decode(type_, payload)) for type_, payload in found]
