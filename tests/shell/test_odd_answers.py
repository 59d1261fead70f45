"""An answer that cannot be relied on leaves a write unknown and a read failed; which it was is what the tool says of itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from continuity.memory.calls import Json, Ticket
from continuity.memory.tools import ToolSpec, bridge
from continuity.shell.bridging import Call, forward
from journal.events import CaptureProbed, ToolAnswered, ToolCalled, WriteAnswered
from tests.shell.calls import began, text_of
from tests.shell.rig import Rig, names, rig, until

ODD = ["truncated", "wrong-id", "empty", "invalid"]
NOTE: dict[str, Json] = {"project": "main", "directory": "d", "title": "t", "content": "c", "identifier": "d/t.md"}


def tool(process: Rig, name: str) -> ToolSpec:
    """The tool as it is offered to the agent, by what the server says of it."""
    assert process.link.inventory is not None
    (spec,) = [spec for spec in bridge(process.link.inventory.tools).tools if spec.original == name]
    return spec


@pytest.mark.parametrize("fault", ODD)
async def test_an_odd_answer_to_a_call_that_may_write_is_unknown(tmp_path: Path, fault: str) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=["store", fault])
        call = Call(tool(process, "write_note"), NOTE, Ticket(), 1.0)
        reply = await forward(process.link, talk.session.desk, call)
        assert reply.is_error
        assert "may have been stored" in text_of(reply)
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["unknown"]
        assert process.memory.calls()["write_note"] == len(process.memory.notes) == 1


@pytest.mark.parametrize("fault", ODD)
async def test_an_odd_answer_to_a_call_that_only_reads_is_an_ordinary_error(tmp_path: Path, fault: str) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        before = names(talk.path)
        process.memory.faults(read_note=[fault])
        reply = await forward(process.link, talk.session.desk, Call(tool(process, "read_note"), NOTE, Ticket(), 1.0))
        assert reply.is_error
        assert "read_note brought no usable answer" in text_of(reply)
        assert "may have been stored" not in text_of(reply)
        assert names(talk.path) == before


@pytest.mark.parametrize(
    "annotations", [{}, {"annotations": {}}, {"annotations": None}, {"annotations": {"title": "Tidies"}}]
)
@pytest.mark.parametrize("fault", ODD)
async def test_a_tool_that_does_not_say_whether_it_writes_may_have_written(
    tmp_path: Path, annotations: dict[str, Json], fault: str
) -> None:
    described = {"name": "tidy", "inputSchema": {"type": "object"}, "outputSchema": {"required": ["x"]}}
    async with rig(tmp_path) as process:
        process.memory.faults(tools={"pages": [[described | annotations]]}, tidy=[fault])
        talk = await began(process)
        reply = await forward(process.link, talk.session.desk, Call(tool(process, "tidy"), NOTE, Ticket(), 1.0))
        assert "may have been stored" in text_of(reply)
        assert [called.name for called in talk.events(ToolCalled)] == ["tidy"]
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["unknown"]


@pytest.mark.parametrize("fault", ODD)
async def test_an_odd_answer_to_a_checkpoint_is_unknown_and_the_first_read_confirms_it(
    tmp_path: Path, fault: str
) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        talk = await process.open()
        process.memory.faults(write_note=["store", fault])
        await talk.turn("light the lamp")
        await until(lambda: talk.events(CaptureProbed), "a read")
        await talk.settle()
        assert [answer.outcome for answer in talk.events(WriteAnswered)] == ["unknown"]
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["present_same"]
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "read"
        assert process.memory.calls()["write_note"] == len(process.memory.notes) == 1
