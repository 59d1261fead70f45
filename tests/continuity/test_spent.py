"""What memory asked of the model is counted from the rows alone, failed calls too, and no token is made up."""

from __future__ import annotations

from functools import reduce

import pytest
from msgspec.structs import replace

from continuity.spent import Spent, spend, together, told
from journal.events import Event, SynthesisAdvanced, SynthesisFailed
from journal.ids import EntryId
from tests.facts import CAPTURE, HANDOFF, begun, finished, opened, settled

MADE = replace(finished(), model="m", tokens_in=1_200, tokens_out=300)
NOBODY_ASKED = replace(finished(), model=None, tokens_in=0, tokens_out=0)
UNTOLD = replace(MADE, tokens_in=0, tokens_out=0)
FAILED = SynthesisFailed(capture_id=CAPTURE, error="server-error", model_calls=3)
UNREAD = replace(FAILED, error="nothing-to-read", model_calls=0)
PART = SynthesisAdvanced(
    capture_id=CAPTURE, through_entry=EntryId("aa01"), through_offset=0, handoff_sha256=HANDOFF, chunks=1
)


def after(*events: Event) -> Spent:
    return reduce(spend, events, Spent())


@pytest.mark.parametrize(
    ("events", "calls"),
    [
        ((opened(), settled(), begun()), 0),
        ((MADE,), 1),
        ((PART, PART, MADE), 3),
        ((PART, PART, FAILED), 3),
        ((UNREAD,), 0),
        ((NOBODY_ASKED,), 0),
    ],
)
def test_every_part_is_a_call_and_so_is_the_one_that_failed(events: tuple[Event, ...], calls: int) -> None:
    assert after(*events).calls == calls


def test_with_a_finished_summary_the_tokens_of_its_parts_are_on_record() -> None:
    assert after(PART, PART, MADE, MADE) == Spent(calls=4, priced=4, tokens_in=2_400, tokens_out=600)
    assert after(PART, PART, MADE).known
    assert not after(MADE, PART).known
    assert not after(PART, FAILED, MADE).known


def test_parts_of_a_process_that_ended_are_on_no_record() -> None:
    assert not after(PART, opened(), MADE).known


@pytest.mark.parametrize(
    ("events", "known"),
    [
        ((begun(), opened(), MADE), False),
        ((begun(), MADE, opened(), MADE), True),
        ((begun(), opened(reason="reload"), MADE), True),
        ((begun(kind="note"), opened(), MADE), True),
    ],
)
def test_a_call_that_the_end_of_a_process_cut_off_may_be_on_no_record(events: tuple[Event, ...], known: bool) -> None:
    assert after(*events).known == known


def test_what_branches_spent_is_added_up() -> None:
    assert together((after(MADE), after(FAILED, MADE))) == after(MADE, FAILED, MADE)


@pytest.mark.parametrize(
    ("events", "text"),
    [
        ((), "memory asked the model nothing in this session"),
        ((MADE,), "1 model call of memory's own in this session; 1,200 tokens in, 300 out"),
        (
            (FAILED, MADE),
            "2 model calls of memory's own in this session, 1 without an answer of use; at least 1,200 tokens in, 300 out",
        ),
        (
            (FAILED,),
            "1 model call of memory's own in this session, 1 without an answer of use; its tokens are not on record",
        ),
        (
            (FAILED, FAILED),
            "2 model calls of memory's own in this session, 2 without an answer of use; their tokens are not on record",
        ),
        ((UNTOLD,), "1 model call of memory's own in this session; the model told no tokens"),
        ((begun(), opened()), "a model call of memory's own was cut off by an end"),
        (
            (begun(), opened(), MADE),
            "at least 1 model call of memory's own in this session; at least 1,200 tokens in, 300 out",
        ),
    ],
)
def test_it_is_told_in_words(events: tuple[Event, ...], text: str) -> None:
    assert told(after(*events)) == text
