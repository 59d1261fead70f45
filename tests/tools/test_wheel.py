"""The wheel holds the three packages, all of them, and nothing else."""

import json
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("continuity", "journal", "replay")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def metadata(wheel: zipfile.ZipFile, name: str) -> str:
    return wheel.read(next(each for each in wheel.namelist() if each.endswith(f".dist-info/{name}"))).decode()


def test_it_ships_every_file_of_the_packages_and_no_other(wheel: zipfile.ZipFile) -> None:
    shipped = {name for name in wheel.namelist() if ".dist-info/" not in name}
    files = {path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file()}
    ours = {path.relative_to(ROOT).as_posix() for path in files if "__pycache__" not in path.parts}
    assert shipped == ours
    assert {f"{package}/py.typed" for package in PACKAGES} <= shipped
    assert {f"continuity/notes/{note.name}" for note in (ROOT / "schemas" / "notes").iterdir()} <= shipped


def test_it_brings_its_licence_and_asks_for_no_more_than_the_product_needs(wheel: zipfile.ZipFile) -> None:
    fields = Parser().parsestr(metadata(wheel, "METADATA"))
    assert (fields["Name"], fields["License-Expression"], fields["Requires-Python"]) == (
        "tau-continuity",
        "Apache-2.0",
        ">=3.12",
    )
    assert "Apache License" in metadata(wheel, "licenses/LICENSE")
    needed = {each.partition(">")[0].partition("<")[0] for each in fields.get_all("Requires-Dist", [])}
    journal, memory = {"aiosqlite", "msgspec"}, {"jsonschema", "mcp", "psutil", "pydantic", "referencing"}
    assert needed == journal | memory | {"anyio", "click", "rich"}


def test_it_offers_the_command_and_mounts_the_offline_ones(wheel: zipfile.ZipFile) -> None:
    assert metadata(wheel, "entry_points.txt").split("\n\n") == [
        "[console_scripts]\ncontinuity = continuity.cli:main",
        "[continuity.commands]\noffline = replay.commands:commands\n",
    ]


WHAT_IT_WOULD_INSTALL = """
import json
from continuity.cli import shim
from continuity.cli.installing.own import own
print(json.dumps(sorted(own(shim.package_folder()).contents)))
"""


def test_what_is_installed_for_tau_from_a_wheel_is_what_the_wheel_brought(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    wheel.extractall(tmp_path)
    (tmp_path / "continuity" / "left_over.py").touch()
    command = [sys.executable, "-c", WHAT_IT_WOULD_INSTALL]
    environment = {"PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=True)
    brought = {name for name in wheel.namelist() if not name.endswith(("/RECORD", "/top_level.txt"))}
    assert set(json.loads(done.stdout)) == brought
