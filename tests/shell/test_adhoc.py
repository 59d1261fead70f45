"""A call that may change something and belongs to no session's journal is recorded in one of this process's own, as any other."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import anyio
import pytest

from continuity.commands import CommandRejected
from continuity.pending import open_items
from continuity.places import process_session
from continuity.shell.adhoc import AdHoc
from continuity.shell.bridging import forward
from continuity.shell.desk import Desk
from continuity.shell.ledger import Ledger
from journal.disk import FORMAT, make_folder
from journal.events import SessionClosed, SessionOpened, ToolAnswered, ToolCalled
from journal.ids import JournalId
from journal.lock import JournalLock, lock_path
from journal.reader import open_reader
from journal.row import Header
from replay.audit import audit
from tests.fakes.host import Conversation
from tests.shell.calls import read, text_of, write
from tests.shell.rig import Rig, names, recorded, replayed, rig, until, unwritable


class Apart:
    """One process's ad-hoc journal, as the extension uses it."""

    def __init__(self, process: Rig) -> None:
        self.process = process
        self.adhoc = AdHoc(process.writer, process.clock, process.voice, host="host 1", version="0.1.0")
        self.path = process.places.adhoc(process.writer.writer)

    @property
    def recorder(self) -> Callable[[], Awaitable[Desk]]:
        process = self.process
        profile = process.settings.profile(Path("/work"), Path("/home"))
        return partial(self.adhoc.desk, process.link, process.places, profile, process.settings)

    async def write(self, seconds: float = 10.0) -> str:
        reply = await forward(self.process.link, None, write(seconds), elsewhere=self.recorder)
        return text_of(reply)


async def test_a_call_without_a_session_is_on_disk_before_it_leaves_and_its_outcome_after(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        process.memory.faults(write_note=["hold", "store"])
        async with anyio.create_task_group() as group:
            group.start_soon(apart.write)
            await until(lambda: process.memory.calls()["write_note"] == 1, "the call")
            assert names(apart.path) == ["session-opened", "memory-connected", "tool-called"]
            process.memory.release()
        await apart.adhoc.close("quit")
        assert names(apart.path)[3:] == ["tool-answered", "session-closed"]
        assert [answer.outcome for answer in recorded(apart.path, ToolAnswered)] == ["accepted"]


async def test_the_journal_says_whose_it_is_and_owes_nothing_but_calls(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        await apart.write()
        (opened,) = recorded(apart.path, SessionOpened)
        assert (opened.reason, opened.level, opened.destination) == ("ad-hoc", "C", None)
        assert apart.path.name == f"x-process-{process.writer.writer}.journal"
        assert replayed(apart.path).recall.due is None
        await apart.adhoc.close("quit")
        assert recorded(apart.path, SessionClosed)[0].drained
        JournalLock.acquire(apart.path, process.writer).release()


async def test_all_calls_of_a_process_go_to_one_journal_also_when_they_begin_together(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        async with anyio.create_task_group() as group:
            for _ in range(5):
                group.start_soon(apart.write)
        assert len(recorded(apart.path, ToolAnswered)) == 5
        assert len(recorded(apart.path, SessionOpened)) == 1
        await apart.adhoc.close("quit")
        assert len(list(process.places.state.glob("*.journal"))) == 1


async def test_before_a_call_that_may_change_something_there_is_no_journal(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        await forward(process.link, None, read(), elsewhere=apart.recorder)
        assert apart.adhoc.path is None
        process.memory.faults(initialize="exit")
    async with rig(tmp_path) as process:
        apart = Apart(process)
        assert "not reachable" in await apart.write(2.0)
        assert not apart.path.exists()


async def test_a_session_with_a_journal_of_its_own_keeps_its_calls(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        talk = await process.open(Conversation())
        await talk.prompt("hello")
        await forward(process.link, talk.session.desk, write(), elsewhere=apart.recorder)
        assert len(talk.events(ToolCalled)) == 1
        assert not apart.path.exists()


async def test_a_lost_answer_is_unproven_there_and_the_journal_audits_clean(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        process.memory.faults(write_note=["store", "silent"])
        assert "may have been stored" in await apart.write(1.0)
        await apart.adhoc.close("quit")
        state = replayed(apart.path)
        assert [item.kind for item in open_items(state.branch, state)] == ["call"]
        with open_reader(apart.path) as reader:
            assert audit(reader).ok


async def test_storage_that_fails_sends_nothing_and_the_next_call_goes_on_when_it_works(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        make_folder(process.places.state)
        in_the_way = lock_path(apart.path)
        in_the_way.mkdir()
        assert "was not sent: journal unavailable" in await apart.write()
        assert process.memory.calls()["write_note"] == 0
        in_the_way.rmdir()
        await apart.write()
        ledger = (await apart.recorder()).ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            assert "was not sent: journal unavailable" in await apart.write()
        assert process.memory.calls()["write_note"] == 1
        await apart.adhoc.close("quit")


async def test_a_journal_that_was_made_and_could_not_be_opened_is_gone_on_with(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        session = process_session(process.writer.writer)
        header = Header(format=FORMAT, journal_id=JournalId("j1"), session_id=session, root=None)
        await (await Ledger.create(apart.path, header, process.writer, process.clock)).close()
        await apart.write()
        assert names(apart.path)[0] == "session-opened"
        assert [answer.outcome for answer in recorded(apart.path, ToolAnswered)] == ["accepted"]
        await apart.adhoc.close("quit")


async def test_after_the_end_nothing_is_made_any_more(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        apart = Apart(process)
        await apart.adhoc.close("quit")
        assert "was not sent: journal unavailable" in await apart.write()
        with pytest.raises(CommandRejected):
            await apart.recorder()
        assert not apart.path.exists()
