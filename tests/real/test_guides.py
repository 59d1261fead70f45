"""A real Tau finds the skill and the prompts where they are put, and gives the agent what they say."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from continuity.cli.guides import install, plan
from continuity.guides import PROMPTS, SKILL, guides
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import lived
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


@pytest.fixture
def scene(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> FakeScenario:
    made = FakeScenario(tmp_path, model)
    for name, value in made.home.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.home.cwd)
    for step in plan(made.home.home):
        install(step)
    return made


async def test_it_lists_the_skill_and_every_prompt_with_what_each_is_for(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        skills = {skill.name: skill.description for skill in one.live.tau.skills}
        prompts = {prompt.name: prompt.description for prompt in one.live.tau.prompt_templates}
        assert [each for each in one.live.tau.resource_diagnostics if each.kind in ("skill", "prompt")] == []
    assert str(skills[SKILL]).startswith("How to use memory that outlives this session")
    assert set(prompts) == set(PROMPTS)
    assert all(text and "sha256" not in text for text in prompts.values())


async def test_the_agent_knows_of_the_skill_and_gets_it_whole_when_it_is_called(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    async with lived(scene) as one:
        before = len(model.requests)
        await one.prompt(f"/skill:{SKILL} Keep the oil in mind.")
        await one.settle()
    asked = next(each for each in model.requests[before:] if each.purpose == "agent")
    assert SKILL in asked.system
    given = "\n".join(text for role, text in asked.messages if role == "user")
    assert guides()[0].text.partition("\n---\n")[2].strip() in given
    assert "sealed" not in given


@pytest.mark.parametrize("name", PROMPTS)
async def test_a_prompt_is_given_with_what_was_typed_behind_it(
    scene: FakeScenario, model: ScriptedModel, name: str
) -> None:
    async with lived(scene) as one:
        before = len(model.requests)
        await one.prompt(f"/{name} the lamp of Ar-Men")
        await one.settle()
    asked = next(each for each in model.requests[before:] if each.purpose == "agent")
    given = "\n".join(text for role, text in asked.messages if role == "user")
    assert "the lamp of Ar-Men" in given
    assert "ARGUMENTS" not in given
    assert "sealed" not in given
