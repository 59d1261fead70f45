"""The real Basic Memory answers as we read it: each sentence here was a belief before it was a test.

One server for the file, started in a task of its own; a folder for each test.
"""

import hashlib
import itertools
import os
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import anyio
import msgspec
import pytest

from continuity.capture import content_digest
from continuity.memory import notes, probes, tools
from continuity.memory.calls import Ticket
from continuity.memory.connection import MemoryConnection, connect
from continuity.memory.inventory import InventoryCache, inventory_key
from continuity.memory.liveness import group_state
from continuity.memory.notes import WriteRequest
from continuity.memory.search import SearchResult
from continuity.memory.server import ServerSpec, child_environment
from continuity.recall import Query, is_text_of, plan_recall
from continuity.shell.settings import Settings
from continuity.topic import topic_of
from journal.events.writes import NoteAddress
from journal.ids import CaptureId
from tests.fakes.basic_memory import ARGS, COMMAND, START_SECONDS, BasicMemoryHome

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

SECONDS = 30.0
COUNT = itertools.count(1)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> BasicMemoryHome:
    return BasicMemoryHome(tmp_path_factory.mktemp("basic-memory"))


@pytest.fixture(scope="module")
def spec(home: BasicMemoryHome) -> ServerSpec:
    env = child_environment(home.environment(), {})
    return ServerSpec(command=COMMAND, args=ARGS, env=env, cwd=str(home.root))


@pytest.fixture(scope="module")
async def memory(spec: ServerSpec) -> AsyncGenerator[MemoryConnection]:
    """The owner's task, kept open over the tests of this file."""
    async with connect(spec, seconds=START_SECONDS) as connection:
        yield connection


@pytest.fixture
def request_(tmp_path: Path) -> WriteRequest:
    """A note nobody has written yet, in a folder of this test."""
    number = next(COUNT)
    identity = hashlib.sha256(str(number).encode()).hexdigest()
    body = f"# Note {number}\n\n- [decision] one server a file\n"
    return WriteRequest(
        project="main",
        folder=f"tau/{number}",
        title=f"tau-checkpoint-{identity[:20]}",
        content=body,
        note_type="session",
        metadata={"capture_id": identity, "source_tip": "00001234", "content_digest": content_digest(body)},
    )


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    """Wait for what the server does after it answered: files, index and links follow the note."""
    with anyio.fail_after(SECONDS):
        while not await true():  # noqa: ASYNC110 -- nothing tells when a server has caught up
            await anyio.sleep(0.1)


async def links(memory: MemoryConnection, permalink: str, paths: list[str | None]) -> bool:
    around = await notes.build_context(memory, "main", permalink, SECONDS)
    return [hit.file_path for hit in around.hits] == paths


def address(request: WriteRequest) -> NoteAddress:
    return NoteAddress(folder=request.folder, title=request.title)


def identity(request: WriteRequest) -> CaptureId:
    return CaptureId(request.metadata["capture_id"])


async def test_a_note_is_accepted_at_the_address_we_chose(
    memory: MemoryConnection, home: BasicMemoryHome, request_: WriteRequest
) -> None:
    outcome = await notes.write_note(memory, request_, SECONDS)
    assert (outcome.outcome, outcome.file_path) == ("accepted", address(request_).file_path)
    read = await notes.read_note(memory, "main", address(request_).file_path, SECONDS)
    assert content_digest(read.content or "") == request_.metadata["content_digest"]
    file = anyio.Path(home.notes / address(request_).file_path)
    await until(file.exists)
    assert hashlib.sha256(await file.read_bytes()).hexdigest() == outcome.checksum


