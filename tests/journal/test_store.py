"""Appending is all or nothing, in one hop and one durable commit, and never twice for one attempt."""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# ruff: noqa: ASYNC240  # a test may block its loop

import logging
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import aiosqlite
import anyio
import pytest

from journal import chain
from journal.errors import (
    AlreadySubmitted,
    EventRejected,
    JournalBusy,
    JournalClosed,
    JournalDamaged,
    NoSuchPlace,
    StorageFailed,
    VersionConflict,
)
from journal.ids import BranchId, Sha256
from journal.row import BranchRow
from journal.store import Head, Journal
from tests import facts
from tests.journal import kit
from tests.journal.kit import BODY, HEADER, MAIN, OTHER_BODY, kept, record, settled


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.journal"


@pytest.fixture
async def journal(path: Path) -> AsyncGenerator[Journal]:
    async with await Journal.create(path, HEADER) as journal:
        yield journal


@pytest.fixture
def hops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is put on the queue of a connection's thread, in order."""
    seen: list[str] = []
    execute = aiosqlite.Connection._execute

    async def counted(self: aiosqlite.Connection, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        seen.append(str(args[0]) if args else function.__name__)
        return await execute(self, function, *args, **kwargs)  # type: ignore[no-untyped-call]  # aiosqlite's own

    monkeypatch.setattr(aiosqlite.Connection, "_execute", counted)
    return seen


async def test_what_was_appended_is_read_back(journal: Journal, path: Path) -> None:
    rows = await journal.append(
        MAIN, [record(facts.opened(), tip=None), record(facts.settled(), tip="Odd")], expected=0
    )
    assert kit.read(path) == list(rows)
    assert [(row.position, row.tip) for row in rows] == [(1, None), (2, "Odd")]


async def test_a_reopened_journal_goes_on_where_it_was(path: Path) -> None:
    (row,) = await kit.write(path, settled())
    async with await Journal.open(path) as journal:
        assert journal.header == HEADER
        assert journal.head(MAIN) == Head(1, row.digest)
        await journal.append(MAIN, settled(), expected=1)
    assert [row.position for row in kit.read(path)] == [1, 2]


async def test_a_new_journal_has_one_branch_at_nothing(journal: Journal) -> None:
    genesis = Sha256(chain.genesis(HEADER, MAIN).hex())
    assert journal.branches == (BranchRow(branch=MAIN, parent=None, fork_position=0, genesis=genesis),)
    assert journal.head(MAIN) == Head(0, genesis)


@pytest.mark.parametrize("count", [1, 2, 1000])
async def test_an_append_is_one_hop(journal: Journal, hops: list[str], count: int) -> None:
    await journal.append(MAIN, settled(count), expected=0)
    assert len(hops) == 1


async def test_an_append_with_bodies_is_one_transaction(journal: Journal, hops: list[str]) -> None:
    await journal.append(MAIN, settled(), expected=0, bodies=kept(BODY))
    assert [hop.partition(" (")[0] for hop in hops] == [
        "BEGIN IMMEDIATE",
        "INSERT INTO bodies",
        "INSERT INTO events",
        "COMMIT",
    ]


async def test_a_large_batch_is_one_transaction(journal: Journal, path: Path) -> None:
    await journal.append(MAIN, settled(2001), expected=0)
    assert len(kit.read(path)) == 2001


async def test_an_empty_append_writes_nothing_and_checks_the_position(journal: Journal, hops: list[str]) -> None:
    assert await journal.append(MAIN, [], expected=0) == ()
    assert hops == []
    with pytest.raises(VersionConflict):
        await journal.append(MAIN, [], expected=1)


@pytest.mark.parametrize("setting", ["journal_mode", "synchronous", "secure_delete", "trusted_schema"])
async def test_the_writers_connection_is_durable_and_wary(journal: Journal, setting: str) -> None:
    ((found,),) = await journal._query(f"PRAGMA {setting}")
    assert found == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "trusted_schema": 0}[setting]


@pytest.mark.parametrize("expected", [0, 2])
async def test_another_position_is_a_conflict_and_nothing_is_written(
    journal: Journal, path: Path, expected: int
) -> None:
    await journal.append(MAIN, settled(), expected=0)
    with pytest.raises(VersionConflict) as caught:
        await journal.append(MAIN, settled(), expected=expected, bodies=kept(BODY))
    assert (caught.value.expected, caught.value.actual) == (expected, 1)
    assert len(kit.read(path)) == 1
    assert await journal.body(chain.body_digest(BODY)) is None


async def test_a_second_writer_costs_a_conflict_and_the_next_append_lands(journal: Journal, path: Path) -> None:
    async with await Journal.open(path) as other:
        await other.append(MAIN, settled(2), expected=0)
        with pytest.raises(VersionConflict) as caught:
            await journal.append(MAIN, settled(), expected=0)
        assert caught.value.actual == 2
        await journal.append(MAIN, settled(), expected=2)
        await other.append(MAIN, settled(), expected=3)
    assert kit.found(path) == []


