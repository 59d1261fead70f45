"""Old events always load: each tag ever recorded has a line here that decodes, and encodes to the same bytes.

A line is added with a new tag and never edited afterwards.
"""

from pathlib import Path

import pytest

from journal import codec
from journal.upcast import UPCASTERS

GOLDEN = Path(__file__).parents[1] / "golden" / "events.jsonl"
LINES = GOLDEN.read_bytes().removesuffix(b"\n").split(b"\n")


def tag_of(line: bytes) -> str:
    return line.rpartition(b'"type":"')[2].partition(b'"')[0].decode()


@pytest.mark.parametrize("line", LINES, ids=tag_of)
def test_a_recorded_event_decodes_and_a_current_one_encodes_to_the_same_bytes(line: bytes) -> None:
    event = codec.decode(tag_of(line), line)
    if tag_of(line) not in UPCASTERS:
        assert codec.encode(event) == (tag_of(line), line.decode())


def test_every_tag_has_exactly_one_line() -> None:
    assert sorted(map(tag_of, LINES)) == sorted(codec.KNOWN | UPCASTERS.keys())
