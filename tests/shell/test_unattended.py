"""A journal nobody works in is settled by reads made without its lock, and recorded only where they still hold."""

import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import anyio
import pytest

from continuity.commands import Observe
from continuity.shell.ledger import Ledger
from continuity.shell.unattended import MovedOn, held, left, opened, settle
from journal.errors import JournalDamaged, JournalLocked
from journal.events import CaptureProbed, SessionClosed, SessionOpened, ToolCalled
from journal.ids import BranchId, CallId, ConnectionId, SessionId, Sha256
from journal.lock import JournalLock, holder
from journal.row import FIRST_BRANCH
from tests.fakes.host import Conversation
from tests.shell.left_behind import STORED, SWALLOWED, everything, killed, visitor
from tests.shell.rig import BOUND, Rig, names, recorded, replayed, rig, until


async def up(process: Rig) -> None:
    assert await process.link.up(BOUND)


async def test_a_note_that_was_stored_is_found_and_recorded_by_whoever_comes_by(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    before = len(names(path))
    async with rig(tmp_path) as process:
        await up(process)
        settled = await settle(path, everything, process.link, visitor(process))
        assert process.memory.calls()["write_note"] == 2
    assert settled.recorded
    assert [drawn.verdict for drawn in settled.verdicts] == ["present_same"]
    assert names(path)[before:] == ["session-opened", "memory-connected", "capture-probed", "session-closed"]
    state = replayed(path)
    assert (state.pending, state.closed) == ((), True)
    assert state.checkpoint is not None
    assert state.checkpoint.evidence == "read"


async def test_what_never_landed_and_no_longer_can_is_proven_lost(tmp_path: Path) -> None:
    path = await killed(tmp_path, SWALLOWED)
    async with rig(tmp_path) as process:
        await up(process)
        settled = await settle(path, everything, process.link, visitor(process))
        assert process.memory.calls()["write_note"] == 2
    assert [drawn.verdict for drawn in settled.verdicts] == ["absent_final"]
    assert [capture.status for capture in replayed(path).captures] == ["lost"]


async def test_the_visit_is_filed_as_the_journals_own_session_and_not_as_todays_settings(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED, scope="the lighthouse", checkpoint_folder="lamps")
    own = recorded(path, SessionOpened)[-1]
    async with rig(tmp_path, project="elsewhere", scope="another", cadence={"characters": 9, "minutes": 1}) as process:
        await up(process)
        settled = await settle(path, everything, process.link, visitor(process, "sweep"))
    visit = recorded(path, SessionOpened)[-1]
    assert settled.verdicts[0].verdict == "present_same"
    assert (visit.profile, visit.policy, visit.destination, visit.level) == (
        own.profile,
        own.policy,
        own.destination,
        own.level,
    )
    assert (visit.reason, visit.host, visit.writer) == ("sweep", "tests 1", process.writer.writer)
    assert visit.writers_ended == (own.writer,)
    assert recorded(path, SessionClosed)[-1].reason == "sweep"


async def test_a_journal_that_has_a_writer_is_read_for_and_never_written_to(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    before = names(path)
    async with rig(tmp_path) as process:
        await up(process)
        with JournalLock.acquire(path, process.writer):
            settled = await settle(path, everything, process.link, visitor(process))
    assert isinstance(settled.owner, JournalLocked)
    assert not settled.recorded
    assert [drawn.verdict for drawn in settled.verdicts] == ["present_same"]
    assert names(path) == before


async def worked_in(path: Path, process: Rig, branch: BranchId = FIRST_BRANCH) -> None:
    """Let somebody record a call of unknown outcome and go."""
    ledger = await Ledger.open(path, process.writer, process.clock)
    called = ToolCalled(
        call_id=CallId("5" * 32),
        name="edit_note",
        target_sha256=Sha256("b" * 64),
        writer=process.writer.writer,
        connection=ConnectionId("connection-9"),
    )
    await ledger.apply(Observe(called), tip=None, branch=branch)
    await ledger.close()


class Meanwhile:
    """A gate at which somebody works in the journal, after the reads were made and before they are recorded."""

    def __init__(self, process: Rig, path: Path, times: int) -> None:
        self._process = process
        self._path = path
        self._left = times
        self.said = 0

    @contextmanager
    def gate(self, session_id: SessionId) -> Generator[bool]:
        if self._left:
            self._left -= 1
            other = threading.Thread(target=anyio.run, args=(worked_in, self._path, self._process))
            other.start()
            other.join()
        yield True

    def again(self) -> None:
        self.said += 1


async def test_reads_of_a_journal_that_moved_on_are_worth_nothing_and_are_made_again_once(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    async with rig(tmp_path) as process:
        await up(process)
        before = process.memory.calls()["read_note"]
        meanwhile = Meanwhile(process, path, 1)
        settled = await settle(
            path, everything, process.link, visitor(process), gate=meanwhile.gate, again=meanwhile.again
        )
        assert (settled.recorded, meanwhile.said) == (True, 1)
        assert process.memory.calls()["read_note"] == before + 2
    assert len(recorded(path, CaptureProbed)) == 1


async def test_a_journal_that_moves_on_again_and_again_is_left_to_whoever_works_there(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    async with rig(tmp_path) as process:
        await up(process)
        meanwhile = Meanwhile(process, path, 2)
        with pytest.raises(MovedOn):
            await settle(path, everything, process.link, visitor(process), gate=meanwhile.gate)
    assert recorded(path, CaptureProbed) == []
    assert not holder(path).live


async def test_a_session_that_comes_back_first_keeps_its_journal(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    before = names(path)
    async with rig(tmp_path) as process:
        await up(process)
        settled = await settle(path, everything, process.link, visitor(process), gate=lambda _: nullcontext(False))
    assert (settled.recorded, settled.owner) == (False, None)
    assert names(path) == before


async def test_every_branch_that_owes_something_is_settled_in_one_visit(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        fork_at = await talk.saved("one")
        process.memory.faults(write_note=[{"error": "disk full"}])
        await talk.turn("two")
        await talk.settle()
        conversation.go_to(fork_at)
        await talk.turn("another way")
        await talk.settle()
        path = talk.path
        await process.kill()
        process.memory.faults()
    assert [len(replayed(path, branch).pending) for branch in (1, 2)] == [1, 1]
    async with rig(tmp_path) as process:
        await up(process)
        settled = await settle(path, everything, process.link, visitor(process))
    assert [(look.branch, drawn.verdict) for look, drawn in zip(settled.looks, settled.verdicts, strict=True)] == [
        (1, "absent_final"),
        (2, "absent_final"),
    ]
    assert [[c.status for c in replayed(path, branch).captures] for branch in (1, 2)] == [["lost"], ["lost"]]


async def test_calls_of_writers_that_ended_are_in_doubt_after_a_visit_on_whatever_branch(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        fork_at = await talk.saved("one")
        await talk.saved("two")
        conversation.go_to(fork_at)
        process.memory.faults(write_note=SWALLOWED)
        await talk.turn("another way")
        await until(lambda: process.memory.calls()["write_note"] == 3, "the write")
        path = talk.path
        await process.kill()
        process.memory.faults()
    async with rig(tmp_path) as process:
        await worked_in(path, process)
    assert [call.unknown for call in replayed(path, 1).calls] == [False]
    async with rig(tmp_path) as process:
        await up(process)
        settled = await settle(path, everything, process.link, visitor(process))
    assert [look.branch for look in settled.looks] == [2]
    assert [call.unknown for call in replayed(path, 1).calls] == [True]


async def test_a_visit_leaves_no_file_but_the_lock(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    before = set(path.parent.iterdir())
    async with rig(tmp_path) as process:
        await up(process)
        await settle(path, everything, process.link, visitor(process))
    assert set(path.parent.iterdir()) - before <= {Path(f"{path}.lock")}
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA quick_check").fetchall() == [("ok",)]
    database.close()


async def test_a_journal_that_cannot_be_read_is_left_byte_for_byte_and_named(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    path.write_bytes(path.read_bytes()[:5000])
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    async with rig(tmp_path) as process:
        await up(process)
        with pytest.raises(JournalDamaged) as refused:
            await settle(path, everything, process.link, visitor(process))
    assert str(path) in str(refused.value)
    assert {each: each.read_bytes() for each in path.parent.iterdir()} == before


async def test_an_interruption_between_the_opening_and_the_end_still_records_the_end(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    async with rig(tmp_path) as process:
        comes = visitor(process)
        found = left(path)
        with anyio.CancelScope() as scope:
            async with held(found, [FIRST_BRANCH], comes) as ledger, opened(ledger, FIRST_BRANCH, comes):
                scope.cancel()
                await anyio.lowlevel.checkpoint()
    assert names(path)[-2:] == ["session-opened", "session-closed"]
    assert not holder(path).live
