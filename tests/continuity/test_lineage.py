"""The branch continued is the one whose last tip lies deepest on the active path; a path that left them all forks."""

from __future__ import annotations

from continuity.lineage import ForkAt, Stay, Trail, choose
from journal.ids import BranchId, EntryId

A, B, C, D, E = (EntryId(x) for x in ("aa", "bb", "cc", "dd", "ee"))
ONE, TWO = BranchId(1), BranchId(2)


def trail(branch: BranchId, *tips: tuple[int, EntryId]) -> Trail:
    return Trail(branch, tips)


def test_a_path_that_goes_on_stays_on_its_branch() -> None:
    assert choose((A, B, C), [trail(ONE, (3, A), (6, B))], ONE) == Stay(ONE)


def test_a_path_that_left_the_last_tip_forks_at_the_last_shared_row() -> None:
    assert choose((A, D), [trail(ONE, (3, A), (6, B))], ONE) == ForkAt(ONE, 3, B)


def test_a_path_that_shares_nothing_forks_before_everything() -> None:
    assert choose((D,), [trail(ONE, (3, A))], ONE) == ForkAt(ONE, 0, A)


def test_the_deepest_standing_branch_wins() -> None:
    trails = [trail(ONE, (3, A)), trail(TWO, (5, B))]
    assert choose((A, B, C), trails, ONE) == Stay(TWO)


def test_a_path_back_on_an_old_branch_stays_there() -> None:
    trails = [trail(ONE, (3, A), (6, B)), trail(TWO, (5, D))]
    assert choose((A, B, C), trails, TWO) == Stay(ONE)


def test_the_current_branch_wins_a_tie() -> None:
    trails = [trail(ONE, (3, A)), trail(TWO, (5, A))]
    assert choose((A,), trails, ONE) == Stay(ONE)


def test_a_branch_without_a_tip_is_continued_by_any_path() -> None:
    assert choose((A,), [trail(ONE)], ONE) == Stay(ONE)


def test_a_fork_goes_to_the_branch_that_shares_most() -> None:
    trails = [trail(ONE, (3, A), (6, B)), trail(TWO, (7, C), (9, D))]
    assert choose((A, C, E), trails, TWO) == ForkAt(TWO, 7, D)
