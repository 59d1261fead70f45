"""What the checks are set to find, they find: each rule is shown a source that breaks it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOLS = Path(sys.executable).parent

READS = (
    "import time\nnow = time.time()\n",
    "import time\nnow = time.time_ns()\n",
    "import datetime\nnow = datetime.datetime.now(datetime.UTC)\n",
    "from datetime import UTC, datetime\nnow = datetime.now(UTC)\n",
    "import os\nhome = os.environ\n",
    "import os\nhome = os.getenv('HOME')\n",
    "from os import environ\nhome = environ\n",
)
READERS = ("continuity/shell/clock.py", "continuity/shell/config.py", "replay/surroundings.py")
OTHERS = (
    "continuity/cli/paths.py",
    "continuity/decide.py",
    "continuity/shell/runner.py",
    "continuity/tau/host/__init__.py",
    "journal/store.py",
    "replay/fold.py",
)

LOOSE = """
from typing import Literal


def unfinished(word: Literal["a", "b"]) -> None:
    match word:
        case "a":
            pass


def unbound(yes: bool) -> int:
    if yes:
        found = 1
    return found


def unreachable(word: str) -> None:
    if not isinstance(word, str):
        print(word)


def untyped(word):
    return word
"""


def lint(name: str, source: str) -> str:
    done = subprocess.run(
        [TOOLS / "ruff", "check", "--no-cache", "--select", "TID", "--stdin-filename", name, "-"],
        cwd=ROOT,
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def codes(program: str, root: Path) -> set[str]:
    """Return the error codes that `program` reports on a checkout of one loose module."""
    shutil.copy(ROOT / "pyproject.toml", root)
    for folder in ("continuity", "journal", "replay", "tools", "tests"):
        (root / folder).mkdir()
        (root / folder / "__init__.py").touch()
    (root / "journal" / "loose.py").write_text(LOOSE, encoding="utf-8")
    done = subprocess.run([TOOLS / program], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return set(re.findall(r"[(\[]([\w-]+)[)\]]$", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("source", READS)
def test_time_and_environment_are_read_in_four_files_only(source: str) -> None:
    assert ["TID251" in lint(name, source) for name in OTHERS] == [True] * len(OTHERS)
    assert [lint(name, source) for name in READERS] == ["All checks passed!\n"] * len(READERS)


@pytest.mark.parametrize("name", ["continuity/memory/notes.py", "replay/fold.py", "tests/journal/test_chain.py"])
def test_basic_memory_is_not_imported(name: str) -> None:
    assert "TID251" in lint(name, "import basic_memory\n")
    assert "TID251" in lint(name, "from basic_memory.mcp import server\n")


@pytest.mark.parametrize(
    "source", ["from . import state\n", "from .state import State\n", "from ..journal import row\n"]
)
def test_imports_are_absolute(source: str) -> None:
    assert "TID252" in lint("continuity/tau/extension.py", source)


def test_mypy_finds_unfinished_matches_unbound_names_and_dead_code(tmp_path: Path) -> None:
    assert codes("mypy", tmp_path) == {"exhaustive-match", "possibly-undefined", "unreachable", "no-untyped-def"}


def test_pyright_finds_unfinished_matches_unbound_names_and_missing_types(tmp_path: Path) -> None:
    found = codes("pyright", tmp_path)
    assert found >= {"reportMatchNotExhaustive", "reportPossiblyUnboundVariable", "reportMissingParameterType"}
    assert "reportUnnecessaryIsInstance" in found
