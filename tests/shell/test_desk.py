"""What the performers share keeps every fact it is given: before the journal is made, and while it cannot be written."""

from pathlib import Path

import pytest

from continuity.commands import CommandRejected, Observe
from continuity.shell.desk import kept
from journal.chain import body_digest
from journal.events import MemoryLost, OperationFailed, WorkBegun
from tests.fakes.host import Conversation
from tests.shell.rig import names, rig, unwritable

BEGUN = WorkBegun(how="prompt", characters=1)
FAILED = OperationFailed(operation="probe", error="OSError", remedy="retry-later")


async def test_facts_from_before_the_journal_are_in_it_once_it_is_made(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = process.session(Conversation())
        await talk.session.start("startup")
        desk = talk.session.desk
        assert not await desk.note(FAILED)
        await talk.prompt("hello")
        assert names(talk.path)[:2] == ["session-opened", "operation-failed"]
        assert desk.waiting == []


async def test_a_command_without_a_journal_is_refused(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        with pytest.raises(CommandRejected, match="no journal"):
            await process.session(Conversation()).session.desk.apply(Observe(BEGUN))


async def test_a_fact_the_state_does_not_allow_is_dropped_and_counted_nowhere(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        await talk.prompt("hello")
        before = names(talk.path)
        assert await talk.session.desk.note(MemoryLost(connection=None, error="lost"))
        assert await talk.session.desk.note(BEGUN)
        assert names(talk.path) == [*before, "memory-lost", "work-begun"]


async def test_outcomes_are_recorded_in_their_order_once_the_disk_takes_them(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        await talk.prompt("hello")
        desk, ledger = talk.session.desk, talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            await desk.outcome(FAILED)
            await desk.outcome(BEGUN)
            assert len(desk.late) == 2
            assert not await desk.catch_up()
        assert await desk.catch_up()
        assert names(talk.path)[-2:] == ["operation-failed", "work-begun"]
        assert ledger.missing == 0


def test_a_kept_text_is_named_by_the_digest_of_what_is_kept() -> None:
    digest, bodies = kept("half a character: \ud800")
    ((named, text),) = bodies.items()
    assert named == digest == body_digest(text)
    text.encode("utf-8")
