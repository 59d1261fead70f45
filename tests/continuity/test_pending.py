"""What is open is told with what happened, what is known and what a person may do; what is settled is not listed."""

from __future__ import annotations

from typing import get_args

import pytest
from msgspec.structs import replace

from continuity import pending
from continuity.commands import CommandRejected, Resolve, ResolveCall
from continuity.decide import decide
from continuity.pending import (
    VERDICTS,
    NoSuchOpen,
    Open,
    SeveralOpen,
    age,
    choices,
    legible,
    matching,
    next_step,
    observation,
    open_items,
    shown,
    too_long,
    why,
)
from continuity.state import State
from continuity.verdict import Wanted
from journal.events import CaptureResolved, Event, SynthesisFailed, ToolAnswered, ToolCalled
from journal.events.writes import Decision, Observation, Verdict
from journal.ids import BranchId, CallId, CaptureId, EntryId, Sha256
from tests.facts import (
    BODY,
    CAPTURE,
    CONNECTION,
    DOUBTED,
    NEXT_WRITER,
    NOWHERE,
    OTHER_BODY,
    OTHER_CAPTURE,
    PROJECT,
    SAVED,
    TIP,
    WRITER,
    answered,
    missed,
    opened,
    probed,
    seen,
)
from tests.spec import state_after

BRANCH = BranchId(3)
CALL = CallId("5" * 32)
REASON = Sha256("7" * 64)
CALLED = ToolCalled(call_id=CALL, name="edit_note", target_sha256=BODY, writer=WRITER, connection=CONNECTION)
SENT = SAVED[:-1]
MISSED = probed("absent_open", *NOWHERE, server="alive")
UNASKED = probed("unreachable", missed("address", "unreachable"))
CLASHED = probed("conflicted", seen(capture=OTHER_CAPTURE))
LOST = probed("absent_final", *NOWHERE)
AGAIN = (
    *DOUBTED,
    LOST,
    CaptureResolved(capture_id=CAPTURE, attempt=2, decision="rewrite", reason_sha256=REASON, file_path=None),
)
NOT_SENT = answered("not-sent")
REFUSED = answered("refused", code="BAD_FOLDER")
UNKNOWN = answered("unknown", code="timeout")
NEXT = opened("resume", writer=NEXT_WRITER, ended=(WRITER,))
NO_ANSWER = ToolAnswered(call_id=CALL, outcome="unknown", code="timeout")


def only(*events: Event) -> Open:
    (item,) = open_items(BRANCH, state_after(*events))
    return item


def told(*events: Event, live: bool = False) -> tuple[str, str]:
    item = only(*events)
    return why(item, live=live), next_step(item, live=live)


# -- what is listed ----------------------------------------------------------


def test_a_sent_write_is_told_with_where_it_goes_and_who_sent_it() -> None:
    assert only(*SENT) == Open(
        reference=CAPTURE,
        branch=BRANCH,
        status="intended",
        kind="capture",
        what="checkpoint",
        project=PROJECT,
        file_path="tau/checkpoints/tau-checkpoint-cccc.md",
        attempt=1,
        tool=None,
        since_ms=7_000,
        probes=0,
        probed_ms=None,
        verdict=None,
        code=None,
        writer=WRITER,
    )


def test_a_read_leaves_its_time_and_its_verdict() -> None:
    item = only(*DOUBTED, MISSED, UNASKED)
    assert (item.status, item.probes, item.probed_ms, item.verdict) == ("in_doubt", 2, 11_000, "unreachable")


def test_a_call_is_told_with_its_tool() -> None:
    item = only(opened(), CALLED)
    assert (item.reference, item.kind, item.tool, item.status) == (CALL, "call", "edit_note", "intended")
    assert (item.project, item.file_path, item.attempt, item.writer) == (None, None, None, WRITER)


@pytest.mark.parametrize(
    ("events", "status", "unproven"),
    [
        (SENT, "intended", True),
        (DOUBTED, "in_doubt", True),
        ((*DOUBTED, CLASHED), "conflicted", True),
        ((*DOUBTED, LOST), "lost", False),
        ((*SENT, REFUSED), "refused", False),
        ((opened(), CALLED), "intended", True),
    ],
    ids=["intended", "in_doubt", "conflicted", "lost", "refused", "call"],
)
def test_lost_and_refused_are_listed_and_are_not_unproven(
    events: tuple[Event, ...], status: str, *, unproven: bool
) -> None:
    item = only(*events)
    assert (item.status, item.unproven) == (status, unproven)


