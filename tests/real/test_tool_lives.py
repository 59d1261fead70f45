"""Over every boundary of a real Tau an agent's call is answered, by one server; what is cut short has one outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from functools import partial

import anyio
import pytest

from continuity.memory.liveness import group_state
from journal.events import BriefDelivered, ToolAnswered, ToolCalled
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, briefs, lived
from tests.fakes.scripted_model import Json, ScriptedModel
from tests.fakes.tau687 import announce
from tests.fakes.tool_user import ToolUser, results
from tests.shell.rig import BOUND, recorded, replayed, until


@pytest.fixture(scope="module")
def agent() -> ToolUser:
    return ToolUser()


@pytest.fixture(scope="module")
def model(agent: ToolUser) -> Generator[ScriptedModel]:
    with ScriptedModel(agent) as scripted:
        yield scripted


def note(title: str) -> tuple[str, dict[str, Json]]:
    return "bm_write_note", {"project": "main", "directory": "d", "title": title, "content": "by the agent"}


async def written(agent: ToolUser, one: Lived, scene: FakeScenario, title: str) -> None:
    """Have the agent write a note, and see it answered by the only server that lives."""
    (answer,) = await agent.use(one.live, note(title))
    assert not answer.is_error, answer.text
    assert f"d/{title}.md" in scene.memory.notes
    assert len(scene.processes()) == 2, "the relay and the server behind it"


async def crossed(agent: ToolUser, one: Lived, scene: FakeScenario, number: int) -> None:
    """Cross each boundary there is, with a call after each."""
    tau, first = one.live.tau, one.session_id
    called = partial(written, agent, one, scene)
    await tau.reload()
    await called(f"reload-{number}")
    user = [e for e in await one.live.entries() if e.type == "message" and e.message.role == "user"][-1]
    await tau.branch_to_entry(user.id)
    await called(f"branch-{number}")
    await tau.new_session()
    await called(f"new-{number}")
    await tau.resume(first)
    await called(f"resume-{number}")


@pytest.mark.parametrize("level", ["A", "B"])
@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.long)])
async def test_after_every_boundary_a_call_is_answered_by_one_server_that_was_started_once(
    scene: FakeScenario, agent: ToolUser, monkeypatch: pytest.MonkeyPatch, times: int, level: str
) -> None:
    if level == "A":
        announce(monkeypatch)
    scene.set(capture_knowledge=False, auto_recall=False)
    async with lived(scene) as one:
        await written(agent, one, scene, "first")
        for number in range(times):
            await crossed(agent, one, scene, number)
        assert scene.memory.calls()["initialize"] == 1
    assert scene.memory.calls()["write_note"] == 1 + 4 * times
    assert scene.processes() == []


async def test_twenty_reloads_leave_one_brief_and_one_server_and_an_exit_none(scene: FakeScenario) -> None:
    scene.set(capture_knowledge=False)
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    async with lived(scene) as one:
        await one.prompt("hello")
        await one.settle()
        connection = one.serving.link.connection if one.serving.link else None
        assert connection is not None
        for _ in range(20):
            await one.live.tau.reload()
        await one.prompt("go on")
        await one.settle()
        assert (len(briefs(one.live)), len(recorded(one.path(), BriefDelivered))) == (1, 1)
        assert len(scene.processes()) == 2
        assert one.serving.link is not None
        assert one.serving.link.connection is connection
        assert len(scene.log("start")) == 1
    assert scene.processes() == []
    assert group_state(connection.process) == "gone"


async def test_a_start_greets_lists_and_asks_each_thing_once(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        session_id, before = one.session_id, len(scene.memory.requests())
    async with lived(scene, session_id) as two:
        await two.prompt("two")
        await two.settle()
        asked = [(str(r["name"]), str(r["params"].get("arguments"))) for r in scene.memory.requests()[before:]]
    assert len(asked) == len(set(asked)), asked
    assert len(scene.log("start")) == 2


@pytest.mark.parametrize("how", ["as the terminal does", "as RPC does"])
async def test_escape_while_a_write_runs_leaves_a_result_for_each_call_one_outcome_and_a_session_that_goes_on(
    scene: FakeScenario, agent: ToolUser, how: str
) -> None:
    scene.set(capture_knowledge=False, auto_recall=False)
    scene.memory.faults(write_note=["store", "silent"])
    async with lived(scene) as one:
        await cut_short(agent, one, scene, how)
        session_id = one.session_id
        await until(lambda: scene.memory.calls()["notifications/cancelled"], "the server's notice")
    scene.memory.faults()
    async with lived(scene, session_id) as two:
        await written(agent, two, scene, "after")
        assert [result.is_error for result in results(two.live)] == [True, True, False]
        assert ("may have been stored" in results(two.live)[0].text) is (how == "as RPC does")
        path = two.path()
        answered = {answer.call_id: answer.outcome for answer in recorded(path, ToolAnswered)}
        called = [call.call_id for call in recorded(path, ToolCalled)]
    assert [answered[call] for call in called] == ["unknown", "accepted"]
    assert len(recorded(path, ToolAnswered)) == len(called) == scene.memory.calls()["write_note"]
    assert [call.unknown for call in replayed(path).calls] == [True]


async def cut_short(agent: ToolUser, one: Lived, scene: FakeScenario, how: str) -> None:
    """Have the agent ask for two calls, and press Escape when the server has the first: stock Tau makes them in turn."""
    agent.wanted = (note("left"), note("right"))
    run = asyncio.ensure_future(one.prompt("use them"))
    await until(lambda: scene.memory.notes, "the call")
    if how == "as RPC does":
        one.live.tau.cancel()
    else:
        run.cancel()
    with anyio.fail_after(BOUND):
        await asyncio.wait({run})
    assert run.cancelled() is (how == "as the terminal does")
    assert not one.live.tau.is_running
