"""How a remote write proceeds: intended, answered, probed, adopted, resolved. A confirmed capture is never reopened."""

from __future__ import annotations

from typing import Literal, assert_never

from msgspec.structs import replace

from continuity.state import RUNGS, Capture, Evidence, Gathered, Intent, State, our_note
from continuity.steps.captures import doubted, put, removed
from continuity.steps.transcripts import named
from journal.events import (
    CaptureProbed,
    CaptureResolved,
    NoteEdited,
    NoteMoved,
    NoteWithdrawn,
    ReceiptAdopted,
    WriteAnswered,
    WriteIntended,
)
from journal.events.writes import Observation
from journal.ids import CaptureId
from journal.row import Row


def write_intended(state: State, row: Row, event: WriteIntended) -> State:
    capture = state.live(event.capture_id)
    if capture is None:
        return state
    intended = replace(
        capture,
        status="intended",
        attempt=event.attempt,
        intent=Intent(event, row.at_ms, state.connection),
        content_sha256=event.content_sha256,
        code=None,
        intended_position=row.position,
        metadata_sha256=event.metadata_sha256,
    )
    return put(state, intended)


def write_answered(state: State, row: Row, event: WriteAnswered) -> State:
    """A confirmed capture is no longer live here, so a late answer changes nothing."""
    capture = state.live(event.capture_id)
    if capture is None or capture.attempt != event.attempt or capture.status != "intended":
        return state
    answered = replace(
        capture,
        code=event.code,
        file_path=event.file_path,
        permalink=event.permalink,
        checksum=event.checksum,
    )
    match event.outcome:
        case "accepted":
            return _confirmed(state, replace(answered, evidence="answered"))
        case "refused":
            return put(state, replace(answered, status="refused"))
        case "unknown":
            return put(state, replace(doubted(capture), code=event.code, file_path=event.file_path))
        case "not-sent":
            return put(state, replace(capture, status="ready", code=event.code))
        case _:
            assert_never(event.outcome)


def _confirmed(state: State, capture: Capture) -> State:
    """Confirmed is final. An older checkpoint settled late never becomes the current one; a stored tip owes nothing.

    A handoff starts from the newest finished one, so a checkpoint holds what
    an earlier write that was not stored held: nobody need decide of that.
    """
    confirmed = replace(capture, status="confirmed")
    after = removed(state, capture.capture_id)
    if capture.kind != "checkpoint":
        return replace(after, noted=confirmed) if capture.kind == "note" else named(after, confirmed)
    current = state.checkpoint
    if current is not None and current.begun_position > capture.begun_position:
        return after
    owed = Gathered() if after.gathered.tip == confirmed.source_tip else after.gathered
    kept = tuple(c for c in after.captures if not _contained(c, confirmed))
    unnamed = tuple(source for source in after.sources if source.position > confirmed.intended_position)
    return replace(after, checkpoint=confirmed, gathered=owed, captures=kept, sources=unnamed)


def _contained(capture: Capture, checkpoint: Capture) -> bool:
    """Whether what is proven not to be stored is in a later checkpoint all the same: one made here, from its text."""
    settled = capture.status in ("lost", "refused") and capture.kind == "checkpoint"
    made_here = checkpoint.handoff_sha256 is not None
    return settled and made_here and capture.begun_position < checkpoint.begun_position


def capture_probed(state: State, row: Row, event: CaptureProbed) -> State:
    capture = state.live(event.capture_id)
    if capture is None:
        return _checked(state, event)
    if capture.status not in ("in_doubt", "intended", "conflicted", "lost", "refused"):
        return state
    probed = replace(capture, probes=capture.probes + 1, probed_ms=row.at_ms, verdict=event.verdict)
    match event.verdict:
        case "present_same" | "present_edited" | "present_twin":
            return _confirmed(state, _found(probed, event))
        case "conflicted":
            return put(state, replace(probed, status="conflicted"))
        case "absent_final":
            return put(state, replace(probed, status="lost"))
        case "absent_open" | "unreachable":
            return put(state, probed)
        case _:
            assert_never(event.verdict)


