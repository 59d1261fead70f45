"""What a real Tau makes of a turn that fails or is cut off costs no summary, and what was said of it is not lost."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from journal.events import CaptureBegun, WorkSettled
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, lived
from tests.fakes.scripted_model import Body, Reply, ScriptedModel, default_answer, messages_of, purpose_of
from tests.shell.rig import recorded

FAILS = "the provider refuses this"
LONG = "this answer is too long"


def answer(body: Body) -> str | Reply:
    """Refuse one prompt and cut the answer to another; all else is answered."""
    said = messages_of(body)[-1][1]
    if purpose_of(body) != "agent":
        return default_answer(body)
    if FAILS in said:
        return Reply("no credit left", status=400)
    return Reply("I have mended the", finish="length") if LONG in said else "Done."


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(answer) as scripted:
        yield scripted


def summaries(model: ScriptedModel) -> list[str]:
    return [request.messages[-1][1] for request in model.requests_for("synthesis")]


async def turn(one: Lived, text: str) -> None:
    await one.prompt(text)
    await one.settle()


async def test_turns_that_the_provider_refuses_ask_for_no_summary(scene: FakeScenario, model: ScriptedModel) -> None:
    before = len(summaries(model))
    async with lived(scene) as one:
        for number in range(3):
            await turn(one, f"{FAILS}, {number}")
        assert [settled.interrupted for settled in recorded(one.path(), WorkSettled)] == [True] * 3
        assert len(summaries(model)) == before
        assert recorded(one.path(), CaptureBegun) == []
        await turn(one, "go on")
        assert len(summaries(model)) == before + 1
        assert f"{FAILS}, 2" in summaries(model)[-1]


async def test_an_answer_cut_at_its_length_reaches_the_next_summary_as_one(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    async with lived(scene) as one:
        await turn(one, LONG)
        assert "I have mended the" not in summaries(model)[-1]
        await turn(one, "go on")
        assert "An answer that was cut off:\n```text\nI have mended the\n```" in summaries(model)[-1]
        assert [settled.interrupted for settled in recorded(one.path(), WorkSettled)] == [False, False]
