"""The skill and the prompts are put into Tau with consent; what somebody wrote or edited there is left as it is."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

from continuity.cli.guides import Step, install, is_ours, plan, sealed
from continuity.guides import PROMPTS, SKILL, guides
from continuity.tau.commands import COMMANDS
from tests.fakes.tau_machine import TauMachine
from tests.replay.kit import run

PLACES = {f"skills/{SKILL}/SKILL.md", *(f"prompts/{name}.md" for name in PROMPTS)}


@pytest.fixture
def tau(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    machine = TauMachine(tmp_path)
    machine.has_tau()
    machine.has_uv()
    monkeypatch.setenv("PATH", machine.environ["PATH"])
    monkeypatch.setenv("TAU_HOME", str(tmp_path / "tau"))
    monkeypatch.setenv("CONTINUITY_HOME", str(tmp_path / "state"))
    return tmp_path / "tau"


def put(tau: Path, place: str, text: str) -> Path:
    path = tau / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def standing(tau: Path) -> dict[str, str]:
    return {step.path.relative_to(tau).as_posix(): step.standing for step in plan(tau)}


def test_without_the_option_neither_is_offered_or_written(tau: Path) -> None:
    ran = run("install", "--yes")
    assert "SKILL.md" not in ran.out
    assert not (tau / "skills").exists()


def test_a_dry_run_names_every_file_and_writes_none(tau: Path) -> None:
    ran = run("install", "--skill", "--dry-run")
    assert ran.code == 0
    assert all(f"make {tau / place}" in ran.out for place in PLACES)
    assert not tau.exists()


def test_without_a_person_to_ask_none_is_written(tau: Path) -> None:
    assert run("install", "--skill").code == 2
    assert not tau.exists()


def test_installing_twice_is_installing_once(tau: Path) -> None:
    assert run("install", "--skill", "--yes").code == 0
    written = {path: path.read_bytes() for path in tau.rglob("*.md")}
    assert {path.relative_to(tau).as_posix() for path in written} == PLACES
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in written)
    assert set(standing(tau).values()) == {"current"}
    again = run("install", "--skill", "--yes")
    assert again.out.count("is up to date") == 1 + len(PLACES)
    assert {path: path.read_bytes() for path in written} == written


def test_the_skill_can_follow_an_extension_that_is_there(tau: Path) -> None:
    assert run("install", "--yes").code == 0
    assert run("install", "--skill", "--yes").code == 0
    assert set(standing(tau).values()) == {"current"}


@pytest.mark.parametrize("edited", [True, False])
def test_a_file_that_is_not_ours_or_was_edited_is_left_and_the_others_are_written(tau: Path, edited: bool) -> None:
    place = f"prompts/{PROMPTS[0]}.md"
    ours = next(step.source for step in plan(tau) if step.path == tau / place)
    text = f"{ours}And be brief.\n" if edited else "My own prompt.\n"
    mine = put(tau, place, text)
    ran = run("install", "--skill", "--yes")
    assert ran.code == 0
    assert f"leave {mine} as it is: it is not ours, or was edited" in ran.out
    assert mine.read_text() == text
    assert sorted(standing(tau).values()) == ["current"] * 4 + ["foreign"]


def test_a_link_and_a_folder_in_its_place_are_left(tau: Path) -> None:
    mine = put(tau, "elsewhere.md", "mine\n")
    link = tau / f"prompts/{PROMPTS[0]}.md"
    link.parent.mkdir()
    link.symlink_to(mine)
    (tau / f"skills/{SKILL}/SKILL.md").mkdir(parents=True)
    assert run("install", "--skill", "--yes").code == 0
    assert (mine.read_text(), link.is_symlink()) == ("mine\n", True)


def test_an_earlier_version_that_nobody_edited_is_renewed(tau: Path) -> None:
    old = put(tau, f"prompts/{PROMPTS[0]}.md", sealed("---\ndescription: as it was\n---\nAs it was.\n"))
    assert f"renew {old}" in run("install", "--skill", "--yes").out
    assert set(standing(tau).values()) == {"current"}


def test_what_came_there_after_the_plan_is_left(tau: Path) -> None:
    step = plan(tau)[1]
    put(tau, step.path.relative_to(tau).as_posix(), "mine\n")
    with pytest.raises(FileExistsError):
        install(step)
    assert step.path.read_text() == "mine\n"


def test_an_earlier_version_that_was_edited_or_put_elsewhere_after_the_plan_is_left(tau: Path) -> None:
    place, old = f"prompts/{PROMPTS[0]}.md", sealed("---\ndescription: as it was\n---\nAs it was.\n")
    path = put(tau, place, old)
    (step,) = (each for each in plan(tau) if each.path == path)
    path.write_text(f"{old}mine\n")
    with pytest.raises(FileExistsError, match="edited meanwhile"):
        install(step)
    assert path.read_text() == f"{old}mine\n"
    path.rename(tau / "mine.md")
    path.symlink_to(put(tau, "elsewhere.md", old))
    with pytest.raises(FileExistsError):
        install(step)
    assert path.read_text() == old
    assert {each.name for each in path.parent.iterdir()} == {path.name}


def test_a_folder_that_cannot_be_made_is_said(tau: Path) -> None:
    put(tau, "skills", "a file where a folder belongs")
    ran = run("install", "--skill", "--yes")
    assert ran.code == 3
    assert f"{tau / 'skills'}" in ran.err


@pytest.mark.parametrize("step", plan(Path("/tau")), ids=lambda step: step.path.name)
def test_each_keeps_the_frontmatter_tau_reads_and_is_known_again(step: Step) -> None:
    assert step.source.startswith("---\n")
    assert re.search(r"(?m)^description: .{20,}$", step.source.partition("\n---\n")[0])
    assert is_ours(step.source)
    assert not is_ours(step.source.replace("memory", "memories"))


def test_a_text_without_frontmatter_is_not_ours() -> None:
    assert not is_ours("no frontmatter\n")


def test_they_name_no_command_that_is_none_and_every_one_a_person_has() -> None:
    skill = guides()[0].text
    assert {f"/{command.name}" for command in COMMANDS} == set(re.findall(r"/bm-[a-z]+", skill))
    assert all(
        SKILL in guide.text for guide in guides() if guide.place.stem in PROMPTS and "resume" not in guide.place.stem
    )


def test_no_prompt_has_the_name_of_a_command() -> None:
    assert not set(PROMPTS) & {command.name for command in COMMANDS}
