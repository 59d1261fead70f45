"""The real server finds nothing to warn of in our notes, once our schema notes are in the project. A report, no proof."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import anyio
import pytest

from continuity.capture import capture_id
from continuity.handoff import Handoff, accept_handoff, note_body, note_metadata
from continuity.memory import notes
from continuity.memory.calls import payload
from continuity.memory.connection import MemoryConnection
from continuity.memory.notes import WriteRequest
from continuity.notes import ENTITIES, Entity, schema_notes
from continuity.profile import GitFacts, PullRequest, Repository, route
from journal.ids import EntryId, SessionId
from tests.fakes.real_memory import SECONDS, RealMemory, real_memory

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

HANDOFF = """\
## Objective

Ship the parser.

## Decisions

- Use PEG, because it is small.

## Verified work

- Verified: 12 tests pass.

## Unfinished work

- Blocked: waits for the grammar.

## Next action

Review parser.py.

END-OF-HANDOFF
"""
TASK = "# Parser\n\n- [description] Write the parser.\n- [status] active\n- [steps] Grammar\n- [current_step] 1\n"
DECISION = "# PEG\n\n- [decision] Use PEG.\n- [rationale] It is small.\n- supersedes [[LALR]]\n- affects [[Parser]]\n"
CODE = Repository(root="/w/one", repository="ada/one", project="any")
PULL = PullRequest(number="7", title="Parser", url="https://example.org/7", state="open", base="main", head="peg")
GIT = GitFacts(root="/w/one", branch="peg", sha="a" * 40, pull_request=PULL)


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RealMemory]:
    async with real_memory(tmp_path_factory.mktemp("basic-memory")) as running:
        yield running


def checkpoint(project: str, cwd: str) -> WriteRequest:
    """A checkpoint of work in `cwd`, made of what our own code makes of a handoff."""
    profile = route(Path(cwd), repositories=(CODE,), project=project)
    session, tip = SessionId("s" * 32), EntryId("00001234")
    identity = capture_id(project, session, "checkpoint", tip)
    handoff = accept_handoff(HANDOFF, 10_000)
    assert isinstance(handoff, Handoff)
    body = note_body(handoff, profile.kind, continues="main/tau/earlier", sources=("main/tau/other",))
    metadata = note_metadata(
        profile,
        project=project,
        capture_id=identity,
        session_id=session,
        source_tip=tip,
        trigger="cadence",
        started_ms=1_764_500_000_000,
        ended_ms=1_764_500_060_000,
        body=body,
        git=GIT if profile.kind == "coding" else None,
    )
    return WriteRequest(
        project=project,
        folder=profile.checkpoint_folder,
        title=f"tau-checkpoint-{identity[:20]}",
        content=body,
        note_type=profile.note_type,
        metadata=metadata,
    )


def other(project: str, note_type: Entity, title: str, text: str, /, **metadata: str) -> WriteRequest:
    """A note as another agent writes it."""
    return WriteRequest(
        project=project, folder="work", title=title, content=text, note_type=note_type, metadata=metadata
    )


def connection(memory: RealMemory) -> MemoryConnection:
    found = memory.link.connection
    assert found is not None
    return found


async def project_with_schemas(memory: RealMemory) -> str:
    """Make a project with our schema notes in it, put there as a file each, as a person or a setup would."""
    project = await memory.project()
    for note in schema_notes():
        await memory.call("write_note", project=project, title=note.title, directory="schemas", content=note.text)
    return project


async def report(memory: RealMemory, project: str, entity: str, count: int) -> Any:
    """What the server says of `count` notes of a type, once it has them all."""
    with anyio.fail_after(SECONDS):
        while True:
            asked = {"note_type": entity, "project": project, "output_format": "json"}
            said: Any = payload(await memory.call("schema_validate", **asked))
            if said.get("total_notes") == count:
                return said
            await anyio.sleep(0.1)


async def test_nothing_is_missing_in_checkpoints_tasks_and_decisions(memory: RealMemory) -> None:
    project = await project_with_schemas(memory)
    written = (
        checkpoint(project, "/w/thesis"),
        checkpoint(project, "/w/one/src"),
        other(project, "task", "Parser", TASK, status="active"),
        other(project, "decision", "PEG", DECISION, status="open", decided="2026-11-30", project=project),
    )
    assert tuple(each.note_type for each in written) == ENTITIES
    for each in written:
        assert (await notes.write_note(connection(memory), each, SECONDS)).outcome == "accepted"
    for entity in ENTITIES:
        said = await report(memory, project, entity, 1)
        (result,) = said["results"]
        found = (result["schema_entity"], result["warnings"], result["errors"], result["unmatched_observations"])
        assert found == (entity, [], [], {})


async def test_what_a_schema_asks_for_and_a_note_lacks_is_warned_of(memory: RealMemory) -> None:
    project = await project_with_schemas(memory)
    bare = other(project, "coding_session", "Bare", "# Bare\n\n- [summary] no git\n", project=project, status="lost")
    await notes.write_note(connection(memory), bare, SECONDS)
    said = await report(memory, project, "coding_session", 1)
    warned = "\n".join(said["results"][0]["warnings"])
    assert said["results"][0]["passed"], "a schema of ours never makes a note an error"
    assert all(name in warned for name in ("repository", "git_sha", "branch", "status")), warned
