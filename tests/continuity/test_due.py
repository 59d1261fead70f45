"""What is owed follows from the state, the connection and the time: one effect a lane, and when to look again."""

from __future__ import annotations

from msgspec.structs import replace

from continuity.due import (
    PROBE_SPACING_MS,
    RECALL_SPACING_MS,
    SUBMIT_SPACING_MS,
    SYNTHESIS_BACKOFF_MS,
    Begin,
    Effect,
    Owed,
    Policy,
    Prefetch,
    Probe,
    Submit,
    Synthesise,
    due,
)
from journal.events import (
    BriefDelivered,
    CaptureRequested,
    CompactionEnded,
    Event,
    Paused,
    RecallFailed,
    RecallPlanned,
    Resumed,
    SessionClosed,
    SynthesisFailed,
)
from journal.events.recall import ROUND
from journal.ids import EntryId
from tests.facts import (
    BODY,
    CAPTURE,
    CONNECTION,
    DOUBTED,
    NOWHERE,
    OTHER_CAPTURE,
    POLICY,
    SAVED,
    TIP,
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

UP = Policy(connection=CONNECTION)
DOWN = Policy(connection=None)
LATER = 10_000_000
NEXT_TIP = EntryId("bb02")
PLANNED = RecallPlanned(reason="start", topic_sha256=None, queries=())
QUIET: tuple[Event, ...] = (opened(), PLANNED)
UNANSWERED = RecallFailed(name=ROUND, error="timeout")
FAILED = SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1)


def owed(*events: Event | tuple[Event, str], policy: Policy = UP, now_ms: int = LATER) -> Owed:
    return due(state_after(*events), policy, now_ms)


def effects(*events: Event | tuple[Event, str], policy: Policy = UP, now_ms: int = LATER) -> tuple[Effect, ...]:
    return owed(*events, policy=policy, now_ms=now_ms).effects


def last_ms(*events: Event | tuple[Event, str]) -> int:
    return rows(*events)[-1].at_ms


def test_a_session_that_is_not_open_owes_nothing() -> None:
    closed = SessionClosed(reason="quit", unsaved_tip=None, drained=True)
    assert owed(settled()) == Owed((), None)
    assert owed(opened(), settled(), closed) == Owed((), None)


def test_enough_new_characters_are_captured_at_once() -> None:
    for characters, wanted in ((4_000, (Begin(TIP, "cadence"),)), (3_999, ())):
        events = (*QUIET, settled(characters))
        assert effects(*events, now_ms=last_ms(*events)) == wanted


def test_few_new_characters_are_captured_when_their_time_has_come() -> None:
    events = (*QUIET, settled(10))
    at_ms = last_ms(*events) + POLICY.cadence_ms
    assert owed(*events, now_ms=at_ms - 1) == Owed((), at_ms)
    assert effects(*events, now_ms=at_ms) == (Begin(TIP, "cadence"),)


def test_a_turn_without_an_answer_asks_nothing_of_a_model_until_one_has_one() -> None:
    failed = (*QUIET, settled(), (settled(5_000, messages=1, interrupted=True), NEXT_TIP))
    assert owed(*failed, now_ms=LATER) == Owed((), None)
    again = (*failed, (settled(10), EntryId("bb03")))
    assert effects(*again, now_ms=last_ms(*again)) == (Begin(EntryId("bb03"), "cadence"),)


def test_what_a_person_asks_for_after_a_turn_without_an_answer_is_captured() -> None:
    asked = CaptureRequested(reason="command", focus_sha256=None)
    assert effects(*QUIET, settled(interrupted=True), asked, now_ms=0) == (Begin(TIP, "command"),)


def test_what_was_requested_is_captured_whatever_the_cadence() -> None:
    asked = CaptureRequested(reason="command", focus_sha256=None)
    assert effects(*QUIET, settled(10), asked, now_ms=0) == (Begin(TIP, "command"),)


def test_a_persons_command_ends_the_wait_for_a_model_that_failed_and_nothing_else_does() -> None:
    failure = SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1)
    failed = (*QUIET, settled(), begun(), failure, failure)
    now_ms = last_ms(*failed) + 1_000
    assert effects(*failed, now_ms=now_ms) == ()
    for reason, owed_now in (("command", (Synthesise(CAPTURE, 0),)), ("quit", ())):
        assert effects(*failed, CaptureRequested(reason=reason, focus_sha256=None), now_ms=now_ms) == owed_now


