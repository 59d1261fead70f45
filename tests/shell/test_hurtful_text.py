"""No text from outside loses an event, wherever it comes in, and the journal carries all of it out and back to the byte."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from continuity.capture import receipt
from continuity.memory.calls import Json, Ticket
from continuity.memory.tools import ToolSpec
from continuity.shell.bridging import Call, forward
from continuity.shell.ports import ModelFailed
from journal.events import (
    BriefDelivered,
    CaptureBegun,
    CaptureRequested,
    Event,
    OperationFailed,
    RecallAnswered,
    ReceiptAdopted,
    SynthesisFailed,
    SynthesisFinished,
    ToolAnswered,
    ToolCalled,
    WorkBegun,
    WriteAnswered,
)
from journal.ids import CaptureId, Sha256
from journal.interchange import export_lines, import_lines
from journal.reader import open_reader
from tests.fakes.host import HANDOFF, Conversation, Said, ScriptedMind
from tests.journal import kit
from tests.shell.rig import BOUND, Rig, Talk, recorded, replayed, rig

AWKWARD = "half \ud800 a pair \udc80, \x00, a\u2028b\u2029c\x85d\re\x0bf\x0cg\x1eh, \U0001f600\ufeff"
HURTFUL = {"awkward": AWKWARD, "giant": "word " * 200_000 + AWKWARD + "wörd " * 200_000}


class Named(ScriptedMind):
    """A model that says it is another."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    async def summarize(self, text: str, *, instructions: str, timeout: float) -> Said:
        return (await super().summarize(text, instructions=instructions, timeout=timeout))._replace(model=self._name)


async def tool_name(process: Rig, talk: Talk, text: str) -> None:
    spec = ToolSpec(name="bm_x", original=text, description=text, schema={"type": "object"}, mutating=True)
    await forward(process.link, talk.session.desk, Call(spec, {}, Ticket(), 10.0))


async def tool_target(process: Rig, talk: Talk, text: str) -> None:
    spec = ToolSpec(name="bm_w", original="write_note", description="", schema={"type": "object"}, mutating=True)
    arguments: dict[str, Json] = {
        "project": text,
        "title": text,
        "directory": [text],
        "identifier": {text: text},
        "content": text,
    }
    await forward(process.link, talk.session.desk, Call(spec, arguments, Ticket(), 10.0))


async def focus(process: Rig, talk: Talk, text: str) -> None:
    await talk.turn("something to save")
    await talk.session.request("command", text)


async def reason(process: Rig, talk: Talk, text: str) -> None:
    await talk.turn("something to save")
    await talk.session.request(text)


async def prompt(process: Rig, talk: Talk, text: str) -> None:
    await talk.turn(text)


async def answer(process: Rig, talk: Talk, text: str) -> None:
    await talk.turn("hello", text)
    await talk.settle()


async def handoff(process: Rig, talk: Talk, text: str) -> None:
    process.mind.answer = lambda _: HANDOFF.format(next=text[:20_000])
    await talk.saved("hello")


async def model_name(process: Rig, talk: Talk, text: str) -> None:
    talk.session.desk.model = Named(text)
    await talk.saved("hello")


async def model_code(process: Rig, talk: Talk, text: str) -> None:
    def fail(_: str) -> str:
        raise ModelFailed(text)

    process.mind.answer = fail
    await talk.turn("hello")
    await talk.settle()


async def returned_path(process: Rig, talk: Talk, text: str) -> None:
    said = {"error": "NOTE_ALREADY_EXISTS", "file_path": text[:1024], "permalink": text[:1024]}
    process.memory.faults(write_note=[{"error": json.dumps(said)}])
    await talk.turn("hello")
    await talk.settle()


async def error_code(process: Rig, talk: Talk, text: str) -> None:
    process.memory.faults(write_note=[{"code": text}])
    await talk.turn("hello")
    await talk.settle()


async def error_text(process: Rig, talk: Talk, text: str) -> None:
    process.memory.faults(write_note=[{"error": text}])
    await talk.turn("hello")
    await talk.settle()


async def found_notes(process: Rig, talk: Talk, text: str) -> None:
    name = text[:500].encode("utf-8", "replace").decode()  # a server's answer is UTF-8, or no answer
    process.memory.put(f"tasks/{name}.md", name, type="task", status="open", title=name)
    talk.conversation.compact()
    talk.session.runner.recaller.stale(talk.state.branch)
    await talk.prompt("what now?")
    await talk.settle()
    brief = (await talk.prompt("and now?")).brief
    if brief is not None:
        await talk.session.delivered(brief)