@pytest.mark.parametrize(
    "events",
    [SAVED, SENT[:-1], SENT[:-2], (*DOUBTED, probed("present_same", seen())), (*SENT, answered("not-sent"))],
    ids=["confirmed", "ready", "begun", "found", "not sent"],
)
def test_what_is_settled_or_was_never_sent_is_not_listed(events: tuple[Event, ...]) -> None:
    assert open_items(BRANCH, state_after(*events)) == ()


def test_captures_come_before_calls() -> None:
    state = state_after(opened(), CALLED, *SENT[1:])
    assert [item.kind for item in open_items(BRANCH, state)] == ["capture", "call"]


def test_a_write_that_a_person_wants_again_is_listed_until_that_is_begun() -> None:
    item = only(*AGAIN)
    assert (item.status, item.attempt, item.unsent, item.unproven, item.readable) == ("ready", 2, True, False, False)
    begun = only(*AGAIN, replace(SENT[-1], attempt=2))
    assert (begun.status, begun.unsent, begun.unproven, begun.readable) == ("intended", False, True, True)


@pytest.mark.parametrize(
    "events",
    [
        (*SENT, NOT_SENT, replace(SENT[-1], attempt=2), replace(NOT_SENT, attempt=2)),
        (*AGAIN, SynthesisFailed(capture_id=CAPTURE, error="body-missing", model_calls=0)),
    ],
    ids=["not sent twice", "made anew"],
)
def test_a_later_attempt_that_its_session_has_in_hand_is_not_listed(events: tuple[Event, ...]) -> None:
    state = state_after(*events)
    assert [capture.attempt for capture in state.captures] == [2]
    assert open_items(BRANCH, state) == ()


def test_a_call_is_not_readable_and_a_lost_write_is() -> None:
    assert not only(opened(), CALLED).readable
    assert only(*DOUBTED, LOST).readable


# -- what is said ------------------------------------------------------------


def test_a_live_session_that_waits_is_waited_for() -> None:
    assert told(*SENT, live=True) == (
        "sent; the running session waits for the server's answer; nobody looked for it yet",
        "wait for the answer; `/bm-pending probe cccccccccc` reads before it comes",
    )


def test_a_write_whose_session_ended_is_to_be_read() -> None:
    assert told(*SENT) == (
        "sent, and no answer was recorded; nobody looked for it yet",
        "`continuity probe cccccccccc` reads now",
    )


def test_reads_that_found_nothing_prove_nothing() -> None:
    assert told(*DOUBTED, MISSED, MISSED) == (
        "sent, and no answer was recorded; read 2 times: not found, and it may still land",
        "`continuity probe cccccccccc` reads now and names what is not proven yet",
    )


def test_a_read_that_nobody_answered_says_so() -> None:
    assert told(*DOUBTED, UNASKED, live=True) == (
        "sent, and no answer was recorded; read once: the memory server could not be asked",
        "`/bm-pending probe cccccccccc` reads now",
    )


def test_an_answer_that_says_nothing_is_named_by_its_code() -> None:
    assert told(*SENT, UNKNOWN, MISSED)[0] == (
        "sent, and what came back (timeout) does not say whether it was stored; "
        "read once: not found, and it may still land"
    )


def test_a_conflict_is_looked_at_before_it_is_decided() -> None:
    assert told(*DOUBTED, CLASHED, live=True) == (
        "sent, and another note, or a second one of its own, is where it belongs; read once: something else is there",
        "look at the note, then decide: `/bm-pending accept cccccccccc` or `/bm-pending abandon cccccccccc`",
    )


def test_a_conflict_that_was_not_seen_again_is_read_first() -> None:
    step = "`continuity probe cccccccccc` reads now and names what is not proven yet"
    assert told(*DOUBTED, CLASHED, MISSED)[1] == step


def test_a_lost_write_waits_for_a_decision() -> None:
    assert told(*DOUBTED, MISSED, LOST) == (
        "sent, and proven not to be stored: read 2 times, and nothing can land any more",
        "decide: `continuity resolve cccccccccc --rewrite --reason WHY`, or `--abandon`",
    )


def test_a_refused_write_names_the_servers_code() -> None:
    assert told(*SENT, REFUSED)[0] == "the server refused it (BAD_FOLDER): it is stored nowhere but here"
    assert told(*SENT, answered("refused"))[0] == "the server refused it: it is stored nowhere but here"
    assert told(*SENT, REFUSED, live=True)[1] == (
        "decide: `/bm-pending rewrite cccccccccc` or `/bm-pending abandon cccccccccc`"
    )


