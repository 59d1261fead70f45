"""On the real server: whatever other hands did to our notes is recognised, said once, and costs no note and no save."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio
import pytest

from continuity.capture import content_digest
from journal.events import CaptureProbed, NoteEdited, NoteMoved, NoteWithdrawn, WriteAnswered
from tests.fakes.host import HANDOFF, Conversation
from tests.fakes.real_memory import SECONDS, RealMemory, real_memory
from tests.shell.rig import Rig, Talk, rig

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

TASK = "Mend the valve of the foghorn."
FOLDER = "tau/checkpoints"

type Starts = Callable[..., AbstractAsyncContextManager[Rig]]


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RealMemory]:
    async with real_memory(tmp_path_factory.mktemp("other-hands")) as running:
        yield running


@pytest.fixture
async def project(memory: RealMemory) -> str:
    return await memory.project()


@pytest.fixture
def starts(memory: RealMemory, project: str, tmp_path: Path) -> Starts:
    """Start a process of the person's; `at` names another machine of theirs."""

    def starting(at: str = "here", **settings: Any) -> AbstractAsyncContextManager[Rig]:
        waits: dict[str, Any] = {"timeout_seconds": SECONDS, "recall_wait_seconds": SECONDS} | settings
        return rig(tmp_path / at, link=memory.link, project=project, **waits)

    return starting


def place(talk: Talk) -> str:
    assert talk.state.checkpoint is not None
    return str(talk.state.checkpoint.path)


async def brief(talk: Talk) -> str:
    composed = (await talk.prompt("go on")).brief
    return composed.brief.text if composed is not None else ""


async def test_a_deleted_checkpoint_is_said_once_and_the_next_links_no_note_that_is_gone(
    memory: RealMemory, project: str, starts: Starts
) -> None:
    conversation = Conversation()
    await memory.call(
        "write_note",
        project=project,
        title="Valve",
        directory="tasks",
        content=TASK,
        note_type="task",
        metadata={"status": "active"},
    )
    async with starts() as process:
        talk = await process.open(conversation)
        await talk.saved("the first thing")
        await talk.saved("the second thing")
        gone = place(talk)
        conversation.compact()
    await memory.call("delete_note", project=project, identifier=gone)
    async with starts() as process:
        talk = await process.open(conversation)
        assert TASK in await brief(talk)
        process.mind.asked.clear()
        await talk.saved("the third thing")
        await talk.saved("the fourth thing")
        files = await memory.until_files(project, 4)
        assert gone not in files
        assert Path(gone).stem not in "".join(files.values())
        assert "the first thing" not in process.mind.asked[0]
        assert [gone in text for topic, text, _ in process.voice.notices if topic.startswith("gone:")] == [True]
        assert [answered.outcome for answered in talk.events(WriteAnswered)] == ["accepted"] * 4


async def test_a_moved_checkpoint_is_recalled_from_where_it_is_and_followed_by_one_new_note(
    memory: RealMemory, project: str, starts: Starts
) -> None:
    conversation = Conversation()
    async with starts() as process:
        talk = await process.open(conversation)
        await talk.saved("the first thing")
        old, elsewhere = place(talk), "archive/kept by me.md"
        conversation.compact()
    await memory.until_files(project, 1)
    await memory.call("move_note", project=project, identifier=old, destination_path=elsewhere)
    async with starts() as process:
        talk = await process.open(conversation)
        assert f"({elsewhere}) [moved since it was confirmed]" in await brief(talk)
        assert [moved.file_path for moved in talk.events(NoteMoved)] == [elsewhere]
        await talk.saved("the second thing")
        files = await memory.until_files(project, 2)
        assert f"continues [[{elsewhere.removesuffix('.md')}]]" in files[place(talk)]
        first = talk.events(WriteAnswered)[0].capture_id
        assert [path for path, text in files.items() if f"capture_id: {first}" in text] == [elsewhere]


