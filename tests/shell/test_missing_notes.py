"""A checkpoint's note that is gone is said once and costs itself alone: the rest is recalled, the next made of what is kept."""

from __future__ import annotations

from pathlib import Path

from journal.events import CaptureProbed, CheckpointReferenced, NoteWithdrawn
from tests.fakes.host import HANDOFF, Conversation
from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import Rig, Talk, recorded, rig

TASK = "Mend the valve of the foghorn."


def said_gone(process: Rig) -> list[str]:
    return [text for topic, text, _ in process.voice.notices if topic.startswith("gone:")]


async def worked(root: Path, conversation: Conversation, *turns: str, task: bool = True) -> FakeMemory:
    """A process in which `turns` were saved, each in a note; its session is compacted at the end."""
    async with rig(root) as process:
        if task:
            process.memory.put("tasks/valve.md", TASK, type="task", status="active")
        talk = await process.open(conversation)
        for turn in turns:
            await talk.saved(turn)
        conversation.compact()
        return process.memory


def newest(memory: FakeMemory) -> str:
    return [path for path in memory.notes if path.startswith("tau/")][-1]


async def goes_on_without(process: Rig, talk: Talk, gone: str) -> None:
    """Fail unless the prompt recalls the rest and the next turn is saved from what is kept, without a link to `gone`."""
    brief = (await talk.prompt("go on")).brief
    assert brief is not None
    assert TASK in brief.brief.text
    await talk.session.delivered(brief)
    process.mind.asked.clear()
    await talk.saved("another")
    assert talk.state.checkpoint is not None
    written = process.memory.notes[str(talk.state.checkpoint.path)]
    assert Path(gone).stem not in written["content"]
    (asked,) = process.mind.asked
    assert "Oil, because there is no wind." in asked
    assert "the first thing" not in asked
    process.clock.advance(3_600_000)
    await talk.saved("and another")
    assert [gone in text for text in said_gone(process)] == [True]


async def test_a_deleted_note_proven_gone_is_withdrawn_said_once_and_linked_by_none(tmp_path: Path) -> None:
    conversation = Conversation()
    memory = await worked(tmp_path, conversation, "the first thing", "the second thing")
    gone = newest(memory)
    memory.delete(gone)
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["absent_final"]
        assert len(talk.events(NoteWithdrawn)) == 1
        assert talk.state.checkpoint is None
        await goes_on_without(process, talk, gone)
        assert talk.events(CheckpointReferenced) == []
        path = talk.path
    async with rig(tmp_path) as process:
        await process.open(conversation)
        assert said_gone(process) == []
    assert len(recorded(path, NoteWithdrawn)) == 1


async def test_a_deleted_note_that_is_not_proven_gone_is_linked_by_none_either(tmp_path: Path) -> None:
    conversation = Conversation()
    memory = await worked(tmp_path, conversation, "the first thing")
    gone = newest(memory)
    memory.delete(gone)
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["absent_open"]
        assert talk.events(NoteWithdrawn) == []
        await goes_on_without(process, talk, gone)


async def test_a_note_that_is_back_is_linked_again(tmp_path: Path) -> None:
    conversation = Conversation()
    memory = await worked(tmp_path, conversation, "the first thing")
    path, kept = newest(memory), memory.notes[newest(memory)]
    memory.delete(path)
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert len(said_gone(process)) == 1
        memory.put(path, kept["content"], **kept["frontmatter"])
        conversation.compact()
        await talk.prompt("go on")
        await talk.settle()
        await talk.saved("another")
        assert talk.state.checkpoint is not None
        assert Path(path).stem in process.memory.notes[str(talk.state.checkpoint.path)]["content"]


async def test_a_session_taken_to_a_machine_without_its_notes_goes_on(tmp_path: Path) -> None:
    conversation = Conversation()
    memory = await worked(tmp_path, conversation, "the first thing", "the second thing")
    gone = newest(memory)
    for path in tuple(memory.notes):
        memory.delete(path)
    memory.put("tasks/valve.md", TASK, type="task", status="active")
    async with rig(tmp_path) as process:
        process.mind.answer = lambda _: HANDOFF.format(next="Go on.")
        talk = await process.open(conversation)
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["absent_open"]
        await goes_on_without(process, talk, gone)
