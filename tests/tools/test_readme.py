"""What the README shows was printed by the program it speaks of, and what it points at is there."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from continuity.cli import main
from continuity.shell.settings import Settings
from tests.facts import DOUBTED
from tests.fakes.journals import recorded
from tests.replay.kit import run

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SETTINGS = README.partition("## Settings")[2].partition("\n## ")[0]
COMMANDS = README.partition("## The command line")[2].partition("\n## ")[0]


def blocks(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```", README)


def shown() -> list[tuple[str, str]]:
    """Return each command after a `$` and the lines shown below it."""
    found: list[tuple[str, str]] = []
    for block in blocks("console"):
        for part in block.split("$ ")[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


def test_its_commands_print_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    monkeypatch.chdir(tmp_path)
    assert len(shown()) >= 5
    for command, output in shown():
        program, *arguments = shlex.split(command)
        ran = run(*arguments)
        assert (program, ran.code) == ("continuity", 0), command
        assert ran.out == output, f"the README does not show what `{command}` prints now"


def test_the_command_it_installs_with_is_the_one_that_is_made_before() -> None:
    (installing,) = [block for block in blocks("sh") if "install" in block]
    assert installing == "make setup\n.venv/bin/continuity install\n"
    assert 'continuity = "continuity.cli:main"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_it_says_of_the_exit_codes_what_is_so(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.journal", *DOUBTED)
    assert "`unproven` exits 0 also when it lists something" in COMMANDS
    assert (run("unproven", path).code, run("unproven", path, "--json").json != []) == (0, True)
    assert "0 sound, 1 findings, 2 misuse, 3 something could not be read or\nwritten" in COMMANDS
    assert [
        run(*words).code for words in (("log",), ("log", tmp_path), ("export", path, "-o", tmp_path / "n" / "b"))
    ] == [
        2,
        3,
        3,
    ]


def test_it_names_what_an_audit_can_be_compared_with() -> None:
    assert "`continuity audit FILE --session TAUFILE`" in COMMANDS
    assert "`--notes DIR`" in COMMANDS


def test_it_names_every_command_and_no_other() -> None:
    told = set(re.findall(r"`(?:continuity )?([a-z]+)(?= [A-Z]|`)", COMMANDS.partition("| command |")[2]))
    assert set(main.list_commands(main.make_context("continuity", ["log"]))) <= told


def test_it_names_every_setting_once() -> None:
    named = re.findall(r"`([a-z_]+)`", "\n".join(row.split("|")[0] for row in SETTINGS.split("\n|")[3:]))
    assert sorted(named) == sorted(Settings.model_fields)


def test_its_settings_are_accepted() -> None:
    for block in blocks("json"):
        Settings.model_validate_json(json.dumps(json.loads(block)))


def test_what_it_links_to_is_there() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)", README) if not link.startswith("https://")]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_targets_it_names_are_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"make ([a-z-]+)\b", "\n".join([*blocks("sh"), *re.findall(r"`[^`\n]*`", README)]))):
        assert re.search(rf"(?m)^{target}:", makefile), target


def test_its_pictures_are_there_are_small_and_are_told_in_words() -> None:
    pictures = re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", README)
    assert len(pictures) >= 4
    for words, place in pictures:
        assert len(words) > 40
        assert (ROOT / place).stat().st_size < 300_000


@pytest.mark.parametrize("name", ["path", "pending", "status", "journal"])
def test_its_pictures_are_drawn_without_anything_from_elsewhere(name: str) -> None:
    picture = (ROOT / "docs" / f"{name}.svg").read_text(encoding="utf-8")
    assert re.findall(r"(?:href|url|src)\W{1,2}(?:https?:)?//", picture) == []


def test_its_drawing_has_a_title() -> None:
    assert "<title" in (ROOT / "docs" / "path.svg").read_text(encoding="utf-8")
