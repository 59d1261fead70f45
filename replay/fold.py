"""Folds a recorded branch again, as far as its rows are proven; it never builds on a row that is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from continuity.evolve import evolve
from continuity.state import State
from journal.errors import RowUnreadable
from journal.ids import BranchId
from journal.reader import Reader
from journal.row import Row


class Step(NamedTuple):
    """One proven row between the states before and after it."""

    before: State
    row: Row
    after: State


class Folded(NamedTuple):
    """A branch after its proven rows."""

    state: State
    stop: RowUnreadable | None
    """Why the rows after `state.position` were left out; null when there are none."""


def steps(reader: Reader, branch: int, at: int | None = None) -> Iterator[Step]:
    """Yield rows 1 to `at` of `branch`'s history with the states around them.

    Raises:
        NoSuchPlace: There is no such branch or position.
        RowUnreadable: The next row cannot be used; the steps already yielded are good.
    """
    state = State(branch=BranchId(branch))
    for row in reader.verified(branch, at):
        after = evolve(state, row)
        yield Step(state, row, after)
        state = after


def folded(reader: Reader, branch: int, at: int | None = None) -> Folded:
    """Return `branch` after row `at` of its history, or after the last row before the first bad one.

    Raises:
        NoSuchPlace: There is no such branch or position.
    """
    state = State(branch=BranchId(branch))
    try:
        for row in reader.verified(branch, at):
            state = evolve(state, row)
    except RowUnreadable as error:
        return Folded(state, error)
    return Folded(state, None)
