"""Canonical bytes out, strict decoding in; it accepts nothing that would not come back as it went in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

import msgspec
from msgspec import inspect

from journal.chain import canonical
from journal.errors import EventDamaged, EventRejected, UnknownEvent
from journal.events import EVENT_TYPES, Event, Fact
from journal.upcast import UPCASTERS, Upcaster

TAGS: Mapping[type[Fact], str] = {kind: str(kind.__struct_config__.tag) for kind in EVENT_TYPES}
KNOWN = frozenset(TAGS.values())

_PLACE = re.compile(r" - at `(?P<place>\$[a-z0-9_.\[\]]*)`\Z")


@cache
def _one() -> msgspec.json.Decoder[Event]:
    """Made with the first event: it takes milliseconds, and a host's start needs none."""
    return msgspec.json.Decoder(Event)


@cache
def _many() -> msgspec.json.Decoder[list[Event]]:
    return msgspec.json.Decoder(list[Event])


def encode(event: Event) -> tuple[str, str]:
    """Return the tag and the canonical JSON payload of `event`, after reading the payload back.

    Raises:
        EventRejected: A field breaks its bounds or holds what UTF-8 cannot; nothing was written.
    """
    try:
        payload = canonical(event)
        back = _one().decode(payload)
    except (msgspec.MsgspecError, UnicodeError, TypeError, OverflowError) as error:
        raise EventRejected(f"{type(event).__name__} cannot be stored: {fault(error)}") from error
    if back != event or type(back) is not type(event):
        raise EventRejected(f"{type(event).__name__} does not come back as it went in")
    return TAGS[type(event)], payload.decode()


def decode(type_: str, payload: str | bytes, upcasters: Mapping[str, Upcaster] = UPCASTERS) -> Event:
    """Return the event stored as `payload` under the tag `type_`.

    Raises:
        UnknownEvent: No such tag in this version.
        EventDamaged: The payload is not an event with that tag.
    """
    try:
        if upcaster := upcasters.get(type_):
            return upcaster(payload.encode() if isinstance(payload, str) else payload)
        if type_ not in KNOWN:
            raise UnknownEvent(f"no event {type_!r} is known here")
        event = _one().decode(payload)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise EventDamaged(f"{type_}: {fault(error)}") from error
    if TAGS[type(event)] != type_:
        raise EventDamaged(f"{type_}: the payload says {TAGS[type(event)]}")
    return event


def decode_many(types: Sequence[str], payloads: Sequence[bytes]) -> list[Event]:
    """Return the events of many rows at about half the cost of one at a time; order and count are kept.

    Raises:
        UnknownEvent: One of the tags is unknown; which one is not said.
        EventDamaged: One of the payloads is not what its tag says; which one is not said.
    """
    if not KNOWN.issuperset(types):
        return [decode(type_, payload) for type_, payload in zip(types, payloads, strict=True)]
    try:
        events = _many().decode(b"[" + b",".join(payloads) + b"]")
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise EventDamaged(fault(error)) from error
    if [TAGS[type(event)] for event in events] != list(types):
        raise EventDamaged("a payload is not what its tag says")
    return events


def fault(error: Exception) -> str:
    """Say what kind of fault a decoder or encoder found and in which field; its own words may quote what they found."""
    told = str(error)
    if isinstance(error, UnicodeError):
        return "not UTF-8"
    if not isinstance(error, msgspec.ValidationError):
        return "not JSON" if isinstance(error, msgspec.DecodeError) else "a value that JSON cannot hold"
    if told.startswith("Object contains unknown field"):
        return "a field that does not belong there"
    place = _PLACE.search(told)
    return f"{place['place']} is not what it must be" if place else "not what it must be"


def clean(text: str, limit: int) -> str:
    """Return `text` as something the journal can hold: lone surrogates become U+FFFD, at most `limit` characters.

    Two surrogates that make a pair become the character they stand for.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text[:limit]


def fitted[E: Event](event: E) -> E:
    """Return `event` with its free texts as the journal can hold them; `event` itself if they are so already.

    Free is what has an upper bound alone: words and names from elsewhere. Identities and digests are never touched,
    so that nothing is ever recorded about something else than it happened to.
    """
    return _fitted(event)


def _fitted[S: msgspec.Struct](part: S) -> S:
    changes: dict[str, object] = {}
    for name, limit in _free(type(part)):
        value = getattr(part, name)
        fit = _fit(value, limit)
        if fit is not value:
            changes[name] = fit
    return msgspec.structs.replace(part, **changes) if changes else part


def _fit(value: object, limit: int) -> object:
    if isinstance(value, str):
        text = clean(value, limit) if limit else value
        return value if text == value else text
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        fit = tuple(_fit(item, limit) for item in items)
        return fit if any(new is not old for new, old in zip(fit, items, strict=True)) else items
    return _fitted(value) if isinstance(value, msgspec.Struct) else value


@cache
def _free(kind: type[msgspec.Struct]) -> tuple[tuple[str, int], ...]:
    """Return the fields of `kind` that hold free text, with their bounds, and those that may hold parts, with 0."""
    described = inspect.type_info(kind)
    fields = described.fields if isinstance(described, inspect.StructType) else ()
    limits = {field.name: _limit(field.type) for field in fields}
    return tuple((name, limit) for name, limit in limits.items() if limit is not None)


def _limit(described: inspect.Type) -> int | None:
    match described:
        case inspect.StrType(min_length=None, pattern=None, max_length=int(limit)):
            return limit
        case inspect.UnionType(types=types):
            return next((found for each in types if (found := _limit(each)) is not None), None)
        case inspect.VarTupleType(item_type=item):
            return _limit(item)
        case inspect.StructType():
            return 0
        case _:
            return None
