"""What is slow, missing or strange in memory costs a brief itself alone, is named once, and is on record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from continuity.recall import EPOCH_DATE
from continuity.shell.asking import MOST_READ
from journal.events import BriefDelivered, RecallAnswered, RecallFailed, RecallPlanned
from journal.events.recall import ROUND
from tests.fakes.host import Conversation
from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import BOUND, Rig, Talk, rig, until

ROUNDS = {"search_notes": "questions", "recent_activity": "questions", "read_note": "notes"}
"""What is asked first, and what is read of the answers."""
TASK, DECISION, EARLIER = "Mend the foghorn.", "Colza or petroleum?", "The lamp was trimmed."


def furnish(process: Rig, root: Path) -> None:
    """A task, a decision, and what an earlier session in this folder left; that one must be read to be judged."""
    process.memory.put("tasks/foghorn.md", TASK, type="task", status="active")
    process.memory.put("decisions/oil.md", DECISION, type="decision", status="open")
    process.memory.put("tau/earlier.md", EARLIER, type="session", cwd=str(root / "work"), session_id="earlier")


def known(*names: str) -> dict[str, Any]:
    """The server has these projects alone."""
    return {"only": names, "projects": [{"name": name, "source": "local"} for name in names]}


async def started(process: Rig, conversation: Conversation | None = None) -> Talk:
    talk = process.session(conversation or Conversation())
    await talk.session.start("startup")
    assert await process.link.up(BOUND)
    return talk


async def recalled(talk: Talk, text: str = "go on") -> str:
    composed = (await talk.turn(text)).brief
    if composed is None:
        return ""
    talk.conversation.brief(composed.brief.sha256)
    await talk.session.delivered(composed)
    return composed.brief.text


def asked(process: Rig, name: str) -> int:
    return sum(count for tool, count in process.memory.calls().items() if ROUNDS.get(tool) == name)


def warned(process: Rig, about: str) -> list[str]:
    return [text for topic, text, _ in process.voice.notices if topic.startswith(f"recall-{about}:")]


async def test_questions_are_asked_together_and_so_are_the_notes_read(tmp_path: Path) -> None:
    briefs: list[str] = []
    async with rig(tmp_path, recall_wait_seconds=BOUND) as process:
        furnish(process, tmp_path)
        process.memory.faults(**{tool: [{"hold": name}, "store"] for tool, name in ROUNDS.items()})
        talk = await started(process)

        async def prompt() -> None:
            briefs.append(await recalled(talk))

        async with anyio.create_task_group() as group:
            group.start_soon(prompt)
            await until(lambda: asked(process, "questions") == 5, "every question, before any is answered")
            process.memory.release("questions")
            await until(lambda: asked(process, "notes") == 3, "the reading of every note, before any is read")
            process.memory.release("notes")
    assert [text for text in (TASK, DECISION, EARLIER) if text not in briefs[0]] == []


async def test_notes_that_nobody_reads_in_time_cost_a_brief_themselves_alone(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=1.0) as process:
        furnish(process, tmp_path)
        process.memory.faults(read_note=["silent"])
        talk = await started(process)
        brief = await recalled(talk)
        assert TASK in brief
        assert EARLIER not in brief


async def test_one_silent_question_keeps_no_other_answers_notes_from_being_read(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=3.0) as process:
        furnish(process, tmp_path)
        process.memory.faults(recent_activity=["silent"])
        talk = await started(process)
        await talk.settle()
        brief = await recalled(talk)
        assert [text for text in (TASK, DECISION, EARLIER) if text not in brief] == []
        assert [(one.name, one.error) for one in talk.events(RecallFailed)] == [("recent", "timeout")]


async def test_notes_that_cannot_be_read_cost_themselves(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        furnish(process, tmp_path)
        process.memory.faults(read_note=["rpc-error"])
        talk = await started(process)
        await talk.settle()
        brief = await recalled(talk)
        assert [text in brief for text in (TASK, DECISION, EARLIER)] == [True, True, False]
        assert talk.events(RecallFailed) == []


async def test_a_note_that_an_index_lists_and_nobody_can_read_costs_itself(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        furnish(process, tmp_path)
        process.memory.put("tasks/stale.md", "Sell the foghorn.", type="task", status="active")
        process.memory.faults(gone=["tasks/stale.md", "tau/earlier.md"])
        talk = await started(process)
        await talk.settle()
        brief = await recalled(talk)
        assert [text in brief for text in (TASK, DECISION, EARLIER, "Sell")] == [True, True, False, False]


async def test_what_a_brief_is_made_without_is_named_once(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=1.0) as process:
        furnish(process, tmp_path)
        process.memory.faults(recent_activity=["silent"])
        talk = await started(process)
        await talk.settle()
        for _ in range(2):
            await recalled(talk)
            talk.conversation.compact()
            await talk.settle()
        assert len(talk.events(RecallFailed)) == 2
        assert warned(process, "without") == [
            "Recall goes on without notes changed lately: memory did not answer (timeout). /bm-orient asks again."
        ]


async def test_a_read_project_that_is_missing_is_named_and_costs_itself(tmp_path: Path) -> None:
    async with rig(tmp_path, read_projects=("team", "nots")) as process:
        furnish(process, tmp_path)
        process.memory.faults(**known("main", "team"))
        talk = await started(process)
        await talk.settle()
        brief = await recalled(talk)
        assert TASK in brief
        assert "## Shared sources (read-only)" in brief
        failed = [(one.name, one.error) for one in talk.events(RecallFailed)]
        assert failed == [(f"shared-{kind}:nots", "project-not-found") for kind in ("tasks", "decisions")]
        (said,) = warned(process, "project")
        assert said.startswith(
            "Basic Memory has no project 'nots'; everything else is recalled. It has: 'main', 'team'."
        )


async def test_a_misspelt_project_is_named_in_words_and_not_in_the_servers(tmp_path: Path) -> None:
    async with rig(tmp_path, project="nots") as process:
        process.memory.faults(**known("main"))
        talk = await started(process)
        assert await recalled(talk) == ""
        (said,) = warned(process, "project")
        assert said.startswith("Basic Memory has no project 'nots', so nothing is recalled from it. It has: 'main'.")
        assert "somebody who knows" not in str(process.voice.notices)
        assert talk.events(RecallFailed)[-1].name == ROUND


async def test_a_round_that_nobody_answered_is_said_as_that(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(**{tool: ["rpc-error"] for tool in ROUNDS})
        talk = await started(process)
        await talk.settle()
        (said,) = warned(process, "without")
        assert said.startswith("Memory answered no question of recall (")
        assert talk.session.state is None


async def test_an_empty_project_brings_nothing_into_context(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await started(process)
        await talk.settle()
        assert await recalled(talk) == ""
        assert talk.events(BriefDelivered) == []
        assert {answer.name: answer.hits for answer in talk.events(RecallAnswered)} == {
            query.name: () for query in talk.events(RecallPlanned)[0].queries
        }
        assert all(answer.authoritative for answer in talk.events(RecallAnswered))


async def test_what_a_server_says_to_newcomers_is_no_note(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(index="required", recent_activity=["text"], build_context=["text"])
        talk = await started(process)
        await talk.settle()
        assert await recalled(talk) == ""
        assert not any(answer.authoritative for answer in talk.events(RecallAnswered))
        assert talk.events(RecallFailed) == []


@pytest.mark.parametrize("limit", [100, 12_000])
async def test_a_thousand_candidates_stay_within_the_bound_of_a_brief_and_of_reads(tmp_path: Path, limit: int) -> None:
    async with rig(tmp_path, recall_chars=limit) as process:
        process.memory.fill((f"tasks/{n}.md" for n in range(500)), "Chore. " * 40, type="task", status="active")
        process.memory.fill((f"notes/{n}.md" for n in range(500)), "A log. " * 40, type="note")
        talk = await started(process)
        prompted = await talk.prompt("go on")
        asked = process.memory.calls()
        assert len(prompted.brief.brief.text if prompted.brief else "") <= limit
        assert (prompted.brief is None) == (limit == 100)
        assert asked["read_note"] <= 2 * MOST_READ
        assert asked["search_notes"] + asked["recent_activity"] <= 8


async def test_a_type_is_asked_for_as_a_type_and_a_question_without_words_from_the_epoch_on(tmp_path: Path) -> None:
    async with rig(tmp_path, read_projects=("team",)) as process:
        furnish(process, tmp_path)
        await recalled(await started(process), "Mend the foghorn")
        asked = [r["params"]["arguments"] for r in process.memory.requests() if r["name"] == "search_notes"]
        filtered = [arguments for arguments in asked if "query" not in arguments]
        assert len(filtered) == 6
        assert {arguments["after_date"] for arguments in filtered} == {EPOCH_DATE}
        assert all(arguments["note_types"] for arguments in asked)
        assert [a for a in asked if {"type", "note_type"} & set(a.get("metadata_filters", ()))] == []


async def test_a_long_session_hides_no_other(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        for name, day, count in (("alpha", 2, 2), ("gamma", 4, 20), ("old", 1, 1), ("beta", 3, 40)):
            told = {"type": "session", "scope": str(tmp_path / "work"), "session_id": name}
            paths = [f"tau/{name}-{n:02}.md" for n in range(count)]
            began = f"2026-01-0{day}"
            process.memory.fill(paths, f"Of {name}:", **told, started=began, ended=f"{began}T12:00:00+00:00")
        process.memory.newest_first()
        brief = await recalled(await started(process))
        assert [text for text in ("alpha", "beta", "gamma", "old") if f"Of {text}: tau/{text}-" not in brief] == []
        assert brief.count("Of ") == 4
        assert process.memory.calls()["read_note"] < 80


async def test_ten_prompts_and_five_reloads_leave_one_brief(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        furnish(process, tmp_path)
        talk = await started(process)
        briefs = [await recalled(talk, f"prompt {number}") for number in range(10)]
        for number in range(5):
            await talk.session.start("reload")
            briefs.append(await recalled(talk, f"after reload {number}"))
        assert TASK in briefs[0]
        assert set(briefs[1:]) == {""}
        assert len(talk.events(BriefDelivered)) == 1


async def test_a_reload_before_the_first_prompt_leaves_its_brief_due(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        furnish(process, tmp_path)
        talk = await started(process)
        await talk.session.start("reload")
        assert TASK in await recalled(talk)


async def test_two_sessions_of_one_process_have_each_its_brief(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        furnish(process, tmp_path)
        first = await process.open(Conversation("a"), "first")
        second = await process.open(Conversation("b"), "second")
        assert TASK in await recalled(first)
        assert TASK in await recalled(second)


def furnished(memory: FakeMemory, secret: str) -> None:
    memory.put(f"tasks/{secret}.md", f"The key is {secret}.", type="task", status="active", description=secret)
    memory.put(f"notes/{secret}.md", f"Use {secret}. " * 400, type="note", owner=secret)
    memory.put(f"other/{secret}.md", secret, type="coding_session", repository="eve/other", branch=secret)


async def test_a_credential_in_a_recalled_note_reaches_neither_brief_nor_journal_nor_notice(tmp_path: Path) -> None:
    secret = "ghp_" + "abcdefghijklmnopqrstuvwxyz0123456789"
    async with rig(tmp_path, recall_chars=2_000) as process:
        furnished(process.memory, secret)
        talk = await started(process)
        await talk.settle()
        brief = await recalled(talk)
        assert brief.count("[masked:") >= 3
        assert secret not in brief + str(process.voice.notices)
        (fact,) = talk.events(BriefDelivered)
        assert len(fact.sources) == 2
    kept = [path.read_bytes() for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert [data for data in kept if secret.encode() in data] == []
    assert any(b"tasks/[masked:" in data for data in kept)
