"""A person has memory asked anew: what it answers is in context by a real Tau's own means, without a message or a turn."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, briefs, heard, lived
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.walk import at_home

TASK = "Mend the foghorn."


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


async def oriented(one: Lived, scene: FakeScenario, model: ScriptedModel) -> str:
    """Type the command after a task was made elsewhere; return what came of it. The model is not asked, nor is anything said."""
    await one.prompt("Objective: keep the lamp lit")
    await one.settle()
    scene.memory.put("tasks/foghorn.md", TASK, type="task", status="active")
    asked, said = len(model.requests), len([m for m in one.live.tau.messages if m.role == "user"])
    with heard(one.serving.presence) as told:
        assert one.live.tau.handle_command("/bm-orient the foghorn").message is None
        await one.settle()
    assert (len(model.requests), len([m for m in one.live.tau.messages if m.role == "user"])) == (asked, said)
    return told[-1]


async def test_a_tau_that_takes_a_brief_at_rest_has_it_at_once(tmp_path: Path, model: ScriptedModel) -> None:
    with at_home(tmp_path, model, announced=True) as scene:
        async with lived(scene) as one:
            assert "was put into the conversation. Recorded as row 1@" in await oriented(one, scene, model)
            one.live.tau.handle_command("/bm-orient the foghorn")  # no boundary was told between
            await one.settle()
            (brief,) = briefs(one.live)
            assert TASK in brief


async def test_stock_tau_has_it_in_the_first_model_call_of_the_next_prompt(
    tmp_path: Path, model: ScriptedModel
) -> None:
    with at_home(tmp_path, model, announced=False) as scene:
        async with lived(scene) as one:
            assert "comes with your next prompt" in await oriented(one, scene, model)
            assert briefs(one.live) == []
            asked = len(model.requests_for("agent"))
            await one.prompt("and on")
            assert TASK in str(model.requests_for("agent")[asked].body)
