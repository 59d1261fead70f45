"""A simulation that cannot fail proves nothing: each planted bug is noticed, and nothing of it stays behind."""

from __future__ import annotations

import pytest

from tests.simulation.bugs import BUGS, Bug, changed, noticed, planted

SOON = tuple(bug for bug in BUGS if bug.within <= 40)


def test_there_are_at_least_ten_of_them_and_each_breaks_something_else() -> None:
    assert len(SOON) >= 10
    assert len({bug.name for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", SOON, ids=lambda bug: bug.name)
def test_a_planted_bug_is_noticed(bug: Bug) -> None:
    assert noticed(bug) is not None, f"{bug.name}: {bug.within} seeds from {bug.since} on saw nothing of it"


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_bug_is_gone_after_it_was_planted(bug: Bug) -> None:
    functions = [changed(module, name) for module, name, _, _ in bug.changes]
    before = [function.__code__ for function in functions]
    with planted(bug):
        assert [function.__code__ for function in functions] != before
    assert [function.__code__ for function in functions] == before
