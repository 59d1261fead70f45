"""What `continuity install` writes is loaded by a real Tau, and by one that cannot load us it is said in words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from continuity.cli.shim import source
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tau_home import TauHome, make_tau_home
from tests.fakes.tau_process import tau_print

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def home(tmp_path: Path, model: ScriptedModel) -> TauHome:
    return make_tau_home(tmp_path, model.url, shim=False)


def test_an_installed_shim_loads_us_from_where_the_command_is(home: TauHome) -> None:
    installed = subprocess.run(
        [sys.executable, "-c", "from continuity.cli import main; main()", "install", "--yes"],
        cwd=ROOT,
        env=home.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert installed.stdout.endswith("done; Tau loads it at its next start, or after /reload\n")
    asked = tau_print(home, "/bm-status", environment={"PYTHONPATH": ""})
    assert asked.returncode == 0
    assert "Continuity" in asked.stdout + asked.stderr
    assert "not loaded" not in asked.stderr


def test_a_tau_that_cannot_load_us_says_so_and_works_on(home: TauHome, model: ScriptedModel, tmp_path: Path) -> None:
    broken = tmp_path / "site"
    (broken / "journal").mkdir(parents=True)
    (broken / "journal" / "__init__.py").touch()
    home.write_extension("continuity", source(tmp_path / "gone"))
    done = tau_print(home, "hello", environment={"PYTHONPATH": str(broken)})
    assert done.returncode == 0
    assert "Answer to: hello" in done.stdout
    (notice,) = [line for line in done.stderr.splitlines() if "Continuity is not loaded" in line]
    assert notice.startswith("[extension:warning] ")
    assert "uv pip install --python " in notice
