"""What a person asked for is there at once or follows; a host is held no longer than a person notices."""

from __future__ import annotations

import threading

import pytest

from continuity.tau.pages import begun, fitted


def test_what_is_quickly_made_is_there_at_once() -> None:
    assert begun(lambda: "a page", seconds=60).result(timeout=0) == "a page"


def test_what_takes_longer_goes_on_and_can_be_waited_for() -> None:
    may = threading.Event()
    page = begun(lambda: may.wait(60), seconds=0.01)
    assert not page.done()
    may.set()
    assert page.result(60)


def test_what_failed_is_raised_by_whoever_asks_for_it() -> None:
    def fail() -> str:
        raise ValueError("no page")

    page = begun(fail, seconds=60)
    with pytest.raises(ValueError, match="no page"):
        page.result()


@pytest.mark.parametrize(
    ("line", "folded"),
    [
        ("short", ["short"]),
        (
            "  last save    it was read back, and by whom",
            ["  last save    it was read back, and", "               by whom"],
        ),
        ("  1@7  12:00:00  one two three four five", ["  1@7  12:00:00  one two three four", "                 five"]),
        ("one two three four five six seven eight", ["one two three four five six seven", "  eight"]),
        (
            "  note  folder/of/notes/and-a-very-long-name.md x",
            ["  note  folder/of/notes/", "        and-a-very-long-name.md x"],
        ),
        (
            "  note  notes/a-name-that-its-column-has-no-room-for.md",
            ["  note  notes/", "a-name-that-its-column-has-no-room-for.md"],
        ),
        ("  note  one-name-that-fits-a-line-alone.md", ["  note", "  one-name-that-fits-a-line-alone.md"]),
    ],
)
def test_what_is_too_wide_goes_on_under_the_text_of_its_line(line: str, folded: list[str]) -> None:
    assert fitted(line, 36).split("\n") == folded


def test_where_there_is_no_box_nothing_is_folded() -> None:
    assert fitted("a" * 200, None) == "a" * 200
