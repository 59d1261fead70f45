"""The bridge offers every usable tool under a name a provider takes, changes no argument, and loses nothing of a result."""

import json
import re
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from continuity.memory import tools
from continuity.memory.calls import Answer, Json, Ticket
from continuity.memory.errors import AnswerUnreadable, CallRejected, CallTimedOut, ConnectionLost
from continuity.memory.inventory import ListedTool
from continuity.memory.schema import usable
from continuity.memory.tools import ImageBlock, TextBlock, ToolSpec, bridge, convert_result
from tests.fakes.memory_server import FakeMemory
from tests.memory.conftest import Reach, bound

OBJECT: Mapping[str, Json] = {"type": "object"}
WRITE = ToolSpec(name="bm_write_note", original="write_note", description="", schema=OBJECT, mutating=True)
READ = ToolSpec(name="bm_read_note", original="read_note", description="", schema=OBJECT, mutating=False)


def tool(name: str, schema: Mapping[str, Json] | None = OBJECT, *, read_only: bool | None = None) -> ListedTool:
    return ListedTool(name=name, schema=schema, read_only=read_only)


def test_a_good_name_is_only_prefixed() -> None:
    offered = bridge([tool("write_note")])
    assert [(spec.name, spec.original) for spec in offered.tools] == [("bm_write_note", "write_note")]


@given(st.lists(st.text(min_size=1, max_size=90), max_size=30))
def test_every_tool_gets_a_valid_name_of_its_own_and_keeps_its_original(names: list[str]) -> None:
    offered = bridge([tool(name) for name in names])
    assert [spec.original for spec in offered.tools] == names
    assert len({spec.name for spec in offered.tools}) == len(names)
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", spec.name) for spec in offered.tools)


def test_names_that_meet_after_cleaning_stay_apart_in_any_order() -> None:
    names = ["a/b", "a.b", "a_b", "x" * 83]
    one = {spec.original: spec.name for spec in bridge([tool(n) for n in names]).tools}
    other = {spec.original: spec.name for spec in bridge([tool(n) for n in reversed(names)]).tools}
    assert one == other
    assert one["a_b"] == "bm_a_b"
    assert len(set(one.values())) == 4


def test_no_name_takes_another_tools_place_however_it_was_chosen() -> None:
    changed = bridge([tool("a.b")]).tools[0].name
    names = ["a.b", changed.removeprefix("bm_")]
    for order in (names, names[::-1]):
        chosen = {spec.original: spec.name for spec in bridge([tool(n) for n in order], taken={"bm_" + "x"}).tools}
        assert chosen[names[1]] == changed
        assert chosen["a.b"] not in (changed, "bm_x")
        assert len(chosen) == 2


def test_tools_of_one_name_are_all_offered_and_all_forwarded_to_it() -> None:
    offered = bridge([tool("look"), tool("look"), tool("look")]).tools
    assert len({spec.name for spec in offered}) == 3
    assert [spec.original for spec in offered] == ["look"] * 3
    assert offered[0].name == "bm_look"


def test_names_are_the_same_whatever_a_person_allows() -> None:
    tools_ = [tool("a.b"), tool("a/b"), tool("c" * 80)]
    every = {spec.original: spec.name for spec in bridge(tools_).tools}
    for name, chosen in every.items():
        assert [spec.name for spec in bridge(tools_, allow={name}).tools] == [chosen]


def test_names_that_are_equal_when_cut_stay_apart() -> None:
    offered = bridge([tool("n" * 80 + "1"), tool("n" * 80 + "2"), tool("n" * 61), tool("n" * 62)]).tools
    assert len({spec.name for spec in offered}) == 4
    assert offered[2].name == "bm_" + "n" * 61
    assert all(len(spec.name) <= 64 for spec in offered)


def test_a_name_the_host_has_taken_is_another_of_the_same_tool() -> None:
    offered = bridge([tool("status")], taken={"bm_status"})
    assert offered.tools[0].original == "status"
    assert offered.tools[0].name.startswith("bm_status_")


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {},
        {"type": "array"},
        {"type": ["object", "null"]},
        {"anyOf": []},
        {"type": "object", "properties": []},
        {"type": "object", "properties": {"a": "string"}},
        {"type": "object", "required": "a"},
        {"type": "object", "required": [1]},
        {"type": "object", "properties": {"a": {"maximum": float("inf")}}},
        {"type": "object", "properties": {"a": {"description": "\ud800"}}},
        {"type": "object", "properties": {"a b": {}}},
        {"type": "object", "properties": {"": {}}},
        {"type": "object", "properties": {"a" * 65: {}}},
        {"type": "object", "anyOf": [{"required": ["a"]}]},
        {"type": "object", "oneOf": [{"required": ["a"]}]},
        {"type": "object", "allOf": [{"required": ["a"]}]},
    ],
)
def test_only_a_tool_whose_schema_no_provider_accepts_is_left_out_by_name(schema: Mapping[str, Json] | None) -> None:
    offered = bridge([tool("odd", schema), tool("good")])
    assert offered.left_out == ("odd",)
    assert [spec.original for spec in offered.tools] == ["good"]