async def failure(process: Rig, talk: Talk, text: str) -> None:
    await talk.session.note(OperationFailed(operation=text, error=text, remedy=text))


class Entry(NamedTuple):
    """A way in, and the event that must be on record although the text came in there."""

    comes_in: Callable[[Rig, Talk, str], Awaitable[None]]
    leaves: type[Event]


ENTRIES = {
    "the name of a tool": Entry(tool_name, ToolCalled),
    "what a tool is aimed at": Entry(tool_target, ToolAnswered),
    "a person's focus": Entry(focus, CaptureRequested),
    "a reason": Entry(reason, CaptureRequested),
    "a prompt": Entry(prompt, WorkBegun),
    "the agent's answer": Entry(answer, CaptureBegun),
    "a handoff": Entry(handoff, SynthesisFinished),
    "the name of a model": Entry(model_name, SynthesisFinished),
    "a model's failure": Entry(model_code, SynthesisFailed),
    "a path the server returns": Entry(returned_path, WriteAnswered),
    "an error code": Entry(error_code, WriteAnswered),
    "an error's text": Entry(error_text, WriteAnswered),
    "found notes": Entry(found_notes, RecallAnswered),
    "words of a failure": Entry(failure, OperationFailed),
}


def carried(path: Path, folder: Path) -> None:
    """The journal at `path` is sound, and what is exported of it comes back as it was."""
    assert kit.found(path) == []
    with open_reader(path) as reader:
        lines = list(export_lines(reader, bodies=True))
    import_lines(lines, folder / "again.journal")
    with open_reader(folder / "again.journal") as reader:
        assert list(export_lines(reader, bodies=True)) == lines


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("kind", HURTFUL)
async def test_the_event_is_on_record_and_nothing_else_is_missing(tmp_path: Path, entry: str, kind: str) -> None:
    async with rig(tmp_path, timeout_seconds=5.0) as process:
        talk = await process.open()
        await talk.prompt("begin")
        await ENTRIES[entry].comes_in(process, talk, HURTFUL[kind])
        await talk.settle()
        path, state = talk.path, talk.state
        assert talk.session.desk.missing == 0
        assert talk.session.desk.late == []
        assert process.voice.on("journal") == []
        assert process.voice.on("failure") == []
        assert recorded(path, ENTRIES[entry].leaves)
        assert state == replayed(path)
    carried(path, tmp_path)


@pytest.mark.parametrize("kind", HURTFUL)
async def test_receipts_in_a_session_cost_at_most_themselves(tmp_path: Path, kind: str) -> None:
    conversation, text = Conversation(), HURTFUL[kind]
    tip = conversation.user("written with another tool")
    for path, project in ((text[:1024], "main"), ("a.md", text), (text, "main")):
        one = receipt(
            project=project,
            identity=CaptureId("e" * 64),
            kind="checkpoint",
            status="confirmed",
            source_tip=tip,
            content_sha256=Sha256("f" * 64),
            file_path=path,
        )
        conversation.receipt(one)
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.turn("two")
        await talk.settle()
        path_of_journal = talk.path
        assert talk.events(ReceiptAdopted)
        assert talk.session.desk.missing == 0
        assert process.voice.on("journal") == []
    carried(path_of_journal, tmp_path)


@pytest.mark.parametrize(
    "name", ["a\udcff\udc80b", "a\u2028b\x85c\rd\x0be", "é" * 100], ids=["bytes", "separators", "long"]
)
async def test_a_folder_of_any_name_is_worked_in(tmp_path: Path, name: str) -> None:
    async with rig(tmp_path) as process:
        talk = process.session(Conversation())
        talk.session.desk.profile = process.settings.profile(Path("/work") / name, Path("/home"))
        await talk.session.start("startup")
        assert await process.link.up(BOUND)
        await talk.saved("one")
        path = talk.path
        assert process.memory.calls()["write_note"] == 1
        assert talk.session.desk.missing == 0
        assert process.voice.on("journal") == []
    carried(path, tmp_path)


async def test_a_brief_of_awkward_notes_is_on_record_with_its_text(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        await found_notes(process, talk, AWKWARD)
        (delivered,) = talk.events(BriefDelivered)
        kept = await talk.session.desk.body(delivered.brief_sha256)
        assert kept is not None
        assert len(kept) == delivered.characters
        path = talk.path
    carried(path, tmp_path)
