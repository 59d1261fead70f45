"""The command line starts quickly, says where things are, and tells misuse from the rest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from syrupy.assertion import SnapshotAssertion

from continuity.cli import main
from continuity.memory.inventory import Inventory, InventoryCache
from journal.ids import Sha256
from tests.fakes.permissions import permissions_bind
from tests.replay.kit import run

ROOT = Path(__file__).parents[2]
HEAVY = {"aiosqlite", "anyio", "asyncio", "journal", "mcp", "msgspec", "psutil", "pydantic", "rich", "textual"}


@pytest.fixture
def tau(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAU_HOME", str(tmp_path / "tau"))
    return tmp_path / "tau"


@pytest.mark.parametrize("words", [["--help"], ["-h"], ["--version"], ["log", "--help"], ["audit", "--help"]])
def test_help_loads_nothing_heavy(words: list[str]) -> None:
    script = (
        "import sys\nfrom continuity.cli import main\n"
        f"main({words!r}, standalone_mode=False)\nprint(sorted({HEAVY!r} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert done.stdout


def test_help_shows_examples_before_anything_else(snapshot: SnapshotAssertion) -> None:
    runner = CliRunner()
    for words in (
        [],
        *([name] for name in main.list_commands(main.make_context("continuity", [], resilient_parsing=True))),
    ):
        done = runner.invoke(main, [*words, "--help"], prog_name="continuity", terminal_width=100)
        assert done.exit_code == 0
        assert done.output.splitlines()[2].startswith("  continuity ")
        assert done.output == snapshot(name=" ".join(words) or "continuity")


def test_commands_that_cannot_be_loaded_are_said_to_be_missing(tmp_path: Path) -> None:
    info = tmp_path / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[continuity.commands]\nbad = no_such_module:commands\n")
    done = subprocess.run(
        [sys.executable, "-c", "from continuity.cli import main; main(['--help'])"],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "log" in done.stdout
    assert done.stderr.startswith("warning: the commands of no_such_module:commands are missing")


@pytest.mark.parametrize("words", [("nonsense",), ("log",), ("log", "a", "b"), ("install", "--yes", "--dry-run")])
def test_misuse_exits_2_and_says_nothing_on_stdout(words: tuple[str, ...], tau: Path) -> None:
    ran = run(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err


def test_paths_follow_tau_home_and_our_own_variable(tau: Path, tmp_path: Path) -> None:
    found = run("paths", "--json").json
    assert found["schema"] == "continuity.paths/1"
    assert found["state"] == str(tau / "state" / "extensions" / "continuity")
    assert found["extension"] == str(tau / "extensions" / "continuity" / "extension.py")
    assert found["packages"] == str(ROOT)
    elsewhere = run("paths", "--json", env={"CONTINUITY_HOME": str(tmp_path / "elsewhere")}).json
    assert elsewhere["state"] == str(tmp_path / "elsewhere")
    assert not tau.exists()


def test_paths_name_the_settings_that_a_variable_names(tau: Path, tmp_path: Path) -> None:
    named = {"TAU_CONTINUITY_CONFIG": str(tmp_path / "ours.json"), "TAU_BASIC_MEMORY_CONFIG": "~/theirs.json"}
    found = run("paths", "--json", env={**named, "HOME": str(tmp_path)}).json
    assert (found["settings"], found["compatible_settings"]) == (
        str(tmp_path / "ours.json"),
        str(tmp_path / "theirs.json"),
    )


def test_paths_name_the_inventories_that_there_are_and_nothing_that_is_never_made(tau: Path) -> None:
    assert run("paths", "--json").json["inventories"] == []
    cache, names = InventoryCache(tau / "state" / "extensions" / "continuity"), [Sha256(c * 64) for c in "ab"]
    for name in names:
        cache.save(name, Inventory(server="s", version="1", tools=()))
    assert run("paths", "--json").json["inventories"] == [str(path) for path in cache.files()]
    assert [path.exists() for path in cache.files()] == [True, True]
    lines = run("paths").out.splitlines()
    assert [line.split()[-1] for line in lines if line.startswith("inventory ")] == [str(p) for p in cache.files()]
    assert not [line for line in lines if "sessions.json" in line]


def test_paths_say_what_is_not_there(tau: Path) -> None:
    tau.mkdir()
    lines = run("paths").out.splitlines()
    assert lines[0].split() == ["tau", "home", str(tau)]
    assert lines[1].endswith("(not there)")


def test_paths_name_what_cannot_be_looked_at(tau: Path) -> None:
    tau.mkdir(mode=0)
    with permissions_bind():
        ran, as_json = run("paths"), run("paths", "--json")
    assert ran.code == 3
    assert ran.out.splitlines()[1].split(maxsplit=1) == ["settings", f"{tau}/continuity.json  (cannot be looked at)"]
    assert f"{tau}/continuity.json: Permission denied" in ran.err
    assert as_json.code == 0


@pytest.mark.parametrize("variable", ["TAU_HOME", "CONTINUITY_HOME", "TAU_CONTINUITY_CONFIG"])
def test_a_relative_place_is_misuse(tau: Path, variable: str) -> None:
    ran = run("paths", env={variable: "relative"})
    assert (ran.code, ran.out) == (2, "")
    assert variable in ran.err


def test_paths_are_json_of_one_shape(tau: Path) -> None:
    schema = json.loads((ROOT / "schemas" / "cli" / "paths.json").read_text())
    found = run("paths", "--json").json
    assert set(found) == set(schema["properties"]) == set(schema["required"])
