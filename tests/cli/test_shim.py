"""The shim leads to us or says why not: it is run as Tau runs it, in a fresh interpreter, with what can be missing missing."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from continuity.cli.shim import PACKAGES, TAG_OF, Lead, is_ours, lead_in, source

ROOT = Path(__file__).parents[2]
NOT_LOADED = "Continuity is not loaded, and nothing is remembered"

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


def loaded(
    shim: Path, *, path: str = "", host: str = HOST, cwd: Path | None = None
) -> tuple[list[list[str]], list[str]]:
    """What the person is told, and what was added to the path, by a Tau without our packages."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", host, str(shim)],
        cwd=cwd or shim.parent,
        env={"PYTHONPATH": path, "PYTHONSAFEPATH": "" if cwd else "1", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout)
    assert said["kept"]
    return said["notices"], said["added"]


def this_tag() -> str:
    """The kind of Python that runs the tests, as the shim names it."""
    scope: dict[str, Any] = {"os": os}
    exec(TAG_OF, scope)  # noqa: S102 -- it is a part of the shim
    return str(scope["_tag"]())


def shim_for(folder: Path, tmp_path: Path, **lead: Any) -> Path:
    shim = tmp_path / "extension.py"
    usual: dict[str, Any] = {"tag": this_tag()}
    shim.write_text(source(Lead(folder, **(usual | lead))))
    return shim


def told(shim: Path, **how: Any) -> str:
    """The one notice that there is."""
    ((severity, text),), _ = loaded(shim, **how)
    assert severity == "warning"
    return text


def test_it_adds_the_folder_at_the_end_and_leads_to_our_setup(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES)
    assert loaded(shim_for(folder, tmp_path)) == ([], [str(folder)])


def test_a_checkout_is_led_to_whatever_the_python(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES)
    assert loaded(shim_for(folder, tmp_path, tag=None)) == ([], [str(folder)])


def test_a_folder_that_is_on_the_path_is_not_added_again(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES)
    assert loaded(shim_for(folder, tmp_path), path=str(folder)) == ([], [])


def test_a_folder_that_is_reached_through_a_link_is_the_same(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES)
    (tmp_path / "link").symlink_to(tmp_path / "site")
    assert loaded(shim_for(tmp_path / "link", tmp_path), path=str(folder)) == ([], [str(tmp_path / "link")])


# -- what is missing -----------------------------------------------------------------


def test_a_new_python_is_told_with_the_one_command_and_nothing_is_loaded(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES, extension="raise SystemError('it was run')\n")
    command = tmp_path / "my bin" / "continuity"
    command.parent.mkdir()
    command.touch()
    shim = shim_for(folder, tmp_path, tag="cpython-312-elsewhere", command=str(command))
    what = f"it was installed for cpython-312-elsewhere, and this Python is {this_tag()}"
    assert told(shim) == f"{NOT_LOADED}: {what}. To mend it: '{command}' install"


def test_a_command_that_had_to_be_told_the_python_is_told_the_one_that_runs_now(tmp_path: Path) -> None:
    command = tmp_path / "continuity"
    command.touch()
    text = told(shim_for(tmp_path / "gone", tmp_path, command=str(command), named=True))
    assert text.endswith(
        f"its packages are not in {tmp_path / 'gone'}. To mend it: {command} install --python {sys.executable}"
    )


@pytest.mark.parametrize("command", ["", "/gone/bin/continuity"])
def test_where_the_command_is_gone_too_it_says_how_to_have_it_again(tmp_path: Path, command: str) -> None:
    text = told(shim_for(tmp_path / "gone", tmp_path, command=command))
    assert text.endswith("To mend it: in a checkout of tau-continuity: make setup && .venv/bin/continuity install")
    assert "make setup\n.venv/bin/continuity install" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_a_checkout_is_mended_as_a_checkout(tmp_path: Path) -> None:
    folder = packages(tmp_path / "my checkout", "continuity", "journal")
    command = tmp_path / "continuity"
    command.touch()
    assert told(shim_for(folder, tmp_path, tag=None, command=str(command))).endswith(f"{command} install --editable")


def test_a_library_that_is_missing_is_named(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES, extension="import no_such_library\n")
    assert "ModuleNotFoundError: No module named 'no_such_library'" in told(shim_for(folder, tmp_path))


@pytest.mark.parametrize(
    ("extension", "words"),
    [
        ("raise SystemExit('over')\n", "SystemExit: over"),
        ("class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute\n", "Mute: it does not say why"),
    ],
)
def test_nothing_that_is_raised_gets_out_to_tau(tmp_path: Path, extension: str, words: str) -> None:
    assert words in told(shim_for(packages(tmp_path / "site", *PACKAGES, extension=extension), tmp_path))


def test_code_that_this_python_cannot_run_is_told_too(tmp_path: Path) -> None:
    folder = packages(tmp_path / "site", *PACKAGES, extension="raise TypeError('too\\x1b[2J old')\n")
    assert "TypeError: too?[2J old" in told(shim_for(folder, tmp_path))


