"""A brief that is due also holds what matches the prompt's topic, if memory says it in time; nothing else waits for it."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from journal.events import BriefDelivered, RecallAnswered, RecallFailed, RecallPlanned
from journal.reader import open_reader
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, Rig, Talk, rig, until

LISTED = 20
"""Active tasks that a listing tells at most."""
PROMPT = "Please mend the foghorn"
HIDDEN = "Grease its bellows, or the foghorn stays silent."


async def crowded(process: Rig, conversation: Conversation | None = None) -> Talk:
    """A session in a project with more active tasks than a listing tells; the one about the foghorn is not listed."""
    for number in range(LISTED):
        process.memory.put(f"tasks/{number:02}.md", f"Chore {number}.", type="task", status="active")
    process.memory.put("tasks/hidden.md", HIDDEN, type="task", status="active")
    return await process.open(conversation)


def matching(prompted: object) -> str:
    """The part of a brief about the prompt's topic; what was changed lately stands behind it."""
    _, _, found = text_of(prompted).partition("## Matching tasks and decisions")
    return found.partition("## Recently changed notes")[0]


def text_of(prompted: object) -> str:
    brief = getattr(prompted, "brief", None)
    return brief.brief.text if brief is not None else ""


def topics(talk: Talk) -> list[RecallPlanned]:
    return [planned for planned in talk.events(RecallPlanned) if planned.topic_sha256 is not None]


def searched(process: Rig) -> list[str]:
    """What was searched by words."""
    asked = [request["params"].get("arguments", {}) for request in process.memory.requests()]
    return [arguments["query"] for arguments in asked if arguments.get("search_type") == "text"]


async def test_a_task_no_listing_told_is_in_the_brief_of_a_prompt_about_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await crowded(process)
        prompted = await talk.prompt(PROMPT)
        assert HIDDEN in matching(prompted)
        assert "## Active tasks" in text_of(prompted).partition("## Matching")[0]


async def test_a_prompt_about_something_else_does_not_bring_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await crowded(process)
        prompted = await talk.prompt("Please paint the door")
        assert "## Active tasks" in text_of(prompted)
        assert matching(prompted) == ""


