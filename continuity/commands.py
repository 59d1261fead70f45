"""Requests to the machine, in the imperative. They carry what the shell saw; whether they are granted is `decide`'s."""

from __future__ import annotations

from typing import Literal

import msgspec

from journal.events import (
    BasisTaken,
    BriefDelivered,
    CheckpointReferenced,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    Gap,
    JournalImported,
    MemoryConnected,
    MemoryLost,
    OperationFailed,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    ReceiptAdopted,
    SynthesisAdvanced,
    SynthesisFailed,
    SynthesisFinished,
    TipsMapped,
    ToolAnswered,
    ToolCalled,
    TranscriptPassed,
    WorkBegun,
    WriteAnswered,
)
from journal.events.capture import CaptureKind
from journal.events.lifecycle import Level, OpenReason, PolicyValues, Process, Profile, ProjectSource
from journal.events.writes import Decision, NoteAddress, Observation, ServerState
from journal.ids import CallId, CaptureId, ConnectionId, EntryId, ProjectName, Sha256, WriterId


class CommandRejected(Exception):
    """The caller asked for what this state does not allow; nothing was decided and nothing is owed for it."""

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(f"{command}: {reason}")
        self.command = command
        self.reason = reason


class OpenSession(msgspec.Struct, frozen=True, kw_only=True):
    """Take over the journal after its lock was taken and its history replayed."""

    reason: OpenReason
    host: str
    version: str
    level: Level
    profile: Profile
    destination: ProjectName | None
    policy: PolicyValues
    writer: WriterId
    process: Process


class CloseSession(msgspec.Struct, frozen=True, kw_only=True):
    """Let go of the journal."""

    reason: str


class Fork(msgspec.Struct, frozen=True, kw_only=True):
    """Begin a branch, because the active path left this one. Decided on the parent's state at the fork point."""

    reason: str
    left_tip: EntryId | None


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """There are compactions on the path that nobody announced; `entries` are all there are, oldest first."""

    entries: tuple[EntryId, ...]


class Settle(msgspec.Struct, frozen=True, kw_only=True):
    """The agent came to rest, or was found at rest: `tip` is the newest public message on the path."""

    tip: EntryId
    messages: int
    characters: int
    interrupted: bool


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """Make what was gathered due now."""

    reason: str
    focus_sha256: Sha256 | None = None


class BeginCapture(msgspec.Struct, frozen=True, kw_only=True):
    """Begin the capture that is owed; `capture_id` is computed from project, session, kind and tip."""

    capture_id: CaptureId
    kind: CaptureKind
    project: ProjectName
    source_tip: EntryId
    reason: str
    text: SynthesisFinished | None = None
    """Given where no model makes the text, and only there: it is in bodies, so the capture is finished as it begins."""


class SubmitWrite(msgspec.Struct, frozen=True, kw_only=True):
    """Commit to sending a finished capture once, through the connection that is up."""

    capture_id: CaptureId
    address: NoteAddress
    content_sha256: Sha256
    note_type: str
    metadata_sha256: Sha256
    writer: WriterId
    connection: ConnectionId
    as_of: int | None = None
    """Position of the state that the body was made from, if it names transcript notes: it must name all of them."""


class RecordProbe(msgspec.Struct, frozen=True, kw_only=True):
    """Draw the verdict from reads that were made of a capture in this attempt and status; of a later one they say nothing."""

    capture_id: CaptureId
    attempt: int
    status: str
    connection: ConnectionId | None
    observations: tuple[Observation, ...]
    writing_server: ServerState
    project_source: ProjectSource
    index_proven: bool


class Adopt(msgspec.Struct, frozen=True, kw_only=True):
    """Take over a confirmed receipt: for what is open here, or as the checkpoint of this branch."""

    receipt: ReceiptAdopted
    over: CaptureId | None = None
    """The checkpoint here that lies before the receipt's tip on the active path, seen by whoever knows the path."""
    read: Observation | None = None
    """What was read of the note, if it was."""


class Resolve(msgspec.Struct, frozen=True, kw_only=True):
    """A person settles a capture: accept a note that was read, abandon, or write again where that is safe."""

    capture_id: CaptureId
    decision: Decision
    reason_sha256: Sha256


class ResolveCall(msgspec.Struct, frozen=True, kw_only=True):
    """A person settles a tool call of unknown outcome; it is never made again."""

    call_id: CallId
    decision: Literal["accept", "abandon"]
    reason_sha256: Sha256


class EraseBodies(msgspec.Struct, frozen=True, kw_only=True):
    """Erase kept texts; the rows that name them stay, and say by digest what they were."""

    digests: tuple[Sha256, ...]
    reason: str


class Pause(msgspec.Struct, frozen=True, kw_only=True):
    """Go off the record."""


class Resume(msgspec.Struct, frozen=True, kw_only=True):
    """Go back on the record."""

    doubted: bool = False
    """On the record already: what the path holds beyond the branch's tip may have been said off it, and is left out."""


type Observed = (
    WorkBegun
    | CompactionStarted
    | CompactionEnded
    | CompactionNoticed
    | TipsMapped
    | MemoryConnected
    | MemoryLost
    | SynthesisAdvanced
    | SynthesisFinished
    | SynthesisFailed
    | TranscriptPassed
    | WriteAnswered
    | BasisTaken
    | RecallPlanned
    | RecallAnswered
    | RecallFailed
    | BriefDelivered
    | CheckpointReferenced
    | ToolCalled
    | ToolAnswered
    | OperationFailed
    | Gap
    | JournalImported
)
"""Facts the shell may report; most are recorded as they are, a repeated or late one is not."""


class Observe(msgspec.Struct, frozen=True):
    """Record a fact the shell saw."""

    fact: Observed


type Command = (
    OpenSession
    | CloseSession
    | Fork
    | Notice
    | Settle
    | Request
    | BeginCapture
    | SubmitWrite
    | RecordProbe
    | Adopt
    | Resolve
    | ResolveCall
    | EraseBodies
    | Pause
    | Resume
    | Observe
)
