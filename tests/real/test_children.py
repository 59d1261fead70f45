"""A second session of one process comes and goes, as a sub-agent's does, and the first keeps its memory."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from journal.reader import open_reader
from replay.audit import audit
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, briefs, lived
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.tau687 import announce
from tests.fakes.tau_session import live_session


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


@pytest.mark.parametrize("level", ["A", "B"])
async def test_a_child_that_quits_leaves_the_server_and_the_saves_to_its_parent(
    scene: FakeScenario, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    if level == "A":
        announce(monkeypatch)
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    async with lived(scene) as parent:
        await parent.saved("one")
        started = scene.memory.calls()["initialize"]
        async with live_session(scene.home) as live:
            child = Lived(live, scene)
            await child.saved("by the child")
            await parent.saved("beside the child")
            assert child.path() != parent.path()
        assert [len(briefs(each.live)) for each in (parent, child)] == [1, 1]
        await parent.saved("two")
        assert scene.memory.calls()["initialize"] == started
        assert scene.memory.calls()["write_note"] == 4
        journals = (parent.path(), child.path())
    for path in journals:
        with open_reader(path) as reader:
            assert audit(reader).ok
    assert scene.processes() == []


async def test_a_child_that_finds_unusable_settings_ends_nothing_of_its_parents(scene: FakeScenario) -> None:
    async with lived(scene) as parent:
        await parent.saved("one")
        settings = scene.home.settings_path.read_text()
        scene.home.settings_path.write_text("{")
        async with live_session(scene.home) as live:
            await live.prompt("by the child")
        scene.home.settings_path.write_text(settings)
        await parent.saved("two")
        assert scene.memory.calls()["write_note"] == 2
