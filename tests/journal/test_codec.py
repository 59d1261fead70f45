"""What the codec stores comes back as it went in; what would not is refused before it is stored."""

import re
from typing import Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from journal import codec
from journal.codec import decode, encode, fitted
from journal.errors import EventDamaged, EventRejected, UnknownEvent
from journal.events import Event, NoteMoved, OperationFailed, TipsMapped, WorkBegun
from journal.ids import EntryId
from tests import facts
from tests.journal.samples import SAMPLES

CAPTURE: Any = "c" * 64
AWKWARD = "NUL \x00, U+2028 \u2028, U+2029 \u2029, U+0085 \x85, CR \r, VT \x0b, BOM \ufeff, \U0001f600"


def moved(path: str) -> NoteMoved:
    return NoteMoved(capture_id=CAPTURE, file_path=path)


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_an_event_comes_back_as_it_went_in(event: Event) -> None:
    assert codec.decode(*codec.encode(event)) == event


@given(st.text(max_size=1024))
def test_any_text_within_bounds_comes_back(text: str) -> None:
    assert codec.decode(*codec.encode(moved(text))) == moved(text)


def test_a_payload_is_one_line_of_sorted_compact_unescaped_json() -> None:
    tag, payload = codec.encode(moved(AWKWARD))
    assert tag == "note-moved.v1"
    assert payload.startswith('{"capture_id":"ccc')
    assert payload.endswith('","type":"note-moved.v1"}')
    assert "\u2028" in payload
    assert "\n" not in payload


@pytest.mark.parametrize(
    "event",
    [
        moved("\ud800"),
        moved("x" * 1025),
        moved("x" * 10_000_000),
        NoteMoved(capture_id="short", file_path="a.md"),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        TipsMapped(pairs=[]),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        WorkBegun(how="prompt", characters=-1),
        WorkBegun(how="prompt", characters=2**53),
        WorkBegun(how="prompt", characters=2**64),
        WorkBegun(how="prompt", characters=object()),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    ],
    ids=["surrogate", "too long", "giant", "pattern", "list", "negative", "unsafe", "wide", "object"],
)
def test_what_would_not_come_back_is_refused(event: Event) -> None:
    with pytest.raises(EventRejected):
        codec.encode(event)


def test_a_refusal_does_not_repeat_the_text() -> None:
    with pytest.raises(EventRejected) as caught:
        codec.encode(moved("secret" * 1000))
    assert "secret" not in str(caught.value)


def test_the_longest_text_is_stored() -> None:
    assert codec.decode(*codec.encode(moved("x" * 1024))) == moved("x" * 1024)


def test_a_tag_of_a_later_version_is_unknown() -> None:
    with pytest.raises(UnknownEvent):
        codec.decode("note-moved.v9", '{"type":"note-moved.v9"}')


@pytest.mark.parametrize(
    "payload",
    [
        '{"capture_id":"short","file_path":"a.md","type":"note-moved.v1"}',
        f'{{"capture_id":"{CAPTURE}","file_path":"a.md","more":1,"type":"note-moved.v1"}}',
        f'{{"capture_id":"{CAPTURE}","file_path":"a.md","type":"note-moved.v1"',
        '{"type":"paused.v1"}',
        "",
        b"\xff",
        "\ud800",
    ],
    ids=["bounds", "extra field", "cut", "another tag", "empty", "not utf-8", "surrogate"],
)
def test_a_payload_that_is_not_what_its_tag_says_is_damaged(payload: str | bytes) -> None:
    with pytest.raises(EventDamaged):
        codec.decode("note-moved.v1", payload)


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        ('{"capture_id":"hunter2","file_path":"a.md","type":"note-moved.v1"}', "$.capture_id is not what it must be"),
        ('{"hunter2":1,"type":"note-moved.v1"}', "a field that does not belong there"),
        ('{"` - at `$.hunter2":1,"type":"note-moved.v1"}', "a field that does not belong there"),
        ('{"how":"hunter2","characters":1,"type":"work-begun.v1"}', "$.how is not what it must be"),
        ('{"type":"hunter2"}', "$.type is not what it must be"),
        ('"hunter2"', "not what it must be"),
        ("hunter2", "not JSON"),
        (b"hunter2\xff", "not JSON"),
        (b'{"type":"note-moved.v1","file_path":"hunter2\xff"}', "not JSON"),
        ("hunter2\ud800", "not UTF-8"),
    ],
)
def test_what_is_damaged_is_named_by_its_field_and_never_quoted(payload: str | bytes, told: str) -> None:
    with pytest.raises(EventDamaged) as caught:
        codec.decode("note-moved.v1", payload)
    assert str(caught.value) == f"note-moved.v1: {told}"
    assert caught.value.__cause__ is not None


