"""Whatever becomes of its standard streams, a command ends in words and with its exit code, never in a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.facts import SAVED
from tests.fakes.journals import recorded
from tests.journal import kit as forging
from tests.replay.kit import run

ROOT = Path(__file__).parents[2]
COMMANDS = (("log",), ("state", "--json"), ("audit",), ("unproven",), ("export",))
HELP = (("--help",), ("log", "--help"), ("audit", "--rules"))
SURROUNDED = f"PATH='{Path(sys.executable).parent}':$PATH PYTHONPATH='{ROOT}'"
CALL = f"{SURROUNDED} exec {sys.executable} -c 'from continuity.cli import main; main()' \"$@\" "


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return recorded(tmp_path / "a.journal", *SAVED)


def ran(
    redirection: str, *words: str, stdout: int = subprocess.PIPE, cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run a command as a shell does that was given `redirection`, on a machine that has Tau."""
    shell = ["/bin/sh", "-c", CALL + redirection, "sh", *words]
    return subprocess.run(shell, cwd=cwd, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)


def into_a_closed_pipe(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command whose reader is gone before it begins."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return ran("", *words, stdout=writing)
    finally:
        os.close(writing)


def called(command: tuple[str, ...], path: Path) -> tuple[str, ...]:
    return command if command in HELP else (command[0], str(path), *command[1:])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize("command", [*COMMANDS, *HELP, ("paths",)], ids=" ".join)
def test_output_that_finds_no_room_is_said_in_words(path: Path, command: tuple[str, ...]) -> None:
    words = ("paths",) if command == ("paths",) else called(command, path)
    done = ran("> /dev/full", *words)
    assert done.stderr == "error: standard output: No space left on device\nhint: what was printed is not all of it\n"
    assert done.returncode == 3


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_stdout_that_was_closed_before_is_said_in_words(path: Path, command: tuple[str, ...]) -> None:
    done = ran(">&-", *called(command, path))
    assert done.stderr.splitlines()[0] == "error: standard output is closed"
    assert done.returncode == 3


@pytest.mark.parametrize("command", [*COMMANDS, *HELP], ids=" ".join)
def test_a_reader_that_closes_early_is_a_quiet_success(path: Path, command: tuple[str, ...]) -> None:
    done = into_a_closed_pipe(*called(command, path))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("command", [("log",), ("state",), ("audit",)], ids=" ".join)
def test_a_broken_journal_is_a_finding_whoever_closes_early(path: Path, command: tuple[str, ...]) -> None:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET at_ms = 0 WHERE position = 3")
    assert into_a_closed_pipe(*called(command, path)).returncode == 1


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_without_a_stderr_the_exit_code_still_speaks(path: Path, redirection: str) -> None:
    if redirection == "2>/dev/full" and not Path("/dev/full").exists():
        pytest.skip("this system has no full device")
    assert ran(redirection, "log", str(path)).returncode == 0
    assert ran(redirection, "log", str(path.with_name("none"))).returncode == 3


@pytest.mark.parametrize("words", [("log",), ("unproven",), ("probe", "ffff", "--in")], ids=" ".join)
def test_a_name_with_a_line_end_in_it_says_no_line_of_its_own(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = tmp_path / "a\nhint: remove everything.journal"
    path.write_bytes(b"no journal")
    done = run(*words, path)
    assert "a\\nhint: remove everything.journal" in done.err
    assert not [line for line in done.err.splitlines() if line.startswith("hint: remove")]


def test_a_closed_stdin_is_said_in_words(tmp_path: Path) -> None:
    done = ran("<&-", "import", "-", "-o", str(tmp_path / "a.journal"))
    assert (done.returncode, done.stderr.splitlines()[0]) == (3, "error: standard input is closed")
    assert ran("<&-", "install", "--dry-run", cwd=tmp_path).returncode == 0
    assert ran("<&-", "install", cwd=tmp_path).returncode == 2
