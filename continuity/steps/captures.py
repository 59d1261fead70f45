"""How a capture proceeds until its intent: requested, begun, synthesised, failed, superseded."""

from __future__ import annotations

from msgspec.structs import replace

from continuity.state import Capture, Gathered, Handoff, Progress, State
from continuity.steps.transcripts import reached
from journal.events import (
    BasisTaken,
    CaptureBegun,
    CaptureRequested,
    CaptureSuperseded,
    SynthesisAdvanced,
    SynthesisFailed,
    SynthesisFinished,
)
from journal.ids import CaptureId
from journal.row import Row


def put(state: State, capture: Capture) -> State:
    """Put `capture` in the place of the one with its identity, or at the end."""
    others = tuple(c for c in state.captures if c.capture_id != capture.capture_id)
    if len(others) == len(state.captures):
        return replace(state, captures=(*others, capture))
    same = (capture if c.capture_id == capture.capture_id else c for c in state.captures)
    return replace(state, captures=tuple(same))


def removed(state: State, capture_id: CaptureId) -> State:
    """The state without this live capture."""
    return replace(state, captures=tuple(c for c in state.captures if c.capture_id != capture_id))


def doubted(capture: Capture) -> Capture:
    """The capture with its outcome open and its reads counted anew."""
    return replace(capture, status="in_doubt", probes=0, probed_ms=0)


def capture_requested(state: State, row: Row, event: CaptureRequested) -> State:
    """With nothing gathered it is about the checkpoint that the model failed to make, and that waits no longer."""
    had = state.gathered
    gathered = replace(had, owed=event.reason, focus_sha256=event.focus_sha256) if had.tip is not None else had
    captures = tuple(_hurried(c, event) for c in state.captures) if event.reason == "command" else state.captures
    return replace(state, gathered=gathered, captures=captures)


def _hurried(capture: Capture, event: CaptureRequested) -> Capture:
    if capture.status != "begun" or not capture.failures:
        return capture
    return replace(capture, failures=0, focus_sha256=event.focus_sha256 or capture.focus_sha256)


def capture_begun(state: State, row: Row, event: CaptureBegun) -> State:
    begun = Capture(
        capture_id=event.capture_id,
        attempt=event.attempt,
        kind=event.kind,
        project=event.project,
        source_tip=event.source_tip,
        status="begun",
        begun_ms=row.at_ms,
        begun_position=row.position,
        reason=event.reason,
        prior_sha256=event.prior_sha256,
        prior_tip=event.prior_tip,
        focus_sha256=event.focus_sha256,
    )
    after = put(state, begun)
    if event.kind == "transcript":
        return reached(after, event.source_tip)
    return replace(after, gathered=Gathered()) if event.kind == "checkpoint" else after


def synthesis_advanced(state: State, row: Row, event: SynthesisAdvanced) -> State:
    capture = state.live(event.capture_id)
    if capture is None or capture.status != "begun":
        return state
    progress = Progress(event.through_entry, event.through_offset, event.handoff_sha256, event.chunks)
    return put(state, replace(capture, progress=progress, failures=0))


def synthesis_finished(state: State, row: Row, event: SynthesisFinished) -> State:
    capture = state.live(event.capture_id)
    if capture is None or capture.status != "begun":
        return state
    ready = replace(capture, status="ready", handoff_sha256=event.handoff_sha256, failures=0)
    after = put(state, ready)
    if capture.kind != "checkpoint":
        return after
    basis = Handoff(event.handoff_sha256, capture.source_tip, capture.capture_id)
    return replace(after, handoff=basis)


def synthesis_failed(state: State, row: Row, event: SynthesisFailed) -> State:
    """A handoff that was finished and is gone is made anew, from the root: nothing of it can be trusted to be there.

    What no model made cannot be made anew.
    """
    capture = state.live(event.capture_id)
    if capture is None:
        return state
    if capture.kind != "checkpoint":
        return removed(state, capture.capture_id)
    failed = replace(capture, failures=capture.failures + 1, failed_ms=row.at_ms, code=event.error)
    if capture.status == "ready":
        failed = replace(failed, status="begun", progress=None, handoff_sha256=None)
    return put(state, failed)


def basis_taken(state: State, row: Row, event: BasisTaken) -> State:
    return replace(state, handoff=Handoff(event.handoff_sha256, event.source_tip, event.capture_id))


def capture_superseded(state: State, row: Row, event: CaptureSuperseded) -> State:
    return removed(state, event.capture_id)
