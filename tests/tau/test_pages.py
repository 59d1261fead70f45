"""What a person asked for is there at once or follows; a host is held no longer than a person notices."""

from __future__ import annotations

import threading

import pytest

from continuity.tau.pages import begun


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
