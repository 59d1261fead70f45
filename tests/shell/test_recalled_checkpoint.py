"""A branch's own checkpoint is recalled under the label of what became of its note, and never costs the rest of a brief."""

from __future__ import annotations

import re
from pathlib import Path

from continuity.handoff import HEADINGS
from journal.events import BriefDelivered, CheckpointReferenced
from tests.fakes.host import Conversation
from tests.fakes.memory_server import FakeMemory
from tests.fakes.story import handoff_of
from tests.shell.rig import Rig, Talk, rig

TASK = "Mend the valve of the foghorn."
KEPT, LATER = "Oil, because there is no wind.", "Colza, because it is landed dry."
FIRST, SECOND = f"Decision: {KEPT}", f"Decision: {LATER}"


async def worked(root: Path, conversation: Conversation, *turns: str) -> FakeMemory:
    """A process in which `turns` were saved and the session was compacted."""
    async with rig(root) as process:
        process.memory.put("tasks/valve.md", TASK, type="task", status="active")
        process.mind.answer = handoff_of
        talk = await process.open(conversation)
        for turn in turns or (FIRST,):
            await talk.saved(turn)
        conversation.compact()
        return process.memory


def place(memory: FakeMemory) -> str:
    return [path for path in memory.notes if path.startswith("tau/")][-1]


def edit(memory: FakeMemory, path: str, text: str) -> None:
    note = memory.notes[path]
    memory.put(path, f"{note['content']}\n{text}\n", **note["frontmatter"])


async def brief(talk: Talk) -> str:
    composed = (await talk.prompt("go on")).brief
    if composed is None:
        return ""
    await talk.session.delivered(composed)
    return composed.brief.text


async def resumed(process: Rig, conversation: Conversation) -> str:
    """The brief of the next process, which must hold the rest whatever became of the note."""
    text = await brief(await process.open(conversation))
    assert TASK in text
    return text


def label(text: str) -> str:
    found = re.search(r"(?m)^checkpoint [0-9a-f]{12} \([^)]*\) \[(.*)\]$", text)
    return found[1] if found else ""


async def test_a_note_that_is_what_was_confirmed_has_no_label(tmp_path: Path) -> None:
    conversation = Conversation()
    await worked(tmp_path, conversation)
    async with rig(tmp_path) as process:
        text = await resumed(process, conversation)
        assert KEPT in text
        assert label(text) == ""


async def test_a_note_that_was_moved_and_edited_is_labelled_as_both(tmp_path: Path) -> None:
    conversation = Conversation()
    memory = await worked(tmp_path, conversation)
    old = place(memory)
    edit(memory, old, "- and somebody was here")
    memory.move(old, "archive/kept.md", forwarded=False)
    async with rig(tmp_path) as process:
        text = await resumed(process, conversation)
        assert "(archive/kept.md)" in text
        assert label(text) == "moved and edited since it was confirmed"


async def test_a_note_that_was_not_found_and_may_still_be_there_is_shown_as_it_is_kept_here(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.memory.put("tasks/valve.md", TASK, type="task", status="active")
        process.mind.answer = handoff_of
        talk = await process.open(conversation)
        await talk.saved(FIRST)
        process.memory.delete(place(process.memory))
        conversation.compact()
        text = await brief(talk)
        assert KEPT in text
        assert label(text) == "local copy, its note was not found"


async def test_a_note_that_is_proven_gone_is_shown_as_withdrawn_and_referenced_by_nothing(tmp_path: Path) -> None:
    conversation = Conversation()
    memory = await worked(tmp_path, conversation, FIRST, SECOND)
    memory.delete(place(memory))
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        text = await brief(talk)
        assert [part for part in (KEPT, LATER, TASK) if part not in text] == []
        assert label(text) == "withdrawn: the note is gone"
        assert text.count(KEPT) == 1
        assert talk.events(CheckpointReferenced) == []
        (fact,) = talk.events(BriefDelivered)
        assert fact.sources[0].treatment == "used"


async def test_a_silent_read_of_the_checkpoint_costs_neither_the_rest_nor_what_is_kept_here(tmp_path: Path) -> None:
    conversation = Conversation()
    await worked(tmp_path, conversation)
    async with rig(tmp_path, recall_wait_seconds=4) as process:
        process.memory.faults(read_note=["silent"])
        talk = process.session(conversation)
        await talk.session.start("startup")
        assert await process.link.up(20) is not None
        text = await brief(talk)
        assert [part for part in (KEPT, TASK) if part not in text] == []
        assert label(text) == "local copy, not read from memory now"


async def test_a_resumed_session_that_sees_its_conversation_is_not_told_it_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.memory.put("tasks/valve.md", TASK, type="task", status="active")
        process.mind.answer = handoff_of
        await (await process.open(conversation)).saved(FIRST)
    async with rig(tmp_path) as process:
        assert KEPT not in await resumed(process, conversation)


async def test_no_note_is_read_twice_for_one_brief(tmp_path: Path) -> None:
    conversation = Conversation()
    await worked(tmp_path, conversation, FIRST, SECOND)
    async with rig(tmp_path) as process:
        before = len(process.memory.requests())
        await resumed(process, conversation)
        asked = [request for request in process.memory.requests()[before:] if request["name"] == "read_note"]
        paths = [request["params"]["arguments"]["identifier"] for request in asked]
        assert sorted(paths) == sorted(set(paths)) == sorted(process.memory.notes)


async def test_what_is_done_or_called_off_is_not_next_and_the_newest_request_stands_first(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.mind.answer = handoff_of
        talk = await process.open(conversation)
        await talk.turn("Unfinished: wire the lamp\nUnfinished: sell the boat\nNext: wire the lamp", "Understood.")
        await talk.turn("How far are you?", "Done: wire the lamp\nNext: sell the boat")
        await talk.saved("only review, do not edit: `lamp.py`\nDone: sell the boat\nNext: review lamp.py")
        conversation.compact()
        text = await brief(talk)
    parts = dict(zip(HEADINGS, re.split(r"(?m)^### .*\n", text)[1:], strict=False))
    assert "Newest request: only review, do not edit: `lamp.py`" in parts["Objective"]
    assert parts["Next action"].startswith("review lamp.py")
    assert [part for part in parts.values() if "wire the lamp" in part or "sell the boat" in part] == []
