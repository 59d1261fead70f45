"""To the stated depth there is no order of events in which the intent protocol is wrong."""

from __future__ import annotations

import pytest

from tests.simulation.bugs import BUGS, planted
from tests.simulation.protocol import BEGINNINGS, Setting, moves, second_write
from tests.simulation.search import search

DEPTHS = {"an empty journal": 13, "a second write": 7, "a proof of absence": 7}
"""Moves from each beginning on; `make simulate DEPTH=18` goes further."""


@pytest.mark.parametrize("beginning", DEPTHS)
def test_every_interleaving_to_the_stated_depth_holds(beginning: str) -> None:
    found = search(DEPTHS[beginning], BEGINNINGS[beginning]())
    assert found.broken is None, (found.broken, found.path)
    assert found.depth == DEPTHS[beginning]
    assert found.worlds > 5_000


def test_the_first_move_is_to_open_the_journal() -> None:
    assert [name for name, _ in moves(Setting())] == ["open"]


@pytest.mark.parametrize(
    "name", ["absence is final while the writing server lives", "whatever lies at our address is ours"]
)
def test_a_bug_in_the_protocol_is_found_with_the_way_to_it(name: str) -> None:
    (bug,) = (bug for bug in BUGS if bug.name == name)
    with planted(bug):
        found = search(8, second_write())
    assert found.broken is not None
    assert found.path
