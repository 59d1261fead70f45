"""Settings, folders and names that somebody else chose do not act on the terminal of who looks at them."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest

from tests.fakes.memory_server import FakeMemory
from tests.fakes.terminal import Terminal
from tests.replay.kit import Ran, run

HOSTILE = "\x1b[2J\x1b]0;t\x07\x1b]52;c;YQ==\x07\x08\rspoof\x9b31m\x7f\u202e\u2066\u2028\x85"
"""As HOSTILE is in journals, without what a name in JSON or a path could not hold."""

SETTINGS: dict[str, object] = {
    "a key nobody knows": {HOSTILE: "x"},
    "a project": {"project": HOSTILE},
    "projects to read": {"read_projects": [HOSTILE, "b"]},
    "a command": {"command": f"bm{HOSTILE}", "args": [HOSTILE]},
    "the server's variables": {"env": {"A": HOSTILE, HOSTILE: "x"}},
    "a folder for checkpoints": {"project": "main", "checkpoint_folder": HOSTILE},
    "a scope": {"project": "main", "scope": HOSTILE},
    "a model": {"summary_model": HOSTILE},
    "tools": {"tools": [HOSTILE]},
    "a cadence": {"cadence": HOSTILE},
    "a number": {"recall_chars": HOSTILE},
    "a checkout": {"repositories": [{"kind": "coding", "root": f"/{HOSTILE}", "repository": HOSTILE, "project": "m"}]},
    "a checkout of no kind": {"repositories": [{"kind": HOSTILE, "root": "/", "repository": "a/b", "project": "m"}]},
    "no object": [HOSTILE],
}
COMMANDS = (("paths",), ("doctor",), ("setup", "--dry-run", "--yes", "--offline"), ("unproven",), ("rescan",))


def dangerous(text: str) -> set[str]:
    bad = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return {char for char in text if unicodedata.category(char) in bad and char not in "\n\t"}


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A person whose Tau home has a hostile name, and who stands in such a folder."""
    work = tmp_path / f"work{HOSTILE}"
    home = tmp_path / f"tau{HOSTILE}"
    work.mkdir()
    home.mkdir()
    monkeypatch.chdir(work)
    return {"HOME": str(tmp_path), "TAU_HOME": str(home), "PATH": "/usr/bin:/bin"}


def settings(environ: dict[str, str], value: object) -> None:
    (Path(environ["TAU_HOME"]) / "continuity.json").write_text(json.dumps(value), encoding="utf-8")


def harmless(ran: Ran) -> bool:
    assert ran.code in (0, 1, 2, 3)
    assert ran.out + ran.err
    return dangerous(ran.out + ran.err) == set()


@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: words[0])
def test_no_setting_acts_on_the_terminal(environ: dict[str, str], case: str, command: tuple[str, ...]) -> None:
    settings(environ, SETTINGS[case])
    assert harmless(run(*command, env=environ))


@pytest.mark.parametrize("command", [("paths", "--json"), ("doctor", "--json")], ids=lambda words: words[0])
def test_as_json_a_name_has_all_its_characters(environ: dict[str, str], command: tuple[str, ...]) -> None:
    settings(environ, {"project": "main"})
    ran = run(*command, env=environ)
    assert dangerous(ran.out) == set()
    assert json.dumps(environ["TAU_HOME"])[1:-1] in json.dumps(ran.json)


@pytest.mark.parametrize("command", [("probe", HOSTILE), ("resolve", HOSTILE, "--abandon"), ("show", HOSTILE, "@")])
def test_no_argument_is_echoed_as_it_is(environ: dict[str, str], command: tuple[str, ...]) -> None:
    assert harmless(run(*command, env=environ))


@pytest.mark.parametrize("words", [("doctor",), ("setup", "--dry-run", "--yes", "--offline"), ("paths",)])
def test_a_real_terminal_gets_words_alone(environ: dict[str, str], words: tuple[str, ...]) -> None:
    settings(environ, SETTINGS["a checkout"])
    with Terminal(*words, env={**environ, "NO_COLOR": "1", "PYTHONUTF8": "1"}, cwd=Path.cwd()) as terminal:
        assert terminal.ended() in (0, 1, 2, 3)
        assert terminal.shown
        assert dangerous(terminal.shown) == set()


@pytest.mark.parametrize("key", ["\x04", "\n\n\n\n\n\n\n\n\x04"], ids=["at once", "after some answers"])
def test_no_name_that_a_server_or_a_checkout_tells_acts_on_the_terminal_of_setup(
    environ: dict[str, str], tmp_path: Path, key: str
) -> None:
    memory = FakeMemory(tmp_path / "server")
    told = [{"name": name, "path": f"/{HOSTILE}", "source": HOSTILE, "is_default": False} for name in (HOSTILE, "main")]
    memory.faults(projects=told)
    command, args = memory.command
    settings(environ, {"command": command, "args": args})
    checkout_of(Path.cwd(), f"https://example.org/{HOSTILE}/lamp.git")
    with Terminal("setup", env={**environ, "NO_COLOR": "1", "PYTHONUTF8": "1"}, cwd=Path.cwd()) as terminal:
        terminal.until("Project (")
        terminal.type(key)
        terminal.ended_by("\x04")
        assert "spoof" in terminal.shown
        assert dangerous(terminal.shown) <= {"\x08"}  # the terminal's own echo takes back what it showed of a key


def checkout_of(folder: Path, remote: str) -> None:
    (folder / ".git" / "objects").mkdir(parents=True)
    (folder / ".git" / "refs").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text(f'[remote "origin"]\n\turl = {json.dumps(remote)}\n')
