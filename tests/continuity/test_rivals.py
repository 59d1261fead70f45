"""An extension that writes to Basic Memory, or mirrors our receipts, is a rival; one that is only called like it is none."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from continuity.rivals import Beside, lent, loaded_twice, rivals, stands_down

THEIRS = PurePosixPath("/home/ada/.tau/extensions/basic-memory/extension.py")
OURS = PurePosixPath("/home/ada/.tau/extensions/continuity/extension.py")


def beside(path: PurePosixPath = THEIRS, *tools: str, mirrors: bool = False, from_project: bool = False) -> Beside:
    return Beside(path, from_project, frozenset(tools), mirrors=mirrors)


REFUSED = Beside(THEIRS, from_project=False, dropped=frozenset({"bm_write_note", "bm_read_note"}))


@pytest.mark.parametrize("other", [beside(THEIRS, "bm_write_note"), beside(mirrors=True), REFUSED])
def test_who_writes_to_basic_memory_is_a_rival(other: Beside) -> None:
    assert rivals([beside(OURS), other]) == (other,)


@pytest.mark.parametrize("other", [beside(), beside(THEIRS, "write_note", "bm_bookmark")])
def test_a_name_makes_no_rival(other: Beside) -> None:
    assert rivals([other]) == ()


def test_a_tool_that_the_host_took_from_a_rival_stays_ours_to_answer_for() -> None:
    assert lent([beside(THEIRS, "bm_write_note"), REFUSED]) == {"bm_write_note", "bm_read_note"}
    assert lent([beside(mirrors=True)]) == frozenset()


def test_whoever_is_told_of_a_rival_is_told_which_file_to_remove() -> None:
    assert stands_down([beside()], OURS) == (
        f"Continuity stands down: {THEIRS} brings Basic Memory to this Tau too, so Continuity saves and recalls nothing. "
        f"Keep one: remove that, or {OURS}, then /reload."
    )


def test_a_rival_of_the_projects_is_said_to_be_the_projects() -> None:
    told = stands_down([beside(from_project=True), beside(OURS)], None)
    assert f"{THEIRS}, which this project brings along, and {OURS} bring Basic Memory" in told
    assert "remove those, or ours (`continuity uninstall`), then /reload" in told


def test_of_two_that_load_us_the_one_that_works_is_named_first() -> None:
    told = loaded_twice(OURS, THEIRS)
    assert (
        told
        == f"Continuity is loaded twice: by {OURS}, which works, and by {THEIRS}, which does nothing. Remove one of them."
    )


@pytest.mark.parametrize(("path", "named"), [(OURS, str(OURS)), (None, "its extension")])
def test_one_file_that_sets_us_up_twice_is_named_once(path: PurePosixPath | None, named: str) -> None:
    assert loaded_twice(path, path) == f"Continuity: {named} sets Continuity up twice; the second time does nothing."
