"""A retired tag is read through its own function, from the bytes as they were stored."""

import msgspec
import pytest

from journal import codec
from journal.errors import EventDamaged
from journal.events import Event, WorkBegun
from journal.upcast import UPCASTERS


class Retired(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="work-begun.v0", tag_field="type"):
    length: int


def upcast(payload: bytes) -> Event:
    return WorkBegun(how="prompt", characters=msgspec.json.decode(payload, type=Retired).length)


@pytest.mark.parametrize("payload", ['{"length":3,"type":"work-begun.v0"}', b'{"length":3,"type":"work-begun.v0"}'])
def test_a_retired_tag_is_read_as_todays_event(payload: str | bytes) -> None:
    assert codec.decode("work-begun.v0", payload, {"work-begun.v0": upcast}) == WorkBegun(how="prompt", characters=3)


def test_a_damaged_retired_payload_is_damage_like_any_other() -> None:
    with pytest.raises(EventDamaged):
        codec.decode("work-begun.v0", '{"type":"work-begun.v0"}', {"work-begun.v0": upcast})


def test_no_tag_is_both_retired_and_current() -> None:
    assert not codec.KNOWN & UPCASTERS.keys()