def test_a_value_json_cannot_hold_is_refused_without_its_words() -> None:
    event = WorkBegun(how=object(), characters=1)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(EventRejected, match="WorkBegun cannot be stored: a value that JSON cannot hold"):
        codec.encode(event)


def test_many_are_decoded_in_their_order() -> None:
    stored = [codec.encode(event) for event in SAMPLES]
    found = codec.decode_many([tag for tag, _ in stored], [payload.encode() for _, payload in stored])
    assert tuple(found) == SAMPLES


@pytest.mark.parametrize(
    "payload", [b'{"type":"resumed.v1"}', b'{"type":"paused.v1"', b'{"type":"paused.v1"},{"type":"paused.v1"}']
)
def test_one_damaged_payload_damages_the_many(payload: bytes) -> None:
    with pytest.raises(EventDamaged):
        codec.decode_many(["paused.v1", "paused.v1"], [b'{"type":"paused.v1"}', payload])


def test_one_unknown_tag_makes_the_many_unknown() -> None:
    with pytest.raises(UnknownEvent):
        codec.decode_many(["paused.v1", "paused.v9"], [b'{"type":"paused.v1"}', b"{}"])


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("kept ü \x00 \u2028", "kept ü \x00 \u2028"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("end\ud800", "end\ufffd"),
        ("\ud83d\ude00", "\U0001f600"),
    ],
)
def test_clean_gives_text_that_can_be_stored(text: str, cleaned: str) -> None:
    assert codec.clean(text, 100) == cleaned


@given(st.text(alphabet=st.characters(), max_size=50), st.integers(0, 40))
def test_clean_text_is_bounded_utf8_and_cleaning_it_again_changes_nothing(text: str, limit: int) -> None:
    cleaned = codec.clean(text, limit)
    cleaned.encode()
    assert len(cleaned) <= limit
    assert codec.clean(cleaned, limit) == cleaned


HURTFUL = ("half a pair \ud800", "\x00", "\u2028\u2029\x85\r\x0b", "x" * 2_000_000)


@pytest.mark.parametrize("text", HURTFUL, ids=lambda text: repr(text[:12]))
@pytest.mark.parametrize("event", [*SAMPLES], ids=lambda event: type(event).__name__)
def test_an_event_is_fitted_whatever_its_free_texts_hold(event: Event, text: str) -> None:
    """And nothing but these texts changes."""
    spoiled = _spoiled(event, text)
    back = decode(*encode(fitted(spoiled)))
    assert _spoiled(back, "") == _spoiled(event, "")


@pytest.mark.parametrize("event", [*SAMPLES], ids=lambda event: type(event).__name__)
def test_an_event_that_fits_is_left_as_it_is(event: Event) -> None:
    assert fitted(event) is event


def test_a_text_is_cut_at_its_bound_and_an_identity_never() -> None:
    assert fitted(OperationFailed(operation="x" * 81, error="\ud800", remedy="")) == OperationFailed(
        operation="x" * 80, error="\ufffd", remedy=""
    )
    with pytest.raises(EventRejected):
        encode(fitted(msgspec.structs.replace(facts.begun(), source_tip=EntryId("x" * 201))))


def _spoiled[S: msgspec.Struct](part: S, text: str) -> S:
    """`part` with `text` in every field that is declared as a word, a name or a path."""
    changes: dict[str, object] = {}
    for field in msgspec.structs.fields(type(part)):
        value: object = getattr(part, field.name)
        if isinstance(value, msgspec.Struct):
            changes[field.name] = _spoiled(value, text)
        elif isinstance(value, tuple):
            items = cast("tuple[object, ...]", value)
            changes[field.name] = tuple(_spoiled(i, text) if isinstance(i, msgspec.Struct) else i for i in items)
        elif isinstance(value, str) and re.search(r"\b(Word|Name|Path)\b", str(field.type)):
            changes[field.name] = text
    return msgspec.structs.replace(part, **changes)
