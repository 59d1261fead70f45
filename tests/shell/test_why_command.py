"""`/bm-why` tells from the session's journal what a brief put into context and why. No model, and no server, is asked."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.shell.explaining import NOTHING
from continuity.tau.why_command import why
from journal.events import BriefDelivered
from tests.fakes.host import Conversation
from tests.replay.kit import run
from tests.shell.rig import Rig, Talk, rig, until, unwritable

TASK = "Mend the foghorn."
MINUTE = 60_000


async def told(process: Rig, talk: Talk, words: str = "") -> str:
    return await process.told(lambda: why(talk.session, process.owner, words))


async def briefed(process: Rig, conversation: Conversation | None = None) -> Talk:
    process.memory.put("tasks/foghorn.md", TASK, type="task", status="active")
    process.memory.put("tasks/done.md", "Buy oil.", type="task", status="done")
    talk = await process.open(conversation)
    await put_in(talk, "Please mend the foghorn")
    return talk


async def put_in(talk: Talk, text: str) -> None:
    prompted = await talk.turn(text)
    assert prompted.brief is not None
    talk.conversation.brief(prompted.brief.brief.sha256)
    await talk.session.delivered(prompted.brief)


async def test_the_newest_brief_is_told_note_by_note(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await briefed(process)
        process.clock.advance(3 * MINUTE)
        assert await told(process, talk) == snapshot


async def test_after_a_compaction_the_checkpoint_is_told_with_its_evidence_and_revision(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await briefed(process)
        await talk.settle()
        talk.conversation.compact()
        await talk.prompt("and on")
        await talk.settle()
        await put_in(talk, "and further on")
        checkpoint = talk.state.checkpoint
        assert checkpoint is not None
        text = await told(process, talk)
        assert f"checkpoint  {checkpoint.capture_id[:10]}, evidence read" in text
        revision = process.memory.notes[str(checkpoint.path)]["checksum"][:10]
        assert f"main: {checkpoint.path}, " in text
        assert f"revision {revision}" in text


async def test_an_earlier_brief_is_told_by_its_row(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await briefed(process)
        first = await told(process, talk)
        await talk.settle()
        talk.conversation.compact()
        await talk.prompt("and on")
        await talk.settle()
        await put_in(talk, "and further on")
        place = first.partition("row ")[2].partition(",")[0]
        assert await told(process, talk) != first
        assert await told(process, talk, place) == first


async def test_it_says_what_the_command_line_says_of_the_same_journal(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await briefed(process)
        here = (await told(process, talk)).splitlines()
        there = run("why", "--brief", "session", "--in", talk.path).out.splitlines()
        assert there[2:] == here[1:]


async def test_it_asks_neither_model_nor_server_and_records_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await briefed(process)
        connection = process.link.connection
        assert connection is not None
        os.killpg(connection.process.process_group, signal.SIGKILL)
        await connection.wait_lost()
        await talk.settle()
        asked, position = len(process.memory.requests()), talk.state.position
        assert "tasks/foghorn.md" in await told(process, talk)
        assert (len(process.memory.requests()), talk.state.position, process.mind.asked) == (asked, position, [])


async def test_asked_twice_it_answers_twice(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await briefed(process)
        assert await told(process, talk) == await told(process, talk)


async def test_it_answers_while_nothing_can_be_recorded(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await briefed(process)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            assert "tasks/foghorn.md" in await told(process, talk)


async def test_before_the_first_brief_it_says_so(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert why(talk.session, process.owner, "") == (
            "No brief was put into context yet: this session's journal begins with the first prompt."
        )
        await talk.turn("hello")
        assert await told(process, talk) == NOTHING
        assert talk.events(BriefDelivered) == []


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (
            "the foghorn",
            "'the foghorn' names no row: /bm-why [BRANCH@N]. A brief's own row stands in what /bm-why says.",
        ),
        ("1@0", "This session's journal has no row 1@0. Nothing was read."),
        ("1@9999", "This session's journal has no row 1@9999. Nothing was read."),
        ("7@1", "This session's journal has no row 7@1. Nothing was read."),
    ],
)
async def test_what_names_no_row_is_refused(tmp_path: Path, words: str, answer: str) -> None:
    async with rig(tmp_path) as process:
        talk = await briefed(process)
        assert why(talk.session, process.owner, words) == answer
        assert process.voice.answers == []


async def test_while_the_journal_is_being_opened_it_follows(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, capture_knowledge=False) as process:
        await briefed(process, conversation)
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = process.session(conversation)
        for words in ("", "9@9"):
            assert why(talk.session, process.owner, words) is None
        await talk.session.start("startup")
        await until(lambda: len(process.voice.answers) == 2, "both answers")
        assert any("tasks/foghorn.md" in answer for answer in process.voice.answers)
        assert "This session's journal has no row 9@9. Nothing was read." in process.voice.answers


async def test_without_a_journal_it_says_why(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        assert why(None, process.owner, "") == "This session has no file, so no brief was put into it."
        talk = process.session(conversation)
        await talk.session.start("startup")
        await talk.turn("hello")
        async with rig(tmp_path) as second:
            other = await second.open(conversation)
            answer = why(other.session, second.owner, "") or ""
            assert answer.startswith("What was put into context cannot be told: ")
