"""What boundaries amount to: openings name the dead, closings say what is unsaved, compactions make what was gathered due."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from continuity.commands import (
    CloseSession,
    Fork,
    Notice,
    Observe,
    OpenSession,
    Pause,
    Request,
    ResolveCall,
    Resume,
    Settle,
)
from journal.events import (
    BranchForked,
    CaptureRequested,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    MemoryLost,
    OperationFailed,
    Paused,
    Resumed,
    SessionClosed,
    SynthesisFailed,
    ToolAnswered,
    ToolCalled,
    ToolResolved,
    WorkBegun,
)
from journal.ids import CallId, EntryId, Sha256, WriterId
from tests.facts import (
    CAPTURE,
    CONNECTION,
    DOUBTED,
    NEXT_WRITER,
    POLICY,
    PROCESS,
    PROJECT,
    SAVED,
    TIP,
    WRITER,
    begun,
    connected,
    finished,
    intended,
    opened,
    settled,
)
from tests.spec import given

NOTICED = CompactionNoticed(entry=EntryId("cc03"))
REQUESTED = CaptureRequested(reason="compaction", focus_sha256=None)
CALLED = ToolCalled(
    call_id=CallId("call-1"),
    name="write_note",
    target_sha256=Sha256("9" * 64),
    writer=WRITER,
    connection=CONNECTION,
)


def opening(writer: WriterId) -> OpenSession:
    like = opened()
    return OpenSession(
        reason="resume",
        host=like.host,
        version=like.version,
        level=like.level,
        profile=like.profile,
        destination=PROJECT,
        policy=POLICY,
        writer=writer,
        process=PROCESS,
    )


def test_a_new_writer_names_the_writers_that_still_owe_an_answer() -> None:
    given(opened(), connected(), settled(), begun(), finished(), intended()).when(opening(NEXT_WRITER)).then(
        opened("resume", writer=NEXT_WRITER, ended=(WRITER,))
    )


def test_a_writer_never_declares_itself_ended() -> None:
    given(opened(), connected(), settled(), begun(), finished(), intended()).when(opening(WRITER)).then(
        opened("resume", writer=WRITER)
    )


def test_a_writer_whose_write_is_in_doubt_already_is_not_named_again() -> None:
    given(*DOUBTED).when(opening(WriterId("writer-3"))).then(opened("resume", writer=WriterId("writer-3")))


def test_a_writer_that_owes_nothing_is_not_named() -> None:
    given(*SAVED).when(opening(NEXT_WRITER)).then(opened("resume", writer=NEXT_WRITER))


def test_a_writer_with_an_unanswered_tool_call_is_named() -> None:
    given(opened(), CALLED).when(opening(NEXT_WRITER)).then(opened("resume", writer=NEXT_WRITER, ended=(WRITER,)))


def test_a_close_with_everything_saved_is_drained() -> None:
    given(*SAVED).when(CloseSession(reason="quit")).then(SessionClosed(reason="quit", unsaved_tip=None, drained=True))


def test_a_close_names_the_tip_that_was_only_gathered() -> None:
    given(opened(), settled()).when(CloseSession(reason="quit")).then(
        SessionClosed(reason="quit", unsaved_tip=TIP, drained=False)
    )


def test_a_close_names_the_tip_of_a_write_in_doubt() -> None:
    given(*DOUBTED).when(CloseSession(reason="quit")).then(SessionClosed(reason="quit", unsaved_tip=TIP, drained=False))


def test_a_closed_session_is_not_closed_again() -> None:
    given(opened(), SessionClosed(reason="quit", unsaved_tip=None, drained=True)).when(
        CloseSession(reason="quit")
    ).then()


def test_a_fork_says_what_was_left_and_what_was_kept() -> None:
    given(*SAVED).when(Fork(reason="left", left_tip=EntryId("bb02"))).then(
        BranchForked(reason="left", left_tip=EntryId("bb02"), kept_tip=TIP)
    )


def test_a_settle_counts_what_is_new() -> None:
    given(opened()).when(Settle(tip=TIP, messages=2, characters=5_000, interrupted=False)).then(settled())


def test_an_interrupted_settle_is_recorded_as_interrupted() -> None:
    given(opened()).when(Settle(tip=TIP, messages=1, characters=10, interrupted=True)).then(
        settled(10, messages=1, interrupted=True)
    )


def test_a_settle_that_brought_nothing_is_not_recorded() -> None:
    given(opened(), settled()).when(Settle(tip=TIP, messages=0, characters=0, interrupted=False)).then()


def test_a_settle_at_another_tip_or_with_new_messages_is_recorded() -> None:
    elsewhere = Settle(tip=EntryId("bb02"), messages=0, characters=0, interrupted=False)
    given(opened(), settled()).when(elsewhere).then(settled(0, messages=0))
    more = Settle(tip=TIP, messages=1, characters=10, interrupted=False)
    given(opened(), settled()).when(more).then(settled(10, messages=1))


def test_a_request_makes_what_was_gathered_due() -> None:
    given(opened(), settled(10)).when(Request(reason="command")).then(
        CaptureRequested(reason="command", focus_sha256=None)
    )


def test_a_request_hands_on_what_the_person_wants_in_focus() -> None:
    focus = Sha256("8" * 64)
    given(opened(), settled(10)).when(Request(reason="command", focus_sha256=focus)).then(
        CaptureRequested(reason="command", focus_sha256=focus)
    )


def test_an_unchanged_tip_owes_nothing_whoever_asks() -> None:
    given(*SAVED).when(Request(reason="command")).then()


def test_what_is_due_already_is_not_requested_again() -> None:
    given(opened(), settled(10), REQUESTED).when(Request(reason="command")).then()


def test_a_person_and_nobody_else_has_a_model_asked_again_that_failed() -> None:
    asked = CaptureRequested(reason="command", focus_sha256=None)
    failed = (opened(), settled(10), begun(), SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1))
    given(*failed).when(Request(reason="command")).then(asked)
    given(*failed, (settled(10), EntryId("bb02")), REQUESTED).when(Request(reason="command")).then(asked)
    given(*failed).when(Request(reason="quit")).then()
    given(*failed, Paused()).when(Request(reason="command")).then()


def test_a_handoff_under_way_is_not_asked_for_again() -> None:
    given(opened(), settled(10), begun()).when(Request(reason="command")).then()


def test_a_noticed_compaction_makes_what_was_gathered_due() -> None:
    given(opened(), settled(10)).when(Observe(NOTICED)).then(NOTICED, REQUESTED)


def test_a_compaction_is_noticed_once() -> None:
    given(opened(), settled(10), NOTICED).when(Observe(NOTICED)).then()


def test_compactions_found_together_are_all_noticed_and_make_what_was_gathered_due_once() -> None:
    older, newest = NOTICED, CompactionNoticed(entry=EntryId("cc04"))
    both = Notice(entries=(older.entry, newest.entry))
    given(opened(), settled(10)).when(both).then(older, newest, REQUESTED)
    given(opened(), settled(10), newest).when(both).then(older, REQUESTED)
    given(opened(), settled(10), newest, older).when(both).then()


def test_an_announced_compaction_makes_what_was_gathered_due() -> None:
    started = CompactionStarted(reason="manual")
    given(opened(), settled(10)).when(Observe(started)).then(started, REQUESTED)


def test_a_compaction_owes_nothing_when_the_user_switched_that_off() -> None:
    policy = replace(POLICY, on_compact=False)
    given(opened(policy=policy), settled(10)).when(Observe(NOTICED)).then(NOTICED)


@pytest.mark.parametrize("reason", ["quit", "left-session", "left-branch", "compaction"])
def test_nothing_automatic_is_requested_against_the_main_switch(reason: str) -> None:
    policy = replace(POLICY, capture=False)
    given(opened(policy=policy), settled(10)).when(Request(reason=reason)).then()


@pytest.mark.parametrize("reason", ["quit", "left-session"])
def test_the_end_of_a_session_has_a_switch_of_its_own(reason: str) -> None:
    policy = replace(POLICY, on_shutdown=False)
    given(opened(policy=policy), settled(10)).when(Request(reason=reason)).then()
    given(opened(), settled(10)).when(Request(reason=reason)).then(CaptureRequested(reason=reason, focus_sha256=None))


def test_leaving_a_branch_is_not_the_end_of_a_session() -> None:
    policy = replace(POLICY, on_shutdown=False)
    given(opened(policy=policy), settled(10)).when(Request(reason="left-branch")).then(
        CaptureRequested(reason="left-branch", focus_sha256=None)
    )


@pytest.mark.parametrize("reason", ["quit", "compaction", "left-branch", "left-session", "command"])
def test_nothing_is_requested_off_the_record(reason: str) -> None:
    given(opened(), settled(10), Paused()).when(Request(reason=reason)).then()


def test_a_persons_command_needs_no_switch() -> None:
    policy = replace(POLICY, capture=False)
    given(opened(policy=policy), settled(10)).when(Request(reason="command")).then(
        CaptureRequested(reason="command", focus_sha256=None)
    )


def test_a_compaction_before_the_session_opened_is_only_recorded() -> None:
    given(settled(10)).when(Observe(NOTICED)).then(NOTICED)


def test_an_end_without_a_start_is_recorded() -> None:
    ended = CompactionEnded(reason="unknown", aborted=True)
    given(opened()).when(Observe(ended)).then(ended)


def test_the_same_connection_is_recorded_once() -> None:
    given(opened(), connected()).when(Observe(connected())).then()


def test_a_new_connection_is_recorded() -> None:
    given(opened()).when(Observe(connected())).then(connected())


def test_a_loss_is_recorded_while_a_connection_is_up() -> None:
    lost = MemoryLost(connection=CONNECTION, error="lost")
    given(opened(), connected()).when(Observe(lost)).then(lost)


def test_a_late_loss_changes_nothing() -> None:
    given(opened()).when(Observe(MemoryLost(connection=CONNECTION, error="lost"))).then()


def test_a_failure_to_connect_is_recorded_when_nothing_is_up() -> None:
    failed = MemoryLost(connection=None, error="timeout")
    given(opened()).when(Observe(failed)).then(failed)
    given(opened(), connected()).when(Observe(failed)).then()


def test_a_pause_is_recorded_once() -> None:
    given(opened()).when(Pause()).then(Paused())
    given(opened(), Paused()).when(Pause()).then()


def test_a_resume_is_recorded_only_after_a_pause() -> None:
    given(opened(), Paused()).when(Resume()).then(Resumed())
    given(opened()).when(Resume()).then()
    given(opened()).when(Resume(doubted=True)).then(Resumed())


def test_facts_without_a_rule_are_recorded_as_they_are() -> None:
    for fact in (
        WorkBegun(how="prompt", characters=12),
        OperationFailed(operation="recall", error="timeout", remedy="wait"),
    ):
        given(opened()).when(Observe(fact)).then(fact)


def settling(call: str = "call-1") -> ResolveCall:
    return ResolveCall(call_id=CallId(call), decision="abandon", reason_sha256=Sha256("7" * 64))


def test_a_person_settles_a_tool_call_whose_outcome_nobody_knows() -> None:
    unknown = ToolAnswered(call_id=CallId("call-1"), outcome="unknown", code="timeout")
    done = ToolResolved(call_id=CallId("call-1"), decision="abandon", reason_sha256=Sha256("7" * 64))
    given(opened(), CALLED, unknown).when(settling()).then(done)


def test_the_outcome_of_a_tool_call_is_recorded_once() -> None:
    def outcome(code: str) -> ToolAnswered:
        return ToolAnswered(call_id=CallId("call-1"), outcome="unknown", code=code)

    given(opened(), CALLED).when(Observe(outcome("timeout"))).then(outcome("timeout"))
    given(opened(), CALLED, outcome("timeout")).when(Observe(outcome("interrupted"))).then()
    given(opened()).when(Observe(outcome("timeout"))).then()


def test_a_tool_call_that_is_on_its_way_is_nobodys_to_settle() -> None:
    given(opened(), CALLED).when(settling()).rejected("it is not answered yet")


def test_a_tool_call_nobody_made_is_not_settled() -> None:
    given(opened(), CALLED).when(settling("call-2")).rejected("no such call is open on this branch")