def test_half_a_character_in_a_description_costs_neither_the_tool_nor_the_request() -> None:
    (spec,) = bridge([ListedTool(name="t", schema=OBJECT, description="a \ud800 b é")]).tools
    assert spec.description == "a ? b é"


def test_a_schema_passes_untouched() -> None:
    schema: Mapping[str, Json] = {
        "type": "object",
        "properties": {
            "free": {"type": "object"},
            "a" * 64: {"default": {"$ref": "#/nowhere"}},
            "either": {"anyOf": [{"type": "string"}, {"type": "null"}]},
            "any": {},
            "whatever": True,
            "one": {"$ref": "#/$defs/n"},
        },
        "required": ["any"],
        "additionalProperties": {"oneOf": [{"$ref": "#/$defs/n"}, {"type": ["string", "null"]}]},
        "$defs": {"n": {"type": "integer"}},
    }
    assert usable(schema)
    assert bridge([tool("t", schema)]).tools[0].schema == schema


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "strin"}}},
        {"properties": {"a": {"type": "array", "items": "string"}}},
        {"required": ["a", "a"]},
        {"properties": {"a": {"pattern": "("}}},
        {"properties": {"a": {"minimum": 1, "exclusiveMinimum": True}}},
        {"properties": {"a": {"$ref": "#/$defs/none"}}},
        {"properties": {"a": {"items": {"anyOf": [{"$ref": "#/$defs/none"}]}}}, "$defs": {}},
        {"$defs": {"a": {"$ref": "#none"}}},
    ],
)
def test_what_is_no_schema_by_the_providers_draft_or_refers_to_nothing_is_not_usable(
    schema: Mapping[str, Json],
) -> None:
    assert not usable({"type": "object", **schema})


@pytest.mark.parametrize(("read_only", "mutating"), [(True, False), (False, True), (None, True)])
def test_a_tool_that_does_not_say_it_only_reads_may_write(*, read_only: bool | None, mutating: bool) -> None:
    assert bridge([tool("t", read_only=read_only)]).tools[0].mutating is mutating


def test_an_allow_list_takes_either_name_and_names_what_it_misses() -> None:
    offered = bridge([tool("a"), tool("b"), tool("c")], allow={"a", "bm_b", "d"})
    assert [spec.original for spec in offered.tools] == ["a", "b"]
    assert offered.unknown == ("d",)


def test_an_allow_list_takes_the_name_that_we_gave_and_means_the_servers_own_first() -> None:
    names = ["a.b", "c", "x", "bm_x"]
    (renamed,) = (spec.name for spec in bridge([tool(n) for n in names]).tools if spec.original == "a.b")
    for allowed, meant in {renamed: "a.b", "bm_x": "bm_x", "bm_bm_x": "bm_x", "x": "x", "bm_a.b": "a.b"}.items():
        offered = bridge([tool(n) for n in names], allow={allowed})
        assert ([spec.original for spec in offered.tools], offered.unknown) == ([meant], ())


def test_text_and_images_stay_as_they_are_and_other_blocks_become_json() -> None:
    link: Mapping[str, Json] = {"type": "resource_link", "uri": "memory://x", "name": "x"}
    image: Mapping[str, Json] = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    reply = convert_result(Answer(blocks=({"type": "text", "text": "hi"}, image, link)))
    assert reply.blocks == (TextBlock("hi"), ImageBlock("aGk=", "image/png"), TextBlock(json.dumps(link)))
    assert reply.details == {"other_blocks": [link]}


def test_long_data_of_another_block_is_cut_for_the_model_and_kept_in_the_details() -> None:
    audio: Mapping[str, Json] = {"type": "audio", "data": "x" * 9000, "mimeType": "audio/wav"}
    reply = convert_result(Answer(blocks=(audio,)))
    assert isinstance(reply.blocks[0], TextBlock)
    assert len(reply.blocks[0].text) < 3000
    assert "7000 more characters" in reply.blocks[0].text
    assert reply.details == {"other_blocks": [audio]}