def test_nothing_is_captured_off_the_record_without_a_project_or_when_switched_off() -> None:
    silent = opened(policy=replace(POLICY, capture=False))
    assert effects(*QUIET, settled(), Paused()) == ()
    asked = CaptureRequested(reason="compaction", focus_sha256=None)
    assert effects(*QUIET, settled(), asked, Paused()) == ()
    assert effects(*QUIET, settled(), asked, Paused(), Resumed()) == (Begin(TIP, "compaction"),)
    assert effects(opened(destination=None), settled()) == ()
    assert effects(silent, PLANNED, settled()) == ()


def test_an_unchanged_tip_owes_nothing() -> None:
    assert effects(*SAVED, PLANNED) == ()


def test_a_begun_capture_is_synthesised_with_or_without_a_server() -> None:
    for policy in (UP, DOWN):
        assert effects(*QUIET, settled(), begun(), policy=policy) == (Synthesise(CAPTURE, 0),)


def test_a_failing_model_is_left_alone_for_longer_and_longer() -> None:
    for failures in range(1, 7):
        events = (*QUIET, settled(), begun(), *([FAILED] * failures))
        wait = SYNTHESIS_BACKOFF_MS[min(failures, len(SYNTHESIS_BACKOFF_MS) - 1)]
        at_ms = last_ms(*events) + wait
        assert owed(*events, now_ms=at_ms - 1) == Owed((), at_ms)
        assert effects(*events, now_ms=at_ms) == (Synthesise(CAPTURE, failures),)


def test_a_finished_capture_is_sent_when_a_server_is_up() -> None:
    ready = (*QUIET, settled(), begun(), finished())
    assert effects(*ready, now_ms=0) == (Submit(CAPTURE, 1),)
    assert effects(*ready, policy=DOWN) == ()


def test_a_write_that_was_not_sent_is_attempted_again_after_longer_and_longer() -> None:
    history = (*QUIET, connected(), settled(), begun(), finished(), intended(), answered("not-sent"))
    at_ms = rows(*history)[-2].at_ms + SUBMIT_SPACING_MS[1]
    assert due(state_after(*history), UP, at_ms - 1) == Owed((), at_ms)
    assert due(state_after(*history), UP, at_ms).effects == (Submit(CAPTURE, 1),)
    history = (*history, intended(attempt=2), answered("not-sent", attempt=2))
    at_ms = rows(*history)[-2].at_ms + SUBMIT_SPACING_MS[2]
    assert due(state_after(*history), UP, at_ms - 1) == Owed((), at_ms)


def test_a_newer_tip_is_captured_while_a_finished_one_waits_for_a_server() -> None:
    waiting = (*QUIET, settled(), begun(), finished(), (settled(), NEXT_TIP))
    assert effects(*waiting, policy=DOWN) == (Begin(NEXT_TIP, "cadence"),)


def test_nothing_is_begun_while_an_answer_is_awaited() -> None:
    sent = (*QUIET, connected(), settled(), begun(), finished(), intended(), (settled(), NEXT_TIP))
    assert effects(*sent) == ()


def test_a_doubted_write_is_read_at_once_then_spaced() -> None:
    assert effects(*DOUBTED, PLANNED, now_ms=0) == (Probe(CAPTURE, 0),)
    for probes in range(1, 7):
        events = (*DOUBTED, PLANNED, *([probed("absent_open", *NOWHERE)] * probes))
        at_ms = last_ms(*events) + PROBE_SPACING_MS[min(probes, len(PROBE_SPACING_MS) - 1)]
        assert owed(*events, now_ms=at_ms - 1) == Owed((), at_ms)
        assert effects(*events, now_ms=at_ms) == (Probe(CAPTURE, probes),)


def test_a_clock_that_was_set_back_keeps_nothing_waiting() -> None:
    gathered = (*QUIET, settled(10))
    failed = (*QUIET, settled(), begun(), FAILED)
    doubted = (*DOUBTED, PLANNED, *([probed("absent_open", *NOWHERE)] * 5))
    for events, wanted in (
        (gathered, Begin(TIP, "cadence")),
        (failed, Synthesise(CAPTURE, 1)),
        (doubted, Probe(CAPTURE, 5)),
    ):
        assert effects(*events, now_ms=last_ms(*events)) == ()
        assert effects(*events, now_ms=last_ms(*events) - 1) == (wanted,)


def test_a_doubted_write_waits_for_somebody_to_ask() -> None:
    assert owed(*DOUBTED, PLANNED, policy=DOWN) == Owed((), None)


