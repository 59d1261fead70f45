"""What another agent wrote by plain calls is recalled where it belongs; another repository's checkpoints come by no route."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import anyio.to_thread
import pytest

from continuity.memory.calls import Json
from journal.events import RecallAnswered
from tests.fakes.basic_memory import BasicMemoryHome
from tests.fakes.host import Conversation
from tests.fakes.other_agent import OtherAgent
from tests.fakes.real_memory import SECONDS, RealMemory, real_memory
from tests.shell.rig import Rig, Talk, rig

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

OURS, FOREIGN = "ada/one", "eve/other"
TASK = "Mend the valve of the foghorn."
DECISION = "Colza or petroleum for the lamp?"
FOREIGN_TASK = "Grease the winch of the lifeboat."
OLDER, NEWEST = "The lamp was trimmed at dusk.", "The lamp was trimmed at dawn."
UNBRANCHED = "The tower was surveyed before anything was built."
SCOPED, BY_FOLDER = "The thesis has a second chapter.", "The reading list was begun in this folder."
LONG, LISTED = "A session that was saved often, time", 10
"""It fills the listing of prior work with its own notes."""
SECRET = "zanzibar"
"""Stands in the foreign checkpoints and nowhere else."""

type Seen = tuple[str, dict[str, set[str]]]
"""A brief, and the paths of all that came back for it, by question."""


def told(number: int, **metadata: str) -> dict[str, str]:
    day = f"2026-03-0{number}T00:00:00+00:00"
    return {"project": "main", "started": day, "ended": day, "status": "open"} | metadata


def write(home: BasicMemoryHome, folder: str) -> None:
    """What the other agent leaves, by its own hand and with fields of its own."""
    with OtherAgent(home) as agent:
        legacy = {"claude_session_id": "c1", "repository": OURS, "cwd": "/elsewhere"}
        agent.write("coding_session", "Older", OLDER, folder="one", **told(1, **legacy))
        agent.write("coding_session", "Newest", NEWEST, folder="one", **told(2, **legacy))
        for number in range(LISTED + 2):
            text = f"{LONG} {number}"
            agent.write(
                "coding_session", f"Long {number:02}", text, folder="one", **told(9, **legacy, session_id="long")
            )
        agent.write("task", "Valve", TASK, folder="tasks", status="active")
        agent.write("task", "Winch", FOREIGN_TASK, folder="tasks", status="active", repository=FOREIGN)
        agent.write("decision", "Oil", DECISION, folder="decisions", status="open", repository=FOREIGN)
        agent.write("task", "Done", "Paint the door.", folder="tasks", status="done")
        agent.write("session", "Unbranched", UNBRANCHED, folder="one", **told(3, scope=OURS, session_id="u"))
        agent.write("session", "Thesis", SCOPED, folder="notes", **told(4, scope="thesis", session_id="t"))
        agent.write("session", "Reading", BY_FOLDER, folder="notes", **told(5, cwd=folder, session_id="r"))
        for number, scope in ((6, {"repository": FOREIGN}), (7, {"scope": FOREIGN})):
            note_type = "coding_session" if "repository" in scope else "session"
            text = f"The {SECRET} was unloaded. See [[Valve]] and [[Newest]]."
            agent.write(note_type, f"{SECRET} {number}", text, folder="other", **told(number, cwd=folder, **scope))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scope")
    (made / "work").mkdir()
    return made


@pytest.fixture(scope="module")
async def memory(root: Path) -> AsyncGenerator[RealMemory]:
    home = BasicMemoryHome(root / "memory")
    await anyio.to_thread.run_sync(write, home, str(root / "work"))
    async with real_memory(home.root) as running:
        yield running


def process(memory: RealMemory, root: Path, *, coding: bool) -> AbstractAsyncContextManager[Rig]:
    approved = {"kind": "coding", "root": str(root / "work"), "repository": OURS, "project": "main"}
    own: dict[str, Any] = {"repositories": (approved,)} if coding else {"scope": "thesis"}
    return rig(root, link=memory.link, timeout_seconds=SECONDS, recall_wait_seconds=SECONDS, **own)


async def recalled(talk: Talk, prompt: str) -> Seen:
    composed = (await talk.prompt(prompt)).brief
    came = {answer.name: {hit.file_path for hit in answer.hits} for answer in talk.events(RecallAnswered)}
    return composed.brief.text if composed is not None else "", came


async def seen(memory: RealMemory, root: Path, name: str, *, coding: bool) -> Seen:
    """The brief of a fresh session whose first prompt has the foreign checkpoints' own word in it."""
    async with process(memory, root, coding=coding) as running:
        return await recalled(await running.open(name=name), f"Where is the {SECRET}, the winch and the valve?")


async def test_a_repositorys_own_work_is_recalled_whoever_wrote_it(memory: RealMemory, root: Path) -> None:
    brief, _ = await seen(memory, root, "own", coding=True)
    assert [text for text in (TASK, DECISION, NEWEST, UNBRANCHED) if text not in brief] == []
    assert brief.count(LONG) == 1
    assert [text for text in (OLDER, "Paint the door", SCOPED, BY_FOLDER) if text in brief] == []


async def test_another_repositorys_tasks_and_decisions_in_the_project_are_recalled_and_its_checkpoints_are_not(
    memory: RealMemory, root: Path
) -> None:
    brief, came = await seen(memory, root, "foreign", coding=True)
    assert FOREIGN_TASK in brief
    assert DECISION in brief
    assert SECRET not in brief
    assert came["topic-tasks"] == {"tasks/Valve.md", "tasks/Winch.md"}


async def test_general_work_recalls_its_scope_and_its_folder_and_no_repositorys_checkpoint(
    memory: RealMemory, root: Path
) -> None:
    brief, came = await seen(memory, root, "general", coding=False)
    assert [text for text in (TASK, DECISION, FOREIGN_TASK, SCOPED, BY_FOLDER) if text not in brief] == []
    assert [text for text in (SECRET, LONG, OLDER, NEWEST, UNBRANCHED) if text in brief] == []
    assert {"other/zanzibar 6.md", "other/zanzibar 7.md", f"one/Long {LISTED + 1}.md"} <= came["recent"]


async def test_a_link_leads_to_no_checkpoint_of_another_repository(memory: RealMemory, root: Path) -> None:
    conversation = Conversation("edge")
    async with process(memory, root, coding=True) as running:
        talk = await running.open(conversation, "edge")
        await talk.saved("Begin the edge.")
        assert talk.state.checkpoint is not None
        ours = str(talk.state.checkpoint.permalink)
        await link(memory, "Edge task", f"Wind the clockwork.\n\n- about [[{ours}]]", "task", status="active")
        foreign = {"repository": FOREIGN, "session_id": "f"}
        await link(memory, "Edge", f"{SECRET}\n\n- derived_from [[{ours}]]", "coding_session", **told(8, **foreign))
        conversation.compact()
        brief, came = await recalled(talk, "go on")
    assert {"edge/Edge.md", "edge/Edge task.md"} <= came["neighbourhood"]
    assert "Wind the clockwork." in brief
    assert SECRET not in brief


async def link(memory: RealMemory, title: str, text: str, note_type: str, **metadata: str) -> None:
    asked: dict[str, Json] = {"title": title, "directory": "edge", "content": text, "note_type": note_type}
    await memory.call("write_note", project="main", metadata=metadata, **asked)