async def test_a_checkpoint_that_somebody_edited_is_recalled_as_edited_and_left_as_it_is(
    memory: RealMemory, project: str, starts: Starts
) -> None:
    conversation = Conversation()
    async with starts() as process:
        talk = await process.open(conversation)
        await talk.saved("the first thing")
        path = place(talk)
        conversation.compact()
    await memory.call(
        "edit_note",
        project=project,
        identifier=path,
        operation="find_replace",
        find_text="Wire the foghorn.",
        content="Newer, by hand.",
        expected_replacements=2,
    )
    async with starts() as process:
        talk = await process.open(conversation)
        text = await brief(talk)
        assert "Newer, by hand." in text
        assert "edited since" in text
        assert len(talk.events(NoteEdited)) == 1
        await talk.saved("the second thing")
        files = await memory.until_files(project, 2)
        assert "Newer, by hand." in files[path]


async def test_a_capture_that_a_rival_wrote_is_adopted_and_not_spoken_of_again(
    memory: RealMemory, project: str, starts: Starts
) -> None:
    conversation, body = Conversation(), "## Objective\n\nThe same, in a rival's words."
    async with starts() as process:
        talk = await process.open(conversation)
        process.mind.gate = anyio.Event()
        await talk.turn("light the lamp")
        await process.mind.arrived.wait()
        (capture,) = talk.state.captures
        await memory.call(
            "write_note",
            project=project,
            title=f"tau-checkpoint-{capture.capture_id[:20]}",
            directory=FOLDER,
            content=body,
            note_type="session",
            metadata={
                "capture_id": capture.capture_id,
                "source_tip": capture.source_tip,
                "content_digest": content_digest(body),
            },
        )
        process.mind.gate.set()
        await talk.settle()
        assert [answered.code for answered in talk.events(WriteAnswered)] == ["NOTE_ALREADY_EXISTS"]
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["present_twin"]
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "adopted"
    files = await memory.until_files(project, 1)
    assert body in files[f"{FOLDER}/tau-checkpoint-{capture.capture_id[:20]}.md"]
    async with starts() as process:
        await process.open(conversation)
        assert process.voice.notices == []


async def test_two_processes_that_quit_at_one_tip_leave_one_note_and_both_know_it_saved(
    memory: RealMemory, project: str, starts: Starts
) -> None:
    conversation = Conversation()
    late = {"cadence": {"characters": 100_000, "minutes": 60}}
    async with starts("one", **late) as one, starts("two", **late) as two:
        two.mind.answer = lambda _: HANDOFF.format(next="In other words.")
        talks = [await one.open(conversation), await two.open(conversation)]
        entry = conversation.user("light the lamp")
        for talk in talks:
            await talk.session.prompted(entry, characters=14, typed=True)
        tip = conversation.assistant("Done.")
        for talk in talks:
            await talk.session.settled(tip, interrupted=False)
        async with anyio.create_task_group() as group:
            for talk in talks:
                group.start_soon(talk.session.ending, SECONDS)
        assert {t.state.checkpoint.evidence for t in talks if t.state.checkpoint} == {"answered", "adopted"}
        assert not any(talk.session.unsaved for talk in talks)
        said = [text for process in (one, two) for _, text, _ in process.voice.notices]
        assert not any("fail" in text.lower() for text in said)
    assert len(await memory.until_files(project, 1)) == 1


async def test_a_checkpoint_is_withdrawn_only_when_its_server_is_gone_too(
    memory: RealMemory, project: str, starts: Starts
) -> None:
    conversation = Conversation()
    async with starts() as process:
        talk = await process.open(conversation)
        await talk.saved("the first thing")
        await talk.saved("the second thing")
        gone = place(talk)
    await memory.call("delete_note", project=project, identifier=gone)
    async with starts() as process:
        talk = await process.open(conversation)
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["absent_open"]
        assert talk.events(NoteWithdrawn) == []
