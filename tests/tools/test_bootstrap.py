"""Setup finds what it needs wherever it lies, is silent when nothing changed, and says what is missing.

Only a few plain commands, and stand-ins for uv and Python that keep a record, are on PATH here.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLAIN = ("cat", "cksum", "cp", "cut", "dirname", "id", "mkdir", "rm", "sed", "sh", "sort", "tail", "tr")

UV = """#!/bin/sh
case "$1" in
    --version) echo "uv {version}" ;;
    python) exit 2 ;;
    sync) mkdir -p .venv/bin && cp "$0" .venv/bin/python && echo "$*" >>"{record}" ;;
esac
"""
FITTING = """#!/bin/sh
case "$1" in
    --version) echo Python 3.12.1 ;;
    -m) exit 1 ;;
esac
"""
UNFIT = "#!/bin/sh\nexit 127\n"


class Machine:
    """A folder that stands for a checkout, a PATH and a home."""

    def __init__(self, root: Path) -> None:
        self.checkout = root / "a checkout"
        self.path = root / "bin"
        self.home = root / "home"
        self.record = root / "record"
        for folder in (self.checkout / "tools", self.path, self.home):
            folder.mkdir(parents=True)
        shutil.copy(ROOT / "tools" / "bootstrap", self.checkout / "tools")
        self.write(self.checkout / "uv.lock", "locked\n")
        self.write(self.checkout / "pyproject.toml", "project\n")
        for name in PLAIN:
            found = shutil.which(name)
            assert found is not None
            (self.path / name).symlink_to(found)

    def write(self, path: Path, text: str) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    def uv(self, version: str = "0.9.0") -> None:
        self.write(self.path / "uv", UV.format(version=version, record=self.record))

    def setup(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.checkout / "tools" / "bootstrap"],
            env={"PATH": str(self.path), "HOME": str(self.home), **environment},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
        )

    def installed_with(self) -> list[str]:
        """Return the interpreter of each installation so far."""
        if not self.record.exists():
            return []
        lines = self.record.read_text(encoding="utf-8").splitlines()
        assert all("--frozen" in line for line in lines)
        return [line.partition("--python ")[2] for line in lines]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_second_run_says_and_does_nothing(machine: Machine) -> None:
    machine.uv()
    python = machine.write(machine.path / "python3.12", FITTING)
    first, second = machine.setup(), machine.setup()
    assert (first.returncode, first.stderr.splitlines()[-1]) == (0, "setup: ready")
    assert (second.returncode, second.stdout, second.stderr) == (0, "", "")
    assert machine.installed_with() == [str(python)]


@pytest.mark.parametrize("name", ["uv.lock", "pyproject.toml"])
def test_a_changed_lock_or_project_is_installed_again(machine: Machine, name: str) -> None:
    machine.uv()
    python = machine.write(machine.path / "python3.12", FITTING)
    machine.setup()
    machine.write(machine.checkout / name, "changed\n")
    machine.setup()
    assert machine.installed_with() == [str(python), str(python)]


def test_an_environment_that_moved_with_its_checkout_is_made_anew(machine: Machine) -> None:
    machine.uv()
    python = machine.write(machine.path / "python3.12", FITTING)
    machine.setup()
    machine.checkout = machine.checkout.rename(machine.checkout.with_name("elsewhere"))
    machine.setup()
    assert machine.installed_with() == [str(python), str(python)]


def test_a_failed_installation_is_not_taken_for_done(machine: Machine) -> None:
    machine.write(
        machine.path / "uv", UV.format(version="0.9.0", record=machine.record).replace("sync)", "sync) exit 3;")
    )
    machine.write(machine.path / "python3.12", FITTING)
    for _ in range(2):
        done = machine.setup()
        assert done.returncode == 1
        assert "package index" in done.stderr


def test_a_shim_that_refuses_to_run_is_passed_over(machine: Machine) -> None:
    machine.uv()
    machine.write(machine.path / "python3.13", UNFIT)
    python = machine.write(machine.path / "python3.12", FITTING)
    machine.setup()
    assert machine.installed_with() == [str(python)]


@pytest.mark.parametrize("told_by", ["PYENV_ROOT", "HOME", "PATH"])
def test_an_interpreter_that_pyenv_keeps_unselected_is_found(machine: Machine, told_by: str) -> None:
    machine.uv()
    root = machine.home / ".pyenv"
    machine.write(root / "versions" / "3.11.7" / "bin" / "python", FITTING)
    python = machine.write(root / "versions" / "3.12.1" / "bin" / "python", FITTING)
    environment = {
        "PYENV_ROOT": {"PYENV_ROOT": str(root), "HOME": "/nowhere"},
        "HOME": {},
        "PATH": {"PATH": f"{root}/shims:{machine.path}", "HOME": "/nowhere"},
    }[told_by]
    machine.setup(**environment)
    assert machine.installed_with() == [str(python)]


def test_the_interpreter_one_names_is_the_one_used(machine: Machine) -> None:
    machine.uv()
    machine.write(machine.path / "python3.12", FITTING)
    named = machine.write(machine.home / "my python", FITTING)
    machine.setup(CONTINUITY_PYTHON=str(named))
    assert machine.installed_with() == [str(named)]


def test_a_named_interpreter_that_does_not_fit_is_not_replaced_by_another(machine: Machine) -> None:
    machine.uv()
    machine.write(machine.path / "python3.12", FITTING)
    named = machine.write(machine.home / "old", UNFIT)
    done = machine.setup(CONTINUITY_PYTHON=str(named))
    assert done.returncode == 1
    assert f"CONTINUITY_PYTHON does not name a CPython >= 3.12 with ssl and SQLite >= 3.37: {named}" in done.stderr
    assert machine.installed_with() == []


def test_without_a_python_it_says_where_it_looked_and_what_to_type(machine: Machine) -> None:
    machine.uv()
    machine.write(machine.path / "python3", UNFIT)
    done = machine.setup()
    assert done.returncode == 1
    assert "no CPython >= 3.12" in done.stderr
    assert str(machine.home / ".pyenv") in done.stderr
    assert "uv python install 3.12" in done.stderr


@pytest.mark.parametrize("version", [None, "0.6.17"])
def test_without_a_fitting_uv_or_a_way_to_install_one_it_says_what_to_type(
    machine: Machine, version: str | None
) -> None:
    if version is not None:
        machine.uv(version)
    machine.write(machine.path / "python3", FITTING)
    done = machine.setup()
    assert done.returncode == 1
    assert "setup: uv is missing, and no python3 here could install it." in done.stderr
    assert "pipx install uv" in done.stderr
    assert machine.installed_with() == []


def test_uv_is_installed_into_the_checkout_where_there_is_none(machine: Machine) -> None:
    uv = machine.write(machine.home / "uv", UV.format(version="0.9.0", record=machine.record))
    pip = f'mkdir -p .bootstrap/uv/bin; cp "{uv}" .bootstrap/uv/bin/uv'
    made = f"#!/bin/sh\n{pip}\n"
    venv = f"mkdir -p .bootstrap/uv/bin; cp '{machine.write(machine.home / 'made', made)}' .bootstrap/uv/bin/python"
    python = machine.write(machine.path / "python3.12", FITTING.replace("-m) exit 1", f"-m) {venv}"))
    done = machine.setup()
    assert (done.returncode, done.stderr.splitlines()[0]) == (0, "setup: installing uv into .bootstrap")
    assert machine.installed_with() == [str(python)]
