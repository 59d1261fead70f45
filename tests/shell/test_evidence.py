"""Saved is said with its evidence: an answer is one thing, a read of the same bytes another, and a failure none."""

from __future__ import annotations

from pathlib import Path

import pytest

from continuity.memory.calls import Json, Ticket
from continuity.memory.tools import ToolSpec
from continuity.shell.bridging import Call, forward
from continuity.tau.presence import Presence
from journal.events import NoteEdited, ToolAnswered, WriteAnswered
from tests.fakes.extension_api import FakeTau
from tests.fakes.host import Conversation
from tests.shell.calls import began, text_of, write
from tests.shell.rig import Rig, Talk, rig, until

EDIT = ToolSpec(name="bm_edit_note", original="edit_note", description="", schema={"type": "object"}, mutating=True)
OTHER = "## Objective\n\nSomething else altogether."


def known(talk: Talk) -> tuple[str, str | None, bool]:
    """Where the checkpoint is, its evidence, and whether it was changed since."""
    assert talk.state.checkpoint is not None
    return str(talk.state.checkpoint.path), talk.state.checkpoint.evidence, talk.state.checkpoint.edited


async def reopened(process: Rig, conversation: Conversation) -> tuple[Talk, str]:
    """The session in another process, after a compaction, and the brief its prompt gets."""
    conversation.compact()
    talk = await process.open(conversation)
    brief = (await talk.prompt("go on")).brief
    assert brief is not None
    return talk, brief.brief.text


async def test_each_refused_checkpoint_is_told_of_whatever_is_saved_after_it(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence="every") as process:
        talk, presence, tau = await process.open(), Presence(), FakeTau()
        process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
        for text in ("light the lamp", "trim the lamp", "fill the lamp"):
            await talk.turn(text)
            await talk.settle()
            if text == "trim the lamp":
                process.memory.faults()
        for notice in process.voice.notices:
            presence.say(*notice)
        presence.use(tau.api)
        told = "".join(text for text, _ in tau.notices)
        assert (told.count("The server refused the checkpoint"), told.count("Checkpoint saved")) == (2, 1)


async def test_an_answer_is_evidence_until_a_read_of_the_same_bytes_is_more(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("light the lamp")
        path, *said = known(talk)
        assert said == ["answered", False]
        assert process.voice.on("save") == [f"Checkpoint saved: {path} (answered by the server)."]
    async with rig(tmp_path) as process:
        talk, _ = await reopened(process, conversation)
        assert known(talk) == (path, "read", False)


async def test_a_note_that_is_not_what_was_answered_for_keeps_the_lesser_evidence_and_is_called_changed(
    tmp_path: Path,
) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.memory.faults(write_note=[{"store": OTHER}])
        talk = await process.open(conversation)
        await talk.saved("light the lamp")
        path, *said = known(talk)
        assert said == ["answered", False]
    async with rig(tmp_path) as process:
        process.memory.faults()
        talk, brief = await reopened(process, conversation)
        assert known(talk) == (path, "answered", True)
        assert [edited.capture_id for edited in talk.events(NoteEdited)] == [talk.events(WriteAnswered)[0].capture_id]
        assert "edited" in brief
        assert "Something else altogether." in brief
        await talk.saved("on")
        assert process.memory.notes[path]["content"] == OTHER
        assert len(process.memory.notes) == 2


async def test_an_edit_that_the_server_takes_against_its_own_condition_is_seen_as_an_edit(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("light the lamp")
        path, *_ = known(talk)
        stale: dict[str, Json] = {
            "identifier": path,
            "find_text": "Wire the foghorn.",
            "content": "Newer, by hand.",
            "expected_checksum": "0" * 64,
        }
        assert not (await forward(process.link, talk.session.desk, Call(EDIT, stale, Ticket(), 10.0))).is_error
    async with rig(tmp_path) as process:
        talk, brief = await reopened(process, conversation)
        assert known(talk) == (path, "answered", True)
        assert "edited" in brief
        assert "Newer, by hand." in brief
        await talk.saved("on")
        assert "Newer, by hand." in process.memory.notes[path]["content"]


@pytest.mark.parametrize("steps", [[{"error": "disk full"}], ["text"]], ids=["isError", "text alone"])
async def test_a_failure_is_never_called_saved_and_leaves_no_receipt(tmp_path: Path, steps: list[Json]) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(write_note=steps)
        talk = await process.open()
        await talk.turn("light the lamp")
        await until(lambda: talk.events(WriteAnswered), "an outcome")
        await talk.settle()
        assert [answered.outcome for answered in talk.events(WriteAnswered)] == ["unknown"]
        assert [(c.status, c.verdict) for c in talk.state.captures] == [("in_doubt", "absent_open")]
        assert talk.state.checkpoint is None
        assert (await talk.prompt("is it saved?")).receipt is None
        assert not any(text.startswith("Checkpoint saved") for _, text, _ in process.voice.notices)


@pytest.mark.parametrize(
    ("steps", "is_error", "said"),
    [([{"error": "disk full"}], True, "disk full"), (["text"], False, "Failed to write: disk full")],
)
async def test_the_agent_gets_a_failure_as_the_server_told_it_and_it_is_not_called_accepted(
    tmp_path: Path, steps: list[Json], *, is_error: bool, said: str
) -> None:
    undeclared = {"name": "write_note", "inputSchema": {"type": "object"}}
    async with rig(tmp_path) as process:
        process.memory.faults(write_note=steps, tools={"pages": [[undeclared]]})
        talk = await began(process)
        reply = await forward(process.link, talk.session.desk, write())
        assert (reply.is_error, said in text_of(reply)) == (is_error, True)
        assert "may have been stored" in text_of(reply)
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["unknown"]
        assert process.memory.notes == {}