def test_what_is_decided_and_not_sent_yet_is_sent_by_its_session_or_by_a_person() -> None:
    reason = "to be sent again, by a person's decision, and not sent yet: it is stored nowhere but here"
    assert told(*AGAIN, live=True) == (
        reason,
        "wait: it is sent as soon as memory answers; `/bm-pending abandon cccccccccc` lets go of it",
    )
    why_offline, step = told(*AGAIN)
    assert why_offline == reason
    assert step == (
        "`continuity resolve cccccccccc --rewrite` sends it, "
        "`continuity resolve cccccccccc --abandon --reason WHY` lets go of it"
    )


def test_a_call_on_its_way_is_waited_for() -> None:
    assert told(opened(), CALLED, live=True) == (
        "forwarded; the running session waits for its answer",
        "wait for the answer",
    )


def test_a_call_whose_session_ended_may_have_taken_effect() -> None:
    reason, step = told(opened(), CALLED)
    assert reason == "forwarded, and its process ended before an answer was recorded: it may have taken effect"
    assert step == (
        "look whether edit_note took effect, then decide: "
        "`continuity resolve 5555555555 --accept --reason WHY`, or `--abandon`"
    )


@pytest.mark.parametrize("event", [NO_ANSWER, NEXT], ids=["no answer", "its writer ended"])
def test_a_doubted_call_is_never_said_to_be_worth_repeating(event: Event) -> None:
    reason, step = told(opened(), CALLED, event)
    assert reason == "forwarded, and no answer is recorded: it may have taken effect, and reading cannot prove it"
    assert step == (
        "look whether edit_note took effect, then decide: "
        "`continuity resolve 5555555555 --accept --reason WHY`, or `--abandon`"
    )


@pytest.mark.parametrize(
    ("elapsed_ms", "words"),
    [
        (-5, "less than a minute"),
        (59_999, "less than a minute"),
        (60_000, "1 minute"),
        (3_599_999, "59 minutes"),
        (3_600_000, "1 hour"),
        (86_399_999, "23 hours"),
        (86_400_000, "1 day"),
        (30 * 86_400_000, "30 days"),
    ],
)
def test_an_age_is_told_in_the_largest_unit_it_fills(elapsed_ms: int, words: str) -> None:
    assert age(elapsed_ms) == words


# -- what may be decided -----------------------------------------------------


DECISIONS: tuple[Decision, ...] = ("accept", "rewrite", "abandon")


def granted(state: State, item: Open, decision: Decision) -> bool:
    """Whether the machine itself lets it through; a call is never made again, and no command asks for it."""
    try:
        if item.kind == "capture":
            decide(state, Resolve(capture_id=CaptureId(item.reference), decision=decision, reason_sha256=REASON))
            return True
        if decision == "rewrite":
            return False
        decide(state, ResolveCall(call_id=CallId(item.reference), decision=decision, reason_sha256=REASON))
    except CommandRejected:
        return False
    return True


@pytest.mark.parametrize(
    "events",
    [
        SENT,
        (*SENT, UNKNOWN),
        (*SENT, REFUSED),
        DOUBTED,
        (*SENT, CLASHED),
        (*DOUBTED, CLASHED),
        (*DOUBTED, CLASHED, MISSED),
        (*DOUBTED, LOST),
        (*DOUBTED, LOST, CLASHED),
        AGAIN,
        (opened(), CALLED),
        (opened(), CALLED, NO_ANSWER),
        (opened(), CALLED, NEXT),
    ],
)
def test_the_choices_are_what_the_machine_grants(events: tuple[Event, ...]) -> None:
    state = state_after(*events)
    (item,) = open_items(BRANCH, state)
    assert choices(item) == tuple(each for each in DECISIONS if granted(state, item, each))


def test_what_nobody_can_be_waiting_for_may_be_decided_as_a_doubt_is() -> None:
    sent, called = only(*SENT), only(opened(), CALLED)
    assert (choices(sent), choices(sent, live=False)) == ((), ("abandon",))
    assert (choices(called), choices(called, live=False)) == ((), ("accept", "abandon"))


# -- what was read -----------------------------------------------------------