async def test_a_second_write_is_a_question_and_changes_nothing(
    memory: MemoryConnection, request_: WriteRequest
) -> None:
    await notes.write_note(memory, request_, SECONDS)
    again = await notes.write_note(memory, msgspec.structs.replace(request_, content="other"), SECONDS)
    assert (again.outcome, again.code, again.file_path) == (
        "unknown",
        "NOTE_ALREADY_EXISTS",
        address(request_).file_path,
    )
    (seen,) = await probes.by_address(memory, "main", address(request_).file_path, SECONDS)
    assert seen.content_sha256 == request_.metadata["content_digest"]


async def test_an_error_can_leave_the_note_behind(memory: MemoryConnection, request_: WriteRequest) -> None:
    odd = msgspec.structs.replace(request_, content="---\nhello")
    assert (await notes.write_note(memory, odd, SECONDS)).outcome == "unknown"
    (seen,) = await probes.by_address(memory, "main", address(odd).file_path, SECONDS)
    assert (seen.found, seen.capture_id) == ("note", identity(odd))


async def test_a_folder_outside_the_project_is_refused_by_code(
    memory: MemoryConnection, request_: WriteRequest
) -> None:
    outside = msgspec.structs.replace(request_, folder="../out")
    outcome = await notes.write_note(memory, outside, SECONDS)
    assert (outcome.outcome, outcome.code) == ("refused", "SECURITY_VALIDATION_ERROR")


async def test_a_project_that_is_not_there_is_named_as_such(memory: MemoryConnection, request_: WriteRequest) -> None:
    nowhere = msgspec.structs.replace(request_, project="nots")
    assert (await notes.write_note(memory, nowhere, SECONDS)).outcome == "unknown"
    assert (await notes.read_note(memory, "nots", "a.md", SECONDS)).code == "project-not-found"
    assert (await notes.search_notes(memory, "nots", SECONDS, query="a")).code == "project-not-found"


async def test_a_missing_note_is_missing_by_every_way(memory: MemoryConnection, request_: WriteRequest) -> None:
    await notes.write_note(memory, msgspec.structs.replace(request_, title="other", metadata={}), SECONDS)
    looks = (
        await probes.by_address(memory, "main", address(request_).file_path, SECONDS),
        await probes.by_title(memory, "main", address(request_), SECONDS),
        await probes.by_id(memory, "main", identity(request_), SECONDS),
    )
    assert [one.found for seen in looks for one in seen] == ["nothing"] * 3


async def test_a_written_note_is_found_by_every_way(memory: MemoryConnection, request_: WriteRequest) -> None:
    await notes.write_note(memory, request_, SECONDS)
    await until(lambda: probes.index_finds(memory, "main", identity(request_), SECONDS))
    looks = (
        await probes.by_address(memory, "main", address(request_).file_path, SECONDS),
        await probes.by_title(memory, "main", address(request_), SECONDS),
        await probes.by_id(memory, "main", identity(request_), SECONDS),
    )
    for (seen,) in looks:
        assert (seen.capture_id, seen.source_tip) == (identity(request_), "00001234")
        assert seen.content_sha256 == seen.declared_sha256


async def test_a_moved_note_is_found_where_it_is(memory: MemoryConnection, request_: WriteRequest) -> None:
    await notes.write_note(memory, request_, SECONDS)
    moved = f"{request_.folder}/moved/elsewhere.md"
    arguments = {"project": "main", "identifier": address(request_).file_path, "destination_path": moved}
    answer = await memory.call_tool("move_note", arguments, SECONDS)
    assert not answer.is_error, answer.texts
    await until(lambda: probes.index_finds(memory, "main", identity(request_), SECONDS))
    (seen,) = await probes.by_id(memory, "main", identity(request_), SECONDS)
    assert (seen.found, seen.file_path) == ("note", moved)


async def test_a_name_two_notes_bear_is_ambiguous(memory: MemoryConnection, request_: WriteRequest) -> None:
    await notes.write_note(memory, request_, SECONDS)
    await notes.write_note(memory, msgspec.structs.replace(request_, folder=request_.folder + "/b"), SECONDS)
    assert (await notes.read_note(memory, "main", request_.title, SECONDS)).outcome == "ambiguous"
    assert len(await probes.by_title(memory, "main", address(request_), SECONDS)) == 2


