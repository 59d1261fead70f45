"""The import contracts fail when they are broken: each rule is tried on a tree that has just the module names."""

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from shutil import copy
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("continuity", "journal", "replay")

# fmt: off
PURE = (
    "continuity.commands", "continuity.state", "continuity.decide", "continuity.evolve", "continuity.due",
    "continuity.verdict", "continuity.lineage", "continuity.capture", "continuity.handoff", "continuity.recall",
    "continuity.brief", "continuity.privacy", "continuity.profile", "continuity.places",
    "journal.events", "journal.chain", "journal.codec", "journal.upcast",
)
OUTSIDE_WORLD = (
    "continuity.shell", "continuity.memory", "continuity.tau", "aiosqlite", "anyio", "asyncio", "mcp", "os", "random",
    "secrets", "socket", "sqlite3", "subprocess", "time", "uuid", "tau_agent", "tau_coding",
)
OFFLINE_WITHOUT = (
    "continuity.shell", "continuity.memory", "continuity.tau", "mcp", "httpx", "socket", "tau_agent", "tau_coding",
)
# fmt: on


class Tree:
    """A checkout with our contracts and an empty module for every name in them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        copy(ROOT / "pyproject.toml", root)
        for name in sorted({*_named_in_the_contracts(), *PURE, "journal.store", "replay.fold"}):
            self.write(name, "")

    def write(self, module: str, source: str) -> None:
        folder = self.root
        for part in module.split("."):
            folder /= part
            folder.mkdir(exist_ok=True)
            (folder / "__init__.py").touch()
        with (folder / "__init__.py").open("a", encoding="utf-8") as file:
            file.write(source)

    def lint(self) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [Path(sys.executable).parent / "lint-imports", "--no-cache", "--no-logo"],
            cwd=self.root,
            env=os.environ | {"COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )


def _settings() -> dict[str, Any]:
    tools: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    return tools


def _contracts() -> list[dict[str, Any]]:
    contracts: list[dict[str, Any]] = _settings()["importlinter"]["contracts"]
    return contracts


def _named_in_the_contracts() -> Iterator[str]:
    for contract in _contracts():
        inside = [f"{container}." for container in contract.get("containers", [""])]
        layers = [part.strip(" ()") for layer in contract.get("layers", []) for part in _parts(layer)]
        yield from (prefix + name for prefix in inside for name in layers)
        modules = [*contract.get("source_modules", []), *contract.get("forbidden_modules", [])]
        yield from (name for name in modules if name.partition(".")[0] in PACKAGES)


def _parts(layer: str) -> list[str]:
    return layer.replace("|", ":").split(":")


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_every_module_at_or_below_decide_is_listed_as_pure() -> None:
    contracts = {contract["id"]: contract for contract in _contracts()}
    layers = contracts["inside-continuity"]["layers"]
    below = {f"continuity.{part.strip()}" for layer in layers[layers.index("decide") :] for part in _parts(layer)}
    assert below - set(contracts["pure-core"]["source_modules"]) == set()


def test_every_module_of_the_journal_that_opens_no_file_is_listed_as_pure() -> None:
    sources = {contract["id"]: contract for contract in _contracts()}["pure-core"]["source_modules"]
    modules = {f"journal.{path.stem}" for path in (ROOT / "journal").glob("*") if path.suffix == ".py" or path.is_dir()}
    opens_files = {
        f"journal.{name}"
        for name in ("disk", "erasure", "filesystem", "folders", "store", "lock", "reader", "integrity", "interchange")
    }
    assert modules - opens_files - {"journal.__init__", "journal.__pycache__"} - set(sources) == set()


def test_any_is_forbidden_in_every_module_that_is_listed_as_pure() -> None:
    (patterns,) = [each["module"] for each in _settings()["mypy"]["overrides"] if each.get("disallow_any_explicit")]
    whole = {pattern.removesuffix(".*") for pattern in patterns if pattern.endswith(".*")}
    sources = {contract["id"]: contract for contract in _contracts()}["pure-core"]["source_modules"]
    modules = {source for source in sources if source.partition(".")[0] not in whole}
    packages = {source for source in modules if (ROOT.joinpath(*source.split("."))).is_dir()}
    assert (packages - whole, modules - packages - set(patterns)) == (set(), set())


def test_a_tree_that_keeps_to_the_directions_passes(tree: Tree) -> None:
    tree.write("continuity.tau.boundaries", "import continuity.shell, continuity.tau.host")
    tree.write("continuity.tau.host.tools", "import tau_agent, tau_coding")
    tree.write("continuity.shell", "import asyncio, time, continuity.memory")
    tree.write("continuity.memory", "import mcp, continuity.decide")
    tree.write("continuity.brief", "import continuity.recall, msgspec")
    tree.write("continuity.recall", "import continuity.brief, journal.events")
    tree.write("journal.store", "import aiosqlite, anyio, journal.chain")
    tree.write("replay.fold", "import continuity.evolve, sqlite3")
    done = tree.lint()
    assert (done.returncode, done.stdout.rpartition("\n\n")[2]) == (0, "Contracts: 9 kept, 0 broken.\n"), done.stdout


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("journal", "continuity"),
        ("journal", "replay"),
        ("continuity", "replay"),
        ("continuity.tau", "continuity.cli"),
        ("continuity.cli", "continuity.tau"),
        ("continuity.shell", "continuity.tau"),
        ("continuity.memory", "continuity.shell"),
        ("continuity.due", "continuity.decide"),
        ("continuity.evolve", "continuity.due"),
        ("continuity.recall", "continuity.evolve"),
        ("continuity.verdict", "continuity.lineage"),
        ("continuity.state", "continuity.verdict"),
        ("continuity.commands", "continuity.state"),
    ],
)
def test_a_lower_layer_may_not_import_a_higher_one(tree: Tree, importer: str, imported: str) -> None:
    tree.write(importer, f"import {imported}")
    done = tree.lint()
    assert done.returncode == 1
    assert f"{importer} is not allowed to import {imported}:" in done.stdout


def test_a_module_without_a_place_in_the_layers_is_refused(tree: Tree) -> None:
    tree.write("continuity.helpers", "")
    done = tree.lint()
    assert done.returncode == 1
    assert "- continuity.helpers" in done.stdout


def test_no_pure_module_may_read_the_outside_world(tree: Tree) -> None:
    for module in PURE:
        tree.write(module, "".join(f"import {name}\n" for name in OUTSIDE_WORLD))
    done = tree.lint()
    assert done.returncode == 1
    assert _missing(done.stdout, PURE, OUTSIDE_WORLD) == []


def test_a_pure_module_may_not_read_the_outside_world_through_another(tree: Tree) -> None:
    tree.write("journal.store", "import aiosqlite")
    tree.write("journal.codec", "import journal.store")
    done = tree.lint()
    assert done.returncode == 1
    assert "journal.codec is not allowed to import aiosqlite:" in done.stdout


def test_replay_may_reach_neither_network_nor_live_parts(tree: Tree) -> None:
    tree.write("replay.fold", "".join(f"import {name}\n" for name in OFFLINE_WITHOUT))
    done = tree.lint()
    assert done.returncode == 1
    assert _missing(done.stdout, ["replay"], OFFLINE_WITHOUT) == []


def test_nothing_imports_basic_memory(tree: Tree) -> None:
    for module in ("continuity.memory", "journal.store", "replay.fold"):
        tree.write(module, "import basic_memory.mcp")
    done = tree.lint()
    assert done.returncode == 1
    assert _missing(done.stdout, PACKAGES, ["basic_memory"]) == []


def test_only_the_store_speaks_to_the_driver(tree: Tree) -> None:
    for module in ("continuity.shell", "journal.reader", "replay.fold"):
        tree.write(module, "import aiosqlite")
    done = tree.lint()
    assert done.returncode == 1
    assert _missing(done.stdout, PACKAGES, ["aiosqlite"]) == []


def test_only_the_door_to_tau_speaks_to_tau(tree: Tree) -> None:
    for module in ("continuity.tau.boundaries", "continuity.cli", "journal.reader", "replay.fold"):
        tree.write(module, "import tau_agent, tau_coding\n")
    done = tree.lint()
    assert done.returncode == 1
    assert _missing(done.stdout, PACKAGES, ["tau_agent", "tau_coding"]) == []


def test_of_the_journal_and_its_readers_only_the_store_is_asynchronous(tree: Tree) -> None:
    for module in ("journal.reader", "replay.fold"):
        tree.write(module, "import anyio, asyncio\n")
    done = tree.lint()
    assert done.returncode == 1
    assert _missing(done.stdout, ["journal", "replay"], ["anyio", "asyncio"]) == []


def test_pydantic_stays_at_the_edges(tree: Tree) -> None:
    for module in ("continuity.profile", "journal.codec", "replay.fold"):
        tree.write(module, "import pydantic")
    done = tree.lint()
    assert done.returncode == 1
    assert _missing(done.stdout, ["continuity.profile", "journal", "replay"], ["pydantic"]) == []


def _missing(report: str, importers: Sequence[str], imported: Sequence[str]) -> list[str]:
    expected = [f"{one} is not allowed to import {other}" for one in importers for other in imported]
    return [sentence for sentence in expected if f"{sentence}:" not in report]
