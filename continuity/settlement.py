"""What is made of a write whose outcome was read, received or judged by a person. It never takes a miss for an absence."""

from __future__ import annotations

from typing import assert_never

from msgspec.structs import replace

from continuity.commands import Adopt, CommandRejected, RecordProbe, Resolve, ResolveCall
from continuity.state import Capture, State, our_note
from continuity.verdict import verdict, wanted_of
from journal.events import CaptureProbed, CaptureResolved, Event, NoteEdited, NoteMoved, NoteWithdrawn, ToolResolved


def reconcile(state: State, command: RecordProbe | Adopt | Resolve | ResolveCall) -> tuple[Event, ...]:
    """Return the events that `command` amounts to: what was proven of one write or call, and by whom.

    Raises:
        CommandRejected: The state does not allow it; nothing was decided.
    """
    match command:
        case RecordProbe():
            return _probe(state, command)
        case Adopt():
            return _adopt(state, command)
        case Resolve():
            return (_resolve(state, command),)
        case ResolveCall():
            return (_resolve_call(state, command),)
        case _:
            assert_never(command)


def _probe(state: State, command: RecordProbe) -> tuple[Event, ...]:
    capture = state.capture(command.capture_id)
    if capture is None:
        raise CommandRejected("record-probe", "no such capture on this branch")
    if (command.attempt, command.status) != (capture.attempt, capture.status):
        raise CommandRejected("record-probe", f"the capture is {capture.status} since the reads began: read again")
    unjudged = CaptureProbed(
        capture_id=capture.capture_id,
        attempt=capture.attempt,
        connection=command.connection,
        observations=command.observations,
        writing_server=command.writing_server,
        project_source=command.project_source,
        index_proven=command.index_proven,
        verdict="unreachable",
    )
    wanted = wanted_of(capture)
    probed = replace(unjudged, verdict=verdict(wanted, unjudged))
    labels = _labels(capture, probed) if capture.status == "confirmed" else ()
    return (probed, *labels)


def _labels(capture: Capture, probed: CaptureProbed) -> tuple[Event, ...]:
    """What a read of a confirmed note says beyond its proof; each label is said once.

    Gone is said only with the proof that an absence needs anywhere: a miss alone proves nothing.
    """
    note = our_note(capture, probed)
    if note is None:
        return (NoteWithdrawn(capture_id=capture.capture_id),) if probed.verdict == "absent_final" else ()
    if probed.verdict == "conflicted":
        return ()
    labels: list[Event] = []
    if note.file_path is not None and note.file_path != capture.path:
        labels.append(NoteMoved(capture_id=capture.capture_id, file_path=note.file_path))
    body = note.content_sha256
    if probed.verdict != "present_same" and body is not None and not capture.edited:
        labels.append(NoteEdited(capture_id=capture.capture_id, content_sha256=body))
    return tuple(labels)


def _resolve(state: State, command: Resolve) -> CaptureResolved:
    """Accept needs a note that was read, rewriting needs proof that nothing is there and nothing can land."""
    capture = state.live(command.capture_id)
    if capture is None:
        raise CommandRejected("resolve", "no such capture is open on this branch")
    if capture.decided and command.decision != "abandon":
        raise CommandRejected("resolve", "it is to be sent again already: it can only be let go of")
    if not capture.decided and capture.status not in ("in_doubt", "conflicted", "lost", "refused"):
        raise CommandRejected("resolve", f"the capture is {capture.status}: nothing to settle")
    if command.decision == "accept" and capture.verdict != "conflicted":
        raise CommandRejected("resolve", "no note was read that could be accepted: probe it, or abandon it")
    if command.decision == "rewrite" and capture.status not in ("lost", "refused"):
        raise CommandRejected("resolve", "it may still land: only a lost or refused write is repeated")
    again = command.decision == "rewrite"
    return CaptureResolved(
        capture_id=capture.capture_id,
        attempt=capture.attempt + 1 if again else capture.attempt,
        decision=command.decision,
        reason_sha256=command.reason_sha256,
        file_path=capture.path,
    )


def _resolve_call(state: State, command: ResolveCall) -> ToolResolved:
    """A call that is still on its way is nobody's to settle."""
    call = next((each for each in state.calls if each.call_id == command.call_id), None)
    if call is None:
        raise CommandRejected("resolve-call", "no such call is open on this branch")
    if not call.unknown:
        raise CommandRejected("resolve-call", "it is not answered yet")
    return ToolResolved(call_id=command.call_id, decision=command.decision, reason_sha256=command.reason_sha256)


def _adopt(state: State, command: Adopt) -> tuple[Event, ...]:
    """A receipt that says nothing new, or names another note, changes nothing; none makes an older checkpoint current."""
    receipt = command.receipt
    capture = state.live(receipt.capture_id)
    if capture is not None:
        open_still = capture.status in ("intended", "in_doubt", "conflicted", "lost")
        same = (capture.project, capture.source_tip) == (receipt.project, receipt.source_tip)
        wanted = open_still and same
    else:
        current = state.checkpoint.capture_id if state.checkpoint is not None else None
        wanted = receipt.kind == "checkpoint" and current in (None, command.over) and current != receipt.capture_id
    if not wanted:
        return ()
    body = command.read.content_sha256 if command.read is not None else None
    if body is None or body == receipt.content_sha256:
        return (receipt,)
    return (receipt, NoteEdited(capture_id=receipt.capture_id, content_sha256=body))