WANTED = Wanted(CAPTURE, TIP, BODY)
AT = " (tau/checkpoints/tau-checkpoint-cccc.md)"


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (seen(), f"at its address: its note, as it was sent{AT}"),
        (seen("file", body=OTHER_BODY), f"in its file: its note, edited since{AT}"),
        (
            seen("title", body=OTHER_BODY, declared=OTHER_BODY),
            f"by its title: its note as another process or tool wrote it{AT}",
        ),
        (
            seen("id_search", body=None),
            f"by search for its identity: its note, of which the text was not read{AT}",
        ),
        (seen(capture=OTHER_CAPTURE), f"at its address: another note{AT}"),
        (seen(tip=EntryId("bb02")), f"at its address: another note{AT}"),
        (replace(seen(), file_path=None), "at its address: its note, as it was sent"),
        (missed("title"), "by its title: nothing"),
        (missed("address", "unreachable"), "at its address: no answer"),
    ],
)
def test_a_read_says_whose_note_it_found_and_where(found: Observation, words: str) -> None:
    assert observation(found, WANTED) == words


def test_every_verdict_has_words() -> None:
    assert set(VERDICTS) == set(get_args(Verdict.__value__))


# -- how one is named --------------------------------------------------------


def named(*references: str) -> list[Open]:
    item = only(*DOUBTED)
    return [replace(item, reference=each) for each in references]


def test_the_beginning_of_one_names_it_in_either_case() -> None:
    first, second = named("abcd01", "abcd11")
    assert matching([first, second], " ABCD0 ") is first
    assert matching([first, second], "abcd1") is second


def test_a_whole_identity_is_no_mere_beginning() -> None:
    short, long = named("ab", "abc123")
    assert matching([short, long], "ab") is short


def test_four_characters_are_a_beginning_and_three_are_none() -> None:
    (item,) = named("abcd01")
    assert matching([item], "abcd") is item
    with pytest.raises(NoSuchOpen, match="'abc'") as raised:
        matching([item], "abc")
    assert raised.value.hint == "a reference is the beginning of an identity, 4 characters at least"


def test_a_name_of_nothing_says_what_is_open() -> None:
    with pytest.raises(NoSuchOpen, match="'beef'") as raised:
        matching(named("abcd01", "ef0123456789"), "beef")
    assert raised.value.hint == "open are abcd01, ef01234567"
    with pytest.raises(NoSuchOpen) as empty:
        matching([], "beef")
    assert empty.value.hint == "nothing is open"


def test_as_much_is_repeated_of_what_was_typed_as_an_identity_is_long() -> None:
    assert shown("f" * 64) == repr("f" * 64)
    assert shown("f" * 65) == f"{'f' * 64!r} and 1 characters more"
    with pytest.raises(NoSuchOpen) as raised:
        matching(named("abcd01"), "e" * 1_000_064)
    assert str(raised.value) == f"nothing open is named {'e' * 64!r} and 1,000,000 characters more"
    with pytest.raises(SeveralOpen) as several:
        matching(named("e" * 80, "e" * 80), "e" * 80)
    assert str(several.value) == f"{'e' * 64!r} and 16 characters more names 2 things that are open"


@pytest.mark.parametrize("text", ["a", " 7 ", "\u3042", "!", "+", "\u200b.\u200b"])
def test_a_letter_a_number_or_a_sign_can_be_read(text: str) -> None:
    assert legible(text)


@pytest.mark.parametrize(
    "text",
    ["", " \t\n", "\u200b\u200d\ufeff", "\u00a0\u3000", "\u2800", "\u3164\uffa0", "\u115f\u1160", "\ufe0f\u034f"],
    ids=ascii,
)
def test_blanks_and_what_is_invisible_cannot_be_read(text: str) -> None:
    assert not legible(text)


def test_two_thousand_characters_are_a_reason_and_one_more_are_none() -> None:
    assert too_long("r" * 2_000) is None
    assert too_long("r" * 2_001) == "a reason has at most 2,000 characters, and this one has 2,001"


def test_a_name_of_several_says_which() -> None:
    with pytest.raises(SeveralOpen, match="'abcd' names 2 things") as raised:
        matching(named("abcd11", "abcd01"), "abcd")
    assert raised.value.hint == "type more of one: abcd01, abcd11"
    with pytest.raises(SeveralOpen) as copies:
        matching(named("abcd01", "abcd01"), "abcd01")
    assert copies.value.hint == "name one journal with --in"


def test_what_a_search_in_vain_lacks_is_told_and_what_is_settled_lacks_nothing() -> None:
    (lack,) = pending.missing(MISSED)
    assert "the server it was sent through is not proven to be gone" in lack
    assert pending.missing(LOST) == ()
