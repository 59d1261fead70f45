"""A folder stands for the journals in it and below it; what cannot be looked into is named and hides nothing else."""

from __future__ import annotations

from pathlib import Path

from journal.folders import journals_at
from tests.fakes.permissions import permissions_bind


def touched(*paths: Path) -> list[Path]:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return list(paths)


def test_journals_are_found_in_a_folder_and_below_it_in_order_of_their_paths(tmp_path: Path) -> None:
    wanted = touched(tmp_path / "a.journal", tmp_path / "below" / "b.journal")
    touched(tmp_path / "a.journal-wal", tmp_path / "notes.md")
    assert journals_at([tmp_path]) == (wanted, [], [])


def test_what_is_no_folder_stands_for_itself_whatever_it_is_called(tmp_path: Path) -> None:
    assert journals_at([tmp_path / "not there"]) == ([tmp_path / "not there"], [], [])


def test_a_journal_that_several_paths_lead_to_is_found_once(tmp_path: Path) -> None:
    (path,) = touched(tmp_path / "a.journal")
    (tmp_path / "b.journal").symlink_to(path)
    assert journals_at([path, tmp_path, tmp_path / "b.journal"]).paths == [path]


def test_a_folder_with_no_journal_is_told_from_one_that_cannot_be_looked_into(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "closed").mkdir(mode=0)
    with permissions_bind():
        found = journals_at([tmp_path / "empty", tmp_path / "closed"])
    assert (found.paths, found.without) == ([], [tmp_path / "empty"])
    assert [error.filename for error in found.closed] == [str(tmp_path / "closed")]
