"""Tidy refuses what is too long to be read at once, and nothing shorter."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.tidy import FUNCTION_LINES, MODULE_LINES, TEST_MODULE_LINES, findings

ROOT = Path(__file__).parents[2]


def write(root: Path, name: str, source: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")


def function(lines: int, head: str = "def f():") -> str:
    indent = " " * (len(head) - len(head.lstrip()) + 4)
    return f"{head}\n" + f"{indent}pass\n" * (lines - 1)


def test_the_limits_are_those_of_the_style() -> None:
    assert (FUNCTION_LINES, MODULE_LINES, TEST_MODULE_LINES) == (50, 400, 600)


@pytest.mark.parametrize("head", ["def f():", "async def f():", "class C:\n    def f(self):"])
def test_a_function_of_51_lines_is_refused_and_one_of_50_is_not(tmp_path: Path, head: str) -> None:
    outer, _, own = head.rpartition("\n")
    for size in (50, 51):
        write(tmp_path, f"journal/f{size}.py", f"{outer}\n{function(size, own)}")
    assert [str(finding) for finding in findings(tmp_path)] == [
        "journal/f51.py:2: function f has 51 lines, 50 are allowed"
    ]


def test_a_docstring_counts_and_a_decorator_does_not(tmp_path: Path) -> None:
    write(tmp_path, "replay/a.py", "@property\n" * 9 + function(50))
    write(tmp_path, "replay/b.py", 'def f():\n    """Text.\n' + "\n" * 49 + '    """\n')
    assert [finding.path for finding in findings(tmp_path)] == ["replay/b.py"]


def test_a_function_inside_another_counts_for_both(tmp_path: Path) -> None:
    write(tmp_path, "journal/a.py", "def outer():\n" + function(51, "    def inner():"))
    assert [finding.what for finding in findings(tmp_path)] == ["function outer", "function inner"]


@pytest.mark.parametrize(("folder", "limit"), [("continuity", 400), ("tools", 400), ("tests", 600)])
def test_a_module_one_line_over_its_limit_is_refused(tmp_path: Path, folder: str, limit: int) -> None:
    write(tmp_path, f"{folder}/deep/longest.py", "pass\n" * limit)
    write(tmp_path, f"{folder}/deep/too_long.py", "pass\n" * (limit + 1))
    assert [str(finding) for finding in findings(tmp_path)] == [
        f"{folder}/deep/too_long.py:1: the module has {limit + 1} lines, {limit} are allowed"
    ]


@pytest.mark.parametrize(("lines", "status"), [(50, 0), (51, 1)])
def test_the_command_fails_the_build_and_names_the_place(tmp_path: Path, lines: int, status: int) -> None:
    write(tmp_path, "continuity/a.py", function(lines))
    done = subprocess.run(
        [sys.executable, "-m", "tools.tidy", tmp_path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    expected = "continuity/a.py:1: function f has 51 lines, 50 are allowed\n" if status else ""
    assert (done.returncode, done.stdout) == (status, expected)
