"""Reading a journal changes no byte of it or its folder, needs no right to write, and says the same everywhere."""

from __future__ import annotations

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.journals import session_file
from tests.fakes.permissions import permissions_bind
from tests.journal import kit as forging
from tests.replay import stories
from tests.replay.kit import run

READING = (
    ("log",),
    ("log", "--json"),
    ("show", "@"),
    ("state",),
    ("state", "--json"),
    ("branches", "--json"),
    ("unproven", "--json"),
    ("audit",),
    ("audit", "--json"),
    ("export", "--bodies"),
)


def everything(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {p.name: (p.stat().st_mtime_ns, stat.S_IMODE(p.stat().st_mode), p.read_bytes()) for p in folder.iterdir()}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "state").mkdir()
    return stories.forked().write(tmp_path / "state" / "a.journal")


def test_no_command_that_reads_changes_a_byte(path: Path) -> None:
    before = everything(path.parent)
    for name, *rest in READING:
        assert run(name, path, *rest).code == 0
    assert run("audit", path, "--session", session_file(path.parent.parent / "s.jsonl")).code == 0
    assert everything(path.parent) == before


def test_a_journal_whose_writer_was_killed_is_read_with_its_log_and_left_with_it(path: Path, tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("DELETE FROM bodies")
        shutil.copytree(path.parent, killed)
    (killed / "a.journal-shm").unlink()
    before = everything(killed)
    assert set(before) == {"a.journal", "a.journal-wal"}
    for name, *rest in READING:
        assert run(name, killed / "a.journal", *rest).code in (0, 1)
    assert "guards" in run("audit", killed / "a.journal").out
    assert everything(killed) == before


def test_a_folder_that_may_only_be_read_is_enough(path: Path) -> None:
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        with permissions_bind():
            for name, *rest in READING:
                assert run(name, path, *rest).code == 0
    finally:
        path.parent.chmod(0o700)


@pytest.mark.parametrize("what", ["the file", "its folder"])
@pytest.mark.parametrize("command", [*READING, ("import", "-o", "b.journal")], ids=" ".join)
def test_what_may_not_be_read_is_unreadable_and_not_misuse(path: Path, command: tuple[str, ...], what: str) -> None:
    refused = path if what == "the file" else path.parent
    refused.chmod(0)
    try:
        with permissions_bind():
            ran = run(command[0], path, *command[1:])
    finally:
        refused.chmod(0o700)
    assert ran.code == 3
    assert str(path) in ran.err
    assert "no such file" not in ran.err


def test_time_zone_locale_and_hash_seed_change_no_byte_of_what_is_said(path: Path) -> None:
    script = "import sys\nfrom continuity.cli import main\nfor w in {words!r}:\n    main(w, standalone_mode=False)\n"
    words = [[name, str(path), *rest] for name, *rest in READING]
    said: set[bytes] = set()
    for zone, locale, seed in (
        ("UTC", "C", "0"),
        ("Asia/Kathmandu", "C.UTF-8", "1"),
        ("America/St_Johns", "POSIX", "7"),
    ):
        done = subprocess.run(
            [sys.executable, "-c", script.format(words=words)],
            env={"PATH": "/usr/bin:/bin", "TZ": zone, "LC_ALL": locale, "PYTHONHASHSEED": seed},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=False,
        )
        assert done.stderr == b""
        said.add(done.stdout)
    assert len(said) == 1
    assert b"ship it" in said.pop()
