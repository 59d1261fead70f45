"""A new user's walk with the real Basic Memory leaves notes, a sound journal and a content doctor; a second one nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.notes import schema_notes
from continuity.places import places
from tests.fakes.basic_memory import BasicMemoryHome
from tests.fakes.terminal import Terminal
from tests.replay.kit import findings, run

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

ASKED = ("Project (", "coding work?", "Name of the repository", "Project of its notes", "Leave it so?")
FIRST = (*ASKED, "into Tau?", "four prompts", "Write them", "Write one small note", "Do it?")


class Walked(NamedTuple):
    """A machine on which the first walk is done."""

    home: BasicMemoryHome
    environ: Mapping[str, str]
    shown: str

    @property
    def work(self) -> Path:
        return self.home.root / "one"

    def screen(self, text: str) -> str:
        """What a person reads; the folder of this test and what is new in each process are named for the reader."""
        named = re.sub(r"\b[0-9a-f]{32}\b", "PROCESS", text.replace(str(self.home.root), "/home/ada"))
        return re.sub(r"continuity-setup-[0-9a-f]+", "continuity-setup-CAPTURE", named)


def walk(work: Path, environ: Mapping[str, str], *questions: str) -> str:
    """Press Enter at each question; return everything that stood on the screen."""
    with Terminal("setup", env=environ, cwd=work) as terminal:
        for question in questions:
            terminal.answer(question)
        assert terminal.ended() == 0, terminal.shown
    return terminal.shown


@pytest.fixture(scope="module")
def walked(tmp_path_factory: pytest.TempPathFactory) -> Walked:
    home = BasicMemoryHome(tmp_path_factory.mktemp("setup").resolve())
    environ = home.environment() | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    work = home.root / "one"
    for words in (
        ("init", "-q", "-b", "main", str(work)),
        ("-C", str(work), "remote", "add", "origin", "git@h:ada/one"),
    ):
        subprocess.run(["git", *words], env=environ, check=True)
    return Walked(home, environ, walk(work, environ, *FIRST))


def test_a_new_user_needs_only_enter(walked: Walked, snapshot: SnapshotAssertion) -> None:
    assert walked.screen(walked.shown) == snapshot
    entry = {"root": str(walked.work), "repository": "ada/one", "project": "main"}
    settings = json.loads((walked.home.root / ".tau" / "continuity.json").read_text())
    assert settings == {"project": "main", "repositories": [entry]}


def test_what_was_written_is_in_a_sound_journal(walked: Walked) -> None:
    (journal,) = places(walked.home.root / ".tau").state.glob("*.journal")
    assert {rule for rule, severity, _, _ in findings(journal) if severity == "broken"} == set()
    assert run("unproven", journal).out == "nothing is unproven\n"
    assert run("log", journal).out.count("present_same") == len(schema_notes()) + 1


def test_a_second_walk_changes_nothing_and_all_is_well(walked: Walked, snapshot: SnapshotAssertion) -> None:
    before = files(walked.home.root / ".tau")
    again = walk(walked.work, walked.environ, *ASKED, "Write one small note")
    assert walked.screen(again) == snapshot
    assert files(walked.home.root / ".tau") == before
    with Terminal("doctor", "--online", env=walked.environ, cwd=walked.work) as terminal:
        assert terminal.ended() == 0, terminal.shown
    assert terminal.shown.endswith("all is well\n"), terminal.shown
    written = {str(path.relative_to(walked.home.notes)) for path in walked.home.notes.rglob("*.md")}
    (check,) = (path for path in written if path.startswith("tau/setup/continuity-setup-"))
    assert written == {check, *(f"schemas/{note.title}.md" for note in schema_notes())}


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
