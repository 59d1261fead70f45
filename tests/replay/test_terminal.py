"""Nothing that stands in a journal can act on a terminal, and JSON loses nothing of it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from continuity.console import escaped
from continuity.sentences import utc
from replay.render import id_length, json_line, table
from replay.shapes import LogLine
from tests.replay import stories
from tests.replay.kit import run

HOSTILE = (
    "\x1b[2J\x1b]0;title\x07\x1b]8;;http://x\x1b\\\x1b]52;c;YQ==\x07"
    "\x08\x08\rspoof\x9b31m\x7f\x00\u202e\u2066\u200b\u2028\u2029\x85\x0b\ttab\nline\U000e0041 é 日本 ✓"
)
COMMANDS = (
    ("log",),
    ("show", "@"),
    ("show", "1@3"),
    ("show", "1@5"),
    ("state",),
    ("branches",),
    ("unproven",),
    ("audit",),
    ("audit", "--session"),
    ("log", "--json"),
    ("show", "1@3", "--json"),
    ("state", "--json"),
    ("branches", "--json"),
    ("unproven", "--json"),
    ("export",),
)


def arguments(command: tuple[str, ...], path: Path) -> list[str]:
    name, *rest = command
    return [name, str(path), *rest, *([str(path.with_suffix(".jsonl"))] if "--session" in rest else [])]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = stories.hostile(HOSTILE[:80]).write(tmp_path / "a\x1b[2J.journal")
    path.with_suffix(".jsonl").write_text('{"type": "custom", "namespace": "basic-memory.continuity.v1", "data": 1}\n')
    return path


def dangerous(text: str) -> set[str]:
    bad = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {char for char in text if unicodedata.category(char) in bad and char not in "\n\t"}


@pytest.mark.parametrize("command", COMMANDS[:-1], ids=" ".join)
def test_no_command_lets_a_control_character_through(path: Path, command: tuple[str, ...]) -> None:
    ran = run(*arguments(command, path))
    assert ran.code in (0, 1)
    assert dangerous(ran.out + ran.err) == set()


def test_nor_does_an_error(path: Path, tmp_path: Path) -> None:
    for command in (("show", "x\x1b[2J"), ("audit", "--session", "n\x1b[2J"), ("state", "--branch", "9")):
        name, *rest = command
        ran = run(name, path, *rest)
        assert ran.code in (2, 3)
        assert dangerous(ran.err) == set()
    assert dangerous(run("log", tmp_path / "\x1b[2J").err) == set()


def test_json_brings_every_character_back(path: Path) -> None:
    lines = run("log", path, "--json").lines
    assert {line["tip"] for line in lines} == {HOSTILE[:80]}
    assert lines[2]["data"]["name"] == HOSTILE[:80]


@pytest.mark.parametrize("command", [("log",), ("show", "1@3"), ("audit",), ("log", "--json")], ids=" ".join)
def test_a_real_terminal_gets_no_more_than_words(path: Path, command: tuple[str, ...]) -> None:
    shown = on_a_terminal(arguments(command, path), {"NO_COLOR": "1"})
    assert dangerous(shown.replace("\r\n", "\n")) == set()


def test_color_is_for_terminals_that_want_it(path: Path) -> None:
    assert "\x1b[33munproven\x1b[0m" in on_a_terminal(arguments(("audit",), path), {"TERM": "xterm"})
    assert "\x1b" not in on_a_terminal(arguments(("audit",), path), {"TERM": "dumb"})


def on_a_terminal(words: list[str], environment: dict[str, str]) -> str:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", "from continuity.cli import main; main()", *words],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONUTF8": "1", **environment},
    ) as child:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        os.close(ours)
        child.wait(60)
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 日本 ✓ 👩", "plain é 日本 ✓ 👩"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x1b\x7f\x9b", "\\x1b\\x7f\\x9b"),
        ("\u202e\u2028\ufeff", "\\u202e\\u2028\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("\udcff", "\\udcff"),
    ],
)
def test_what_could_act_on_a_terminal_is_spelled_out(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_text_of_many_lines_keeps_them_if_asked() -> None:
    assert escaped("a\n\tb\x1b", keep="\n\t") == "a\n\tb\\x1b"


def test_json_spells_out_what_json_itself_would_let_through() -> None:
    odd = "\x7f\x85\u202e\U000e0041\udcff"
    line = json_line(
        LogLine(branch=1, position=1, id="", at_ms=0, tip=odd, cause=None, type="", data={"é": "é"}, digest="")
    )
    assert '"tip":"\\u007f\\u0085\\u202e\\udb40\\udc41\\udcff"' in line.replace(" ", "")
    assert dangerous(line) == set()


def test_a_time_is_utc_and_one_out_of_the_calendar_is_a_number() -> None:
    assert utc(1_700_000_000_123) == "2023-11-14 22:13:20.123Z"
    assert utc(2**53 - 1) == "9007199254740991 ms"


def test_ids_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    assert id_length([]) == 8
    assert id_length(["a" * 64, "b" * 64, "a" * 64]) == 8
    assert id_length(["a" * 64, "a" * 11 + "b" * 53]) == 12


def test_columns_stand_under_each_other() -> None:
    assert table([]) == []
    assert table([("a", "b"), ("long", "")]) == ["a     b", "long"]