@pytest.mark.parametrize(
    ("structured", "text"),
    [
        ({"result": {"a": 1, "b": 2}}, '{"b": 2, "a": 1}'),
        ({"a": 1}, '{ "a":1 }'),
        ({"result": "plain"}, "plain"),
        ({"result": "1"}, "1"),
        ({"result": '{"a": 1}'}, '{"a": 1}'),
    ],
)
def test_structured_content_a_text_block_says_already_is_not_said_twice(structured: Json, text: str) -> None:
    reply = convert_result(Answer(blocks=({"type": "text", "text": text},), structured=structured))
    assert reply.blocks == (TextBlock(text),)
    assert reply.details == {"structured_content": structured}


@pytest.mark.parametrize(("text", "structured"), [("1 note", '{"a": 1}'), ("1", '{"result": true}')])
def test_structured_content_of_its_own_is_shown(text: str, structured: str) -> None:
    reply = convert_result(Answer(blocks=({"type": "text", "text": text},), structured=json.loads(structured)))
    assert reply.blocks == (TextBlock(text), TextBlock(structured))


@pytest.mark.parametrize(
    ("told", "text"),
    [((3, None, None), "3"), ((0.5, 1.0, "re-reading"), "0.5 of 1: re-reading"), ((1, None, "x" * 999), None)],
)
def test_progress_is_told_in_a_line(told: tuple[float, float | None, str | None], text: str | None) -> None:
    said = tools.progress_text(*told)
    assert said == text if text is not None else len(said) == 200


@pytest.mark.parametrize(
    "error",
    [
        CallTimedOut("timeout", sent=True),
        ConnectionLost("connection-lost", sent=True),
        AnswerUnreadable("answer-invalid", sent=True),
        CallRejected("protocol-error", sent=True, text="please retry"),
    ],
)
def test_an_unknown_outcome_asks_for_a_read_and_never_for_another_try(error: ConnectionLost) -> None:
    (block,) = tools.failure_reply(WRITE, error).blocks
    assert isinstance(block, TextBlock)
    assert "may have been stored" in block.text
    assert "Read" in block.text
    assert not re.search(r"retry|again|try", block.text, re.IGNORECASE)


def test_a_call_that_was_not_sent_says_that_nothing_changed() -> None:
    (block,) = tools.failure_reply(WRITE, ConnectionLost("connection-lost", sent=False)).blocks
    assert isinstance(block, TextBlock)
    assert "not sent" in block.text


def test_a_read_that_fails_is_an_ordinary_error() -> None:
    (block,) = tools.failure_reply(READ, AnswerUnreadable("answer-empty", sent=True)).blocks
    assert block == TextBlock("read_note brought no usable answer (answer-empty).")
    assert tools.failure_reply(READ, CallRejected("protocol-error", sent=True, text="no")).blocks == (
        TextBlock("read_note failed: no"),
    )


def test_a_cancelled_write_that_left_is_unknown_and_one_that_did_not_is_cancelled() -> None:
    left, kept = Ticket(), Ticket()
    left.mark_sent()
    assert "may have been stored" in str(tools.cancelled_reply(WRITE, left).blocks)
    assert "may have been stored" not in str(tools.cancelled_reply(WRITE, kept).blocks)
    assert "may have been stored" not in str(tools.cancelled_reply(READ, left).blocks)


ARGUMENTS: Mapping[str, Json] = {"directory": "d", "title": "t", "content": "c"}


@pytest.mark.parametrize(
    ("steps", "outcome", "code", "is_error"),
    [
        (["store"], "accepted", None, False),
        (["store", "silent"], "unknown", "timeout", True),
        (["store", "exit"], "unknown", "connection-lost", True),
        ([{"error": "disk full"}], "unknown", "error-unknown", True),
        ([{"code": "NOTE_PATH_CONFLICT"}], "refused", "NOTE_PATH_CONFLICT", True),
        ([{"code": "NOTE_ALREADY_EXISTS"}], "unknown", "NOTE_ALREADY_EXISTS", True),
    ],
)
async def test_a_bridged_call_ends_once_in_a_reply_and_an_outcome(
    fake: FakeMemory, reach: Reach, steps: list[Json], outcome: str, code: str | None, *, is_error: bool
) -> None:
    fake.faults(write_note=steps)
    async with reach() as connection:
        done = await tools.call(connection, WRITE, ARGUMENTS, bound(steps))
    assert (done.outcome, done.code, done.reply.is_error) == (outcome, code, is_error)
    assert fake.calls()["write_note"] == 1