def test_it_is_told_once_however_many_sessions_begin(tmp_path: Path) -> None:
    often = HOST.replace(
        "    handler(object(), Context())", "    handler(object(), Context()); handler(object(), Context())"
    )
    assert often != HOST
    assert told(shim_for(tmp_path / "gone", tmp_path), host=often)


def test_every_python_3_can_read_it(tmp_path: Path) -> None:
    assert isinstance(
        ast.parse(source(Lead(tmp_path, this_tag(), "/bin/continuity", named=True)), feature_version=(3, 4)), ast.Module
    )


# -- what is not ours ----------------------------------------------------------------


def hostile(folder: Path, *names: str) -> Path:
    """Packages of our names that leave a trace if any of them is run."""
    packages(folder, *names)
    for path in folder.rglob("*.py"):
        path.write_text(f"open({str(folder / 'was-run')!r}, 'w')\ndef setup(tau): pass\n")
    return folder


@pytest.mark.parametrize("names", [PACKAGES, *((name,) for name in PACKAGES)], ids=" ".join)
def test_packages_of_the_same_name_in_a_checkout_are_refused_and_not_run(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    shim = shim_for(packages(tmp_path / "site", *PACKAGES), tmp_path)
    checkout = hostile(tmp_path / "checkout", *names)
    told_of = ", ".join(f"{name} ({checkout})" for name in names)
    for how in ({"path": str(checkout)}, {"cwd": checkout}):
        text = told(shim, **how)
        assert f"packages of the same name come before it: {told_of}. To mend it: start Tau without" in text
    assert not (checkout / "was-run").exists()


def test_a_module_of_the_same_name_is_refused_and_not_run(tmp_path: Path) -> None:
    shim = shim_for(packages(tmp_path / "site", *PACKAGES), tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "journal.py").write_text("raise SystemError('it was run')\n")
    assert f"journal ({tmp_path / 'work'})" in told(shim, path=str(tmp_path / "work"))


def test_a_folder_that_is_no_package_does_not_stand_in_the_way(tmp_path: Path) -> None:
    shim = shim_for(packages(tmp_path / "site", *PACKAGES), tmp_path)
    (tmp_path / "work" / "journal").mkdir(parents=True)
    assert loaded(shim, path=str(tmp_path / "work")) == ([], [str(tmp_path / "site")])


@pytest.mark.parametrize(
    "spec", ["None", "importlib.util.spec_from_file_location('journal', '/elsewhere/journal/__init__.py')"]
)
def test_a_module_of_the_same_name_that_is_loaded_already_is_refused(tmp_path: Path, spec: str) -> None:
    shim = shim_for(packages(tmp_path / "site", *PACKAGES), tmp_path)
    foreign = f"""\
import importlib.util, sys, types
sys.modules['journal'] = types.ModuleType('journal')
sys.modules['journal'].__spec__ = {spec}
"""
    assert "packages of the same name come before it: journal (" in told(shim, host=foreign + HOST)


def running_from(folder: Path) -> str:
    """A Tau that has loaded packages from there before the shim is read, as at a reload."""
    return f"import sys\nsys.path.append({str(folder)!r})\nimport continuity.tau.extension\n{HOST}"


def test_an_earlier_installation_that_this_process_runs_from_goes_on(tmp_path: Path) -> None:
    old = packages(tmp_path / "all" / f"{this_tag()}-old", *PACKAGES)
    shim = shim_for(packages(tmp_path / "all" / f"{this_tag()}-new", *PACKAGES), tmp_path)
    after = f"assert module.setup.__code__.co_filename.startswith({str(old)!r})"
    assert loaded(shim, host=f"{running_from(old)}\n{after}") == ([], [str(tmp_path / "all" / f"{this_tag()}-new")])


def test_an_earlier_installation_that_nothing_runs_from_is_refused(tmp_path: Path) -> None:
    old = packages(tmp_path / "all" / f"{this_tag()}-old", *PACKAGES)
    shim = shim_for(packages(tmp_path / "all" / f"{this_tag()}-new", *PACKAGES), tmp_path)
    assert "packages of the same name come before it" in told(shim, path=str(old))


def test_packages_that_this_process_runs_from_elsewhere_are_no_earlier_installation(tmp_path: Path) -> None:
    other = packages(tmp_path / "other", *PACKAGES)
    shim = shim_for(packages(tmp_path / "all" / f"{this_tag()}-new", *PACKAGES), tmp_path)
    assert "packages of the same name come before it" in told(shim, host=running_from(other))


def test_it_knows_its_own_hand_and_every_edit(tmp_path: Path) -> None:
    lead = Lead(tmp_path, "cpython-313-x", "/bin/continuity", named=True)
    text = source(lead)
    assert (is_ours(text), lead_in(text)) == (True, lead)
    for edited in ("", text + "\n", text[1:], text.replace("append", "insert"), "\n".join(text.splitlines()[1:])):
        assert (is_ours(edited), lead_in(edited)) == (False, None)
