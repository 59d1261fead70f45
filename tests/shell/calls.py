"""The agent's own calls of memory tools, as tests of the shell make them."""

from __future__ import annotations

from collections.abc import Mapping

from continuity.memory.calls import Json, Ticket
from continuity.memory.tools import TextBlock, ToolReply, ToolSpec
from continuity.shell.bridging import Call
from tests.fakes.host import Conversation
from tests.shell.rig import Rig, Talk

ARGUMENTS: Mapping[str, Json] = {
    "project": "main",
    "directory": "d",
    "title": "key ghp_0123456789abcdefghijklmnopqrstuvwxyz",
    "content": "the agent's own words",
}
WRITE = ToolSpec(name="bm_write_note", original="write_note", description="", schema={"type": "object"}, mutating=True)
READ = ToolSpec(name="bm_read_note", original="read_note", description="", schema={"type": "object"}, mutating=False)


def write(seconds: float = 10.0, **other: Json) -> Call:
    return Call(WRITE, {**ARGUMENTS, **other}, Ticket(), seconds)


def read(seconds: float = 10.0) -> Call:
    return Call(READ, {"identifier": "d/none.md"}, Ticket(), seconds)


def text_of(reply: ToolReply) -> str:
    return "".join(block.text for block in reply.blocks if isinstance(block, TextBlock))


async def began(process: Rig, conversation: Conversation | None = None) -> Talk:
    """A session whose journal exists and that captures nothing by itself."""
    talk = await process.open(conversation)
    await talk.prompt("hello")
    await talk.settle()
    return talk