async def test_concurrent_appends_are_serialised(journal: Journal, path: Path) -> None:
    async def until_it_lands() -> None:
        while True:
            try:
                await journal.append(MAIN, settled(), expected=journal.head(MAIN).position)
            except VersionConflict:
                continue
            return

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(until_it_lands)
    assert len(kit.read(path)) == 50


async def test_an_attempt_is_submitted_once(journal: Journal, path: Path) -> None:
    await journal.append(MAIN, [record(facts.intended())], expected=0)
    with pytest.raises(AlreadySubmitted) as caught:
        await journal.append(MAIN, [*settled(), record(facts.intended())], expected=1, bodies=kept(BODY))
    assert caught.value.captures == ((facts.CAPTURE, 1),)
    assert len(kit.read(path)) == 1
    assert await journal.body(chain.body_digest(BODY)) is None
    await journal.append(MAIN, [record(facts.intended(attempt=2))], expected=1)


async def test_an_attempt_of_another_branch_is_not_submitted_again(journal: Journal) -> None:
    await journal.append(MAIN, [*settled(), record(facts.intended())], expected=0)
    with pytest.raises(AlreadySubmitted):
        await journal.fork(MAIN, 1, [record(facts.intended())])
    assert len(journal.branches) == 1
    branch, _ = await journal.fork(MAIN, 1, settled())
    assert branch.branch == 2


async def test_it_is_known_of_a_capture_that_a_write_of_it_was_committed_to_on_whatever_branch(
    journal: Journal,
) -> None:
    await journal.append(MAIN, settled(), expected=0)
    assert not await journal.submitted(facts.CAPTURE)
    await journal.fork(MAIN, 1, [record(facts.intended(attempt=2))])
    assert await journal.submitted(facts.CAPTURE)
    assert not await journal.submitted(facts.OTHER_CAPTURE)


async def test_an_event_that_cannot_be_held_is_refused_with_all_its_company(journal: Journal, path: Path) -> None:
    with pytest.raises(EventRejected):
        await journal.append(MAIN, [*settled(), record(facts.settled(), tip="\ud800")], expected=0)
    assert kit.read(path) == []


@pytest.mark.parametrize("bodies", [{Sha256("0" * 64): BODY}, {Sha256("0" * 64): "\ud800"}])
async def test_a_body_that_is_not_what_its_digest_names_is_refused(journal: Journal, bodies: dict[Sha256, str]) -> None:
    with pytest.raises(EventRejected):
        await journal.append(MAIN, settled(), expected=0, bodies=bodies)
    assert journal.head(MAIN).position == 0


async def test_a_body_comes_back_exactly_and_is_kept_once(journal: Journal) -> None:
    await journal.append(MAIN, settled(), expected=0, bodies=kept(BODY))
    await journal.append(MAIN, settled(), expected=1, bodies=kept(BODY, "x" * 1_000_000))
    assert await journal.body(chain.body_digest(BODY)) == BODY
    assert await journal.body(chain.body_digest("never kept")) is None


async def test_an_erased_body_is_in_no_file_and_the_chain_still_holds(journal: Journal, path: Path) -> None:
    secret = "erase me " * 50
    await journal.append(MAIN, settled(), expected=0, bodies=kept(secret, OTHER_BODY))
    await journal.append(MAIN, settled(), expected=1, erase=[chain.body_digest(secret)])
    assert await journal.body(chain.body_digest(secret)) is None
    assert await journal.body(chain.body_digest(OTHER_BODY)) == OTHER_BODY
    assert all(b"erase me" not in content for content in kit.snapshot(path.parent).values())
    assert kit.found(path) == []


async def test_a_fork_shares_the_history_up_to_its_position(journal: Journal, path: Path) -> None:
    shared = await journal.append(MAIN, settled(3), expected=0)
    branch, rows = await journal.fork(MAIN, 2, settled(2), bodies=kept(BODY))
    assert (branch.branch, branch.parent, branch.fork_position) == (2, 1, 2)
    assert kit.read(path, 2) == [*shared[:2], *rows]
    assert journal.head(branch.branch) == Head(4, rows[-1].digest)
    assert journal.branches[-1] == branch


@pytest.mark.parametrize(("position", "owner"), [(0, 1), (1, 1), (2, 1), (3, 2), (4, 2)])
async def test_a_fork_names_the_branch_that_recorded_its_position(journal: Journal, position: int, owner: int) -> None:
    await journal.append(MAIN, settled(3), expected=0)
    second, _ = await journal.fork(MAIN, 2, settled(2))
    branch, _ = await journal.fork(second.branch, position, settled())
    assert (branch.parent, branch.fork_position) == (owner, position)


