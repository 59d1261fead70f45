"""Whatever a command answers or a notice says passes through the one module that takes from it what acts on a terminal."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import continuity
from continuity.tau import host
from tests.fakes.extension_api import FakeTau

HOSTILE = "\x1b[2J\x1b]0;t\x07\x1b]52;c;YQ==\x07\x08spoof\x9b31m\x7f\u202e\u2066\u2028\x85\ttab\nline"
SHOWN = "[2J]0;t]52;c;YQ==spoof31m\ttab\nline"
WAYS = frozenset({"notify", "register_command"})
"""How Tau lets an extension speak to a person."""


def calls(path: Path) -> Iterator[str]:
    """Yield by which of the ways a module speaks, as methods of something."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in WAYS:
            yield node.func.attr


def test_one_module_alone_speaks_to_a_person() -> None:
    package = Path(continuity.__file__).parent
    speaking = {str(path.relative_to(package)): set(calls(path)) for path in package.rglob("*.py")}
    assert {name: ways for name, ways in speaking.items() if ways} == {"tau/host/__init__.py": set(WAYS)}


def test_a_commands_answer_is_shown_without_what_acts_on_a_terminal() -> None:
    tau = FakeTau()
    host.register_command(tau.api, "bm-last", lambda words: f"{words}{HOSTILE}", description="", usage="")
    assert tau.command("bm-last", HOSTILE) == SHOWN + SHOWN


@pytest.mark.parametrize("level", ["info", "warning", "error"])
def test_a_notice_is_shown_without_what_acts_on_a_terminal(level: host.NoticeLevel) -> None:
    tau = FakeTau()
    assert host.notify(tau.api, HOSTILE, level)
    assert tau.notices == [(SHOWN, level)]