async def test_a_topic_is_on_record_by_its_digest_and_kept_masked_beside_the_chain(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await crowded(process)
        await talk.prompt("Please mend the foghorn, its password=hunter22")
        (planned,) = topics(talk)
        assert [query.name for query in planned.queries] == ["topic-tasks"]
        with open_reader(talk.path) as reader:
            assert planned.topic_sha256 is not None
            assert reader.body(planned.topic_sha256) == "mend foghorn password"
            assert not [row for row in reader.rows() if "foghorn" in row.payload]


async def test_every_question_about_a_topic_is_answered_on_record(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.put("decisions/oil.md", "Oil for the foghorn.", type="decision", status="open")
        talk = await crowded(process)
        await talk.prompt(PROMPT)
        answered = {answer.name: answer for answer in talk.events(RecallAnswered)}
        assert [hit.file_path for hit in answered["topic-decisions"].hits] == ["decisions/oil.md"]
        (planned,) = topics(talk)
        assert {query.name: query.query_sha256 for query in planned.queries} == {
            name: answered[name].query_sha256 for name in ("topic-tasks", "topic-decisions")
        }


async def test_what_another_extension_sends_has_no_topic(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await crowded(process)
        await talk.session.settled(talk.conversation.user("Mend the foghorn"), interrupted=False)
        prompted = await talk.session.prompted(None, characters=5, typed=False)
        assert prompted.brief is not None
        assert searched(process) == []


async def test_a_prompt_for_which_no_brief_is_due_asks_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await crowded(process)
        first = await talk.turn("Paint the door")
        assert first.brief is not None
        await talk.session.delivered(first.brief)
        before = process.memory.calls()["search_notes"], len(talk.events(RecallPlanned))
        assert (await talk.prompt(PROMPT)).brief is None
        assert (process.memory.calls()["search_notes"], len(talk.events(RecallPlanned))) == before


async def test_where_no_task_is_active_and_no_decision_open_nothing_is_asked_about_a_topic(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        for _ in range(3):
            await talk.turn(PROMPT)
        assert searched(process) == []
        assert topics(talk) == []


async def test_an_answer_about_a_topic_that_is_late_costs_itself_and_is_named(tmp_path: Path) -> None:
    async with rig(tmp_path, recall_wait_seconds=0.2) as process:
        talk = await crowded(process)
        process.memory.faults(search_notes=["silent"])
        with anyio.fail_after(2):
            prompted = await talk.prompt(PROMPT)
        assert "Chore 1." in text_of(prompted)
        assert prompted.brief is not None
        assert prompted.brief.complete
        assert [(failed.name, failed.error) for failed in talk.events(RecallFailed)] == [("topic-tasks", "timeout")]


async def test_a_topic_nobody_answered_is_not_waited_for_again(tmp_path: Path) -> None:
    async with rig(tmp_path, recall_wait_seconds=0.2) as process:
        talk = await crowded(process)
        process.memory.faults(search_notes=["silent"])
        await talk.turn(PROMPT)
        started = anyio.current_time()
        assert (await talk.prompt("Mend the other foghorn")).brief is not None
        assert anyio.current_time() - started < 0.2
        assert len(topics(talk)) == 1


async def test_what_arrived_is_in_the_brief_when_the_rest_is_late_and_the_rest_follows(tmp_path: Path) -> None:
    async with rig(tmp_path, recall_wait_seconds=0.3) as process:
        process.memory.faults(recent_activity=["hold", "store"])
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        assert await process.link.up(BOUND)
        prompted = await talk.prompt("hello")
        assert prompted.brief is not None
        assert "Mend the foghorn." in prompted.brief.brief.text
        assert not prompted.brief.complete
        talk.conversation.brief(prompted.brief.brief.sha256)
        await talk.session.delivered(prompted.brief)
        assert talk.state.recall.due == "start"
        process.memory.put("notes/log.md", "A log.", type="note")
        process.memory.release()
        await talk.settle()
        again = await talk.prompt("and on")
        assert "A log." in text_of(again)
        assert again.brief is not None
        assert again.brief.complete


async def test_a_prompt_that_does_not_wait_takes_no_half_of_a_round(tmp_path: Path) -> None:
    async with rig(tmp_path, recall_wait_seconds=0.2) as process:
        process.memory.faults(recent_activity=["silent"], search_notes=["hold", "store"])
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        assert await process.link.up(BOUND)
        assert (await talk.turn("one")).brief is None
        process.memory.release()
        (round_,) = talk.session.runner.recaller._asking.values()  # pyright: ignore[reportPrivateUsage] # nothing else tells
        await until(lambda: "tasks" in round_.answers, "an answer")
        assert (await talk.turn("two")).brief is None


async def test_what_the_model_still_sees_is_not_put_in_again_for_another_topic(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await crowded(process)
        prompted = await talk.turn(PROMPT)
        assert prompted.brief is not None
        assert prompted.brief.ahead_sha256 != prompted.brief.brief.sha256
        talk.conversation.brief(prompted.brief.ahead_sha256)
        await talk.session.delivered(prompted.brief)
        asked = searched(process)
        for _ in range(3):
            await talk.session.start("resume")
            assert talk.state.recall.due is not None
            await talk.settle()
            assert (await talk.turn("Do chore 7")).brief is None
        assert searched(process) == asked
        assert len(talk.events(BriefDelivered)) == 1


@pytest.mark.parametrize(
    "prompt", ['"foghorn AND (', "NEAR(foghorn OR", "tag:foghorn* -- ^oil", "🚨foghorn🚨 don't\x00"]
)
async def test_no_prompt_costs_the_brief_its_topic(tmp_path: Path, prompt: str) -> None:
    async with rig(tmp_path) as process:
        talk = await crowded(process)
        assert HIDDEN in matching(await talk.prompt(prompt))
        assert talk.events(RecallFailed) == []
