"""Every recorded event has a sentence for people, also one that this version cannot decode; an id in it is shortened."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from continuity.sentences import counted, named, sentence, told, utc
from journal import codec
from journal.events import (
    EVENT_TYPES,
    BodiesErased,
    BranchForked,
    BriefDelivered,
    CompactionEnded,
    Event,
    RecallAnswered,
    SessionClosed,
    SessionOpened,
    SynthesisFinished,
    TranscriptPassed,
    WorkSettled,
    WriteIntended,
)
from journal.row import RawRow
from tests.facts import BODY, probed
from tests.journal.samples import SAMPLES


def row(tag: str, payload: str) -> RawRow:
    return RawRow(1, 1, 0, None, None, tag, payload, bytes(32))


def test_every_event_is_told_in_words(snapshot: SnapshotAssertion) -> None:
    sentences = {type(event).__name__: told(event) for event in SAMPLES}
    assert len(sentences) == len(EVENT_TYPES)
    assert sentences == snapshot


def sample[E: Event](kind: type[E]) -> E:
    return next(event for event in SAMPLES if isinstance(event, kind))


@pytest.mark.parametrize(
    ("event", "part"),
    [
        (replace(sample(SessionOpened), destination=None, writers_ended=()), "no destination"),
        (replace(sample(SessionClosed), drained=True, unsaved_tip=None), "quit"),
        (replace(sample(SessionClosed), drained=False), "work left"),
        (replace(sample(BranchForked), left_tip=None, kept_tip=None), sample(BranchForked).reason),
        (replace(sample(WorkSettled), messages=1, interrupted=False), "1 message, "),
        (replace(sample(WorkSettled), interrupted=True), "interrupted"),
        (replace(sample(CompactionEnded), aborted=False), "overflow"),
        (replace(sample(CompactionEnded), aborted=True), "overflow, aborted"),
        (replace(sample(SynthesisFinished), maskings=0, chunks=0, model=None), "characters"),
        (replace(sample(SynthesisFinished), maskings=2, chunks=1), "1 chunk, 2 masked"),
        (replace(sample(TranscriptPassed), withheld=0), "without a note"),
        (replace(sample(WriteIntended), attempt=1), ": checkpoint to"),
        (replace(sample(WriteIntended), attempt=2), " attempt 2: "),
        (probed("unreachable"), "nothing asked"),
        (replace(sample(RecallAnswered), authoritative=True), "hit"),
        (replace(sample(RecallAnswered), authoritative=False), "not authoritative"),
        (replace(sample(BriefDelivered), complete=False), "incomplete"),
        (replace(sample(BodiesErased), digests=(BODY,)), "1 kept text"),
    ],
)
def test_what_an_event_may_say_besides_is_said_where_it_is_so(event: Event, part: str) -> None:
    assert part in told(event)


def test_a_row_is_told_by_its_event_and_named_without_its_version() -> None:
    event = sample(WorkSettled)
    recorded = row(*codec.encode(event))
    assert (named(recorded), sentence(recorded)) == ("work-settled", told(event))


def test_a_row_that_cannot_be_decoded_is_told_as_it_is_and_cut_where_it_is_long() -> None:
    assert sentence(row("later.v9", '{"x":1}')) == '{"x":1}'
    assert sentence(row("later.v9", "x" * 201)) == f"{'x' * 200}... (201 characters)"
    assert named(row("odd", "")) == "odd"


def test_a_time_is_utc_and_one_out_of_the_calendar_is_a_number() -> None:
    assert utc(1_700_000_000_123) == "2023-11-14 22:13:20.123Z"
    assert utc(2**53 - 1) == "9007199254740991 ms"


@pytest.mark.parametrize(("number", "text"), [(0, "0 rows"), (1, "1 row"), (2, "2 rows")])
def test_one_is_no_plural(number: int, text: str) -> None:
    assert counted(number, "row") == text