def test_a_doubted_write_does_not_hold_back_the_next_capture() -> None:
    assert effects(*DOUBTED, PLANNED, (settled(), NEXT_TIP)) == (
        Begin(NEXT_TIP, "cadence"),
        Probe(CAPTURE, 0),
    )


def test_a_lost_write_is_not_read_again() -> None:
    assert effects(*DOUBTED, PLANNED, probed("absent_final", *NOWHERE)) == ()


def test_the_doubted_write_whose_turn_comes_first_is_read_first() -> None:
    other = (
        (settled(), NEXT_TIP),
        begun(OTHER_CAPTURE, NEXT_TIP),
        finished(OTHER_CAPTURE),
        intended(OTHER_CAPTURE, NEXT_TIP),
        answered("unknown", OTHER_CAPTURE),
    )
    events = (*DOUBTED, PLANNED, probed("absent_open", *NOWHERE), *other)
    assert effects(*events, now_ms=last_ms(*events)) == (Probe(OTHER_CAPTURE, 0),)


def test_of_two_doubted_writes_that_nobody_has_read_the_older_is_read_first() -> None:
    earlier = (opened(), PLANNED, connected(), settled(), begun(), finished(), intended(), answered("unknown"))
    later = ((settled(), NEXT_TIP), begun(OTHER_CAPTURE, NEXT_TIP), finished(OTHER_CAPTURE))
    both = (*earlier, *later, intended(OTHER_CAPTURE, NEXT_TIP), answered("unknown", OTHER_CAPTURE))
    assert effects(*both) == (Probe(CAPTURE, 0),)


def test_a_due_brief_is_prepared_once_a_server_is_up() -> None:
    assert effects(opened()) == (Prefetch("start", None),)
    assert effects(opened(), policy=DOWN) == ()
    assert effects(*QUIET) == ()


def test_a_doubted_write_is_read_before_a_brief_is_prepared_for_it_may_be_the_newest_checkpoint() -> None:
    assert effects(*DOUBTED) == (Probe(CAPTURE, 0),)
    assert effects(*DOUBTED, probed("present_same", seen())) == (Prefetch("start", None),)
    events = (*DOUBTED, probed("unreachable"))
    assert effects(*events, now_ms=last_ms(*events)) == (Prefetch("start", None),)


def test_a_round_that_nobody_answered_is_asked_again_later_and_later() -> None:
    for rounds in range(1, 7):
        events: tuple[Event, ...] = (opened(), *((PLANNED, UNANSWERED) * rounds))
        at_ms = last_ms(*events) + RECALL_SPACING_MS[min(rounds, len(RECALL_SPACING_MS) - 1)]
        assert owed(*events, now_ms=at_ms - 1) == Owed((), at_ms)
        assert effects(*events, now_ms=at_ms) == (Prefetch("start", None, rounds),)


def test_a_delivered_brief_is_not_prepared_again() -> None:
    delivered = BriefDelivered(brief_sha256=BODY, characters=1, sources=(), how="steered", entry=None, complete=True)
    assert effects(*QUIET, delivered) == ()


def test_the_next_brief_is_other_work_than_the_one_before_it() -> None:
    delivered = BriefDelivered(brief_sha256=BODY, characters=1, sources=(), how="steered", entry=None, complete=True)
    first = CompactionEnded(reason="manual", aborted=False)
    assert effects(*QUIET, first) == (Prefetch("compaction", None),)
    assert effects(*QUIET, first, delivered, first) == (Prefetch("compaction", BODY),)
    assert Prefetch("compaction", None).key != Prefetch("compaction", BODY).key


def test_no_brief_is_prepared_without_a_project_or_when_recall_is_off() -> None:
    assert effects(opened(destination=None)) == ()
    assert effects(opened(policy=replace(POLICY, recall=False))) == ()


def test_the_same_owed_work_has_the_same_key_after_a_restart() -> None:
    for events in ((opened(), settled(), begun()), (*QUIET, settled(), begun(), finished()), (*DOUBTED, PLANNED)):
        first, again = effects(*events), effects(*events)
        assert [e.key for e in first] == [e.key for e in again]
        assert len({e.key for e in first}) == len(first)
    assert Begin(TIP, "cadence").key == Begin(TIP, "command").key
    assert len({e.lane for e in (Begin(TIP, "x"), Probe(CAPTURE, 0), Prefetch("start", None))}) == 3
