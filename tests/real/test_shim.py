"""What `continuity install` writes is loaded by a real Tau, and by one that cannot load us it is said in words."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Generator
from pathlib import Path

import pytest

from continuity.cli.shim import Lead, lead_at, source
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tau_home import TauHome, make_tau_home
from tests.fakes.tau_machine import program
from tests.fakes.tau_process import tau_executable, tau_print

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def home(tmp_path: Path, model: ScriptedModel) -> TauHome:
    return make_tau_home(tmp_path, model.url, shim=False)


@pytest.fixture
def other_python(tmp_path: Path) -> Path:
    """The Python of a Tau in an environment of its own, with every library of the tests' but not this checkout."""
    venv.create(tmp_path / "tool", with_pip=False, symlinks=True)
    (site,) = (tmp_path / "tool" / "lib").glob("python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib"))  # whose own .pth files are not followed
    return tmp_path / "tool" / "bin" / "python"


def continuity(home: TauHome, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the real program outside any checkout, with an installer that needs no network."""
    program(home.root / "bin" / "uv", "#!/bin/sh\nexit 0\n")
    path = f"{home.root / 'bin'}:{os.environ['PATH']}"
    command = [sys.executable, "-c", "from continuity.cli import main; main()", *words]
    environment = home.environment({"PATH": path, "PYTHONPATH": str(ROOT)})
    return subprocess.run(command, cwd="/", env=environment, capture_output=True, text=True, check=False)


def says(python: Path, home: TauHome, text: str) -> str:
    """What that Tau prints and tells at a prompt, with the tests' own packages out of the way."""
    done = subprocess.run(
        [python, tau_executable(), "-p", text], cwd=home.cwd, env=home.environment(), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return done.stdout + done.stderr


def test_what_is_installed_is_loaded_by_the_tau_it_was_installed_for(home: TauHome, other_python: Path) -> None:
    done = continuity(home, "install", "--yes", "--python", str(other_python))
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (
        0,
        ["done; Tau loads it at its next start, or after /reload"],
    ), done.stderr
    assert continuity(home, "install", "--python", str(other_python)).stdout.endswith(" is up to date\n")
    said = says(other_python, home, "/bm-status")
    assert "Continuity" in said
    assert "not loaded" not in said


def test_a_tau_whose_own_environment_holds_this_checkout_is_led_to_it_as_it_is(home: TauHome) -> None:
    done = continuity(home, "install", "--yes", "--python", sys.executable)
    assert (done.returncode, done.stderr) == (0, "")
    shim = home.home / "extensions" / "continuity" / "extension.py"
    assert lead_at(shim) == Lead(ROOT, None, str(Path(sys.executable).parent / "continuity"), named=True)
    assert not home.state.exists()


def test_a_tau_that_cannot_load_us_says_so_and_works_on(home: TauHome, model: ScriptedModel, tmp_path: Path) -> None:
    home.write_extension("continuity", source(Lead(tmp_path / "gone", "cpython-39-elsewhere")))
    done = tau_print(home, "hello")
    assert done.returncode == 0
    assert "Answer to: hello" in done.stdout
    (notice,) = [line for line in done.stderr.splitlines() if "Continuity is not loaded" in line]
    assert notice.startswith("[extension:warning] ")
    assert "it was installed for cpython-39-elsewhere" in notice
