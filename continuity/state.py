"""What a branch's history amounts to: only what decisions need. It holds no rule; lists for people are projections."""

from __future__ import annotations

from typing import Literal

import msgspec

from journal.events import CaptureProbed, MemoryConnected, SessionOpened, WriteIntended
from journal.events.capture import CaptureKind
from journal.events.writes import Observation, Verdict
from journal.ids import BranchId, CallId, CaptureId, EntryId, ProjectName, Sha256, WriterId

type Status = Literal[
    "begun",
    "ready",
    "intended",
    "in_doubt",
    "confirmed",
    "refused",
    "conflicted",
    "lost",
    "withdrawn",
    "abandoned",
    "superseded",
]
type Evidence = Literal["answered", "read", "on_disk", "indexed", "adopted"]

RUNGS: tuple[Evidence, ...] = ("answered", "adopted", "read", "on_disk", "indexed")
"""Evidence from the least to the most; a later read never takes a rung away."""

PENDING: frozenset[Status] = frozenset({"intended", "in_doubt", "conflicted"})
"""Statuses of a write whose outcome somebody still has to find out."""


OWED: frozenset[Status] = frozenset({"begun", "ready", "intended", "in_doubt"})
"""Statuses of what is to be stored and is not known to be."""


class Progress(msgspec.Struct, frozen=True):
    """How far the synthesis of one capture has read."""

    through_entry: EntryId
    through_offset: int
    handoff_sha256: Sha256
    chunks: int


class Intent(msgspec.Struct, frozen=True):
    """The latest intent of a capture, when it was recorded, and the server it was sent through."""

    event: WriteIntended
    at_ms: int
    server: MemoryConnected | None


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """One capture as far as it got."""

    capture_id: CaptureId
    attempt: int
    kind: CaptureKind
    project: ProjectName
    source_tip: EntryId
    status: Status
    begun_ms: int
    begun_position: int
    reason: str
    prior_sha256: Sha256 | None = None
    prior_tip: EntryId | None = None
    focus_sha256: Sha256 | None = None
    progress: Progress | None = None
    handoff_sha256: Sha256 | None = None
    failures: int = 0
    failed_ms: int = 0
    intent: Intent | None = None
    code: str | None = None
    probes: int = 0
    probed_ms: int = 0
    verdict: Verdict | None = None
    file_path: str | None = None
    permalink: str | None = None
    checksum: str | None = None
    content_sha256: Sha256 | None = None
    evidence: Evidence | None = None
    moved: bool = False
    edited: bool = False
    intended_position: int = 0
    """Of the newest intent."""
    metadata_sha256: Sha256 | None = None
    """Of the newest intent, from which it is told how the note was filed; also once a person wants it sent again."""

    @property
    def path(self) -> str | None:
        """Where the note is: the path returned, else the address asked for."""
        if self.file_path is not None or self.intent is None:
            return self.file_path
        return self.intent.event.address.file_path

    @property
    def decided(self) -> bool:
        """A person wants it sent again, and nobody has begun to; nothing else leaves a later attempt without an intent."""
        return self.status == "ready" and self.intent is None and self.attempt > 1

    @property
    def accepted(self) -> bool:
        """Confirmed by a person alone: what was read there was a conflict, and nothing has settled it since."""
        return self.status == "confirmed" and self.verdict == "conflicted"


class Handoff(msgspec.Struct, frozen=True):
    """The newest finished handoff of the branch: the basis of the next synthesis, written or not."""

    sha256: Sha256
    tip: EntryId
    capture_id: CaptureId


class Gathered(msgspec.Struct, frozen=True):
    """Public messages settled since the newest capture began."""

    tip: EntryId | None = None
    messages: int = 0
    characters: int = 0
    since_ms: int = 0
    unanswered: bool = False
    """The newest turn brought no answer: nothing is asked of a model on the cadence's account before one does."""
    owed: str | None = None
    """Why they are due now, whatever the cadence: a compaction, a person's command."""
    focus_sha256: Sha256 | None = None


class Recall(msgspec.Struct, frozen=True):
    """What the branch owes its next prompt, and what it last gave."""

    due: str | None = None
    planned: bool = False
    """The queries for what is due were planned by the present writer."""
    brief_sha256: Sha256 | None = None
    delivered_ms: int = 0
    rounds: int = 0
    """Rounds of questions in a row that nobody answered."""
    asked_ms: int = 0
    failures: tuple[str, ...] = ()


