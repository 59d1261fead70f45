"""What a server does besides answering harms no call: it reports, asks back, changes its tools, or says odd things."""

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest

from continuity.memory.calls import Json
from continuity.memory.errors import CallTimedOut
from continuity.memory.inventory import Inventory, InventoryCache
from continuity.memory.tools import ImageBlock, TextBlock, bridge, convert_result
from journal.ids import Sha256
from tests.fakes.memory_server import FakeMemory
from tests.memory.conftest import Reach

READ: Mapping[str, Json] = {"identifier": "d/t.md"}
ASKED = ("sampling/createMessage", "elicitation/create", "roots/list", "ping", "nothing/known")


async def test_progress_is_told_as_it_comes_and_the_answer_after_it(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(read_note=[{"progress": [1, 2, "half"]}, "hold", {"progress": [2, 2, None]}, "store"])
    told: list[tuple[float, float | None, str | None]] = []

    def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, total, message))
        fake.release()

    async with reach() as connection:
        answer = await connection.call_tool("read_note", READ, 20, progress=progress)
    assert not answer.is_error
    assert told == [(1, 2, "half"), (2, 2, None)]


async def test_progress_extends_no_bound(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(read_note=[*[{"progress": [n, None, None]} for n in range(50)], "silent"])
    told: list[float] = []
    async with reach() as connection:
        with pytest.raises(CallTimedOut):
            await connection.call_tool("read_note", READ, 1, progress=lambda done, _total, _words: told.append(done))
    assert told == [*map(float, range(len(told)))] != []


async def test_a_call_that_nobody_watches_asks_for_no_progress(fake: FakeMemory, reach: Reach) -> None:
    async with reach() as connection:
        await connection.call_tool("read_note", READ, 20)
    (call,) = [request for request in fake.requests() if request["name"] == "read_note"]
    assert call["params"] == {"name": "read_note", "arguments": READ}


async def test_what_a_server_asks_of_us_is_answered_at_once_and_refused(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(read_note=[*[{"ask": method} for method in ASKED], "store"])
    async with reach() as connection:
        assert not (await connection.call_tool("read_note", READ, 20)).is_error
        with anyio.fail_after(10):
            while fake.calls()["answer"] < len(ASKED):  # noqa: ASYNC110 -- nothing tells when the server has read it
                await anyio.sleep(0.01)
    answers = [request["params"] for request in fake.requests() if request["name"] == "answer"]
    refused = {answer["id"].removeprefix("ask-"): "error" in answer for answer in answers}
    assert refused == {method: method != "ping" for method in ASKED}


async def test_a_server_that_changes_its_tools_while_a_call_runs_is_heard(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(read_note=["changed", "store"])
    async with reach() as connection:
        await connection.list_tools(10)
        with anyio.move_on_after(0):
            await connection.wait_tools_changed()
            pytest.fail("nothing was said")
        await connection.call_tool("read_note", READ, 20)
        with anyio.fail_after(10):
            await connection.wait_tools_changed()
        await connection.list_tools(10)
        with anyio.move_on_after(0):
            await connection.wait_tools_changed()
            pytest.fail("what was said before a listing is said no more")


ODD: Mapping[str, Json] = {
    "z": "last first",
    "a": {"deep": [{"": None}, [], {}, [[1, 1.0, -0.0, 1e22, 10**30]]]},
    "text": 'quotes " \\ \u2028 \u0000 \U0001f6a8 é e\u0301',
    "empty": "",
    "no": False,
}


async def test_arguments_arrive_as_they_were_given(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(odd=[{"result": {"content": [{"type": "text", "text": "ok"}]}}])
    async with reach() as connection:
        await connection.call_tool("odd", ODD, 20)
    (call,) = [request for request in fake.requests() if request["name"] == "odd"]
    assert json.dumps(call["params"]["arguments"]) == json.dumps(ODD)


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "metadata_filters": {"anyOf": [{"additionalProperties": True, "type": "object"}, {"type": "null"}]},
        "node": {"$ref": "#/$defs/node"},
        "anything": {"title": "no type"},
        "limit": {"type": ["integer", "null"], "maximum": 10**30, "multipleOf": 1.0},
    },
    "required": ["node"],
    "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    "x-ours": [None, True, "é"],
}


async def test_a_schema_comes_through_listing_cache_and_bridge_to_the_byte(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(tools={"pages": [[{"name": "odd", "inputSchema": SCHEMA}]]})
    async with reach() as connection:
        inventory = await connection.list_tools(10)
    assert offered(fake, inventory) == json.dumps(SCHEMA)


def offered(fake: FakeMemory, inventory: Inventory) -> str:
    """Return the schema that a warm start would show of the one tool there is."""
    cache, key = InventoryCache(fake.folder), Sha256("1" * 64)
    cache.save(key, inventory)
    kept = cache.load(key).inventory
    assert kept is not None
    assert kept == inventory
    (spec,) = bridge(kept.tools).tools
    return json.dumps(spec.schema)


BLOCKS: list[Json] = [
    {"type": "text", "text": "seen"},
    {"type": "image", "data": "aGk=", "mimeType": "image/png"},
    {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
    {"type": "resource_link", "uri": "memory://x", "name": "x"},
    {"type": "resource", "resource": {"uri": "memory://x", "text": "embedded", "mimeType": "text/plain"}},
    {"type": "of-tomorrow", "words": ["kept"]},
]


@pytest.mark.parametrize("is_error", [False, True])
async def test_every_block_of_an_answer_arrives(fake: FakeMemory, reach: Reach, *, is_error: bool) -> None:
    result = {"content": BLOCKS, "structuredContent": {"n": 1}, "isError": is_error}
    fake.faults(odd=[{"result": result}])
    async with reach() as connection:
        reply = convert_result(await connection.call_tool("odd", {}, 20))
    assert reply.is_error is is_error
    assert reply.blocks[:2] == (TextBlock("seen"), ImageBlock("aGk=", "image/png"))
    others = [TextBlock(json.dumps(block)) for block in BLOCKS[2:]]
    assert reply.blocks[2:] == (*others, TextBlock('{"n": 1}'))
    assert reply.details == {"structured_content": {"n": 1}, "other_blocks": BLOCKS[2:]}
