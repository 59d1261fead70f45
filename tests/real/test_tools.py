"""A bridged tool in a real agent run: its answer, its images and its errors arrive, and an abort ends it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from pathlib import Path

import anyio
import pytest
from tau_agent.events import ToolExecutionUpdateEvent
from tau_agent.messages import ImageContent, ToolResultMessage
from tau_coding.extensions import ExtensionAPI

from continuity.memory.tools import ImageBlock, TextBlock, ToolReply, ToolSpec
from continuity.tau.entries import Json
from continuity.tau.host.tools import MOST_UPDATES, ToolRun, register_tool
from tests.fakes.scripted_model import KEY_ENV, Body, Reply, ScriptedModel, default_answer, messages_of, purpose_of
from tests.fakes.tau_home import TauHome, make_tau_home
from tests.fakes.tau_session import live_session

SCHEMA: dict[str, Json] = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
SPEC = ToolSpec(name="bm_look", original="look", description="Looks.", schema=SCHEMA, mutating=True)


def answer(body: Body) -> str | Reply:
    """Call the tool once, then stop."""
    if purpose_of(body) == "agent" and messages_of(body)[-1][0] == "user":
        return Reply("", tool=("bm_look", {"q": "x"}))
    return default_answer(body)


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(answer) as scripted:
        yield scripted


@pytest.fixture
def home(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> TauHome:
    monkeypatch.setenv("TAU_OFFLINE", "1")
    monkeypatch.setenv(KEY_ENV, "not-a-key")
    return make_tau_home(tmp_path, model.url, shim=False)


class Tool:
    def __init__(self, reply: ToolReply | Exception | None) -> None:
        self.reply = reply
        """None: never answers."""
        self.progress = 0
        self.asked: list[Mapping[str, Json]] = []
        self.started = anyio.Event()
        self.cancelled = False

    def setup(self, tau: ExtensionAPI) -> None:
        register_tool(tau, SPEC, self.handle)

    async def handle(self, arguments: Mapping[str, Json], run: ToolRun) -> ToolReply:
        self.asked.append(arguments)
        for done in range(self.progress):
            run.progressed(done, None, "on the way")
        run.if_aborted = lambda: ToolReply(blocks=(TextBlock("outcome unknown"),), is_error=True, details={})
        self.started.set()
        try:
            return await self.said()
        except anyio.get_cancelled_exc_class():
            self.cancelled = True
            raise

    async def said(self) -> ToolReply:
        if self.reply is None:
            await anyio.sleep_forever()
        if isinstance(self.reply, Exception):
            raise self.reply
        assert self.reply is not None
        return self.reply


async def result_of(home: TauHome, tool: Tool) -> ToolResultMessage:
    async with live_session(home, tool.setup) as live:
        await live.prompt("use it")
        messages = live.tau.messages
    return next(message for message in messages if isinstance(message, ToolResultMessage))


async def test_text_images_and_details_arrive(home: TauHome, model: ScriptedModel) -> None:
    blocks = (TextBlock("seen"), ImageBlock(data="aGVsbG8=", mime_type="image/png"))
    tool = Tool(ToolReply(blocks=blocks, is_error=False, details={"structured_content": {"a": [1]}}))
    result = await result_of(home, tool)
    assert tool.asked == [{"q": "x"}]
    assert (result.text, result.is_error, result.details) == ("seen", False, {"structured_content": {"a": [1]}})
    assert isinstance(result.content[1], ImageContent)
    offered = str(model.requests_for("agent")[0].body["tools"])
    assert str(SCHEMA["properties"]) in offered


async def test_progress_is_shown_by_the_hosts_own_updates_and_is_no_part_of_the_answer(home: TauHome) -> None:
    tool = Tool(ToolReply(blocks=(TextBlock("seen"),), is_error=False, details={}))
    tool.progress = 3
    async with live_session(home, tool.setup) as live:
        events = await live.prompt("use it")
        result = next(message for message in live.tau.messages if isinstance(message, ToolResultMessage))
    told = [event.partial_result.text for event in events if isinstance(event, ToolExecutionUpdateEvent)]
    assert told == ["0: on the way", "1: on the way", "2: on the way"]
    assert result.text == "seen"


async def test_a_talkative_server_is_not_listened_to_without_end(home: TauHome) -> None:
    tool = Tool(ToolReply(blocks=(TextBlock("seen"),), is_error=False, details={}))
    tool.progress = 1000
    async with live_session(home, tool.setup) as live:
        events = await live.prompt("use it")
    assert sum(isinstance(event, ToolExecutionUpdateEvent) for event in events) == MOST_UPDATES


async def test_an_error_stays_an_error(home: TauHome) -> None:
    tool = Tool(ToolReply(blocks=(TextBlock("not"), TextBlock("found")), is_error=True, details={}))
    result = await result_of(home, tool)
    assert (result.text, result.is_error) == ("not\nfound", True)


async def test_an_exception_is_not_wrapped_in_a_group(home: TauHome) -> None:
    result = await result_of(home, Tool(ValueError("plain")))
    assert (result.text, result.is_error) == ("plain", True)


async def test_an_abort_by_flag_ends_the_call_and_the_handler_says_what_is_known(home: TauHome) -> None:
    tool = Tool(None)
    results: list[ToolResultMessage] = []
    async with live_session(home, tool.setup) as live, anyio.create_task_group() as group:
        group.start_soon(live.prompt, "use it")
        await tool.started.wait()
        with anyio.fail_after(5):
            live.tau.cancel()
            while live.tau.is_running:  # noqa: ASYNC110 - Tau has no event for it
                await anyio.sleep(0.01)
        results += [message for message in live.tau.messages if isinstance(message, ToolResultMessage)]
    assert tool.cancelled
    assert [(result.text, result.is_error) for result in results] == [("outcome unknown", True)]


async def test_an_interrupt_passes_through_the_handler(home: TauHome) -> None:
    tool = Tool(None)
    async with live_session(home, tool.setup) as live, anyio.create_task_group() as group:
        group.start_soon(live.prompt, "use it")
        await tool.started.wait()
        group.cancel_scope.cancel()
    assert tool.cancelled