class Span(msgspec.Struct, frozen=True):
    """A stretch off the record: what was said after one public message, through another."""

    after: EntryId | None
    """None when nothing had been said."""
    through: EntryId | None = None
    """None while it lasts."""


class Transcript(msgspec.Struct, frozen=True):
    """Which public messages a transcript note is owed for; messages are told apart by their ids alone, oldest first."""

    first: EntryId
    """The prompt that came first since transcripts were switched on: nothing before it is anybody's business."""
    through: EntryId | None = None
    """The newest one dealt with: begun, or passed by."""
    until: EntryId | None = None
    """The newest one that was settled on the record."""

    @property
    def owes(self) -> bool:
        """There are messages nothing was decided of."""
        return self.until is not None and self.until != self.through


class Source(msgspec.Struct, frozen=True):
    """A transcript note that is stored, and that no checkpoint names yet."""

    address: str
    position: int
    """Of the row that proved it."""


class OpenCall(msgspec.Struct, frozen=True):
    """A forwarded tool call whose outcome is not known."""

    call_id: CallId
    name: str
    writer: WriterId
    since_ms: int
    unknown: bool = False


class State(msgspec.Struct, frozen=True, kw_only=True):
    """One branch after a row: what `decide` and `due` need. Nothing but `off` grows with the session, by its pauses."""

    branch: BranchId = BranchId(0)
    position: int = 0
    digest: Sha256 | None = None
    tip: EntryId | None = None
    opened: SessionOpened | None = None
    closed: bool = True
    paused: bool = False
    paused_ms: int = 0
    """Since when, while it is."""
    off: tuple[Span, ...] = ()
    """What is off the record, oldest first; the last one lasts still while paused. At most one a message paused at."""
    settled_tip: EntryId | None = None
    gathered: Gathered = Gathered()
    captures: tuple[Capture, ...] = ()
    """Captures that are not settled for good, oldest first."""
    checkpoint: Capture | None = None
    """The newest confirmed checkpoint."""
    noted: Capture | None = None
    """The note that was confirmed last; it is no checkpoint, and nothing is built on it."""
    transcript: Transcript | None = None
    """None where no transcript notes are made, and before the first prompt since they are."""
    sources: tuple[Source, ...] = ()
    """Transcript notes that the next checkpoint names, oldest first; of very many the newest."""
    handoff: Handoff | None = None
    connection: MemoryConnected | None = None
    compactions: frozenset[EntryId] = frozenset()
    """Those that nobody announced and that were noticed; a path may hold several, and forget the newest of them."""
    recall: Recall = Recall()
    calls: tuple[OpenCall, ...] = ()

    def live(self, capture_id: CaptureId) -> Capture | None:
        """The capture with this identity that is not settled for good."""
        return next((c for c in self.captures if c.capture_id == capture_id), None)

    def capture(self, capture_id: CaptureId) -> Capture | None:
        """The live capture with this identity, or the current checkpoint or newest note if it has it."""
        known = (self.live(capture_id), self.checkpoint, self.noted)
        return next((c for c in known if c is not None and c.capture_id == capture_id), None)

    @property
    def unsaved_tip(self) -> EntryId | None:
        """The newest tip whose knowledge is not known to be stored; None when nothing is owed."""
        owed = [c.source_tip for c in self.captures if c.kind == "checkpoint" and c.status in OWED]
        return self.gathered.tip or (owed[-1] if owed else None)

    @property
    def drained(self) -> bool:
        """Whether everything that was to be stored is known to be, or known not to be."""
        return self.unsaved_tip is None and not self.behind and all(c.status not in OWED for c in self.captures)

    @property
    def behind(self) -> bool:
        """Whether transcript notes are owed for messages of which none was begun."""
        return self.transcript is not None and self.transcript.owes

    @property
    def pending(self) -> tuple[Capture, ...]:
        """Captures whose remote outcome is open."""
        return tuple(c for c in self.captures if c.status in PENDING)


def is_ours(capture: Capture, seen: Observation) -> bool:
    """Tell whether what was read is this capture's note. Its id alone is not: a receipt may name another session's."""
    return seen.found == "note" and (seen.capture_id, seen.source_tip) == (capture.capture_id, capture.source_tip)


def our_note(capture: Capture, probed: CaptureProbed) -> Observation | None:
    """The read in `probed` that found this capture's note; the one with the body we know, if there are several."""
    ours = [seen for seen in probed.observations if is_ours(capture, seen)]
    same = [seen for seen in ours if seen.content_sha256 == capture.content_sha256]
    return next(iter(same or ours), None)
