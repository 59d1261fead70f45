"""The state after a row: one small pure function per event. It neither raises nor judges, and accepts all history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import cast

from msgspec.structs import replace

from continuity.state import State
from continuity.steps import captures, recalls, sessions, transcripts, writes
from journal.events import (
    BasisTaken,
    BodiesErased,
    BranchForked,
    BriefDelivered,
    CaptureBegun,
    CaptureProbed,
    CaptureRequested,
    CaptureResolved,
    CaptureSuperseded,
    CheckpointReferenced,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    Event,
    Gap,
    Hold,
    JournalImported,
    JournalSalvaged,
    MemoryConnected,
    MemoryLost,
    NoteEdited,
    NoteMoved,
    NoteWithdrawn,
    OperationFailed,
    Paused,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    ReceiptAdopted,
    Resumed,
    SessionClosed,
    SessionOpened,
    SynthesisAdvanced,
    SynthesisFailed,
    SynthesisFinished,
    TipsMapped,
    ToolAnswered,
    ToolCalled,
    ToolResolved,
    TranscriptPassed,
    WorkBegun,
    WorkSettled,
    WriteAnswered,
    WriteIntended,
)
from journal.row import Row

type Step[E] = Callable[[State, Row, E], State]


def evolve(state: State, row: Row) -> State:
    """Return the state after `row` (event, position, time, tip). Pure, and total over `Event`."""
    after = STEPS[type(row.event)](state, row, row.event)
    return replace(
        after,
        branch=row.branch,
        position=row.position,
        digest=row.digest,
        tip=row.tip if row.tip is not None else after.tip,
    )


def fold(rows: Iterable[Row], state: State | None = None) -> State:
    """Return the state after all `rows`, from the empty state or from `state`."""
    current = State() if state is None else state
    for row in rows:
        current = evolve(current, row)
    return current


def _unchanged(state: State, row: Row, event: Event) -> State:
    """Recorded for people and for the audit; no decision depends on it."""
    return state


STEPS: dict[type[Event], Step[Event]] = cast(
    "dict[type[Event], Step[Event]]",
    {
        SessionOpened: sessions.session_opened,
        SessionClosed: sessions.session_closed,
        BranchForked: sessions.branch_forked,
        TipsMapped: sessions.tips_mapped,
        WorkBegun: transcripts.work_begun,
        WorkSettled: sessions.work_settled,
        CompactionStarted: _unchanged,
        CompactionEnded: sessions.compaction_ended,
        CompactionNoticed: sessions.compaction_noticed,
        MemoryConnected: sessions.memory_connected,
        MemoryLost: sessions.memory_lost,
        Paused: sessions.paused,
        Resumed: sessions.resumed,
        CaptureRequested: captures.capture_requested,
        CaptureBegun: captures.capture_begun,
        SynthesisAdvanced: captures.synthesis_advanced,
        SynthesisFinished: captures.synthesis_finished,
        SynthesisFailed: captures.synthesis_failed,
        BasisTaken: captures.basis_taken,
        CaptureSuperseded: captures.capture_superseded,
        TranscriptPassed: transcripts.transcript_passed,
        WriteIntended: writes.write_intended,
        WriteAnswered: writes.write_answered,
        CaptureProbed: writes.capture_probed,
        ReceiptAdopted: writes.receipt_adopted,
        NoteMoved: writes.note_moved,
        NoteEdited: writes.note_edited,
        NoteWithdrawn: writes.note_withdrawn,
        CaptureResolved: writes.capture_resolved,
        RecallPlanned: recalls.recall_planned,
        RecallAnswered: recalls.recall_answered,
        RecallFailed: recalls.recall_failed,
        BriefDelivered: recalls.brief_delivered,
        CheckpointReferenced: _unchanged,
        ToolCalled: recalls.tool_called,
        ToolAnswered: recalls.tool_answered,
        ToolResolved: recalls.tool_resolved,
        OperationFailed: _unchanged,
        Gap: _unchanged,
        BodiesErased: _unchanged,
        Hold: _unchanged,
        JournalSalvaged: _unchanged,
        JournalImported: _unchanged,
    },
)
"""One step per event class; a test proves it total over the union."""
