"""A ledger decides on what is on disk: appends are serialised, a doubtful commit is looked up, a refused one changes nothing."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import pytest

from continuity.commands import Fork, Observe, OpenSession, Request, Settle
from continuity.shell.ledger import Ledger, replay
from journal.disk import FORMAT
from journal.errors import JournalLocked, RowUnreadable, StorageFailed
from journal.events import Gap, WorkBegun, WorkSettled
from journal.events.lifecycle import Profile
from journal.ids import BranchId, EntryId, JournalId, SessionId
from journal.row import FIRST_BRANCH, Header, WriterRecord
from tests.facts import POLICY, PROCESS, PROJECT, WRITER
from tests.fakes.clock import FakeClock
from tests.shell.rig import names, recorded, replayed, unwritable

ME = WriterRecord(writer=WRITER, process=PROCESS)
HEADER = Header(format=FORMAT, journal_id=JournalId("1" * 32), session_id=SessionId("s"), root=EntryId("r"))
BEGUN = Observe(WorkBegun(how="prompt", characters=1))
OPEN = OpenSession(
    reason="startup",
    host="host 1",
    version="0.1.0",
    level="B",
    profile=Profile(kind="general", scope="work", repository=None, folder="tau/checkpoints"),
    destination=PROJECT,
    policy=POLICY,
    writer=WRITER,
    process=PROCESS,
)


def settle(tip: str) -> Settle:
    return Settle(tip=EntryId(tip), messages=1, characters=1, interrupted=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.journal"


@pytest.fixture
async def ledger(path: Path) -> AsyncGenerator[Ledger]:
    made = await Ledger.create(path, HEADER, ME, FakeClock())
    await made.apply(OPEN, tip=None)
    yield made
    await made.close()


async def test_commands_given_at_once_are_each_decided_on_the_state_left_by_the_one_before(ledger: Ledger) -> None:
    await ledger.apply(settle("a"), tip=EntryId("a"))
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(lambda: ledger.apply(Request(reason="command"), tip=None))
    assert names(ledger.path).count("capture-requested") == 1


async def test_the_state_in_memory_is_the_state_that_replay_gives(ledger: Ledger) -> None:
    await ledger.apply(settle("a"), tip=EntryId("a"))
    await ledger.apply(Request(reason="command"), tip=None)
    assert ledger.state == replayed(ledger.path)


async def test_a_second_ledger_of_one_journal_is_refused_and_touches_nothing(ledger: Ledger, path: Path) -> None:
    before = names(path)
    with pytest.raises(JournalLocked):
        await Ledger.open(path, ME, FakeClock())
    assert names(path) == before


async def test_a_refused_opening_holds_no_lock(path: Path) -> None:
    ledger = await Ledger.create(path, HEADER, ME, FakeClock())
    await ledger.apply(OPEN, tip=None)
    await ledger.close()
    with sqlite3.connect(path) as database:
        database.execute("DROP TRIGGER IF EXISTS events_are_kept")
        for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute("UPDATE events SET at_ms = at_ms + 1")
    database.close()
    for _ in range(2):
        with pytest.raises(RowUnreadable):
            await Ledger.open(path, ME, FakeClock())


async def test_an_append_cut_off_by_the_host_is_known_to_the_next_one(ledger: Ledger) -> None:
    for number in range(20):
        task = asyncio.ensure_future(ledger.apply(settle(f"t{number}"), tip=EntryId(f"t{number}")))
        for _ in range(number):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        await ledger.apply(BEGUN, tip=None)
        assert ledger.state == replayed(ledger.path)
    assert len(recorded(ledger.path, WorkBegun)) == 20


async def test_a_commit_that_failed_late_is_looked_up_before_anything_is_decided(ledger: Ledger, path: Path) -> None:
    async with unwritable(ledger.journal):
        with pytest.raises(StorageFailed):
            await ledger.apply(settle("a"), tip=EntryId("a"))
    await ledger.apply(settle("a"), tip=EntryId("a"))
    assert len(recorded(path, WorkSettled)) == 1
    assert ledger.state == replayed(path)


async def test_what_was_missed_is_told_once_by_the_next_append(ledger: Ledger, path: Path) -> None:
    ledger.missed("JournalBusy")
    ledger.missed("JournalBusy")
    assert ledger.missing == 2
    async with unwritable(ledger.journal):
        with pytest.raises(StorageFailed):
            await ledger.apply(BEGUN, tip=None)
    assert ledger.missing == 2
    await ledger.apply(BEGUN, tip=None)
    await ledger.apply(BEGUN, tip=None)
    (gap,) = recorded(path, Gap)
    assert (gap.count, gap.reason, ledger.missing) == (2, "JournalBusy", 0)


async def test_a_fork_goes_on_from_its_parents_state_at_that_place(ledger: Ledger) -> None:
    await ledger.apply(settle("a"), tip=EntryId("a"))
    position = ledger.state.position
    await ledger.apply(settle("b"), tip=EntryId("b"))
    await ledger.fork(FIRST_BRANCH, position, Fork(reason="path-left", left_tip=EntryId("b")))
    assert ledger.current == BranchId(2)
    assert ledger.state.settled_tip == "a"
    assert ledger.state == replayed(ledger.path, 2)
    assert ledger.states[FIRST_BRANCH] == replayed(ledger.path, 1)


async def test_reopening_gives_every_branch_and_the_one_written_last(ledger: Ledger, path: Path) -> None:
    await ledger.apply(settle("a"), tip=EntryId("a"))
    await ledger.fork(FIRST_BRANCH, ledger.state.position, Fork(reason="path-left", left_tip=None))
    await ledger.apply(settle("c"), tip=EntryId("c"))
    states = dict(ledger.states)
    await ledger.close()
    branches, last = replay(path)
    assert {number: kept.state for number, kept in branches.items()} == states
    assert last == BranchId(2)