async def test_an_empty_note_is_a_note(memory: MemoryConnection, request_: WriteRequest) -> None:
    await notes.write_note(memory, msgspec.structs.replace(request_, content=""), SECONDS)
    read = await notes.read_note(memory, "main", address(request_).file_path, SECONDS)
    assert (read.outcome, read.content) == ("found", "")


@pytest.mark.parametrize(
    "tip", ["12345678", "1e5", "true", "null", "2026-01-01", "0x1F", "12:30:45", "a: b", "# x", "'q"]
)
async def test_a_tip_that_looks_like_something_else_comes_back_as_it_went(
    memory: MemoryConnection, request_: WriteRequest, tip: str
) -> None:
    odd = msgspec.structs.replace(request_, metadata={**request_.metadata, "source_tip": tip})
    await notes.write_note(memory, odd, SECONDS)
    assert notes.identify(await notes.read_note(memory, "main", address(odd).file_path, SECONDS)).source_tip == tip


async def test_the_project_is_local_and_told_from_another_of_its_name(memory: MemoryConnection) -> None:
    projects = await notes.list_memory_projects(memory, SECONDS)
    assert (projects.source("main"), projects.source("nots")) == ("local", "unknown")
    assert projects.sha256("main") is not None


async def test_recall_reads_by_type_by_graph_and_by_time(memory: MemoryConnection, request_: WriteRequest) -> None:
    first = await notes.write_note(memory, request_, SECONDS)
    linking = msgspec.structs.replace(
        request_,
        title="second",
        note_type="task",
        content=f"- continues [[{request_.title}]]\n",
        metadata={"status": "active"},
    )
    second = await notes.write_note(memory, linking, SECONDS)
    assert second.permalink is not None
    found = await notes.search_notes(
        memory, "main", SECONDS, note_types=["task"], metadata_filters={"status": "active"}
    )
    assert second.file_path in [hit.file_path for hit in found.hits]
    await until(lambda: links(memory, str(second.permalink), [second.file_path, first.file_path]))
    lately = await notes.recent_activity(memory, "main", SECONDS, page_size=5)
    assert second.file_path in [hit.file_path for hit in lately.hits]


def about(prompt: str) -> Query:
    """The question for active tasks that a prompt leads to."""
    profile = Settings.model_validate({"project": "main"}).profile(Path("/work"), Path("/"))
    plan = plan_recall(profile, checkpoint=None, topic=topic_of(prompt))
    return next(query for query in plan if query.name == "topic-tasks")


async def topical(memory: MemoryConnection, prompt: str) -> SearchResult:
    query = about(prompt)
    return await notes.search_notes(
        memory,
        "main",
        SECONDS,
        query=query.text,
        by_words=True,
        note_types=query.note_types,
        metadata_filters=dict(query.filters),
        page_size=query.page_size,
        after_date=query.after_date,
    )


async def test_any_word_of_a_prompt_finds_a_task_whatever_else_the_prompt_holds(
    memory: MemoryConnection, request_: WriteRequest
) -> None:
    task = msgspec.structs.replace(
        request_, note_type="task", content="Grease the bellows of the foghorn.\n", metadata={"status": "active"}
    )
    done = msgspec.structs.replace(task, title=f"{task.title} done", metadata={"status": "done"})
    written = await notes.write_note(memory, task, SECONDS)
    await notes.write_note(memory, done, SECONDS)

    async def found() -> bool:
        return bool((await topical(memory, "What about the foghorn, please?")).hits)

    await until(found)
    for prompt in (
        "foghorn",
        "Mend 1234 foghorn and lamps",
        '"foghorn AND (',
        "NEAR(foghorn OR",
        "tag:foghorn* 🚨 don't",
    ):
        answer = await topical(memory, prompt)
        assert (answer.outcome, [hit.file_path for hit in answer.hits]) == ("answered", [written.file_path]), prompt
    assert (await topical(memory, "paint doors")).hits == ()


