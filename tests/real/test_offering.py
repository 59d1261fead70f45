"""A real Tau is offered each usable tool of the server once, and is told what it is not offered, in time and with the reason."""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from continuity.memory.server import ServerSpec
from continuity.tau.offering import Discovered, discovered
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, lived
from tests.fakes.memory_server import READ, TOOLS, WRITE
from tests.fakes.scripted_model import Json, ScriptedModel
from tests.fakes.tau_session import LiveSession, live_session
from tests.fakes.tool_user import ToolUser, offered_in
from tests.shell.rig import BOUND, until

OBJECT: dict[str, Json] = {"type": "object", "properties": {"q": {"type": "string"}}}
OK: Mapping[str, Any] = {"result": {"content": [{"type": "text", "text": "ok"}]}}
ODD_NAMES = ("a/b.c", "with space", "x" * 83)


@pytest.fixture(scope="module")
def agent() -> ToolUser:
    return ToolUser()


@pytest.fixture(scope="module")
def model(agent: ToolUser) -> Generator[ScriptedModel]:
    with ScriptedModel(agent) as scripted:
        yield scripted


@pytest.fixture
def cold(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> FakeScenario:
    """A Tau to be run in this process that has never seen its server."""
    made = FakeScenario(tmp_path, model, capture_knowledge=False, auto_recall=False)
    for name, value in made.home.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.home.cwd)
    return made


def tool(name: str) -> dict[str, Any]:
    return {"name": name, "inputSchema": OBJECT}


def listed(one: Lived) -> list[str]:
    """Return the names of what the server listed last."""
    assert one.serving.link is not None
    assert one.serving.link.inventory is not None
    return [tool.name for tool in one.serving.link.inventory.tools]


async def offered(live: LiveSession, model: ScriptedModel) -> set[str]:
    """Return what of ours the model is offered with a prompt."""
    await live.prompt("hello")
    return {name for name in offered_in(model.requests_for("agent")[-1]) if name.startswith("bm_")}


async def test_hundreds_of_tools_with_odd_names_are_offered_under_good_ones_and_their_number_is_said(
    cold: FakeScenario, model: ScriptedModel, agent: ToolUser
) -> None:
    names = [f"t{number}" for number in range(497)] + list(ODD_NAMES)
    pages = [[tool(name) for name in names[at : at + 100]] for at in range(0, 500, 100)]
    cold.memory.faults(tools={"pages": pages}, **{name: [OK] for name in ODD_NAMES})
    async with lived(cold) as one:
        found = await offered(one.live, model)
        assert len(found) == 500
        assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in found)
        assert one.said("many") == "500 memory tools are offered; `tools` in the settings limits them."
        renamed = sorted(name for name in found if not re.fullmatch(r"bm_t\d+", name))
        answers = await agent.use(one.live, *((name, {"q": "x"}) for name in renamed))
        assert [answer.text for answer in answers] == ["ok"] * 3
    assert set(cold.memory.calls()) >= set(ODD_NAMES)


async def test_a_persons_list_limits_them_and_names_on_it_that_nobody_has_are_said(
    cold: FakeScenario, model: ScriptedModel
) -> None:
    cold.set(tools=["read_note", "bm_write_note", "nowhere"])
    async with lived(cold) as one:
        assert await offered(one.live, model) == {"bm_read_note", "bm_write_note"}
        assert one.said("unknown") == "`tools` names what the server does not offer: nowhere."


THEIRS = """
from tau_agent.tools import AgentTool, AgentToolResult
async def run(*given):
    return AgentToolResult()
def setup(tau):
    schema = {"type": "object", "properties": {}}
    tau.register_tool(AgentTool(name="bm_read_note", label="", description="", parameters=schema, execute_fn=run))
"""


async def test_a_tool_whose_name_another_extension_has_gets_another_and_is_forwarded_as_itself(
    cold: FakeScenario, model: ScriptedModel, agent: ToolUser
) -> None:
    cold.home.write_extension("aside", THEIRS)
    async with lived(cold) as one:
        (ours,) = [name for name in await offered(one.live, model) if name.startswith("bm_read_note_")]
        assert f"{ours} is read_note" in (one.said("taken") or "")
        (answer,) = await agent.use(one.live, (ours, {"identifier": "x"}))
        assert not answer.is_error
    assert cold.memory.calls()["read_note"] == 1


async def test_the_same_tools_in_another_order_are_no_news(
    cold: FakeScenario, model: ScriptedModel, agent: ToolUser
) -> None:
    async with lived(cold) as one:
        cold.memory.faults(tools={"pages": [TOOLS[::-1]]}, read_note=["changed", "store"])
        await agent.use(one.live, ("bm_read_note", {"identifier": "x"}))
        await until(lambda: listed(one)[0] == TOOLS[-1]["name"], "the listing")
        assert one.said("tools") is None


async def test_one_bad_schema_costs_one_tool_by_name_and_a_listing_without_end_is_offered_as_far_as_it_went(
    cold: FakeScenario, model: ScriptedModel
) -> None:
    bad = {"name": "bad", "inputSchema": {"type": "object", "properties": 5}}
    cold.memory.faults(tools={"pages": [[WRITE, bad, READ], []], "repeat": True})
    async with lived(cold) as one:
        assert await offered(one.live, model) == {"bm_read_note", "bm_write_note"}
        assert one.said("left-out") == "Tools without a usable schema were left out: bad."
        ended = "listing ended early: the server repeats its pages"
        assert one.said("listing") == f"Memory's list of tools is not whole: {ended}."