@pytest.mark.parametrize(("branch", "position"), [(1, 4), (1, -1), (7, 1)])
async def test_a_fork_of_nothing_is_refused(journal: Journal, branch: int, position: int) -> None:
    await journal.append(MAIN, settled(3), expected=0)
    with pytest.raises(NoSuchPlace):
        await journal.fork(BranchId(branch), position, settled())
    assert len(journal.branches) == 1


async def test_a_branch_begins_with_an_event(journal: Journal) -> None:
    with pytest.raises(EventRejected):
        await journal.fork(MAIN, 0, [])


async def test_two_writers_do_not_make_the_same_branch(journal: Journal, path: Path) -> None:
    async with await Journal.open(path) as other:
        await other.fork(MAIN, 0, settled())
        with pytest.raises(VersionConflict):
            await journal.fork(MAIN, 0, settled())
        third, _ = await journal.fork(MAIN, 0, settled())
    assert third.branch == 3
    assert kit.found(path) == []


async def test_an_append_to_no_branch_is_refused(journal: Journal) -> None:
    with pytest.raises(NoSuchPlace):
        await journal.append(BranchId(2), settled(), expected=0)


async def test_a_branch_that_another_writer_made_is_found_when_it_is_written(journal: Journal, path: Path) -> None:
    async with await Journal.open(path) as other:
        branch, _ = await other.fork(MAIN, 0, settled())
    await journal.append(branch.branch, settled(), expected=1)
    assert journal.head(branch.branch).position == 2


async def test_a_refreshed_journal_knows_what_another_writer_did(journal: Journal, path: Path) -> None:
    async with await Journal.open(path) as other:
        await other.append(MAIN, settled(), expected=0)
        await other.fork(MAIN, 1, settled())
    await journal.refresh()
    assert journal.head(MAIN).position == 1
    assert [row.branch for row in journal.branches] == [1, 2]


async def test_a_checkpointed_main_file_alone_is_the_whole_journal(journal: Journal, path: Path) -> None:
    await journal.append(MAIN, settled(3), expected=0)
    assert await journal.sweep()
    copy = path.with_name("copy.journal")
    copy.write_bytes(path.read_bytes())
    assert len(kit.read(copy)) == 3


async def test_closing_leaves_the_main_file_alone_and_whole(path: Path) -> None:
    await kit.write(path, settled(3))
    assert [file.name for file in path.parent.iterdir()] == ["a.journal"]
    assert len(kit.read(path)) == 3


async def test_a_closed_journal_refuses_and_closes_again_quietly(path: Path) -> None:
    journal = await Journal.create(path, HEADER)
    await journal.close()
    await journal.close()
    with pytest.raises(JournalClosed):
        await journal.append(MAIN, settled(), expected=0)
    with pytest.raises(JournalClosed):
        await journal.body(chain.body_digest(BODY))


async def test_a_held_write_lock_is_waited_out_for_a_while_only(journal: Journal, path: Path) -> None:
    await journal._query("PRAGMA busy_timeout = 20")
    with kit.raw(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalBusy):
            await journal.append(MAIN, settled(), expected=0)
        with pytest.raises(JournalBusy):
            await journal.append(MAIN, settled(), expected=0, bodies=kept(BODY))
        other.execute("ROLLBACK")
    await journal.append(MAIN, settled(), expected=0)
    assert len(kit.read(path)) == 1


async def test_an_append_returns_only_after_its_commit(journal: Journal, path: Path) -> None:
    with kit.raw(path) as other:
        other.execute("BEGIN IMMEDIATE")
        with anyio.move_on_after(0.2), anyio.CancelScope() as scope:
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: journal.append(MAIN, settled(), expected=0))
                await anyio.wait_all_tasks_blocked()
                assert kit.read(path) == []
                other.execute("ROLLBACK")
        assert not scope.cancelled_caught
    assert len(kit.read(path)) == 1


async def test_the_journal_is_written_with_a_busy_timeout_of_five_seconds(journal: Journal) -> None:
    ((milliseconds,),) = await journal._query("PRAGMA busy_timeout")
    assert milliseconds == 5000


async def test_a_file_system_without_a_log_is_refused(path: Path) -> None:
    await kit.write(path, settled())
    with kit.raw(path) as other:
        other.execute("PRAGMA journal_mode = DELETE")
    with pytest.raises(StorageFailed, match="journal_mode is delete"):
        await Journal.open(path)


@pytest.mark.parametrize(
    "sql", ["DELETE FROM header", "UPDATE header SET format = 2", "DELETE FROM branches", "DROP TABLE events"]
)
async def test_a_journal_without_its_beginnings_is_damaged(path: Path, sql: str) -> None:
    await kit.write(path, settled())
    with kit.raw(path) as other:
        kit.without_guards(other)
        other.execute(sql)
    with pytest.raises(JournalDamaged):
        await Journal.open(path)


async def test_texts_are_not_logged_by_the_driver(journal: Journal, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    await journal.append(MAIN, settled(), expected=0, bodies=kept("between us"))
    assert "between us" not in caplog.text
