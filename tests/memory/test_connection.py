"""A call is sent once, and whoever made it learns whether it left: not sent, answered, or unknown."""

import os
import signal
from collections.abc import Mapping

import anyio
import pytest

from continuity.memory.calls import Json, Ticket
from continuity.memory.errors import AnswerUnreadable, CallFailed, CallRejected, CallTimedOut, ConnectionLost
from tests.fakes.memory_server import FakeMemory
from tests.memory.conftest import Reach, bound

WRITE: Mapping[str, Json] = {"project": "main", "directory": "d", "title": "t", "content": "c"}
READ: Mapping[str, Json] = {"identifier": "d/t.md"}


@pytest.mark.parametrize(
    ("steps", "error", "code"),
    [
        (["store", "silent"], CallTimedOut, "timeout"),
        (["store", "hold"], CallTimedOut, "timeout"),
        (["store", "exit"], ConnectionLost, "connection-lost"),
        (["store", "garbage"], AnswerUnreadable, "answer-unreadable"),
        (["store", "truncated"], AnswerUnreadable, "answer-unreadable"),
        (["store", "wrong-id"], CallTimedOut, "timeout"),
        (["store", "empty"], AnswerUnreadable, "answer-empty"),
        (["store", "invalid"], AnswerUnreadable, "answer-invalid"),
        (["store", "rpc-error"], CallRejected, "protocol-error"),
    ],
)
async def test_an_answer_lost_after_the_write_leaves_the_outcome_unknown(
    fake: FakeMemory, reach: Reach, steps: list[str], error: type[CallFailed], code: str
) -> None:
    fake.faults(write_note=steps)
    async with reach() as connection:
        await connection.list_tools(5)
        with pytest.raises(error) as failed:
            await connection.call_tool("write_note", WRITE, bound(steps))
        assert (failed.value.code, failed.value.sent) == (code, True)
    assert fake.calls()["write_note"] == 1
    assert list(fake.notes) == ["d/t.md"]


async def test_a_call_to_a_dead_server_is_not_sent(reach: Reach) -> None:
    async with reach() as connection:
        os.killpg(connection.process.process_group, signal.SIGKILL)
        await connection.wait_lost()
        with pytest.raises(ConnectionLost) as failed:
            await connection.call_tool("write_note", WRITE, 5)
        assert connection.lost
    assert not failed.value.sent


async def test_a_call_after_leaving_is_not_sent(reach: Reach) -> None:
    async with reach() as connection:
        pass
    with pytest.raises(ConnectionLost) as failed:
        await connection.call_tool("write_note", WRITE, 5)
    assert not failed.value.sent


async def test_leaving_ends_the_calls_under_way(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(write_note=["silent"])
    lost: list[CallFailed] = []

    async def calling(ticket: Ticket) -> None:
        try:
            await connection.call_tool("write_note", WRITE, 60, ticket=ticket)
        except CallFailed as error:
            lost.append(error)

    ticket = Ticket()
    async with anyio.create_task_group() as group, reach() as connection:
        group.start_soon(calling, ticket)
        await anyio.sleep(0.2)
    assert [(type(error), error.sent) for error in lost] == [(ConnectionLost, True)]


@pytest.mark.parametrize("value", ["\ud800", float("nan"), {"deep": [float("inf")]}], ids=["half", "nan", "infinity"])
async def test_arguments_that_are_no_json_are_not_sent(fake: FakeMemory, reach: Reach, value: Json) -> None:
    async with reach() as connection:
        with pytest.raises(CallFailed) as failed:
            await connection.call_tool("write_note", {"content": value}, 5)
        assert (failed.value.code, failed.value.sent) == ("arguments-unencodable", False)
        await connection.call_tool("read_note", READ, 5)
    assert fake.calls()["write_note"] == 0


async def test_a_cancelled_call_tells_the_server_and_leaves_the_session_usable(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(write_note=["store", "silent"])
    ticket = Ticket()
    async with reach() as connection:
        started = anyio.current_time()
        with anyio.move_on_after(0.2):
            await connection.call_tool("write_note", WRITE, 60, ticket=ticket)
        assert anyio.current_time() - started < 4
        assert not (await connection.call_tool("read_note", READ, 5)).is_error
    assert ticket.sent
    assert fake.calls()["notifications/cancelled"] == 1


async def test_calls_run_side_by_side_and_one_that_hangs_holds_no_other(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(write_note=["hold", "store"])
    async with reach() as connection, anyio.create_task_group() as group:
        group.start_soon(connection.call_tool, "write_note", WRITE, 10)
        for _ in range(5):
            await connection.call_tool("read_note", READ, 5)
        fake.release()
    assert list(fake.notes) == ["d/t.md"]


async def test_a_late_answer_to_a_call_given_up_disturbs_nobody(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(write_note=["hold", "store"])
    async with reach() as connection:
        with pytest.raises(CallTimedOut):
            await connection.call_tool("write_note", WRITE, 0.2)
        stalled = [connection.stalled]
        fake.release()
        answer = await connection.call_tool("read_note", {"identifier": "x.md"}, 5)
        stalled.append(connection.stalled)
    assert stalled == [True, False]
    assert "NOTE_NOT_FOUND" in answer.texts[0]


async def test_a_call_never_lists_tools(fake: FakeMemory, reach: Reach) -> None:
    async with reach() as connection:
        await connection.call_tool("write_note", WRITE, 5)
    assert fake.calls()["tools/list"] == 0


async def test_all_pages_are_read(fake: FakeMemory, reach: Reach) -> None:
    tools = [{"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(6)]
    fake.faults(tools={"pages": [tools[:2], tools[2:4], tools[4:]]})
    async with reach() as connection:
        inventory = await connection.list_tools(5)
    assert [tool.name for tool in inventory.tools] == [f"t{n}" for n in range(6)]
    assert inventory.complete
    assert not inventory.notices


@pytest.mark.parametrize(
    ("plan", "notice"),
    [
        ({"repeat": True}, "listing ended early: the server repeats its pages"),
        ({"endless": True}, "listing ended early: timeout"),
        ({"pages": [[{"name": "a"}], [{"name": "b"}]], "broken_after": 1}, "listing ended early: protocol-error"),
    ],
)
async def test_a_listing_without_end_is_cut_and_said(
    fake: FakeMemory, reach: Reach, plan: dict[str, Json], notice: str
) -> None:
    fake.faults(tools=plan)
    async with reach() as connection:
        inventory = await connection.list_tools(0.5)
    names = [tool.name for tool in inventory.tools]
    assert inventory.notices == (notice,)
    assert len(names) == len(set(names)) > 0
    assert not inventory.complete


async def test_one_odd_tool_does_not_cost_the_others(fake: FakeMemory, reach: Reach) -> None:
    odd: list[Json] = [
        5,
        {"name": ""},
        {"name": "a", "inputSchema": []},
        {"name": "b", "inputSchema": {"type": "object"}},
    ]
    fake.faults(tools={"pages": [odd]})
    async with reach() as connection:
        inventory = await connection.list_tools(5)
    assert [(tool.name, tool.schema) for tool in inventory.tools] == [("a", None), ("b", {"type": "object"})]
    assert len(inventory.notices) == 2
