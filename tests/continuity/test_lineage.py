"""The branch continued is the one whose last tip lies deepest on the active path; a path that left them all forks.

Depth on the path alone says which checkpoint stands for most of it, and from which text the next one is made.
"""

from __future__ import annotations

import pytest

from continuity.lineage import ForkAt, Stay, Trail, choose, deepest, newest, reached, starts_from_note
from journal.events import BasisTaken, Event, NoteEdited, ReceiptAdopted
from journal.ids import BranchId, EntryId, Sha256
from tests.facts import (
    BODY,
    CAPTURE,
    NOWHERE,
    OTHER_BODY,
    OTHER_CAPTURE,
    PROJECT,
    answered,
    begun,
    finished,
    intended,
    opened,
    probed,
    seen,
)
from tests.spec import state_after

A, B, C, D, E = (EntryId(x) for x in ("aa", "bb", "cc", "dd", "ee"))
ONE, TWO = BranchId(1), BranchId(2)


def trail(branch: BranchId, *tips: tuple[int, EntryId]) -> Trail:
    return Trail(branch, tips)


def test_a_path_that_goes_on_stays_on_its_branch() -> None:
    assert choose((A, B, C), [trail(ONE, (3, A), (6, B))], ONE) == Stay(ONE)


def test_a_path_that_left_the_last_tip_forks_at_the_last_shared_row() -> None:
    assert choose((A, D), [trail(ONE, (3, A), (6, B))], ONE) == ForkAt(ONE, 3, B)


def test_a_fork_from_branches_written_by_somebody_else_left_no_tip() -> None:
    assert choose((A, D), [trail(ONE, (3, A), (6, B))], TWO) == ForkAt(ONE, 3, None)


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


def test_a_branch_that_ends_on_the_path_gives_way_to_one_that_shares_more_of_it() -> None:
    trails = [trail(ONE, (3, A), (6, B), (9, C)), trail(TWO, (4, A))]
    assert choose((A, B, D), trails, TWO) == ForkAt(ONE, 6, A)
    assert choose((A, D), trails, ONE) == Stay(TWO)


def test_a_branch_without_a_tip_gives_way_to_one_that_ends_on_the_path() -> None:
    assert choose((A, B), [trail(ONE, (3, A)), trail(TWO)], TWO) == Stay(ONE)


def test_the_entries_beyond_a_tip_are_told_from_the_newest_up() -> None:
    assert list(newest((A, B, C, D), beyond=(B, A))) == [D, C]
    assert list(newest((A, B), beyond=(E,))) == [B, A]
    assert list(newest((A, B), beyond=(B,))) == []


def test_the_deepest_tip_on_the_path_is_chosen() -> None:
    assert deepest((A, B, C, D), (A, C, B), beyond=()) == C


@pytest.mark.parametrize("beyond", [(C,), (D,), (B, D)])
def test_a_tip_that_lies_no_deeper_is_not_chosen(beyond: tuple[EntryId, ...]) -> None:
    assert deepest((A, B, C, D), (C,), beyond=beyond) is None


def test_a_tip_that_is_not_on_the_path_is_never_chosen_and_hides_nothing() -> None:
    assert deepest((A, B, C), (D, B), beyond=(E,)) == B
    assert deepest((A, B, C), (D,), beyond=()) is None


SAVED: tuple[Event, ...] = (begun(tip=B), finished(), intended(tip=B), answered())
ADOPTED = ReceiptAdopted(
    capture_id=OTHER_CAPTURE,
    attempt=1,
    kind="checkpoint",
    project=PROJECT,
    source_tip=C,
    content_sha256=BODY,
    file_path="tau/checkpoints/other.md",
    origin="session",
)
TAKEN = BasisTaken(capture_id=OTHER_CAPTURE, source_tip=C, handoff_sha256=Sha256("1" * 64), edited=False)


def test_a_branch_reached_its_checkpoint_and_every_capture_that_may_still_become_one() -> None:
    assert reached(state_after(opened())) == ()
    assert reached(state_after(opened(), *SAVED, begun(OTHER_CAPTURE, D))) == (B, D)
    assert reached(state_after(opened(), begun(tip=B, kind="transcript"))) == ()


def test_a_capture_that_only_a_person_can_settle_reaches_nothing() -> None:
    sent = (opened(), begun(tip=B), finished(), intended(tip=B))
    assert reached(state_after(*sent, answered("refused", code="NOTE_PATH_CONFLICT"))) == ()
    rivals = probed("conflicted", seen(capture=OTHER_CAPTURE))
    assert reached(state_after(*sent, answered("unknown"), rivals)) == ()
    assert reached(state_after(*sent, answered("unknown"), probed("absent_final", *NOWHERE))) == ()
    assert reached(state_after(*sent, answered("unknown"), probed("absent_open", *NOWHERE))) == (B,)


def test_without_a_checkpoint_no_note_is_there_to_start_from() -> None:
    assert not starts_from_note((A, B, C), state_after(opened(), begun(tip=B), finished()))


def test_a_checkpoint_whose_handoff_was_made_here_needs_no_note() -> None:
    assert not starts_from_note((A, B, C), state_after(opened(), *SAVED))


def test_an_adopted_checkpoint_is_read_where_no_handoff_was_made_here() -> None:
    assert starts_from_note((A, B, C), state_after(opened(), ADOPTED))
    assert not starts_from_note((A, B, C), state_after(opened(), ADOPTED, TAKEN))


def test_an_adopted_checkpoint_overtakes_the_handoff_before_it_and_none_beyond_it() -> None:
    assert starts_from_note((A, B, C, D), state_after(opened(), *SAVED, ADOPTED))
    later = (begun(CAPTURE, D), finished())
    assert not starts_from_note((A, B, C, D), state_after(opened(), ADOPTED, *later))


def test_a_handoff_of_another_path_is_overtaken_by_a_checkpoint_of_this_one() -> None:
    assert starts_from_note((A, C), state_after(opened(), *SAVED, ADOPTED))


def test_a_note_that_was_edited_is_read_until_its_own_text_was_taken() -> None:
    edited = (*SAVED, NoteEdited(capture_id=CAPTURE, content_sha256=OTHER_BODY))
    assert starts_from_note((A, B), state_after(opened(), *edited))
    taken = BasisTaken(capture_id=CAPTURE, source_tip=B, handoff_sha256=Sha256("1" * 64), edited=True)
    assert not starts_from_note((A, B), state_after(opened(), *edited, taken))