def _found(capture: Capture, event: CaptureProbed) -> Capture:
    """Take over where the note is and what of it was read."""
    seen = our_note(capture, event)
    address = capture.intent.event.address.file_path if capture.intent else None
    return replace(
        capture,
        file_path=seen.file_path if seen else address,
        checksum=seen.checksum if seen else None,
        content_sha256=seen.content_sha256 if seen else capture.content_sha256,
        evidence="adopted" if event.verdict == "present_twin" else _rung(seen),
        moved=seen is not None and seen.file_path not in (address, None),
        edited=event.verdict == "present_edited",
    )


def _rung(seen: Observation | None) -> Literal["read", "on_disk", "indexed"]:
    if seen is None or seen.by in ("address", "title"):
        return "read"
    return "on_disk" if seen.by == "file" else "indexed"


def _higher(one: Evidence | None, other: Evidence) -> Evidence:
    return one if one is not None and RUNGS.index(one) > RUNGS.index(other) else other


def _checked(state: State, event: CaptureProbed) -> State:
    """A read of what is confirmed raises its evidence; its labels have events of their own."""
    current = state.capture(event.capture_id)
    seen = our_note(current, event) if current is not None else None
    if event.verdict != "present_same" or current is None or seen is None:
        return state
    proof = _higher(current.evidence, _rung(seen))
    return _with_confirmed(state, replace(current, evidence=proof, checksum=seen.checksum, verdict=event.verdict))


def _with_confirmed(state: State, capture: Capture) -> State:
    """What more is known of a confirmed capture, put where it is kept."""
    return replace(state, noted=capture) if capture.kind == "note" else replace(state, checkpoint=capture)


def receipt_adopted(state: State, row: Row, event: ReceiptAdopted) -> State:
    """A receipt settles what is open; it never reopens. One that settles nothing is the branch's checkpoint from here on."""
    capture = state.live(event.capture_id)
    known = state.checkpoint is not None and state.checkpoint.capture_id == event.capture_id
    if capture is None and (known or event.kind != "checkpoint"):
        return state
    base = capture or Capture(
        capture_id=event.capture_id,
        attempt=event.attempt,
        kind=event.kind,
        project=event.project,
        source_tip=event.source_tip,
        status="confirmed",
        begun_ms=row.at_ms,
        begun_position=row.position,
        reason="adopted",
    )
    adopted = replace(
        base,
        file_path=event.file_path,
        content_sha256=event.content_sha256,
        verdict=None,
        evidence="read" if event.origin == "address" else "adopted",
    )
    return _confirmed(state, adopted)


def note_moved(state: State, row: Row, event: NoteMoved) -> State:
    return _relabel(state, event.capture_id, moved=True, file_path=event.file_path)


def note_edited(state: State, row: Row, event: NoteEdited) -> State:
    return _relabel(state, event.capture_id, edited=True)


def _relabel(
    state: State,
    capture_id: CaptureId,
    *,
    moved: bool = False,
    edited: bool = False,
    file_path: str | None = None,
) -> State:
    current = state.capture(capture_id)
    if current is None or current.status != "confirmed":
        return state
    labelled = replace(
        current,
        moved=current.moved or moved,
        edited=current.edited or edited,
        file_path=file_path or current.file_path,
    )
    return _with_confirmed(state, labelled)


def note_withdrawn(state: State, row: Row, event: NoteWithdrawn) -> State:
    current = state.capture(event.capture_id)
    if current is None or current.status != "confirmed":
        return state
    return replace(state, noted=None) if current.kind == "note" else replace(state, checkpoint=None)


def capture_resolved(state: State, row: Row, event: CaptureResolved) -> State:
    capture = state.live(event.capture_id)
    if capture is None:
        return state
    match event.decision:
        case "accept":
            path = event.file_path or capture.path
            return _confirmed(state, replace(capture, evidence="read", file_path=path))
        case "abandon":
            return removed(state, event.capture_id)
        case "rewrite":
            again = replace(capture, status="ready", attempt=event.attempt, intent=None)
            return put(state, again)
        case _:
            assert_never(event.decision)
