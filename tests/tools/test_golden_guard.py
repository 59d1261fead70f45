"""A golden line that was released cannot be edited or taken away unnoticed."""

import subprocess
from pathlib import Path

import pytest

from tools.golden_guard import GOLDEN, missing


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    def git(*arguments: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True, capture_output=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "before any golden line")
    git("tag", "v0.0.1")
    golden(tmp_path).parent.mkdir(parents=True)
    golden(tmp_path).write_text('{"type":"a.v1"}\n{"type":"b.v1"}\n')
    git("add", ".")
    git("commit", "-q", "-m", "golden")
    git("tag", "v0.1.0")
    return tmp_path


def golden(root: Path) -> Path:
    return root / GOLDEN


def test_a_new_line_is_no_fault(repository: Path) -> None:
    with golden(repository).open("a") as file:
        file.write('{"type":"a.v2"}\n')
    assert missing(repository) == []


def test_an_edited_line_is_named_with_its_release(repository: Path) -> None:
    golden(repository).write_text('{"type":"a.v1","x":1}\n{"type":"b.v1"}\n')
    assert missing(repository) == [("v0.1.0", '{"type":"a.v1"}')]


def test_a_line_taken_away_is_named(repository: Path) -> None:
    golden(repository).write_text('{"type":"a.v1"}\n')
    assert missing(repository) == [("v0.1.0", '{"type":"b.v1"}')]
