"""The shim leads to us or says why not: it is run as Tau runs it, in a fresh interpreter, with what can be missing missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from continuity.cli.shim import PACKAGES, is_ours, source

ROOT = Path(__file__).parents[2]

# Loads the file as Tau does, under a name of its own, calls its setup, and starts a session.
HOST = """
import importlib.util, json, sys
class Ui:
    def notify(self, text, severity): notices.append([severity, text])
class Context: ui = Ui()
class Tau:
    def on(self, name, handler): handlers.append((name, handler))
notices, handlers = [], []
before = list(sys.path)
spec = importlib.util.spec_from_file_location("tau_extension_continuity_1", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.setup(Tau())
for name, handler in handlers:
    assert name == "session_start", name
    handler(object(), Context())
print(json.dumps({"notices": notices, "added": sys.path[len(before):], "kept": sys.path[:len(before)] == before}))
"""


def packages(folder: Path, *names: str, extension: str = "def setup(tau): pass\n") -> Path:
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").touch()
    if "continuity" in names:
        (folder / "continuity" / "tau").mkdir()
        (folder / "continuity" / "tau" / "__init__.py").touch()
        (folder / "continuity" / "tau" / "extension.py").write_text(extension)
    return folder


def loaded(shim: Path, *, path: str = "") -> tuple[list[list[str]], list[str]]:
    """What the person is told, and what was added to the path, by a Tau without our packages."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", HOST, str(shim)],
        cwd=shim.parent,
        env={"PYTHONPATH": path, "PYTHONSAFEPATH": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    assert said["kept"]
    return said["notices"], said["added"]


def shim_for(folder: Path, tmp_path: Path) -> Path:
    shim = tmp_path / "extension.py"
    shim.write_text(source(folder))
    return shim


def test_it_adds_the_folder_at_the_end_and_leads_to_our_setup(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES)
    assert loaded(shim_for(folder, tmp_path)) == ([], [str(folder)])


def test_a_folder_that_is_on_the_path_is_not_added_again(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES)
    assert loaded(shim_for(folder, tmp_path), path=str(folder)) == ([], [])


def test_an_installation_that_is_gone_is_told_with_the_one_command(tmp_path: Path) -> None:
    ((severity, text),), _ = loaded(shim_for(tmp_path / "gone", tmp_path))
    assert severity == "warning"
    assert "not found: continuity, journal, replay" in text
    assert f"It belongs in {tmp_path / 'gone'}. " in text
    assert text.endswith(
        f"in a checkout of tau-continuity: uv pip install --python {sys.executable} --target {tmp_path / 'gone'} ."
    )


def test_a_folder_named_like_a_part_of_the_command_is_named_as_it_is(tmp_path: Path) -> None:
    folder = tmp_path / "my PYTHON {folder}"
    ((_, text),), _ = loaded(shim_for(folder, tmp_path))
    assert text.endswith(f"uv pip install --python {sys.executable} --target '{folder}' .")


def test_the_command_it_tells_is_the_one_the_readme_installs_with(tmp_path: Path) -> None:
    ((_, text),), _ = loaded(shim_for(Path.home() / ".local" / "share" / "tau-continuity", tmp_path))
    told = text.partition("tau-continuity: ")[2].replace(sys.executable, '"$TAU_PYTHON"').replace(str(Path.home()), "~")
    assert told in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()


def test_a_checkout_is_mended_as_a_checkout(tmp_path: Path) -> None:
    folder = packages(tmp_path / "my checkout", "continuity", "journal")
    (folder / "pyproject.toml").touch()
    ((_, text),), _ = loaded(shim_for(folder, tmp_path))
    assert "not found: replay" in text
    assert f"--editable '{folder}'" in text


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES, extension="import no_such_library\n")
    ((_, text),), _ = loaded(shim_for(folder, tmp_path))
    assert "ModuleNotFoundError: No module named 'no_such_library'" in text


def test_code_that_this_python_cannot_run_is_told_too(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES, extension="raise TypeError('too old')\n")
    ((_, text),), _ = loaded(shim_for(folder, tmp_path))
    assert "TypeError: too old" in text


@pytest.mark.parametrize("name", PACKAGES)
def test_packages_from_different_folders_are_refused(tmp_path: Path, name: str) -> None:
    folder = packages(tmp_path / "site", *PACKAGES)
    other = packages(tmp_path / "checkout", name)
    ((_, text),), _ = loaded(shim_for(folder, tmp_path), path=str(other))
    assert "found in different folders" in text
    assert f"{name} in {other}" in text


def test_a_module_of_the_same_name_is_no_package_of_ours(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "journal.py").touch()
    ((_, text),), _ = loaded(shim_for(folder, tmp_path), path=str(tmp_path / "work"))
    assert "not found: journal" in text


def test_it_knows_its_own_hand_and_every_edit(tmp_path: Path) -> None:
    text = source(tmp_path)
    assert is_ours(text)
    for edited in ("", text + "\n", text[1:], text.replace("append", "insert"), "\n".join(text.splitlines()[1:])):
        assert not is_ours(edited)
