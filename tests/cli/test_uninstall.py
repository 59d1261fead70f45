"""Uninstalling takes what an installation marked as its own, and nothing of a person's or of another home's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from continuity.cli.installing import folders
from continuity.cli.installing.folders import LOG
from continuity.cli.shim import PACKAGES
from tests.cli.test_install import files, the_installation
from tests.fakes.tau_machine import TAG, TauMachine, tau_machine


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TauMachine:
    made = tau_machine(tmp_path)
    monkeypatch.chdir(tmp_path / "work")
    return made


def test_uninstalling_where_nothing_was_installed_removes_nothing(machine: TauMachine) -> None:
    (machine.packages / "photos-0123456789ab").mkdir(parents=True)
    (machine.packages / LOG).write_text("mine")
    before = files(machine.root)
    ran = machine.run("uninstall", "--yes")
    assert (ran.code, ran.out.splitlines()[0], files(machine.root)) == (0, "there is nothing to remove", before)
    assert "installation" not in ran.out


def test_a_folder_to_which_another_home_leads_stays_until_that_one_is_uninstalled(machine: TauMachine) -> None:
    (machine.root / "link").symlink_to(machine.root / "shared")
    (machine.root / "shared").mkdir()
    shared = {"CONTINUITY_HOME": str(machine.root / "shared")}
    other = {"CONTINUITY_HOME": str(machine.root / "link"), "TAU_HOME": str(machine.root / "other")}
    for env in (shared, other):
        assert machine.run("install", "--yes", **env).code == 0
    (folder,) = folders.installed(machine.root / "shared" / "packages")
    ran = machine.run("uninstall", "--yes", **shared)
    assert f"keep {folder}: {machine.root / 'other' / 'extensions/continuity/extension.py'} leads to it\n" in ran.out
    assert folder.is_dir()
    machine.run("uninstall", "--yes", TAU_HOME=other["TAU_HOME"])  # the shim says where, whatever the variable
    assert not folder.parent.exists()


def test_uninstalling_leaves_what_is_a_persons_and_says_where_it_is(machine: TauMachine) -> None:
    machine.run("install", "--yes", "--skill")
    kept = {machine.places.state / "a.journal": "rows", machine.places.settings: "{}"}
    for path, text in kept.items():
        path.write_text(text)
    ran = machine.run("uninstall", "--yes")
    assert ran.code == 0
    assert {path: path.read_text() for path in kept} == kept
    assert f"keep {machine.places.state}, with every journal\nkeep {machine.places.settings}\n" in ran.out
    assert (machine.packages.exists(), machine.places.shim.parent.exists()) == (False, False)
    skill = machine.tau_home / "skills" / "continuity-memory" / "SKILL.md"
    assert (skill.exists(), f"keep {skill}: uninstall --skill removes it\n" in ran.out) == (True, True)


def test_uninstalling_twice_is_uninstalling_once(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    assert machine.run("uninstall", "--yes").code == 0
    before = files(machine.root)
    again = machine.run("uninstall", "--yes")
    assert (again.code, again.out.splitlines()[0], files(machine.root)) == (0, "there is nothing to remove", before)


def test_what_a_failed_installation_left_goes_and_what_is_not_ours_stays(machine: TauMachine) -> None:
    machine.has_uv("exit 1")
    machine.run("install", "--yes")
    assert (machine.packages / LOG).exists()
    (machine.packages / "mine").mkdir()
    assert machine.run("uninstall", "--yes").code == 0
    assert {each.name for each in machine.packages.iterdir()} == {"mine", ".lock"}


def test_a_dry_run_of_uninstalling_says_what_would_go_and_removes_nothing(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    before = files(machine.root)
    ran = machine.run("uninstall", "--dry-run")
    assert ran.out.splitlines()[:2] == [f"remove {machine.places.shim}", f"remove {the_installation(machine)}"]
    assert (ran.code, files(machine.root)) == (0, before)
    assert (machine.run("uninstall").code, files(machine.root)) == (2, before)


def test_a_shim_that_somebody_edited_stays_and_so_does_what_it_may_lead_to(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    machine.places.shim.write_text(machine.places.shim.read_text() + "# mine\n")
    before = files(machine.root)
    ran = machine.run("uninstall", "--yes")
    assert (ran.code, files(machine.root)) == (1, before)
    assert f"leave {machine.places.shim} as it is: it is not ours, or was edited\n" in ran.out


def test_the_skill_goes_when_asked_for_and_a_prompt_that_was_edited_stays(machine: TauMachine) -> None:
    machine.run("install", "--yes", "--skill")
    edited = machine.tau_home / "prompts" / "memory-decide.md"
    edited.write_text(edited.read_text() + "mine\n")
    ran = machine.run("uninstall", "--yes", "--skill")
    assert (ran.code, f"leave {edited} as it is" in ran.out) == (0, True)
    assert ([each.name for each in edited.parent.iterdir()], list((machine.tau_home / "skills").iterdir())) == (
        [edited.name],
        [],
    )


def test_a_link_in_place_of_the_packages_is_not_followed_to_remove_anything(machine: TauMachine) -> None:
    elsewhere = machine.root / "elsewhere"
    (elsewhere / f"{TAG}-0123456789ab").mkdir(parents=True)
    machine.places.state.mkdir(parents=True)
    machine.packages.symlink_to(elsewhere)
    ran = machine.run("uninstall", "--yes")
    assert (ran.code, f"leave {machine.packages} as it is: it is a link" in ran.out) == (1, True)
    assert len(list(elsewhere.iterdir())) == 1


def test_what_python_cached_of_the_shim_goes_with_it_and_another_file_stays(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    folder = machine.places.shim.parent
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "extension.cpython-313.pyc").touch()
    (folder / "mine.txt").touch()
    (folder / ".draft.abcd").touch()
    machine.run("uninstall", "--yes")
    assert list(folder.iterdir()) == [folder / "mine.txt"]


def test_paths_name_the_folder_of_the_installations(machine: TauMachine) -> None:
    assert json.loads(machine.run("paths", "--json").out)["installed"] == str(machine.packages)
    assert PACKAGES == ("continuity", "journal", "replay")
