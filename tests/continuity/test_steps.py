"""Each event changes exactly the fields it speaks of, to exactly what it says, and leaves every other as it was."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from continuity.evolve import evolve, fold
from continuity.state import Capture, Gathered, Intent, OpenCall, Progress, Recall, Span, State
from journal.events import (
    BranchForked,
    BriefDelivered,
    CaptureRequested,
    CaptureResolved,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    Event,
    MemoryLost,
    NoteEdited,
    NoteMoved,
    Paused,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    ReceiptAdopted,
    Resumed,
    SessionClosed,
    SynthesisAdvanced,
    SynthesisFailed,
    TipsMapped,
    ToolAnswered,
    ToolCalled,
    WorkBegun,
)
from journal.events.lifecycle import TipPair
from journal.events.recall import ANEW, ROUND
from journal.events.writes import Outcome
from journal.ids import CallId, EntryId, ProjectName, Sha256
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
from tests.spec import rows, state_after

NEXT_TIP = EntryId("bb02")
MOVED = "archive/kept.md"
BEGUN: tuple[Event, ...] = (opened(), connected(), settled(), begun())
READY: tuple[Event, ...] = (*BEGUN, finished())
INTENDED: tuple[Event, ...] = (*READY, intended())
CONFLICTED: tuple[Event, ...] = (*DOUBTED, probed("conflicted", seen(capture=OTHER_CAPTURE)))
PLANNED = RecallPlanned(reason="start", topic_sha256=None, queries=())
BRIEFED = BriefDelivered(brief_sha256=BODY, characters=1, sources=(), how="steered", entry=None, complete=True)
TASKS_FAILED = RecallFailed(name="tasks", error="timeout")
UNANSWERED = RecallFailed(name=ROUND, error="timeout")
CALLED = ToolCalled(
    call_id=CallId("call-1"), name="write_note", target_sha256=BODY, writer=WRITER, connection=CONNECTION
)
CALL = OpenCall(CallId("call-1"), "write_note", WRITER, 3_000)
ADVANCED = SynthesisAdvanced(capture_id=CAPTURE, through_entry=TIP, through_offset=5, handoff_sha256=HANDOFF, chunks=2)
FAILED = SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1)


def difference(before: State | Capture | None, after: State | Capture | None) -> dict[str, object]:
    assert before is not None
    assert after is not None
    names = [name for name in before.__struct_fields__ if name not in ("position", "digest")]
    # False and None are different things to say, though both are equal to "no" in an `if`.
    return {name: getattr(after, name) for name in names if getattr(after, name) != getattr(before, name)}


def changed(*history: Event | tuple[Event, str], by: Event | tuple[Event, str]) -> dict[str, object]:
    """What the last event changes of the state, field by field."""
    return difference(state_after(*history), state_after(*history, by))


def of_capture(*history: Event, by: Event) -> dict[str, object]:
    """What the last event changes of the capture it is about, wherever the state keeps it."""
    return difference(state_after(*history).capture(CAPTURE), state_after(*history, by).capture(CAPTURE))


def sent_at(*history: Event) -> Intent:
    """The intent that history ends with."""
    return Intent(intended(), rows(*history)[-1].at_ms, connected())


# -- where it stands ---------------------------------------------------------


def test_a_state_names_the_row_after_which_it_holds() -> None:
    for upto in (1, 3):
        *_, last = recorded = rows(*SAVED[:upto], branch=2)
        state = fold(recorded)
        assert (state.branch, state.position, state.digest) == (last.branch, last.position, last.digest)


# -- lifecycle ---------------------------------------------------------------


def test_a_first_opening_opens_and_owes_a_brief() -> None:
    first = opened()
    assert difference(State(), state_after(first)) == {
        "branch": 1,
        "tip": TIP,
        "opened": first,
        "closed": False,
        "recall": Recall(due="start"),
    }


@pytest.mark.parametrize("reason", ["startup", "new", "resume"])
def test_whatever_a_start_is_called_it_owes_a_brief_planned_anew(reason: str) -> None:
    again = replace(opened(), reason=reason)
    reloaded = replace(opened("reload"), writer=NEXT_WRITER)
    recall = state_after(reloaded, PLANNED, TASKS_FAILED, again).recall
    assert (recall.due, recall.planned, recall.failures) == ("start", False, ())


def test_a_close_closes_and_forgets_the_connection() -> None:
    closed = SessionClosed(reason="quit", unsaved_tip=None, drained=True)
    assert changed(*SAVED, by=closed) == {"closed": True, "connection": None}


def test_a_fork_starts_from_the_tip_it_kept_with_nothing_owed_but_a_brief() -> None:
    forked = BranchForked(reason="left", left_tip=NEXT_TIP, kept_tip=TIP)
    history = (*SAVED, PLANNED, CALLED, begun(OTHER_CAPTURE, NEXT_TIP), (settled(), NEXT_TIP))
    assert changed(*history, by=(forked, NEXT_TIP)) == {
        "captures": (),
        "calls": (),
        "gathered": Gathered(),
        "settled_tip": TIP,
        "recall": Recall(due="branch"),
    }


def test_a_settle_adds_to_what_was_gathered_and_keeps_when_that_began() -> None:
    assert changed(opened(), settled(10), by=(settled(20), NEXT_TIP)) == {
        "tip": NEXT_TIP,
        "settled_tip": NEXT_TIP,
        "gathered": Gathered(tip=NEXT_TIP, messages=4, characters=30, since_ms=3_000),
    }


def test_a_settle_back_at_the_stored_tip_leaves_nothing_gathered() -> None:
    assert changed(*SAVED, (settled(), NEXT_TIP), by=settled()) == {
        "tip": TIP,
        "settled_tip": TIP,
        "gathered": Gathered(),
    }


def test_a_request_says_why_and_on_what_and_counts_nothing() -> None:
    asked = CaptureRequested(reason="command", focus_sha256=BODY)
    assert changed(opened(), settled(10), by=asked) == {
        "gathered": Gathered(tip=TIP, messages=2, characters=10, since_ms=3_000, owed="command", focus_sha256=BODY)
    }


def test_a_persons_request_for_a_checkpoint_that_failed_counts_its_failures_anew() -> None:
    failed = (opened(), settled(10), begun(), SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1))
    (capture,) = state_after(*failed).captures
    for focus in (BODY, None):
        asked = CaptureRequested(reason="command", focus_sha256=focus)
        assert changed(*failed, by=asked) == {"captures": (replace(capture, failures=0, focus_sha256=focus),)}
    ready = (opened(), settled(10), begun(), finished())
    assert changed(*ready, by=CaptureRequested(reason="command", focus_sha256=BODY)) == {}


def test_mapped_tips_move_each_tip_that_has_a_pair_and_no_other() -> None:
    history = (*SAVED, (settled(), NEXT_TIP))
    unrelated = TipsMapped(pairs=(TipPair(old=EntryId("99"), new=EntryId("98")),))
    assert changed(*history, by=(unrelated, NEXT_TIP)) == {}
    first = TipsMapped(pairs=(TipPair(old=TIP, new=EntryId("cc03")),))
    handoff = state_after(*SAVED).handoff
    assert handoff is not None
    assert changed(*history, by=(first, NEXT_TIP)) == {"handoff": replace(handoff, tip=EntryId("cc03"))}


def test_a_mapping_recorded_without_a_tip_moves_the_tip_of_the_branch_too() -> None:
    mapped = rows(opened(), TipsMapped(pairs=(TipPair(old=TIP, new=NEXT_TIP),)))[1]
    assert evolve(state_after(opened()), replace(mapped, tip=None)).tip == NEXT_TIP


@pytest.mark.parametrize("event", [WorkBegun(how="prompt", characters=5), CompactionStarted(reason="manual")])
def test_a_beginning_changes_nothing_until_its_end(event: Event) -> None:
    assert changed(*SAVED, by=event) == {}


def test_a_compaction_owes_a_brief_and_an_inferred_one_is_known_by_its_entry() -> None:
    history = (opened(), PLANNED, TASKS_FAILED)
    owed = Recall(due="compaction")
    assert changed(*history, by=CompactionEnded(reason="manual", aborted=True)) == {}
    assert changed(*history, by=CompactionEnded(reason="manual", aborted=False)) == {"recall": owed}
    noticed = CompactionNoticed(entry=NEXT_TIP)
    assert changed(*history, by=noticed) == {"compactions": frozenset({NEXT_TIP}), "recall": owed}


def test_a_connection_comes_and_goes_and_a_plan_made_for_it_goes_too() -> None:
    lost = MemoryLost(connection=CONNECTION, error="lost")
    assert changed(opened(), by=connected()) == {"connection": connected()}
    assert changed(opened(), connected(), by=lost) == {"connection": None}
    assert changed(opened(), connected(), PLANNED, by=lost) == {"connection": None, "recall": Recall(due="start")}


def test_a_pause_is_kept_with_its_time_and_the_message_it_began_at_and_with_its_end() -> None:
    lasting = {"paused": True, "paused_ms": 3_000, "off": (Span(TIP),)}
    assert changed(opened(), by=Paused()) == lasting
    assert changed(opened(), Paused(), by=Paused()) == {}
    ended = {"paused": False, "paused_ms": 0, "off": (Span(TIP, NEXT_TIP),), "tip": NEXT_TIP}
    assert changed(opened(), Paused(), by=(Resumed(), NEXT_TIP)) == ended


def test_a_pause_in_which_nothing_was_said_leaves_its_place_and_two_that_meet_are_one() -> None:
    third = EntryId("cc03")
    assert changed(opened(), Paused(), by=Resumed()) == {"paused": False, "paused_ms": 0, "off": (Span(TIP, TIP),)}
    assert state_after(opened(), Paused(), Resumed(), Paused(), Resumed()).off == (Span(TIP, TIP),)
    assert fold(replace(row, tip=None) for row in rows(opened(), Paused(), Resumed())).off == ()
    once = (opened(), Paused(), (Resumed(), NEXT_TIP))
    again = state_after(*once, (Paused(), NEXT_TIP))
    assert again.off == (Span(TIP),)
    assert state_after(*once, (Paused(), NEXT_TIP), (Resumed(), third)).off == (Span(TIP, third),)
    assert state_after(*once, (Paused(), third)).off == (Span(TIP, NEXT_TIP), Span(third))


def test_what_was_never_recorded_before_the_record_goes_on_is_a_stretch_from_the_tip() -> None:
    third = EntryId("cc03")
    assert state_after(opened(), (Resumed(), NEXT_TIP)).off == (Span(TIP, NEXT_TIP),)
    once = (opened(), Paused(), (Resumed(), NEXT_TIP))
    assert state_after(*once, (Resumed(), third)).off == (Span(TIP, third),)
    assert not state_after(*once, (Resumed(), third)).paused


def test_mapped_tips_take_the_spans_off_the_record_along() -> None:
    mapped = TipsMapped(pairs=(TipPair(old=NEXT_TIP, new=EntryId("cc03")),))
    assert state_after(opened(), Paused(), (Resumed(), NEXT_TIP), mapped).off == (Span(TIP, EntryId("cc03")),)


# -- capture -----------------------------------------------------------------


def test_a_begun_capture_is_what_its_event_says_and_takes_what_was_gathered() -> None:
    started = replace(begun(prior=(HANDOFF, NEXT_TIP)), attempt=3, focus_sha256=OTHER_BODY, reason="command")
    capture = Capture(
        capture_id=CAPTURE,
        attempt=3,
        kind="checkpoint",
        project=started.project,
        source_tip=TIP,
        status="begun",
        begun_ms=4_000,
        begun_position=3,
        reason="command",
        prior_sha256=HANDOFF,
        prior_tip=NEXT_TIP,
        focus_sha256=OTHER_BODY,
    )
    assert changed(opened(), settled(), by=started) == {"captures": (capture,), "gathered": Gathered()}


def test_progress_says_how_far_and_with_what() -> None:
    assert of_capture(*BEGUN, by=ADVANCED) == {"progress": Progress(TIP, 5, HANDOFF, 2)}
    assert of_capture(*BEGUN, FAILED, by=ADVANCED) == {"progress": Progress(TIP, 5, HANDOFF, 2), "failures": 0}


def test_a_failure_says_when_and_why_and_keeps_the_progress() -> None:
    assert of_capture(*BEGUN, ADVANCED, by=FAILED) == {"failures": 1, "failed_ms": 7_000, "code": "timeout"}


def test_a_handoff_that_is_gone_is_begun_again_from_the_root() -> None:
    assert of_capture(*BEGUN, ADVANCED, finished(), by=FAILED) == {
        "status": "begun",
        "progress": None,
        "handoff_sha256": None,
        "failures": 1,
        "failed_ms": 8_000,
        "code": "timeout",
    }


def test_a_finished_handoff_is_ready_and_its_failures_are_past() -> None:
    assert of_capture(*BEGUN, FAILED, by=finished()) == {"status": "ready", "handoff_sha256": HANDOFF, "failures": 0}


# -- writes ------------------------------------------------------------------


def test_an_intent_is_remembered_with_its_time_and_its_server_and_an_old_code_is_forgotten() -> None:
    sent = intended(attempt=2)
    assert of_capture(*INTENDED, answered("not-sent", code="down"), by=sent) == {
        "status": "intended",
        "attempt": 2,
        "intent": Intent(sent, 9_000, connected()),
        "intended_position": 8,
        "code": None,
    }
    assert of_capture(*READY, by=intended()) == {
        "status": "intended",
        "intent": sent_at(*INTENDED),
        "intended_position": 6,
        "content_sha256": BODY,
        "metadata_sha256": METADATA,
    }


def test_an_accepted_write_takes_over_what_the_server_returned() -> None:
    assert of_capture(*INTENDED, by=answered(code="created", path=MOVED)) == {
        "status": "confirmed",
        "code": "created",
        "file_path": MOVED,
        "permalink": "main/tau/checkpoints/tau-checkpoint-cccc",
        "checksum": "sum-1",
        "evidence": "answered",
    }


@pytest.mark.parametrize(
    ("outcome", "status"), [("refused", "refused"), ("unknown", "in_doubt"), ("not-sent", "ready")]
)
def test_any_other_answer_says_why_and_nothing_of_a_note(outcome: Outcome, status: str) -> None:
    assert of_capture(*INTENDED, by=answered(outcome, code="why")) == {"status": status, "code": "why"}


def test_a_doubt_remembers_where_the_server_says_that_a_note_is() -> None:
    told = replace(answered("unknown", code="exists"), file_path=MOVED)
    assert of_capture(*INTENDED, by=told) == {"status": "in_doubt", "code": "exists", "file_path": MOVED}


def test_a_doubt_is_read_from_the_beginning() -> None:
    again = (*CONFLICTED, opened("resume", writer=NEXT_WRITER, ended=(WRITER,)))
    assert state_after(*again).captures == state_after(*CONFLICTED).captures
    reread = (*INTENDED, probed("absent_open", *NOWHERE))
    assert of_capture(*reread, by=answered("unknown")) == {"status": "in_doubt", "probes": 0, "probed_ms": 0}


@pytest.mark.parametrize(
    ("verdict", "status"),
    [("conflicted", {"status": "conflicted"}), ("absent_final", {"status": "lost"}), ("absent_open", {})],
)
def test_a_read_that_settles_nothing_is_counted_with_its_time_and_verdict(
    verdict: str, status: dict[str, object]
) -> None:
    read = replace(probed("unreachable", *NOWHERE), verdict=verdict)
    assert of_capture(*DOUBTED, by=read) == {"probes": 1, "probed_ms": 10_000, "verdict": verdict, **status}


def test_a_found_note_says_where_it_is_and_what_it_holds() -> None:
    found = replace(seen("title", path=MOVED, body=OTHER_BODY, declared=OTHER_BODY), checksum="sum-2")
    assert of_capture(*DOUBTED, by=probed("present_twin", found)) == {
        "status": "confirmed",
        "probes": 1,
        "probed_ms": 10_000,
        "verdict": "present_twin",
        "file_path": MOVED,
        "checksum": "sum-2",
        "content_sha256": OTHER_BODY,
        "evidence": "adopted",
        "moved": True,
    }


def test_a_presence_that_no_read_shows_is_at_the_address_with_the_body_we_sent() -> None:
    assert of_capture(*DOUBTED, by=probed("present_edited")) == {
        "status": "confirmed",
        "probes": 1,
        "probed_ms": 10_000,
        "verdict": "present_edited",
        "file_path": ADDRESS.file_path,
        "evidence": "read",
        "edited": True,
    }


def test_a_matching_read_of_the_checkpoint_brings_its_checksum_and_its_verdict() -> None:
    read = replace(seen("file"), checksum="sum-2")
    assert of_capture(*SAVED, by=probed("present_same", read)) == {
        "evidence": "on_disk",
        "checksum": "sum-2",
        "verdict": "present_same",
    }


def test_a_label_changes_itself_alone_and_a_second_one_keeps_the_first() -> None:
    moved = NoteMoved(capture_id=CAPTURE, file_path=MOVED)
    edited = NoteEdited(capture_id=CAPTURE, content_sha256=OTHER_BODY)
    assert of_capture(*SAVED, by=moved) == {"moved": True, "file_path": MOVED}
    assert of_capture(*SAVED, by=edited) == {"edited": True}
    assert of_capture(*SAVED, moved, by=edited) == {"edited": True}
    assert of_capture(*SAVED, edited, by=moved) == {"moved": True, "file_path": MOVED}


# -- receipts and people -----------------------------------------------------


ELSEWHERE = ReceiptAdopted(
    capture_id=CAPTURE,
    attempt=4,
    kind="checkpoint",
    project=ProjectName("other"),
    source_tip=NEXT_TIP,
    content_sha256=OTHER_BODY,
    file_path=MOVED,
    origin="session",
)


def test_a_receipt_from_elsewhere_is_a_whole_checkpoint() -> None:
    assert state_after(opened(), ELSEWHERE).checkpoint == Capture(
        capture_id=CAPTURE,
        attempt=4,
        kind="checkpoint",
        project=ProjectName("other"),
        source_tip=NEXT_TIP,
        status="confirmed",
        begun_ms=3_000,
        begun_position=2,
        reason="adopted",
        file_path=MOVED,
        content_sha256=OTHER_BODY,
        evidence="adopted",
    )


def test_a_receipt_from_elsewhere_settles_what_is_in_doubt_and_leaves_the_rest_of_it() -> None:
    assert of_capture(*DOUBTED, by=ELSEWHERE) == {
        "status": "confirmed",
        "file_path": MOVED,
        "content_sha256": OTHER_BODY,
        "evidence": "adopted",
    }


@pytest.mark.parametrize(("told", "path"), [(MOVED, MOVED), (None, ADDRESS.file_path)])
def test_a_note_that_a_person_accepted_is_where_the_person_said_or_else_where_it_was_sent(
    told: str | None, path: str
) -> None:
    accepted = CaptureResolved(capture_id=CAPTURE, attempt=1, decision="accept", reason_sha256=BODY, file_path=told)
    assert of_capture(*CONFLICTED, by=accepted) == {"status": "confirmed", "evidence": "read", "file_path": path}


def test_a_write_ordered_again_has_no_intent_until_it_is_sent() -> None:
    again = CaptureResolved(capture_id=CAPTURE, attempt=2, decision="rewrite", reason_sha256=BODY, file_path=None)
    lost = (*DOUBTED, probed("absent_final", *NOWHERE))
    assert of_capture(*lost, by=again) == {"status": "ready", "attempt": 2, "intent": None}


# -- recall and calls --------------------------------------------------------


def test_a_plan_is_made_once_and_its_failures_are_its_own() -> None:
    assert changed(opened(), by=PLANNED) == {"recall": Recall(due="start", planned=True)}
    assert changed(opened(), TASKS_FAILED, by=PLANNED) == {"recall": Recall(due="start", planned=True)}


def test_questions_that_a_person_wants_asked_anew_owe_a_brief_whether_one_was_due_or_not() -> None:
    anew = replace(PLANNED, reason=ANEW)
    given = (opened(), PLANNED, BRIEFED)
    assert changed(*given, by=PLANNED) == {}
    assert changed(*given, by=anew) == {"recall": replace(state_after(*given).recall, due="orient")}
    assert changed(opened(), by=anew) == {"recall": Recall(due="orient", planned=True)}


def test_questions_about_a_topic_alone_owe_no_brief() -> None:
    assert changed(opened(), PLANNED, BRIEFED, by=replace(PLANNED, reason=ANEW, topic_sha256=BODY)) == {}


def test_an_unanswered_round_says_when_and_an_answer_ends_the_count() -> None:
    waiting = Recall(due="start", rounds=1, asked_ms=4_000)
    assert changed(opened(), PLANNED, by=UNANSWERED) == {"recall": waiting}
    answer = RecallAnswered(name="tasks", query_sha256=Sha256("1" * 64), authoritative=True, hits=())
    assert changed(opened(), PLANNED, UNANSWERED, by=answer) == {"recall": replace(waiting, rounds=0)}


@pytest.mark.parametrize(("complete", "due"), [(True, None), (False, "start")])
def test_a_brief_is_remembered_with_its_time_and_with_what_failed(complete: bool, due: str | None) -> None:
    brief = BriefDelivered(brief_sha256=BODY, characters=1, sources=(), how="steered", entry=None, complete=complete)
    assert changed(opened(), PLANNED, TASKS_FAILED, by=brief) == {
        "recall": Recall(due=due, planned=True, brief_sha256=BODY, delivered_ms=5_000, failures=("tasks",))
    }
    unplanned = state_after(opened(), UNANSWERED, brief).recall
    assert unplanned == Recall(due=due, brief_sha256=BODY, delivered_ms=4_000)


def test_a_call_is_remembered_with_who_made_it_and_when() -> None:
    assert changed(opened(), by=CALLED) == {"calls": (CALL,)}
    unknown = ToolAnswered(call_id=CallId("call-1"), outcome="unknown", code=None)
    assert changed(opened(), CALLED, by=unknown) == {"calls": (replace(CALL, unknown=True),)}
    ended = opened("reload", writer=NEXT_WRITER, ended=(WRITER,))
    assert changed(opened(), CALLED, by=ended) == {"opened": ended, "calls": (replace(CALL, unknown=True),)}
