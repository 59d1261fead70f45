"""Trouble is said and its end is said, so the next trouble is said too; what nobody foresaw ends no session's actor."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from continuity.shell.opening import unreadable
from journal.errors import (
    ChainBroken,
    EventDamaged,
    JournalDamaged,
    JournalError,
    JournalMissing,
    JournalNewer,
    NotAJournal,
    UnknownEvent,
)
from journal.events import CheckpointReferenced, OperationFailed, WorkBegun
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, crash, rig, until, unwritable

AGAIN = "Memory is reachable again."


async def test_a_second_outage_of_the_server_is_said_as_the_first_was(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await until(lambda: process.voice.on("link"), "the first outage")
        process.memory.faults()
        assert await process.link.up(BOUND)
        await talk.saved("one")
        process.memory.faults(initialize="exit")
        await crash(process)
        assert await process.link.up(BOUND) is None
        await until(lambda: len(process.voice.on("link")) == 3, "the second outage")
        first, end, second = process.voice.on("link")
        assert (first, end) == (second, AGAIN)


async def test_a_server_that_never_failed_is_not_called_reachable_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        assert process.voice.on("link") == []


async def test_a_second_time_that_nothing_can_be_recorded_is_said_as_the_first_was(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        for number in range(2):
            async with unwritable(ledger.journal):
                await talk.prompt(f"into the void {number}")
            await talk.prompt(f"on record {number}")
        first, end, second, _ = process.voice.on("journal")
        assert first == second
        assert end == "Continuity records again."


async def test_that_recall_had_to_wait_is_said_anew_after_it_went_on(tmp_path: Path) -> None:
    async with rig(tmp_path, recall_wait_seconds=0.1) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.prompt("one")
        await until(lambda: process.voice.on("link"), "an outage")
        process.memory.faults()
        assert await process.link.up(BOUND)
        await talk.prompt("two")
        process.memory.faults(initialize="exit")
        await crash(process)
        talk.conversation.compact()
        await talk.prompt("three")
        late, on, again = process.voice.on("recall")
        assert (late, on) == (again, "Memory is connected; recall goes on.")


async def test_an_actor_outlives_what_nobody_foresaw_and_says_and_records_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.prompt("one")
        asked: list[int] = []

        def every_other_time() -> int:
            asked.append(1)
            return 1_000_000 // (1 - len(asked) % 2)

        monkeypatch.setattr(process.clock, "now_ms", every_other_time)
        talk.session.runner.wake()
        await until(lambda: talk.events(OperationFailed), "the record")
        talk.session.runner.wake()
        await until(lambda: len(asked) == 3, "another failure")
        monkeypatch.undo()
        await talk.saved("two")
        (failed,) = talk.events(OperationFailed)
        assert (failed.operation, failed.error) == ("runner", "ZeroDivisionError")
        assert len(process.voice.on("failure")) == 1


async def test_a_quit_waits_for_the_successor_of_a_server_that_died_if_something_is_kept_for_it(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence={"characters": 100_000, "minutes": 60}) as process:
        talk = await process.open()
        await talk.turn("one")
        process.mind.gate = anyio.Event()
        await talk.session.request("command")
        await process.mind.arrived.wait()
        await crash(process)
        process.mind.gate.set()
        assert await talk.session.ending(BOUND)
        assert talk.state.checkpoint is not None


async def test_a_prompt_goes_on_while_another_program_holds_the_journal_and_is_on_record_afterwards(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        entry = talk.conversation.user("two")
        foreign = sqlite3.connect(talk.path, isolation_level=None)
        foreign.execute("BEGIN IMMEDIATE")
        started = anyio.current_time()
        prompted = await process.owner.call(
            "prompt", lambda: talk.session.prompted(entry, characters=3, typed=True), within=0.2
        )
        assert prompted is None
        assert anyio.current_time() - started < 2
        foreign.execute("ROLLBACK")
        foreign.close()
        await until(lambda: len(talk.events(WorkBegun)) == 2, "the prompt on record")


async def test_a_host_that_comes_back_while_a_session_lets_go_keeps_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        talk.session.left()
        await talk.session.leave(lambda: None)
        talk.session.returned()
        await talk.session.end_when_idle()
        assert not talk.session.runner.closed
        await talk.saved("two")


async def test_an_actor_that_let_go_takes_no_hold_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        await talk.session.close("left-session")
        await talk.session.start("resume")
        assert talk.session.desk.ledger is None


async def test_a_checkpoint_without_evidence_is_not_referenced(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        conversation.compact()
        composed = (await talk.prompt("two")).brief
        assert composed is not None
        assert composed.checkpoint is not None
        for evidence in (None, composed.checkpoint.evidence):
            await talk.session.delivered(replace(composed, checkpoint=replace(composed.checkpoint, evidence=evidence)))
        assert [said.evidence for said in talk.events(CheckpointReferenced)] == [composed.checkpoint.evidence]


NEWER = "a later version of tau-continuity wrote it: it has format 9, and this version reads up to 1"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (JournalMissing(Path("j"), "SECRET"), "it is gone"),
        (NotAJournal(Path("j"), "SECRET"), "it is something else"),
        (JournalNewer(Path("j"), 9, 1), NEWER),
        (JournalDamaged(Path("j"), "SECRET"), "it is damaged"),
        (ChainBroken("SECRET", 2, 7), "its chain is broken at 2@7"),
        (UnknownEvent("SECRET", 1, 3), "a later version of tau-continuity wrote in it at 1@3"),
        (EventDamaged("SECRET"), "a row is damaged"),
    ],
)
def test_why_a_journal_cannot_be_read_is_said_in_our_own_words(error: JournalError, said: str) -> None:
    assert unreadable(error) == said


async def test_no_notice_quotes_the_database(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        path = talk.path
    with sqlite3.connect(path) as raw:
        raw.execute("PRAGMA writable_schema = ON")
        raw.execute("UPDATE sqlite_master SET sql = 'CREATE TABLE events (SECRET' WHERE name = 'events'")
    raw.close()
    async with rig(tmp_path) as process:
        await process.session(conversation).session.start("startup")
        (said,) = process.voice.on("journal")
        assert "SECRET" not in said
        assert "it is damaged" in said
