"""Text nobody vouches for cannot leave the place it is quoted in."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuity.privacy import PLACEHOLDER, cut_point
from continuity.privacy.quoting import FENCE_OVERHEAD, fenced, one_line, printable

FENCES = st.text(alphabet="`~ \na", max_size=200)


@given(FENCES)
def test_no_run_inside_a_fence_is_as_long_as_the_fence(text: str) -> None:
    first, *inside, last = fenced(text).split("\n")
    fence = first.removesuffix("text")
    assert last == fence
    assert not re.search(rf"{re.escape(fence)}", "\n".join(inside))


@given(FENCES)
def test_a_fence_adds_no_more_than_it_says(text: str) -> None:
    assert len(fenced(text)) <= len(text) + FENCE_OVERHEAD


def test_a_very_long_run_is_shortened_and_keeps_the_fence_short() -> None:
    assert len(fenced("`" * 5000 + "\n" + "~" * 5000)) < 200


def test_control_and_direction_characters_do_not_reach_a_terminal() -> None:
    assert printable("a\x1b[2J\x07\u202eb\r\nc\rd\te\x85\ud800") == "a[2Jb\nc\nd\te\ufffd"


@pytest.mark.parametrize(
    ("text", "line"), [("a\n b\t c ", "a b c"), ("abcdef", "abcdef"), ("abcdefg", "abcde…"), ("abcd fgh", "abcd…")]
)
def test_a_line_is_one_line_within_its_limit(text: str, line: str) -> None:
    assert one_line(text, 6) == line


@given(st.text(alphabet="ab \n[masked:x-]", max_size=300), st.integers(1, 120))
def test_pieces_make_up_the_text_and_hold_every_placeholder_whole(text: str, limit: int) -> None:
    at, pieces = 0, list[str]()
    while at < len(text):
        end = cut_point(text, at, limit)
        assert end > at
        pieces.append(text[at:end])
        at = end
    assert "".join(pieces) == text
    assert sum(len(PLACEHOLDER.findall(piece)) for piece in pieces) == len(PLACEHOLDER.findall(text))


def test_a_cut_prefers_the_end_of_a_line_then_of_a_word() -> None:
    assert cut_point("x" * 90 + "\nab cdefgh", 0, 96) == 91
    assert cut_point("x" * 90 + " abcdefghij", 0, 96) == 91
    assert cut_point("x" * 200, 0, 96) == 96


def test_a_placeholder_is_left_for_the_next_piece_or_taken_whole() -> None:
    text = "ab [masked:github-token] cd"
    assert cut_point(text, 0, 8) == 3
    assert cut_point(text, 3, 8) == text.index(" cd")
