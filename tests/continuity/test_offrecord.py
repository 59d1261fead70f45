"""What was said off the record is told from a path and from spans alone; where a place is unknown, more is left out."""

from __future__ import annotations

import pytest

from continuity.capture import PublicMessage
from continuity.commands import Pause, Resume
from continuity.offrecord import entered, on_record, withheld
from continuity.state import Span, State
from journal.events import BranchForked, Paused, Resumed
from journal.ids import EntryId
from tests.facts import opened
from tests.spec import state_after

A, B, C, D, E = (EntryId(name) for name in "abcde")
ELSEWHERE, FAR = EntryId("x"), EntryId("y")


@pytest.mark.parametrize(
    ("span", "off"),
    [
        (Span(B, D), {C, D}),
        (Span(None, B), {A, B}),
        (Span(C), {D, E}),
        (Span(E), set[EntryId]()),
        (Span(None), {A, B, C, D, E}),
    ],
)
def test_a_span_covers_what_came_after_its_beginning_through_its_end(span: Span, off: set[EntryId]) -> None:
    assert withheld([A, B, C, D, E], [span]) == off


def test_a_span_of_another_branch_costs_nothing() -> None:
    assert withheld([A, B], [Span(ELSEWHERE, FAR)]) == frozenset()


def test_a_span_with_one_end_elsewhere_reaches_to_the_root_or_to_the_tip() -> None:
    assert withheld([A, B, C], [Span(ELSEWHERE, B)]) == {A, B}
    assert withheld([A, B, C], [Span(A, ELSEWHERE)]) == {B, C}
    assert withheld([A, B], [Span(ELSEWHERE)]) == {A, B}


def test_several_spans_leave_what_lies_between_them() -> None:
    said = [PublicMessage(entry_id=entry, role="user", text=entry, at_ms=0) for entry in (A, B, C, D, E)]
    kept = on_record(said, [Span(A, B), Span(C, D)])
    assert [message.text for message in kept] == ["a", "c", "e"]


def test_an_answer_cut_off_goes_with_the_message_before_it_and_at_the_edge_with_the_pause() -> None:
    names = ("a", "cut a", "b", "cut b", "c", "cut c")
    said = [
        PublicMessage(entry_id=EntryId(name), role="user", text=name, at_ms=0, cut=name.startswith("cut"))
        for name in names
    ]
    assert [message.text for message in on_record(said, [Span(A, B)])] == ["a", "c", "cut c"]
    assert [message.text for message in on_record(said, [])] == [*names]
    assert on_record(said[1:2], [Span(None, A)]) == ()


def test_the_end_of_a_path_tells_what_is_off_in_it_without_the_rest() -> None:
    assert withheld([D, E], [Span(None, B)], whole=False) == frozenset()
    assert withheld([D, E], [Span(B, D)], whole=False) == {D}
    assert withheld([D, E], [Span(None)], whole=False) == {D, E}


ON = state_after((opened(), B))
OVER = state_after((opened(), A), (Paused(), A), (Resumed(), B))
LASTING = state_after((opened(), A), (Paused(), A), (opened(), B))
LATER = state_after((opened(), A), (Paused(), A), (Resumed(), B), (opened(), C))


@pytest.mark.parametrize(
    ("state", "seen", "recorded"),
    [
        (LASTING, D, (Resume(), D)),
        (LASTING, B, (Resume(), None)),
        (LASTING, A, (Resume(), None)),
        (LASTING, None, (Resume(), None)),
        (OVER, D, (Resume(doubted=True), D)),
        (OVER, B, None),
        (LATER, E, None),
        (ON, D, None),
        (State(off=(Span(ELSEWHERE, FAR),)), D, None),
    ],
)
def test_a_stretch_ends_where_the_path_was_when_the_branch_was_entered_again(
    state: State, seen: EntryId | None, recorded: tuple[Resume, EntryId | None] | None
) -> None:
    assert entered(state, [A, B, C, D, E], seen=seen, paused=False, left=state.off) == recorded


def test_a_branch_that_begins_before_a_pause_of_its_parent_s_leaves_out_what_was_never_recorded() -> None:
    assert entered(ON, [A, B, C, D], seen=C, paused=False, left=OVER.off) == (Resume(doubted=True), C)
    assert entered(State(), [A, B], seen=A, paused=False, left=OVER.off) == (Resume(doubted=True), A)
    assert entered(ON, [A, B, C], seen=B, paused=False, left=OVER.off) is None


def test_a_branch_that_is_entered_while_paused_is_paused_where_it_was_left() -> None:
    assert entered(ON, [A, B, C], seen=C, paused=True, left=ON.off) == (Pause(), None)
    assert entered(LASTING, [A, B, C], seen=C, paused=True, left=LASTING.off) is None


def test_a_fork_inherits_what_is_off_the_record_and_that_it_is_paused() -> None:
    forked = BranchForked(reason="path-left", left_tip=C, kept_tip=B)
    ended = state_after((opened(), A), (Paused(), A), (Resumed(), B), (forked, B))
    assert (ended.paused, ended.off) == (False, (Span(A, B),))
    lasting = state_after((opened(), A), (Paused(), A), (forked, B))
    assert (lasting.paused, lasting.off) == (True, (Span(A),))
