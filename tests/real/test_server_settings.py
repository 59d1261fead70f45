"""A real server that never indexes, names files its own way and renames addresses with moves: nothing of ours is lost on it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, get_args

import anyio
import pytest

from continuity.capture import address, capture_id, content_digest
from continuity.memory import notes
from continuity.memory.notes import WriteRequest
from journal.events import CaptureProbed, NoteMoved, WriteAnswered
from journal.events.capture import CaptureKind
from journal.ids import EntryId, SessionId
from tests.fakes.host import Conversation
from tests.fakes.real_memory import SECONDS, RealMemory, real_memory
from tests.shell.rig import Talk, rig, until

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

WAITS: dict[str, Any] = {"timeout_seconds": SECONDS, "recall_wait_seconds": SECONDS}


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RealMemory]:
    settings = {
        "BASIC_MEMORY_INDEX_CHANGES": "false",
        "BASIC_MEMORY_KEBAB_FILENAMES": "true",
        "BASIC_MEMORY_UPDATE_PERMALINKS_ON_MOVE": "true",
    }
    async with real_memory(tmp_path_factory.mktemp("settings"), **settings) as running:
        yield running


@pytest.fixture
async def project(memory: RealMemory) -> str:
    return await memory.project()


def place(talk: Talk) -> str:
    assert talk.state.checkpoint is not None
    return str(talk.state.checkpoint.path)


async def test_the_first_notes_of_a_project_that_was_never_indexed_are_written_and_settled_by_reading(
    memory: RealMemory, tmp_path: Path
) -> None:
    connection = memory.link.connection
    assert connection is not None
    searched = await notes.search_notes(connection, "main", SECONDS, metadata_filters={"capture_id": "x"})
    assert (searched.code, searched.authoritative) == ("not-indexed", False)
    conversation = Conversation()
    async with rig(tmp_path, link=memory.link, project="main", **WAITS) as process:
        talk = await process.open(conversation)
        assert await talk.saved("light the lamp") == conversation.tip
        process.mind.gate = anyio.Event()
        await talk.turn("and the foghorn")
        await until(lambda: len(process.mind.asked) == 2, "the model's turn")
        (capture,) = talk.state.captures
        body, at = "## Objective\n\nIn a rival's words.", address(capture.capture_id, "tau/checkpoints", "checkpoint")
        identity = {"capture_id": capture.capture_id, "source_tip": capture.source_tip}
        rival = identity | {"content_digest": content_digest(body)}
        await memory.call(
            "write_note", project="main", title=at.title, directory=at.folder, content=body, metadata=rival
        )
        process.mind.gate.set()
        await talk.settle()
        assert [answered.outcome for answered in talk.events(WriteAnswered)] == ["accepted", "unknown"]
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["present_twin"]
        assert place(talk) == at.file_path


async def test_the_server_names_the_files_of_others_its_own_way(memory: RealMemory, project: str) -> None:
    await memory.call("write_note", project=project, title="Two Words", directory="d", content="x")
    assert list(await memory.until_files(project, 1)) == ["d/two-words.md"]


@pytest.mark.parametrize("kind", get_args(CaptureKind.__value__))
async def test_a_title_of_ours_goes_out_and_comes_back_as_one_file_at_its_address(
    memory: RealMemory, project: str, kind: CaptureKind
) -> None:
    connection = memory.link.connection
    assert connection is not None
    identity = capture_id(project, SessionId("Fix: split (a: b)"), kind, EntryId("../x"))
    at, body = address(identity, "Tau/Über uns", kind), "# Body\n"
    request = WriteRequest(
        project=project,
        folder=at.folder,
        title=at.title,
        content=body,
        note_type="session",
        metadata={"capture_id": identity, "source_tip": "../x", "content_digest": content_digest(body)},
    )
    answered = await notes.write_note(connection, request, SECONDS)
    read = await notes.read_note(connection, project, str(answered.file_path), SECONDS)
    assert (answered.outcome, read.outcome, read.title) == ("accepted", "found", at.title)
    assert Path(str(answered.file_path)).name == f"{at.title}.md"
    assert notes.identify(read).capture_id == identity
    assert content_digest(read.content or "") == content_digest(body)
    assert (await notes.write_note(connection, request, SECONDS)).code == notes.ALREADY_EXISTS
    assert list(await memory.until_files(project, 1)) == [answered.file_path]


async def test_a_note_whose_address_was_renamed_with_its_move_is_found_by_its_identity(
    memory: RealMemory, project: str, tmp_path: Path
) -> None:
    conversation = Conversation()
    async with rig(tmp_path, link=memory.link, project=project, **WAITS) as process:
        talk = await process.open(conversation)
        await talk.saved("light the lamp")
        old = place(talk)
        conversation.compact()
    await memory.until_files(project, 1)
    await memory.call("move_note", project=project, identifier=old, destination_path="archive/kept.md")
    async with rig(tmp_path, link=memory.link, project=project, **WAITS) as process:
        talk = await process.open(conversation)
        composed = (await talk.prompt("go on")).brief
        assert composed is not None
        assert "(archive/kept.md) [moved since it was confirmed]" in composed.brief.text
        assert [moved.file_path for moved in talk.events(NoteMoved)] == ["archive/kept.md"]
        await talk.saved("and the foghorn")
        files = await memory.until_files(project, 2)
        assert "continues [[archive/kept]]" in files[place(talk)]
        assert len(files) == 2
