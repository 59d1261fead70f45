"""A real Tau without a journal it may write: a second one on a session, a session without a file. Its calls are on record."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from journal.events import BranchForked, CaptureProbed, SessionOpened, ToolAnswered, ToolCalled, WriteAnswered
from journal.reader import open_reader
from replay.audit import audit
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scenario import until
from tests.fakes.scripted_model import Body, Json, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.story import Story
from tests.shell.rig import names, recorded

NOTE: dict[str, Json] = {"project": "main", "directory": "d", "title": "asked-for", "content": "by the agent"}
_STORY = Story()


def agent(body: Body) -> str | Reply:
    """Writes a note when it is asked to, and is the usual story otherwise."""
    if purpose_of(body) == "agent" and messages_of(body)[-1] == ("user", "write it"):
        return Reply("", tool=("bm_write_note", NOTE))
    return _STORY(body)


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(agent) as scripted:
        yield scripted


def saves(scene: FakeScenario, count: int) -> None:
    def saved() -> list[str]:
        return [path for path in scene.memory.notes if path.startswith("tau/")]

    until(lambda: len(saved()) >= count or None, f"{count} saves")


def sound(path: Path) -> bool:
    with open_reader(path) as reader:
        return audit(reader).ok


def is_of_one_writer(path: Path) -> bool:
    """Nobody else opened it, read for what it owes or has a call in it."""
    writers = {opened.writer for opened in recorded(path, SessionOpened)}
    return len(writers) == 1 and not recorded(path, CaptureProbed) and not recorded(path, ToolCalled)


def lived_side_by_side(scene: FakeScenario) -> Path:
    """Two processes on one session, of which the first ends first. Return its journal."""
    with scene.tau() as first:
        first.prompt("one")
        saves(scene, 1)
        path = scene.journal(first.session_id)
        with scene.tau(first.session_id) as second:
            second.prompt("write it")
            second.wait_notice("another process has this session open")
            first.prompt("two, here")
            saves(scene, 2)
            assert "d/asked-for.md" in scene.memory.notes
            assert first.quit() == 0
            assert is_of_one_writer(path)
            second.prompt("three, elsewhere")
            saves(scene, 3)
            assert second.quit() == 0
    return path


def test_the_second_writes_to_a_journal_of_its_own_and_goes_on_in_a_branch_when_the_first_ended(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = FakeScenario(tmp_path, model)
    path = lived_side_by_side(scene)
    (adhoc,) = [one for one in scene.home.journals() if one != path]
    assert adhoc.name.startswith("x-process-")
    assert names(adhoc) == ["session-opened", "memory-connected", "tool-called", "tool-answered", "session-closed"]
    assert [answer.outcome for answer in recorded(adhoc, ToolAnswered)] == ["accepted"]
    assert len(recorded(path, BranchForked, 2)) == 1
    assert [answer.outcome for answer in recorded(path, WriteAnswered, 2)][-1] == "accepted"
    assert (sound(path), sound(adhoc)) == (True, True)
