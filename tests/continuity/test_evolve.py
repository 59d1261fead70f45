"""The state follows from the rows alone: total over the events, silent about order it did not expect, never reopening."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from continuity.evolve import STEPS, evolve, fold
from continuity.state import Handoff, State
from journal.events import (
    EVENT_TYPES,
    BasisTaken,
    BranchForked,
    BriefDelivered,
    CaptureRequested,
    CaptureResolved,
    CaptureSuperseded,
    CompactionEnded,
    CompactionNoticed,
    Event,
    MemoryLost,
    NoteEdited,
    NoteMoved,
    NoteWithdrawn,
    Paused,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    ReceiptAdopted,
    Resumed,
    SynthesisAdvanced,
    SynthesisFailed,
    TipsMapped,
    ToolAnswered,
    ToolCalled,
    ToolResolved,
    WorkBegun,
)
from journal.events.capture import CaptureKind
from journal.events.lifecycle import TipPair
from journal.events.recall import ROUND
from journal.events.writes import Decision, Observation, Outcome, Verdict
from journal.ids import CallId, CaptureId, EntryId, Sha256
from tests.facts import (
    ADDRESS,
    BODY,
    CAPTURE,
    CONNECTION,
    DOUBTED,
    HANDOFF,
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
    opened,
    probed,
    seen,
    settled,
)
from tests.journal.samples import SAMPLES
from tests.spec import rows, state_after

NEXT_TIP = EntryId("bb02")
MOVED = "archive/kept.md"
READY: tuple[Event, ...] = (opened(), connected(), settled(), begun(), finished())
CALLED = ToolCalled(
    call_id=CallId("call-1"),
    name="write_note",
    target_sha256=Sha256("9" * 64),
    writer=WRITER,
    connection=CONNECTION,
)


def status(state: State, capture: CaptureId = CAPTURE) -> str | None:
    found = state.capture(capture)
    return None if found is None else found.status


# -- totality and purity -----------------------------------------------------


def test_every_event_has_its_step() -> None:
    assert set(STEPS) == set(EVENT_TYPES)


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_any_event_is_accepted_by_an_empty_and_by_a_full_state(event: Event) -> None:
    for before in ((), SAVED, DOUBTED):
        recorded = rows(*before, event)
        state = fold(recorded[:-1])
        frozen = state
        assert evolve(state, recorded[-1]).position == len(recorded)
        assert state == frozen


def test_folding_in_two_parts_is_folding_once() -> None:
    recorded = rows(*DOUBTED, probed("present_same", seen()))
    for cut in range(len(recorded)):
        assert fold(recorded[cut:], fold(recorded[:cut])) == fold(recorded)


# -- lifecycle ---------------------------------------------------------------


def test_only_the_intents_of_ended_writers_become_doubtful() -> None:
    assert status(state_after(*DOUBTED)) == "in_doubt"
    assert status(state_after(*SAVED[:-1], opened("reload"))) == "intended"


def test_a_reload_keeps_the_connection_and_any_other_opening_forgets_it() -> None:
    assert state_after(opened(), connected(), opened("reload")).connection == connected()
    assert state_after(opened(), connected(), opened("resume")).connection is None


def test_a_start_owes_a_brief_and_a_reload_does_not() -> None:
    assert state_after(opened()).recall.due == "start"
    delivered = BriefDelivered(brief_sha256=BODY, characters=1, sources=(), how="steered", entry=None, complete=True)
    assert state_after(opened(), delivered, opened("reload")).recall.due is None


def test_a_successful_compaction_owes_a_brief_and_an_aborted_one_does_not() -> None:
    planned = RecallPlanned(reason="start", topic_sha256=None, queries=())
    delivered = BriefDelivered(brief_sha256=BODY, characters=1, sources=(), how="steered", entry=None, complete=True)
    before = (opened(), planned, delivered)
    assert state_after(*before, CompactionEnded(reason="manual", aborted=True)).recall.due is None
    for seen_as in (
        CompactionEnded(reason="manual", aborted=False),
        CompactionNoticed(entry=NEXT_TIP),
    ):
        after = state_after(*before, seen_as).recall
        assert after.due == "compaction"
        assert not after.planned


def test_a_brief_made_without_the_server_leaves_the_brief_due() -> None:
    partial = BriefDelivered(brief_sha256=BODY, characters=1, sources=(), how="steered", entry=None, complete=False)
    assert state_after(opened(), partial).recall.due == "start"


def test_what_is_settled_is_gathered_until_a_capture_begins() -> None:
    gathered = state_after(opened(), settled(10), (settled(20), NEXT_TIP)).gathered
    assert (gathered.tip, gathered.characters, gathered.messages) == (NEXT_TIP, 30, 4)
    assert state_after(opened(), settled(10), begun()).gathered.tip is None


def test_what_is_settled_off_the_record_is_not_gathered() -> None:
    off = state_after(opened(), Paused(), settled(10))
    assert off.gathered.tip is None
    assert off.settled_tip == TIP
    assert state_after(opened(), Paused(), Resumed(), settled(10)).gathered.tip == TIP


def test_a_settle_without_new_messages_gathers_nothing() -> None:
    assert state_after(opened(), settled(0, messages=0)).gathered.tip is None


def test_a_fork_inherits_the_confirmed_checkpoint_and_no_owed_work() -> None:
    forked = BranchForked(reason="left", left_tip=NEXT_TIP, kept_tip=TIP)
    inherited = state_after(*SAVED, (settled(), NEXT_TIP), CALLED, forked)
    assert inherited.checkpoint is not None
    assert inherited.handoff is not None
    assert inherited.captures == ()
    assert inherited.calls == ()
    assert inherited.gathered.tip is None
    assert inherited.recall.due == "branch"
    assert state_after(*DOUBTED, forked).pending == ()


def test_mapped_tips_move_every_tip_the_state_holds() -> None:
    mapped = TipsMapped(pairs=(TipPair(old=TIP, new=NEXT_TIP),))
    state = state_after(opened(), settled(), begun(), finished(), settled(), (mapped, NEXT_TIP))
    assert state.handoff is not None
    assert {state.settled_tip, state.gathered.tip, state.handoff.tip, state.tip} == {NEXT_TIP}
    assert state_after((mapped, NEXT_TIP)).settled_tip is None


def test_a_prompt_alone_changes_nothing_that_is_owed() -> None:
    before = state_after(opened())
    after = state_after(opened(), WorkBegun(how="prompt", characters=5))
    assert (after.gathered, after.captures) == (before.gathered, before.captures)


def test_a_lost_connection_is_forgotten() -> None:
    lost = MemoryLost(connection=CONNECTION, error="lost")
    assert state_after(opened(), connected(), lost).connection is None


def test_a_brief_still_due_is_planned_anew_after_the_connection_was_lost() -> None:
    planned = RecallPlanned(reason="start", topic_sha256=None, queries=())
    lost = MemoryLost(connection=CONNECTION, error="lost")
    assert not state_after(opened(), connected(), planned, lost).recall.planned


def test_coming_back_to_a_branch_owes_a_brief() -> None:
    assert state_after(opened("branch")).recall.due == "branch"


# -- capture -----------------------------------------------------------------


def test_a_request_is_remembered_with_its_focus() -> None:
    asked = CaptureRequested(reason="command", focus_sha256=BODY)
    gathered = state_after(opened(), settled(10), asked).gathered
    assert (gathered.owed, gathered.focus_sha256) == ("command", BODY)


def test_progress_is_kept_and_clears_earlier_failures() -> None:
    failed = SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1)
    advanced = SynthesisAdvanced(
        capture_id=CAPTURE, through_entry=TIP, through_offset=5, handoff_sha256=HANDOFF, chunks=1
    )
    capture = state_after(opened(), settled(), begun(), failed, failed).captures[0]
    assert (capture.failures, capture.status) == (2, "begun")
    capture = state_after(opened(), settled(), begun(), failed, advanced).captures[0]
    assert capture.failures == 0
    assert capture.progress is not None
    assert capture.progress.through_offset == 5


def test_news_about_a_capture_that_is_not_being_made_changes_nothing() -> None:
    advanced = SynthesisAdvanced(
        capture_id=CAPTURE, through_entry=TIP, through_offset=5, handoff_sha256=HANDOFF, chunks=1
    )
    failed = SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1)
    late = (advanced, finished(), failed, intended(), answered(), probed("present_same", seen()))
    for event in late:
        assert state_after(opened(), event).captures == ()
    for event in late[:2]:
        assert state_after(*READY, event).captures == state_after(*READY).captures


def test_a_finished_handoff_whose_text_is_gone_is_made_anew() -> None:
    gone = SynthesisFailed(capture_id=CAPTURE, error="body-missing", model_calls=0)
    capture = state_after(*READY, gone).captures[0]
    assert (capture.status, capture.handoff_sha256, capture.progress) == ("begun", None, None)


def test_a_finished_checkpoint_is_the_next_basis_and_a_transcript_is_not() -> None:
    assert state_after(*READY).handoff is not None
    transcript = state_after(opened(), settled(), begun(kind="transcript"), finished())
    assert transcript.handoff is None
    assert status(transcript) == "ready"


def test_a_transcript_leaves_what_was_gathered() -> None:
    assert state_after(opened(), settled(), begun(kind="transcript")).gathered.tip == TIP


def test_a_superseded_capture_is_gone_and_its_handoff_stays() -> None:
    state = state_after(*READY, CaptureSuperseded(capture_id=CAPTURE, by_tip=NEXT_TIP))
    assert state.captures == ()
    assert state.handoff is not None


# -- writes ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [("accepted", "confirmed"), ("refused", "refused"), ("unknown", "in_doubt"), ("not-sent", "ready")],
)
def test_each_outcome_of_the_call_has_its_status(outcome: Outcome, expected: str) -> None:
    assert status(state_after(*READY, intended(), answered(outcome))) == expected


def test_an_accepted_write_is_the_checkpoint_with_the_evidence_answered() -> None:
    checkpoint = state_after(*SAVED).checkpoint
    assert checkpoint is not None
    assert (checkpoint.evidence, checkpoint.path) == ("answered", ADDRESS.file_path)


def test_a_late_or_repeated_answer_never_reopens_a_confirmed_capture() -> None:
    outcomes: tuple[Outcome, ...] = ("unknown", "refused", "accepted", "not-sent")
    for late in outcomes:
        assert state_after(*SAVED, answered(late)).checkpoint == state_after(*SAVED).checkpoint


def test_an_answer_to_another_attempt_changes_nothing() -> None:
    assert status(state_after(*READY, intended(), answered(attempt=2))) == "intended"


def test_a_pending_write_is_named_by_its_address() -> None:
    (pending,) = state_after(*DOUBTED).pending
    assert pending.path == ADDRESS.file_path
    assert state_after(opened(), settled(), begun()).captures[0].path is None


def test_an_older_checkpoint_settled_late_is_not_the_current_one() -> None:
    newer = (
        (settled(), NEXT_TIP),
        begun(OTHER_CAPTURE, NEXT_TIP),
        finished(OTHER_CAPTURE),
        intended(OTHER_CAPTURE, NEXT_TIP, writer=NEXT_WRITER),
        answered(capture=OTHER_CAPTURE),
    )
    state = state_after(*DOUBTED, *newer, probed("present_same", seen()))
    assert state.checkpoint is not None
    assert state.checkpoint.capture_id == OTHER_CAPTURE
    assert state.captures == ()


def test_a_confirmed_transcript_is_no_checkpoint() -> None:
    sent = (begun(kind="transcript"), finished(), intended(kind="transcript"), answered())
    state = state_after(opened(), connected(), *sent)
    assert state.checkpoint is None
    assert state.captures == ()


@pytest.mark.parametrize(
    ("verdict", "observation", "evidence", "labels"),
    [
        ("present_same", seen(), "read", (False, False)),
        ("present_same", seen("title", path=MOVED), "read", (True, False)),
        ("present_same", seen("file"), "on_disk", (False, False)),
        ("present_same", seen("id_search"), "indexed", (False, False)),
        ("present_edited", seen(body=OTHER_BODY), "read", (False, True)),
        ("present_twin", seen(body=OTHER_BODY, declared=OTHER_BODY), "adopted", (False, False)),
    ],
)
def test_a_found_note_confirms_with_the_evidence_of_how_it_was_read(
    verdict: Verdict, observation: Observation, evidence: str, labels: tuple[bool, bool]
) -> None:
    checkpoint = state_after(*DOUBTED, probed(verdict, observation)).checkpoint
    assert checkpoint is not None
    assert checkpoint.evidence == evidence
    assert (checkpoint.moved, checkpoint.edited) == labels


def test_a_presence_without_its_observation_keeps_the_address() -> None:
    checkpoint = state_after(*DOUBTED, probed("present_same")).checkpoint
    assert checkpoint is not None
    assert (checkpoint.path, checkpoint.evidence) == (ADDRESS.file_path, "read")


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        ("conflicted", "conflicted"),
        ("absent_final", "lost"),
        ("absent_open", "in_doubt"),
        ("unreachable", "in_doubt"),
    ],
)
def test_an_unsettled_verdict_has_its_status(verdict: Verdict, expected: str) -> None:
    state = state_after(*DOUBTED, probed(verdict, *NOWHERE))
    assert status(state) == expected
    assert state.captures[0].probes == 1


def test_a_conflict_can_still_be_settled_by_reading() -> None:
    rival = seen(capture=OTHER_CAPTURE)
    assert status(state_after(*DOUBTED, probed("conflicted", rival), probed("present_same", seen()))) == "confirmed"


def test_a_lost_write_that_turns_up_is_confirmed() -> None:
    lost = (*DOUBTED, probed("absent_final", *NOWHERE))
    assert status(state_after(*lost, probed("present_same", seen()))) == "confirmed"


def test_a_probe_of_a_capture_that_was_never_sent_changes_nothing() -> None:
    assert status(state_after(*READY, probed("present_same", seen()))) == "ready"


def test_a_matching_read_raises_the_evidence_of_the_checkpoint() -> None:
    checkpoint = state_after(*SAVED, probed("present_same", seen())).checkpoint
    assert checkpoint is not None
    assert checkpoint.evidence == "read"


def test_a_later_read_takes_no_rung_away() -> None:
    indexed = probed("present_same", seen("id_search"))
    checkpoint = state_after(*SAVED, indexed, probed("present_same", seen())).checkpoint
    assert checkpoint is not None
    assert checkpoint.evidence == "indexed"


def test_evidence_begins_with_the_first_read_where_there_was_none() -> None:
    resolved_without = state_after(*DOUBTED, probed("present_same", seen("file"))).checkpoint
    assert resolved_without is not None
    assert resolved_without.evidence == "on_disk"


def test_a_read_that_does_not_match_raises_nothing() -> None:
    for probe in (
        probed("present_edited", seen(body=OTHER_BODY)),
        probed("present_same"),
        probed("present_same", seen(), capture=OTHER_CAPTURE),
    ):
        checkpoint = state_after(*SAVED, probe).checkpoint
        assert checkpoint is not None
        assert checkpoint.evidence == "answered"


def test_labels_stay_on_the_checkpoint_and_touch_no_other() -> None:
    moved = NoteMoved(capture_id=CAPTURE, file_path=MOVED)
    edited = NoteEdited(capture_id=CAPTURE, content_sha256=OTHER_BODY)
    checkpoint = state_after(*SAVED, moved, edited).checkpoint
    assert checkpoint is not None
    assert (checkpoint.moved, checkpoint.edited, checkpoint.path) == (True, True, MOVED)
    other = NoteMoved(capture_id=OTHER_CAPTURE, file_path=MOVED)
    assert state_after(*SAVED, other).checkpoint == state_after(*SAVED).checkpoint


def test_a_withdrawn_checkpoint_is_not_referenced_and_its_handoff_stays() -> None:
    state = state_after(*SAVED, NoteWithdrawn(capture_id=CAPTURE))
    assert state.checkpoint is None
    assert state.handoff is not None
    assert state_after(*SAVED, NoteWithdrawn(capture_id=OTHER_CAPTURE)).checkpoint is not None


def adopted(capture: CaptureId = CAPTURE, kind: CaptureKind = "checkpoint") -> ReceiptAdopted:
    return ReceiptAdopted(
        capture_id=capture,
        attempt=1,
        kind=kind,
        project=PROJECT,
        source_tip=TIP,
        content_sha256=BODY,
        file_path=MOVED,
        origin="session",
    )


def test_an_adopted_receipt_settles_or_becomes_the_checkpoint() -> None:
    for before in (DOUBTED, (opened(),)):
        checkpoint = state_after(*before, adopted()).checkpoint
        assert checkpoint is not None
        assert (checkpoint.evidence, checkpoint.path, checkpoint.status) == ("adopted", MOVED, "confirmed")


def test_an_adopted_receipt_is_the_checkpoint_from_there_on() -> None:
    checkpoint = state_after(*SAVED, adopted(OTHER_CAPTURE)).checkpoint
    assert checkpoint is not None
    assert (checkpoint.capture_id, checkpoint.path) == (OTHER_CAPTURE, MOVED)
    assert state_after(opened(), adopted(kind="transcript")).checkpoint is None


def test_a_tip_that_was_saved_elsewhere_owes_nothing_here() -> None:
    gathered = state_after(opened(), settled(), adopted()).gathered
    assert (gathered.tip, gathered.characters) == (None, 0)
    assert state_after(opened(), adopted(), settled()).gathered.tip is None
    assert state_after(opened(), settled(), (settled(), NEXT_TIP), adopted()).gathered.tip == NEXT_TIP
    assert state_after(opened(), adopted(), (settled(), NEXT_TIP)).gathered.tip == NEXT_TIP


def test_a_receipt_of_the_checkpoint_itself_takes_no_evidence_away() -> None:
    assert state_after(*SAVED, adopted()).checkpoint == state_after(*SAVED).checkpoint


def test_a_receipt_of_an_older_open_capture_does_not_displace_the_checkpoint() -> None:
    later = (intended(OTHER_CAPTURE), answered("accepted", capture=OTHER_CAPTURE))
    state = state_after(*DOUBTED, begun(OTHER_CAPTURE, tip=NEXT_TIP), finished(OTHER_CAPTURE), *later, adopted())
    assert state.checkpoint is not None
    assert (state.checkpoint.capture_id, state.captures) == (OTHER_CAPTURE, ())


def test_a_note_adopted_because_it_was_read_has_the_evidence_of_a_read() -> None:
    checkpoint = state_after(opened(), replace(adopted(), origin="address")).checkpoint
    assert checkpoint is not None
    assert checkpoint.evidence == "read"


def test_a_basis_taken_from_a_note_is_what_the_next_synthesis_starts_from() -> None:
    taken = BasisTaken(capture_id=CAPTURE, source_tip=TIP, handoff_sha256=HANDOFF, edited=False)
    assert state_after(opened(), adopted(), taken).handoff == Handoff(HANDOFF, TIP, CAPTURE)


def resolved(decision: Decision, attempt: int = 1) -> CaptureResolved:
    return CaptureResolved(
        capture_id=CAPTURE,
        attempt=attempt,
        decision=decision,
        reason_sha256=BODY,
        file_path=None,
    )


def test_a_person_settles_what_reading_could_not() -> None:
    lost = (*DOUBTED, probed("absent_final", *NOWHERE))
    accepted = state_after(*DOUBTED, probed("conflicted", seen(capture=OTHER_CAPTURE)), resolved("accept")).checkpoint
    assert accepted is not None
    assert accepted.path == ADDRESS.file_path
    assert state_after(*lost, resolved("abandon")).captures == ()
    again = state_after(*lost, resolved("rewrite", 2)).captures[0]
    assert (again.status, again.attempt, again.intent) == ("ready", 2, None)
    assert state_after(*SAVED, resolved("abandon")).checkpoint is not None


def test_what_a_person_accepted_is_known_as_such_until_a_read_or_a_receipt_proves_it() -> None:
    conflicted = (*DOUBTED, probed("conflicted", seen(capture=OTHER_CAPTURE)))
    person = (*conflicted, resolved("accept"))
    receipt = replace(adopted(), origin="address")
    assert not state_after(*conflicted).captures[0].accepted
    for history, accepted in (
        (person, True),
        ((*person, probed("absent_open", *NOWHERE)), True),
        ((*person, probed("present_same", seen())), False),
        ((*conflicted, receipt), False),
        ((*DOUBTED, probed("present_same", seen())), False),
        (SAVED, False),
    ):
        checkpoint = state_after(*history).checkpoint
        assert checkpoint is not None
        assert checkpoint.accepted == accepted


# -- recall and bridge -------------------------------------------------------


def test_planned_recall_is_planned_once_and_keeps_its_failures() -> None:
    planned = RecallPlanned(reason="start", topic_sha256=None, queries=())
    failed = RecallFailed(name="tasks", error="timeout")
    assert state_after(opened(), planned).recall.planned
    assert state_after(opened(), planned, failed).recall.failures == ("tasks",)
    assert len(state_after(opened(), *([failed] * 30)).recall.failures) == 20
    assert state_after(opened(), failed, planned).recall.failures == ()


def test_questions_about_a_prompt_leave_owed_what_is_asked_ahead_of_it() -> None:
    failed = RecallFailed(name="tasks", error="timeout")
    about = RecallPlanned(reason="start", topic_sha256=BODY, queries=())
    recall = state_after(opened(), failed, about).recall
    assert (recall.planned, recall.due, recall.failures) == (False, "start", ("tasks",))


def test_a_round_that_nobody_answered_is_owed_again_and_counted() -> None:
    planned = RecallPlanned(reason="start", topic_sha256=None, queries=())
    unanswered = RecallFailed(name=ROUND, error="timeout")
    recall = state_after(opened(), planned, unanswered, planned, unanswered).recall
    assert (recall.planned, recall.rounds, recall.failures) == (False, 2, ())
    answered_one = RecallAnswered(name="tasks", query_sha256=BODY, authoritative=True, hits=())
    assert state_after(opened(), planned, unanswered, planned, answered_one).recall.rounds == 0
    assert state_after(opened(), planned, answered_one).recall.rounds == 0


def test_a_tool_call_is_open_until_its_outcome_is_known() -> None:
    def answer(outcome: Outcome, call: str = "call-1") -> ToolAnswered:
        return ToolAnswered(call_id=CallId(call), outcome=outcome, code=None)

    assert len(state_after(opened(), CALLED).calls) == 1
    assert state_after(opened(), CALLED, answer("accepted")).calls == ()
    assert state_after(opened(), CALLED, answer("unknown")).calls[0].unknown
    assert not state_after(opened(), CALLED, answer("unknown", "call-2")).calls[0].unknown


def test_a_tool_call_that_a_person_settled_is_open_no_more() -> None:
    def settled_by_hand(call: str) -> ToolResolved:
        return ToolResolved(call_id=CallId(call), decision="accept", reason_sha256=BODY)

    assert state_after(opened(), CALLED, settled_by_hand("call-1")).calls == ()
    assert len(state_after(opened(), CALLED, settled_by_hand("call-2")).calls) == 1


def test_a_tool_call_of_an_ended_writer_is_unknown() -> None:
    assert state_after(opened(), CALLED, opened("resume", writer=NEXT_WRITER, ended=(WRITER,))).calls[0].unknown
    assert not state_after(opened(), CALLED, opened("reload")).calls[0].unknown


def test_a_row_without_a_tip_keeps_the_last_one() -> None:
    (first, second) = rows(opened(), connected())
    tipless = type(second)(
        event=second.event,
        branch=second.branch,
        position=2,
        at_ms=second.at_ms,
        tip=None,
        cause=None,
        digest=second.digest,
    )
    assert fold([first, tipless]).tip == TIP
