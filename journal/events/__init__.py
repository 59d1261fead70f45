"""The closed set of facts a journal can hold; a new one is added here and nowhere else."""

from __future__ import annotations

from journal.events.base import Fact
from journal.events.bridge import ToolAnswered, ToolCalled, ToolResolved
from journal.events.capture import (
    BasisTaken,
    CaptureBegun,
    CaptureRequested,
    CaptureSuperseded,
    SynthesisAdvanced,
    SynthesisFailed,
    SynthesisFinished,
    TranscriptPassed,
)
from journal.events.keeping import (
    BodiesErased,
    Gap,
    Hold,
    JournalImported,
    JournalSalvaged,
    OperationFailed,
)
from journal.events.lifecycle import (
    BranchForked,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    MemoryConnected,
    MemoryLost,
    Paused,
    Resumed,
    SessionClosed,
    SessionOpened,
    TipsMapped,
    WorkBegun,
    WorkSettled,
)
from journal.events.recall import (
    BriefDelivered,
    CheckpointReferenced,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
)
from journal.events.writes import (
    CaptureProbed,
    CaptureResolved,
    NoteEdited,
    NoteMoved,
    NoteWithdrawn,
    ReceiptAdopted,
    WriteAnswered,
    WriteIntended,
)

Event = (
    SessionOpened
    | SessionClosed
    | BranchForked
    | TipsMapped
    | WorkBegun
    | WorkSettled
    | CompactionStarted
    | CompactionEnded
    | CompactionNoticed
    | MemoryConnected
    | MemoryLost
    | Paused
    | Resumed
    | CaptureRequested
    | CaptureBegun
    | SynthesisAdvanced
    | SynthesisFinished
    | SynthesisFailed
    | BasisTaken
    | TranscriptPassed
    | CaptureSuperseded
    | WriteIntended
    | WriteAnswered
    | CaptureProbed
    | ReceiptAdopted
    | NoteMoved
    | NoteEdited
    | NoteWithdrawn
    | CaptureResolved
    | RecallPlanned
    | RecallAnswered
    | BriefDelivered
    | CheckpointReferenced
    | RecallFailed
    | ToolCalled
    | ToolAnswered
    | ToolResolved
    | OperationFailed
    | Gap
    | BodiesErased
    | Hold
    | JournalSalvaged
    | JournalImported
)
"""Every event of every family; `match` over it ends in `assert_never`."""

EVENT_TYPES: tuple[type[Event], ...] = Event.__args__
"""The classes of the union, in its order."""

__all__ = [
    "EVENT_TYPES",
    "BasisTaken",
    "BodiesErased",
    "BranchForked",
    "BriefDelivered",
    "CaptureBegun",
    "CaptureProbed",
    "CaptureRequested",
    "CaptureResolved",
    "CaptureSuperseded",
    "CheckpointReferenced",
    "CompactionEnded",
    "CompactionNoticed",
    "CompactionStarted",
    "Event",
    "Fact",
    "Gap",
    "Hold",
    "JournalImported",
    "JournalSalvaged",
    "MemoryConnected",
    "MemoryLost",
    "NoteEdited",
    "NoteMoved",
    "NoteWithdrawn",
    "OperationFailed",
    "Paused",
    "RecallAnswered",
    "RecallFailed",
    "RecallPlanned",
    "ReceiptAdopted",
    "Resumed",
    "SessionClosed",
    "SessionOpened",
    "SynthesisAdvanced",
    "SynthesisFailed",
    "SynthesisFinished",
    "TipsMapped",
    "ToolAnswered",
    "ToolCalled",
    "ToolResolved",
    "TranscriptPassed",
    "WorkBegun",
    "WorkSettled",
    "WriteAnswered",
    "WriteIntended",
]