async def test_the_text_of_a_listing_is_that_of_the_note_as_it_is_read(
    memory: MemoryConnection, request_: WriteRequest
) -> None:
    task = msgspec.structs.replace(request_, note_type="task", metadata={"status": "active", "capture_id": "listed"})
    written = await notes.write_note(memory, task, SECONDS)

    async def listed() -> bool:
        return bool((await notes.search_notes(memory, "main", SECONDS, metadata_filters={"capture_id": "listed"})).hits)

    await until(listed)
    (hit,) = (await notes.search_notes(memory, "main", SECONDS, metadata_filters={"capture_id": "listed"})).hits
    read = await notes.read_note(memory, "main", str(written.file_path), SECONDS)
    assert is_text_of(hit.content or "", read.content or "", truncated=hit.truncated)
    assert read.checksum == written.checksum


async def test_a_cancelled_call_leaves_the_session_usable(memory: MemoryConnection, request_: WriteRequest) -> None:
    ticket = Ticket()
    with anyio.move_on_after(0.005):
        await notes.write_note(memory, request_, SECONDS, ticket=ticket)
    assert (await notes.list_memory_projects(memory, SECONDS)).projects


async def test_every_tool_is_offered_under_its_own_name_and_kept(
    memory: MemoryConnection, spec: ServerSpec, tmp_path: Path
) -> None:
    inventory = await memory.list_tools(SECONDS)
    offered = tools.bridge(inventory.tools)
    assert {"bm_write_note", "bm_read_note", "bm_search_notes", "bm_build_context"} <= {s.name for s in offered.tools}
    assert (offered.left_out, inventory.notices) == ((), ())
    assert {s.name: s.mutating for s in offered.tools}["bm_write_note"]
    assert not {s.name: s.mutating for s in offered.tools}["bm_search_notes"]
    cache = InventoryCache(tmp_path)
    assert cache.save(inventory_key(spec), inventory)
    assert cache.load(inventory_key(spec)).inventory == inventory


async def test_a_bridged_result_says_nothing_twice(memory: MemoryConnection) -> None:
    inventory = await memory.list_tools(SECONDS)
    (spec,) = [s for s in tools.bridge(inventory.tools).tools if s.original == "list_memory_projects"]
    told: list[float] = []
    done = await tools.call(
        memory, spec, {"output_format": "json"}, SECONDS, progress=lambda count, _total, _words: told.append(count)
    )
    assert done.outcome == "accepted", "a server that reports no progress is asked for it in vain, and answers"
    assert len(done.reply.blocks) == 1
    assert "structured_content" in done.reply.details


async def test_a_killed_server_is_noticed_and_proven_gone(tmp_path: Path, request_: WriteRequest) -> None:
    """And an empty project that was never indexed does not keep the first note from being written."""
    home = BasicMemoryHome(tmp_path)
    env = child_environment(home.environment() | {"BASIC_MEMORY_INDEX_CHANGES": "false"}, {})
    spec = ServerSpec(command=COMMAND, args=ARGS, env=env, cwd=str(tmp_path))
    async with connect(spec, seconds=START_SECONDS) as connection:
        found = await notes.search_notes(connection, "main", SECONDS, metadata_filters={"capture_id": "x"})
        assert (found.outcome, found.hits, found.authoritative) == ("answered", (), False)
        assert (await notes.write_note(connection, request_, SECONDS)).outcome == "accepted"
        os.killpg(connection.process.process_group, signal.SIGKILL)
        with anyio.fail_after(5):
            await connection.wait_lost()
        assert (await notes.write_note(connection, request_, SECONDS)).outcome == "not-sent"
    assert group_state(connection.process) == "gone"
