"""A note goes to the one project that was meant, or stays here: no project, none of the name, several, one renamed meanwhile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from continuity.shell.runner import REST_MS
from journal.events import CaptureProbed, WriteIntended
from tests.fakes.memory_server import READS
from tests.shell.rig import Rig, rig, until

HERE: dict[str, Any] = {"name": "main", "source": "local", "external_id": "1", "path": "/notes"}
TEAM: dict[str, Any] = {"name": "main", "source": "cloud", "external_id": "2", "qualified_name": "team/main"}
OTHER: dict[str, Any] = {"name": "main", "source": "cloud", "external_id": "3", "qualified_name": "other/main"}


def asked(process: Rig, tool: str) -> list[dict[str, Any]]:
    """The arguments of every call of `tool`."""
    calls = map(json.loads, (process.memory.folder / "calls.jsonl").read_text().splitlines())
    return [call["params"]["arguments"] for call in calls if call["name"] == tool]


async def test_of_several_projects_of_one_name_none_is_written_to_and_each_is_named(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(projects=[HERE, TEAM, OTHER])
        talk = await process.open()
        await talk.turn("light the lamp")
        await talk.settle()
        (said,) = process.voice.on("project")
        assert "several projects 'main'" in said
        assert "main (local), team/main (cloud), other/main (cloud)" in said
        assert [capture.status for capture in talk.state.captures] == ["ready"]
        assert asked(process, "write_note") == []


async def test_of_several_projects_of_one_name_none_is_asked_until_it_is_one_again(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        process.memory.faults(projects=[HERE, TEAM])
        talk = await process.open()
        assert (await talk.turn("mend the foghorn")).brief is None
        (said,) = process.voice.on("recall-project:main")
        assert "nothing is recalled from any. They are: main (local), team/main (cloud). Name one" in said
        assert {name for name in process.memory.calls() if name in READS} == {"list_memory_projects"}
        process.memory.faults(projects=[HERE, TEAM | {"name": "ours"}])
        process.clock.advance(REST_MS)
        await talk.settle()
        brief = (await talk.turn("mend the foghorn")).brief
        assert brief is not None
        assert "Mend the foghorn." in brief.brief.text


async def test_a_shared_project_of_an_unclear_name_costs_itself_alone(tmp_path: Path) -> None:
    async with rig(tmp_path, read_projects=("shared",), capture_knowledge=False) as process:
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        process.memory.faults(projects=[HERE, TEAM | {"name": "shared"}, OTHER | {"name": "shared"}])
        talk = await process.open()
        assert (await talk.turn("go on")).brief is not None
        (said,) = process.voice.on("recall-project:shared")
        assert "Name one of them with its workspace in `read_projects`" in said
        assert "shared" not in {call.get("project") for call in asked(process, "search_notes")}


async def test_a_name_with_its_workspace_is_one_project(tmp_path: Path) -> None:
    async with rig(tmp_path, project="team/main") as process:
        process.memory.faults(projects=[HERE, TEAM, OTHER])
        talk = await process.open()
        await talk.saved("light the lamp")
        assert [call["project"] for call in asked(process, "write_note")] == ["team/main"]
        assert process.voice.on("project") == []
        assert talk.state.connection is not None
        assert talk.state.connection.project_source == "cloud"


async def test_what_waited_is_sent_once_the_name_is_one_projects_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(projects=[HERE, TEAM])
        talk = await process.open()
        await talk.turn("light the lamp")
        await talk.settle()
        process.memory.faults(projects=[HERE, TEAM | {"name": "ours"}])
        process.clock.advance(REST_MS)
        await talk.saved("trim it")
        assert {call["project"] for call in asked(process, "write_note")} == {"main"}


async def test_a_project_renamed_during_the_session_is_noticed_before_anything_is_sent_to_its_old_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("continuity.shell.link.LISTED_SECONDS", 0.0)
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("light the lamp")
        process.memory.faults(projects=[HERE | {"name": "notes"}])
        await talk.turn("trim it")
        await talk.settle()
        (said,) = process.voice.on("project")
        assert "no project 'main'" in said
        assert "It has: notes." in said
        assert len(asked(process, "write_note")) == 1
        assert [capture.status for capture in talk.state.captures] == ["ready"]


async def test_a_doubt_is_read_for_in_the_project_it_was_written_to_whatever_the_settings_say_now(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(
            projects=[HERE, HERE | {"name": "notes", "external_id": "9"}], write_note=["store", "text"]
        )
        talk = await process.open()
        await talk.turn("light the lamp")
        await until(lambda: talk.events(WriteIntended), "an intent")
        talk.session.desk.profile = replace(talk.session.desk.profile, project="notes")
        await until(lambda: talk.state.checkpoint, "a verdict")
        assert talk.events(CaptureProbed)[0].verdict == "present_same"
        assert {call["project"] for call in asked(process, "read_note")} == {"main"}
        assert [intent.project for intent in talk.events(WriteIntended)] == ["main"]


async def test_a_coding_profile_without_a_project_writes_and_recalls_nothing_though_the_top_has_one(
    tmp_path: Path,
) -> None:
    ours = {"root": str(tmp_path / "work"), "repository": "ada/one"}
    async with rig(tmp_path, repositories=(ours,)) as process:
        talk = await process.open()
        await talk.turn("x" * 10_000)
        await talk.session.request("command")
        await talk.settle()
        assert not process.memory.calls()
        assert "no project configured" in talk.page
