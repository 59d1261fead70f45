"""What memory costs in requests to the model: recall and commands nothing, a capture one for each part of what is new.

New are the characters of the public messages, masked, since the handoff before: `new`. They are read in parts of at most
`summary_chunk_chars`, and each part is one request, so a capture costs `ceil(new / summary_chunk_chars)` requests. It may
be one more: a part also holds who said it (under 40 characters a message), and does not end inside what was masked. In a
conversation of many hundreds of messages of a few words, captured all at once, those labels count like text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from math import ceil

import pytest

from continuity.tau.commands import COMMANDS
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, briefs, lived
from tests.fakes.scripted_model import Answer, Body, Reply, ScriptedModel, purpose_of
from tests.fakes.story import Story
from tests.fakes.tau687 import announce
from tests.fakes.walk import PATIENT

CHUNK = 16_000
"""The default of `summary_chunk_chars`."""
ANSWER = "Understood."
"""What the story says to a prompt it does not know."""


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


def parts(model: ScriptedModel) -> Sequence[str]:
    """Return the parts of conversations that were asked about, oldest first, without their numbers."""
    asked = [request.messages[-1][1] for request in model.requests_for("synthesis")]
    return [text.partition("The conversation, part ")[2].partition(":")[2] for text in asked]


async def captured(one: Lived, model: ScriptedModel, *prompts: str) -> int:
    """Give `prompts`, let what is due be saved, and return how often the model was asked for that."""
    before = len(parts(model))
    for prompt in prompts:
        await one.prompt(prompt)
    await one.settle()
    assert await one.ours.request("command") == "due"
    await one.settle()
    return len(parts(model)) - before


def allowed(new: int, size: int = CHUNK) -> range:
    """The costs of a capture of `new` characters that are as promised."""
    return range(ceil(new / size), ceil(new / size) + 2)


async def test_a_capture_costs_one_request_for_each_part_of_what_is_new_and_at_most_one_more(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    """From one character to several parts, on both sides of each edge; each capture goes on from the one before."""
    scene.set(cadence=PATIENT)
    sizes = [len(ANSWER) + 1, *(n * CHUNK + by for n in (1, 3) for by in (-200, 0, 1))]
    async with lived(scene) as one:
        costs = {new: await captured(one, model, "x" * (new - len(ANSWER))) for new in sizes}
        assert {new: cost for new, cost in costs.items() if cost not in allowed(new)} == {}
        assert [costs[new] for new in (len(ANSWER) + 1, CHUNK - 200)] == [1, 1]


async def test_many_messages_at_once_cost_no_more_than_their_characters(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(cadence=PATIENT, summary_chunk_chars=5_000)
    prompts = [f"{number} {'word ' * 150}" for number in range(20)]
    new = sum(len(prompt) + len(ANSWER) for prompt in prompts)
    async with lived(scene) as one:
        assert await captured(one, model, *prompts) in allowed(new, 5_000)


@pytest.mark.parametrize("level", ["A", "B"])
async def test_a_compaction_costs_one_capture_of_what_is_new_and_the_next_one_reads_only_what_came_after(
    scene: FakeScenario, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    if level == "A":
        announce(monkeypatch)
    scene.set(cadence=PATIENT)
    async with lived(scene) as one:
        for text in ("x" * 50_000, "y" * 50_000):
            await one.prompt(text)
        await one.live.tau.compact()
        await one.prompt("go on")
        await one.settle()
        assert len(parts(model)) in allowed(100_000 + 3 * len(ANSWER) + len("go on"))
        assert Counter(request.purpose for request in model.requests)["compaction"] == 1
        assert await captured(one, model, "and on") == 1
        assert "y" * 100 not in parts(model)[-1]


def failing_at(number: int) -> Answer:
    """Tell the story, but fail once at the synthesis with this number, from 1."""
    story, asked = Story(), Counter[str]()

    def answer(body: Body) -> str | Reply:
        asked[purpose_of(body)] += 1
        fails = purpose_of(body) == "synthesis" and asked["synthesis"] == number
        return Reply("no", status=500) if fails else story(body)

    return answer


@pytest.mark.parametrize("failing", [1, 2, 4])
async def test_an_attempt_after_a_failure_asks_for_no_part_again_that_was_finished(
    scene: FakeScenario, model: ScriptedModel, failing: int
) -> None:
    scene.set(cadence=PATIENT)
    model.answer = failing_at(failing)
    async with lived(scene) as one:
        assert await captured(one, model, "".join(f"{number:07} " for number in range(7_000))) == failing
        before = parts(model)
        assert await one.ours.request("command") == "due"
        await one.settle()
        assert parts(model)[failing] == before[-1]
        assert len(parts(model)) == 4 + 1
        assert max(Counter(parts(model)[failing:]).values()) == 1
        assert set(parts(model)[failing + 1 :]).isdisjoint(before)


@pytest.mark.parametrize("level", ["A", "B"])
async def test_neither_recall_nor_a_command_asks_the_model(
    scene: FakeScenario, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    if level == "A":
        announce(monkeypatch)
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    async with lived(scene) as one:
        await one.settle()
        await one.prompt("mend the foghorn")
        await one.settle()
        assert len(briefs(one.live)) == 1
        assert Counter(each.purpose for each in model.requests) == {"agent": 1, "name": 1, "synthesis": 1}
        for command in COMMANDS:
            one.live.tau.handle_command(f"/{command.name}")
            await one.settle()
        assert len(model.requests) == 3
