"""A session that is opened and not typed in leaves Tau's file as it was and asks no model; the next prompt has one brief."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from journal.events import BriefDelivered
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import briefs, lived
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.shell.rig import recorded

TASK = "Mend the foghorn."


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


@pytest.fixture
def scene(scene: FakeScenario) -> FakeScenario:
    scene.memory.put("tasks/foghorn.md", TASK, type="task", status="active")
    return scene


async def test_three_launches_without_a_prompt_change_no_byte_of_the_session(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    async with lived(scene) as one:
        await one.saved("hello")
        session_id, file, path = one.session_id, one.live.file, one.path()
    written, asked = file.read_bytes(), len(model.requests)
    for _ in range(3):
        async with lived(scene, session_id) as again:
            await again.settle()
            assert len(briefs(again.live)) == 1
    assert file.read_bytes() == written
    assert len(model.requests) == asked
    assert len(recorded(path, BriefDelivered)) == 1


async def test_three_fresh_launches_without_a_prompt_make_no_file(scene: FakeScenario) -> None:
    for _ in range(3):
        async with lived(scene) as one:
            assert await one.serving.owner.drain(10)
            file = one.live.file
        assert not file.exists()
    assert scene.home.journals() == ()


async def test_after_five_reloads_without_a_prompt_the_model_is_told_once(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    async with lived(scene) as one:
        for _ in range(5):
            await one.live.tau.reload()
        await one.prompt("hello")
        for number in range(10):
            await one.prompt(f"prompt {number}")
        (brief,) = briefs(one.live)
        assert TASK in brief
        assert str(model.requests[-1].messages).count(TASK) == 1
