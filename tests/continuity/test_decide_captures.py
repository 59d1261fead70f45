"""A capture is begun once for a tip, sent once for an attempt, and settled by reading or by a person."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from continuity.commands import Adopt, BeginCapture, Observe, RecordProbe, Resolve, SubmitWrite
from journal.events import (
    BasisTaken,
    CaptureRequested,
    CaptureResolved,
    CaptureSuperseded,
    Event,
    NoteEdited,
    NoteMoved,
    NoteWithdrawn,
    ReceiptAdopted,
    SynthesisFailed,
)
from journal.events.capture import CaptureKind
from journal.events.writes import Decision, Observation
from journal.ids import CaptureId, ConnectionId, EntryId, ProjectName, Sha256
from tests.facts import (
    ADDRESS,
    BODY,
    CAPTURE,
    CONNECTION,
    DOUBTED,
    HANDOFF,
    METADATA,
    NEXT_WRITER,
    NOWHERE,
    OTHER_BODY,
    OTHER_CAPTURE,
    PROJECT,
    SAVED,
    TIP,
    WRITER,
    answered,
    begun,
    connected,
    finished,
    intended,
    missed,
    opened,
    probed,
    seen,
    settled,
)
from tests.spec import given

NEXT_TIP = EntryId("bb02")
REASON = Sha256("7" * 64)
READY: tuple[Event, ...] = (opened(), connected(), settled(), begun(), finished())
INTENDED: tuple[Event, ...] = (*READY, intended())
LOST: tuple[Event, ...] = (*DOUBTED, probed("absent_final", *NOWHERE))
MOVED = "archive/kept.md"


def beginning(capture: CaptureId = OTHER_CAPTURE, tip: EntryId = NEXT_TIP) -> BeginCapture:
    return BeginCapture(capture_id=capture, kind="checkpoint", project=PROJECT, source_tip=tip, reason="cadence")


def submission(connection: ConnectionId = CONNECTION) -> SubmitWrite:
    return SubmitWrite(
        capture_id=CAPTURE,
        address=ADDRESS,
        content_sha256=BODY,
        note_type="session",
        metadata_sha256=METADATA,
        writer=WRITER,
        connection=connection,
    )


def probe(*observations: Observation, status: str = "in_doubt", attempt: int = 1) -> RecordProbe:
    return RecordProbe(
        capture_id=CAPTURE,
        attempt=attempt,
        status=status,
        connection=CONNECTION,
        observations=observations,
        writing_server="gone",
        project_source="local",
        index_proven=True,
    )


def check(*observations: Observation) -> RecordProbe:
    """Reads of a note that is confirmed."""
    return probe(*observations, status="confirmed")


def resolution(decision: Decision) -> Resolve:
    return Resolve(capture_id=CAPTURE, decision=decision, reason_sha256=REASON)


def resolved(decision: Decision, attempt: int = 1) -> CaptureResolved:
    return CaptureResolved(
        capture_id=CAPTURE,
        attempt=attempt,
        decision=decision,
        reason_sha256=REASON,
        file_path=ADDRESS.file_path,
    )


# -- begin -------------------------------------------------------------------


def test_a_first_capture_starts_from_nothing() -> None:
    given(opened(), settled()).when(beginning(CAPTURE, TIP)).then(begun())


def test_the_next_capture_starts_from_the_newest_finished_handoff() -> None:
    given(*SAVED, (settled(), NEXT_TIP)).when(beginning()).then(begun(OTHER_CAPTURE, NEXT_TIP, prior=(HANDOFF, TIP)))


def test_a_handoff_whose_write_is_in_doubt_is_still_the_basis() -> None:
    given(*DOUBTED, (settled(), NEXT_TIP)).when(beginning()).then(begun(OTHER_CAPTURE, NEXT_TIP, prior=(HANDOFF, TIP)))


def test_a_finished_capture_that_was_never_sent_gives_way_to_a_newer_tip() -> None:
    given(*READY, (settled(), NEXT_TIP)).when(beginning()).then(
        CaptureSuperseded(capture_id=CAPTURE, by_tip=NEXT_TIP),
        begun(OTHER_CAPTURE, NEXT_TIP, prior=(HANDOFF, TIP)),
    )


def test_a_transcript_on_its_way_does_not_hold_a_checkpoint_back() -> None:
    given(opened(), begun(CAPTURE, kind="transcript"), settled()).when(beginning()).then(begun(OTHER_CAPTURE, NEXT_TIP))


def test_a_transcript_on_its_way_hides_no_checkpoint_that_is_being_made() -> None:
    transcript = begun(CaptureId("1" * 64), kind="transcript")
    given(opened(), settled(), transcript, begun()).when(beginning()).rejected("another capture is begun")


def test_a_capture_that_was_requested_has_the_focus_of_the_request() -> None:
    asked = CaptureRequested(reason="command", focus_sha256=REASON)
    given(opened(), settled(), asked).when(beginning(CAPTURE, TIP)).then(replace(begun(), focus_sha256=REASON))


def test_the_same_tip_is_not_captured_twice() -> None:
    given(*SAVED).when(beginning(CAPTURE, TIP)).rejected("this tip is already confirmed")


def test_one_checkpoint_is_made_at_a_time() -> None:
    given(*SAVED[:4]).when(beginning()).rejected("another capture is begun")
    given(*SAVED[:6]).when(beginning()).rejected("another capture is intended")


# -- submit ------------------------------------------------------------------


def test_a_finished_capture_is_committed_before_it_is_sent() -> None:
    given(*READY).when(submission()).then(intended())


def test_a_write_that_was_not_sent_is_a_new_attempt() -> None:
    given(*READY, intended(), answered("not-sent")).when(submission()).then(intended(attempt=2))


def test_an_ambiguous_write_is_never_submitted_again() -> None:
    given(*READY, intended(), answered("unknown")).when(submission()).rejected("the capture is in_doubt, not ready")


def test_a_capture_is_not_submitted_through_a_connection_that_is_not_up() -> None:
    given(*READY).when(submission(ConnectionId("other"))).rejected("that connection is not up")
    given(opened(), settled(), begun(), finished()).when(submission()).rejected("that connection is not up")


def test_an_unknown_capture_is_not_submitted() -> None:
    given(opened(), connected()).when(submission()).rejected("no such capture is open on this branch")


def test_a_lost_write_that_a_person_repeats_is_the_attempt_the_person_decided() -> None:
    given(*LOST, resolved("rewrite", 2), connected()).when(submission()).then(intended(attempt=2))


# -- answers and synthesis ----------------------------------------------------


def test_the_first_answer_is_recorded() -> None:
    given(*READY, intended()).when(Observe(answered())).then(answered())


def test_a_late_answer_to_a_confirmed_capture_changes_nothing() -> None:
    given(*SAVED).when(Observe(answered("unknown"))).then()


def test_an_answer_to_another_attempt_changes_nothing() -> None:
    given(*READY, intended()).when(Observe(answered(attempt=2))).then()


def test_an_answer_nobody_waits_for_changes_nothing() -> None:
    given(opened()).when(Observe(answered())).then()


def test_a_synthesis_result_for_a_capture_that_is_not_being_made_is_refused() -> None:
    given(*READY).when(Observe(finished())).rejected("this capture is not being synthesised")
    given(opened()).when(Observe(finished())).rejected("no such capture is open on this branch")


def test_a_synthesis_result_finds_its_capture_among_others() -> None:
    given(*DOUBTED, begun(OTHER_CAPTURE, NEXT_TIP)).when(Observe(finished(OTHER_CAPTURE))).then(finished(OTHER_CAPTURE))


def test_a_finished_handoff_whose_text_is_gone_has_failed() -> None:
    gone = SynthesisFailed(capture_id=CAPTURE, error="body-missing", model_calls=0)
    given(*READY).when(Observe(gone)).then(gone)
    given(*READY, intended()).when(Observe(gone)).rejected("this capture is not being synthesised")


def test_a_failed_synthesis_is_recorded() -> None:
    failed = SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1)
    given(opened(), settled(), begun()).when(Observe(failed)).then(failed)


# -- probes ------------------------------------------------------------------


def test_reading_our_note_settles_the_doubt() -> None:
    given(*DOUBTED).when(probe(seen())).then(probed("present_same", seen()))


def test_a_doubt_that_is_settled_elsewhere_needs_no_label() -> None:
    found = seen(path=MOVED)
    given(*DOUBTED).when(probe(found)).then(probed("present_same", found))


def test_a_note_that_lands_late_settles_the_doubt() -> None:
    given(*DOUBTED, probed("absent_open", *NOWHERE, server="alive")).when(probe(seen())).then(
        probed("present_same", seen())
    )


def test_a_probe_of_an_unknown_capture_is_refused() -> None:
    given(opened()).when(probe(seen())).rejected("no such capture on this branch")


def test_a_confirmed_note_read_at_another_path_has_moved() -> None:
    found = seen(path=MOVED)
    given(*SAVED).when(check(found)).then(probed("present_same", found), NoteMoved(capture_id=CAPTURE, file_path=MOVED))


def test_a_confirmed_note_that_was_edited_is_labelled_once() -> None:
    found = seen(body=OTHER_BODY)
    label = NoteEdited(capture_id=CAPTURE, content_sha256=OTHER_BODY)
    given(*SAVED).when(check(found)).then(probed("present_edited", found), label)
    given(*SAVED, label).when(check(found)).then(probed("present_edited", found))


def test_a_confirmed_note_read_unchanged_carries_no_label() -> None:
    given(*SAVED).when(check(seen())).then(probed("present_same", seen()))


def test_a_confirmed_note_is_withdrawn_only_with_the_proof_of_an_absence() -> None:
    given(*SAVED).when(check(*NOWHERE)).then(probed("absent_final", *NOWHERE), NoteWithdrawn(capture_id=CAPTURE))
    given(*SAVED).when(check(missed())).then(probed("absent_open", missed()))
    silent = replace(check(*NOWHERE), index_proven=False)
    given(*SAVED).when(silent).then(probed("absent_open", *NOWHERE, index=False))


def test_two_notes_with_our_identity_label_nothing() -> None:
    several = (seen(), seen("title", path=MOVED, body=OTHER_BODY))
    given(*SAVED).when(check(*several)).then(probed("conflicted", *several))


def test_the_note_with_our_body_says_where_it_is() -> None:
    several = (seen("title", path=MOVED, body=BODY), seen("id_search", tip=NEXT_TIP, path="other.md"))
    given(*SAVED).when(check(*several)).then(
        probed("present_same", *several), NoteMoved(capture_id=CAPTURE, file_path=MOVED)
    )


def test_a_confirmed_note_whose_address_another_took_is_not_withdrawn() -> None:
    rival = seen(capture=OTHER_CAPTURE)
    given(*SAVED).when(check(rival)).then(probed("conflicted", rival))


def test_reads_begun_before_a_capture_was_settled_say_nothing_of_what_it_is_now() -> None:
    given(*SAVED).when(probe(*NOWHERE)).rejected("the capture is confirmed since the reads began: read again")


def test_reads_begun_for_one_attempt_say_nothing_of_the_next() -> None:
    rewritten = (*LOST, resolved("rewrite", 2), intended(attempt=2), answered("unknown", attempt=2))
    given(*rewritten).when(probe(*NOWHERE)).rejected("the capture is in_doubt since the reads began: read again")
    given(*rewritten).when(probe(seen(), attempt=2)).then(replace(probed("present_same", seen()), attempt=2))


# -- people ------------------------------------------------------------------


RIVAL = seen(capture=OTHER_CAPTURE)
UNREAD = "no note was read that could be accepted: probe it, or abandon it"


@pytest.mark.parametrize(("decision", "attempt"), [("abandon", 1), ("rewrite", 2)])
def test_a_person_gives_a_lost_write_up_or_orders_another(decision: Decision, attempt: int) -> None:
    given(*LOST).when(resolution(decision)).then(resolved(decision, attempt))


def test_a_person_accepts_a_note_that_was_read() -> None:
    given(*DOUBTED, probed("conflicted", RIVAL)).when(resolution("accept")).then(resolved("accept"))


def test_a_note_that_no_read_found_is_not_accepted() -> None:
    given(*DOUBTED).when(resolution("accept")).rejected(UNREAD)
    given(*DOUBTED, probed("absent_open", missed())).when(resolution("accept")).rejected(UNREAD)
    given(*LOST).when(resolution("accept")).rejected(UNREAD)
    gone = (*DOUBTED, probed("conflicted", RIVAL), probed("absent_open", missed()))
    given(*gone).when(resolution("accept")).rejected(UNREAD)


def test_a_person_gives_a_doubted_write_up_without_a_read() -> None:
    given(*DOUBTED).when(resolution("abandon")).then(resolved("abandon"))


def test_a_refused_write_is_ordered_again_as_a_new_attempt() -> None:
    refused = (*INTENDED, answered("refused", code="NOTE_LOCKED"))
    given(*refused).when(resolution("rewrite")).then(resolved("rewrite", 2))


def test_a_write_that_may_still_land_is_not_repeated() -> None:
    given(*DOUBTED).when(resolution("rewrite")).rejected("it may still land: only a lost or refused write is repeated")


def test_a_capture_that_is_under_way_is_not_settled_by_a_person() -> None:
    given(*READY).when(resolution("abandon")).rejected("the capture is ready: nothing to settle")


def test_a_capture_that_is_settled_for_good_or_was_never_begun_is_not_settled_by_a_person() -> None:
    for history in ((opened(),), SAVED):
        given(*history).when(resolution("abandon")).rejected("no such capture is open on this branch")


def test_what_is_to_be_sent_again_can_be_let_go_of_and_is_not_decided_twice() -> None:
    again = (*LOST, resolved("rewrite", attempt=2))
    given(*again).when(resolution("abandon")).then(replace(resolved("abandon", attempt=2), file_path=None))
    for decision in ("rewrite", "accept"):
        given(*again).when(resolution(decision)).rejected("it is to be sent again already: it can only be let go of")


def test_a_later_attempt_that_was_not_sent_is_its_sessions_and_nobody_settles_it() -> None:
    unsent = (*INTENDED, answered("not-sent"), intended(attempt=2), answered("not-sent", attempt=2))
    given(*unsent).when(resolution("abandon")).rejected("the capture is ready: nothing to settle")


# -- adoption ----------------------------------------------------------------


def adopted(capture: CaptureId = CAPTURE, kind: CaptureKind = "checkpoint") -> ReceiptAdopted:
    return ReceiptAdopted(
        capture_id=capture,
        attempt=1,
        kind=kind,
        project=PROJECT,
        source_tip=TIP,
        content_sha256=BODY,
        file_path=ADDRESS.file_path,
        origin="session",
    )


RESUMED = opened("resume", writer=NEXT_WRITER)


def test_a_receipt_settles_a_doubted_write() -> None:
    given(*DOUBTED).when(Adopt(receipt=adopted())).then(adopted())


def test_a_receipt_settles_whatever_was_sent_and_may_have_landed() -> None:
    for history in (INTENDED, (*DOUBTED, probed("conflicted", RIVAL)), LOST):
        given(*history).when(Adopt(receipt=adopted())).then(adopted())
    given(*INTENDED, answered("refused")).when(Adopt(receipt=adopted())).then()


def test_a_receipt_of_another_note_settles_nothing_though_it_names_the_capture() -> None:
    for other in (replace(adopted(), source_tip=NEXT_TIP), replace(adopted(), project=ProjectName("another"))):
        given(*DOUBTED).when(Adopt(receipt=other, over=CAPTURE)).then()


def test_a_receipt_is_adopted_where_no_checkpoint_is_known() -> None:
    given(RESUMED).when(Adopt(receipt=adopted())).then(adopted())


def test_a_receipt_replaces_a_checkpoint_only_where_it_is_known_to_lie_after_it() -> None:
    given(*SAVED).when(Adopt(receipt=adopted(OTHER_CAPTURE))).then()
    given(*SAVED).when(Adopt(receipt=adopted(OTHER_CAPTURE), over=CAPTURE)).then(adopted(OTHER_CAPTURE))
    given(RESUMED).when(Adopt(receipt=adopted(OTHER_CAPTURE), over=CAPTURE)).then(adopted(OTHER_CAPTURE))


def test_the_receipt_of_the_checkpoint_itself_says_nothing_new() -> None:
    given(*SAVED).when(Adopt(receipt=adopted())).then()
    given(*SAVED).when(Adopt(receipt=adopted(), over=CAPTURE)).then()


def test_a_receipt_for_a_capture_that_was_never_sent_is_not_adopted() -> None:
    given(*READY).when(Adopt(receipt=adopted())).then()


def test_a_transcript_receipt_is_no_checkpoint() -> None:
    given(opened()).when(Adopt(receipt=adopted(kind="transcript"))).then()


def test_a_note_that_was_read_and_differs_from_its_receipt_is_adopted_as_edited() -> None:
    label = NoteEdited(capture_id=CAPTURE, content_sha256=OTHER_BODY)
    given(RESUMED).when(Adopt(receipt=adopted(), read=seen(body=OTHER_BODY))).then(adopted(), label)
    given(RESUMED).when(Adopt(receipt=adopted(), read=seen())).then(adopted())
    given(RESUMED).when(Adopt(receipt=adopted(), read=missed())).then(adopted())


# -- the basis of the next synthesis -----------------------------------------


def taken(capture: CaptureId = CAPTURE, tip: EntryId = TIP) -> BasisTaken:
    return BasisTaken(capture_id=capture, source_tip=tip, handoff_sha256=HANDOFF, edited=False)


def test_the_note_of_the_checkpoint_is_taken_as_basis() -> None:
    given(RESUMED, adopted()).when(Observe(taken())).then(taken())


def test_no_other_note_is_taken_as_basis() -> None:
    given(RESUMED).when(Observe(taken())).rejected("that note is not the checkpoint of this branch")
    given(RESUMED, adopted()).when(Observe(taken(OTHER_CAPTURE))).rejected(
        "that note is not the checkpoint of this branch"
    )
    given(RESUMED, adopted()).when(Observe(taken(tip=NEXT_TIP))).rejected(
        "that note is not the checkpoint of this branch"
    )