async def test_tools_that_change_in_a_run_are_said_and_offered_after_a_reload(
    cold: FakeScenario, model: ScriptedModel, agent: ToolUser
) -> None:
    async with lived(cold) as one:
        assert "bm_new" not in await offered(one.live, model)
        cold.memory.faults(tools={"pages": [[WRITE, READ, tool("new")]]}, read_note=["changed", "store"])
        (answer,) = await agent.use(one.live, ("bm_read_note", {"identifier": "x"}))
        assert not answer.is_error
        changed = "Memory's tools have changed; /reload offers them as they are now."
        await until(lambda: one.said("tools") == changed, "the news")
        await one.live.tau.reload()
        assert await offered(one.live, model) == {"bm_read_note", "bm_write_note", "bm_new"}


AWAY: Mapping[str, tuple[str, str]] = {
    "hang": ("did not answer", "did not answer"),
    "garbage": ("speaks something else than MCP", "speaks something else"),
    "exit": ("ended at once", "ended at once"),
}


@pytest.mark.parametrize("fault", AWAY)
async def test_on_a_cold_start_a_server_that_is_not_there_costs_its_bound_and_leaves_commands_and_the_reason(
    cold: FakeScenario, model: ScriptedModel, fault: str
) -> None:
    cold.set(discovery_seconds=0.5, timeout_seconds=0.5)
    cold.memory.faults(initialize=fault)
    with anyio.fail_after(BOUND):
        async with live_session(cold.home) as live:
            one = Lived(live, cold)
            assert await offered(live, model) == set()
            assert AWAY[fault][0] in (one.said("tools") or "")
            assert "/reload" in (one.said("tools") or "")
            await until(lambda: AWAY[fault][1] in (one.said("link") or ""), "the reason")
            assert "down" in (live.tau.handle_command("/bm-status").message or "")
            cold.memory.faults()
            assert one.serving.link is not None
            one.serving.link.timeout_seconds = BOUND
            assert await one.serving.link.up(BOUND)
            assert one.said("tools") == "Memory has listed its tools; /reload offers them."


async def test_on_a_warm_start_nothing_waits_for_a_server_that_does_not_answer(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(timeout_seconds=BOUND, recall_wait_seconds=0.1, capture_knowledge=False)
    scene.memory.faults(initialize="hang")
    async with live_session(scene.home) as live:
        link = Lived(live, scene).serving.link
        assert "bm_write_note" in await offered(live, model)
        assert link is not None
        assert link.status in ("idle", "connecting")


@pytest.mark.parametrize("fault", ["exit", pytest.param("garbage", marks=pytest.mark.long)])
async def test_on_a_warm_start_a_server_that_is_not_there_is_named(
    scene: FakeScenario, model: ScriptedModel, fault: str
) -> None:
    scene.set(timeout_seconds=1, recall_wait_seconds=0.1, capture_knowledge=False)
    scene.memory.faults(initialize=fault)
    async with live_session(scene.home) as live:
        one = Lived(live, scene)
        assert "bm_write_note" in await offered(live, model)
        await until(lambda: AWAY[fault][1] in (one.said("link") or ""), "the reason")
        assert "connection   down" in (live.tau.handle_command("/bm-status").message or "")


async def test_a_command_that_is_not_installed_is_named_on_a_cold_start_and_nothing_waits(
    cold: FakeScenario, model: ScriptedModel
) -> None:
    cold.set(command="no-such-memory-server", args=[])
    async with live_session(cold.home) as live:
        one = Lived(live, cold)
        assert await offered(live, model) == set()
        await until(lambda: "was not found" in (one.said("link") or ""), "the reason")
        assert "not-found" in (live.tau.handle_command("/bm-status").message or "")


async def test_tools_that_were_late_are_asked_for_in_the_background_also_where_nothing_is_saved(
    cold: FakeScenario,
) -> None:
    cold.set(project=None)
    cold.memory.faults(initialize="exit")
    async with live_session(cold.home):
        await until(lambda: cold.memory.calls()["initialize"] == 2, "a server in the background")


@pytest.mark.long
async def test_a_discovery_ends_the_server_it_asked_however_stubborn(cold: FakeScenario) -> None:
    cold.memory.faults(initialize="hang", stubborn=True)
    command, args = cold.memory.command
    spec = ServerSpec(command=command, args=tuple(args), env={}, cwd=str(cold.home.cwd))
    before = psutil.Process().children(recursive=True)
    with anyio.fail_after(BOUND):
        found = await anyio.to_thread.run_sync(discovered, spec, 0.5)
    assert found == Discovered(None, "timeout")
    assert psutil.Process().children(recursive=True) == before


async def test_a_start_in_vain_is_said_once_and_the_next_use_of_a_tool_starts_the_server(
    scene: FakeScenario, agent: ToolUser
) -> None:
    scene.set(capture_knowledge=False, auto_recall=False)
    scene.memory.faults(initialize="exit")
    async with live_session(scene.home) as live:
        one = Lived(live, scene)
        for _ in range(2):
            (answer,) = await agent.use(live, ("bm_read_note", {"identifier": "x"}))
            assert answer.is_error
            assert "memory is not reachable (exited)" in answer.text
        assert "run its command in a terminal" in (one.said("link") or "")
        scene.memory.faults()
        (answer,) = await agent.use(live, ("bm_read_note", {"identifier": "x"}))
        assert not answer.is_error
        assert one.said("link") == "Memory is reachable again."
