"""Whatever the disk, a caller or the kernel does during an append: all of it is there or none, and the next one lands."""

# pyright: reportPrivateUsage=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# ruff: noqa: ASYNC240  # a test may block its loop

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiosqlite
import anyio
import pytest

from journal import chain, disk
from journal.errors import JournalBusy, JournalDamaged, JournalError, JournalFull, JournalVanished, StorageFailed
from journal.ids import Sha256
from journal.reader import open_reader
from journal.store import Journal
from tests.journal import kit
from tests.journal.kit import BODY, HEADER, MAIN, kept, settled

SECRET = "erase me " * 50

CHILD = """
import os, signal, sys
import anyio
from pathlib import Path
from journal.store import Journal
from tests.journal import kit

async def main(path: Path) -> None:
    journal = await Journal.create(path, kit.HEADER)
    for expected in range(3):
        await journal.append(kit.MAIN, kit.settled(), expected=expected, bodies=kit.kept(kit.BODY))
    os.kill(os.getpid(), signal.SIGKILL)

anyio.run(main, Path(sys.argv[1]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.journal"


@pytest.fixture
async def journal(path: Path) -> AsyncGenerator[Journal]:
    async with await Journal.create(path, HEADER) as journal:
        yield journal


async def test_a_full_disk_leaves_nothing_behind_and_the_next_append_lands(journal: Journal, path: Path) -> None:
    ((pages,),) = await journal._query("PRAGMA page_count")
    await journal._query(f"PRAGMA max_page_count = {pages}")
    for bodies in ({}, kept("x" * 100_000)):
        with pytest.raises(JournalFull):
            await journal.append(MAIN, settled(1000), expected=0, bodies=bodies)
    await journal._query("PRAGMA max_page_count = 100000")
    await journal.append(MAIN, settled(2), expected=0)
    assert len(kit.read(path)) == 2
    assert kit.found(path) == []


async def test_a_disk_that_turned_read_only_is_a_storage_failure(journal: Journal, path: Path) -> None:
    await journal._query("PRAGMA query_only = ON")
    with pytest.raises(StorageFailed):
        await journal.append(MAIN, settled(), expected=0)
    await journal._query("PRAGMA query_only = OFF")
    await journal.append(MAIN, settled(), expected=0)
    assert len(kit.read(path)) == 1


async def test_a_column_the_file_refuses_is_a_storage_failure(
    journal: Journal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def short(*_: object) -> bytes:
        return b"short"

    monkeypatch.setattr(chain, "link", short)
    with pytest.raises(StorageFailed, match="nothing was written"):
        await journal.append(MAIN, settled(), expected=0)
    monkeypatch.undo()
    await journal.append(MAIN, settled(), expected=0)
    assert len(kit.read(path)) == 1


async def test_a_malformed_file_is_damage(path: Path) -> None:
    await kit.write(path, settled(200))
    content = bytearray(path.read_bytes())
    content[4096 * 2 :] = b"\xa5" * (len(content) - 4096 * 2)
    path.write_bytes(content)
    with pytest.raises(JournalDamaged):
        async with await Journal.open(path) as journal:
            await journal.append(MAIN, settled(), expected=200)


async def test_no_error_of_the_driver_gets_out(journal: Journal) -> None:
    await journal._query("PRAGMA query_only = ON")
    digest = chain.body_digest(BODY)
    for attempt in (
        lambda: journal.append(MAIN, settled(), expected=0),
        lambda: journal.append(MAIN, settled(), expected=0, bodies=kept(BODY)),
        lambda: journal.append(MAIN, settled(), expected=0, erase=[digest]),
        lambda: journal.fork(MAIN, 0, settled()),
    ):
        with pytest.raises(JournalError):
            await attempt()


async def test_a_row_that_vanished_cannot_be_forked(journal: Journal, path: Path) -> None:
    await journal.append(MAIN, settled(3), expected=0)
    with kit.raw(path) as other:
        kit.without_guards(other)
        other.execute("DELETE FROM events WHERE position = 2")
    with pytest.raises(JournalError):
        await journal.fork(MAIN, 2, settled())


async def test_a_log_that_cannot_be_emptied_stops_neither_an_erasure_nor_the_closing(path: Path) -> None:
    journal = await Journal.create(path, HEADER)
    await journal.append(MAIN, settled(), expected=0, bodies=kept(BODY))

    def refuse(action: int, argument: str | None, *_: str | None) -> int:
        return sqlite3.SQLITE_DENY if argument == "wal_checkpoint" else sqlite3.SQLITE_OK

    await journal._connection._execute(journal._connection._conn.set_authorizer, refuse)  # type: ignore[no-untyped-call]
    await journal.append(MAIN, settled(), expected=1, erase=[chain.body_digest(BODY)])
    assert not await journal.sweep()
    await journal.close()
    assert len(kit.read(path)) == 2


@contextmanager
def pinned(path: Path) -> Generator[None]:
    """Somebody reads the journal, and has begun before what happens in the block."""
    with kit.raw(path) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchall()
        yield


def held(path: Path) -> bool:
    """Whether some file holds the text that the tests erase."""
    return any(SECRET.encode() in content for content in kit.snapshot(path.parent).values())


async def test_an_erasure_beside_a_reader_waits_for_nobody_and_goes_on_at_the_next_append(
    journal: Journal, path: Path
) -> None:
    await journal.append(MAIN, settled(), expected=0, bodies=kept(SECRET))
    with pinned(path):
        with anyio.fail_after(1):
            await journal.append(MAIN, settled(), expected=1, erase=[chain.body_digest(SECRET)])
        assert held(path)
    await journal.append(MAIN, settled(), expected=2)
    assert not held(path)


async def test_what_was_erased_beside_a_reader_is_in_no_file_once_the_journal_is_closed(path: Path) -> None:
    async with await Journal.create(path, HEADER) as journal:
        await journal.append(MAIN, settled(), expected=0, bodies=kept(SECRET))
        with pinned(path):
            await journal.append(MAIN, settled(), expected=1, erase=[chain.body_digest(SECRET)])
    assert not held(path)


async def test_what_a_reader_kept_in_the_files_beyond_the_close_goes_when_the_journal_is_opened(path: Path) -> None:
    journal = await Journal.create(path, HEADER)
    await journal.append(MAIN, settled(), expected=0, bodies=kept(SECRET))
    with open_reader(path) as reader:
        next(reader.rows())
        await journal.append(MAIN, settled(), expected=1, erase=[chain.body_digest(SECRET)])
        await journal.close()
    assert held(path)
    async with await Journal.open(path):
        assert not held(path)


async def test_a_pinned_log_is_not_waited_for_and_said_to_remain(journal: Journal, path: Path) -> None:
    with pinned(path):
        await journal.append(MAIN, settled(), expected=0)
        with anyio.fail_after(1):
            assert not await journal.sweep()
    assert await journal.sweep()
    assert path.with_name("a.journal-wal").stat().st_size == 0


async def test_an_append_under_way_outlives_its_callers_cancellation(journal: Journal, path: Path) -> None:
    with kit.raw(path) as other:
        other.execute("BEGIN IMMEDIATE")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: journal.append(MAIN, settled(), expected=0, bodies=kept(BODY)))
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            other.execute("ROLLBACK")
    assert len(kit.read(path)) == 1
    assert await journal.body(chain.body_digest(BODY)) == BODY


async def test_an_append_cancelled_before_it_began_writes_nothing(journal: Journal, path: Path) -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await journal.append(MAIN, settled(), expected=0)
    assert scope.cancelled_caught
    assert kit.read(path) == []


@pytest.mark.parametrize("bodies", [{}, kept(BODY)], ids=["alone", "with a body"])
@pytest.mark.parametrize("hops", range(5))
async def test_a_task_killed_by_the_loop_leaves_all_or_nothing(
    journal: Journal, path: Path, monkeypatch: pytest.MonkeyPatch, bodies: dict[Sha256, str], hops: int
) -> None:
    """Nothing shields from `Task.cancel`; then the connection must still be free and the head true."""
    await journal.append(MAIN, settled(), expected=0)
    execute, seen = aiosqlite.Connection._execute, 0

    async def cancelled_at(self: aiosqlite.Connection, *args: Any, **kwargs: Any) -> Any:
        nonlocal seen
        seen += 1
        if seen == hops + 1:
            task.cancel()
        return await execute(self, *args, **kwargs)  # type: ignore[no-untyped-call]  # aiosqlite's own

    monkeypatch.setattr(aiosqlite.Connection, "_execute", cancelled_at)
    task = asyncio.ensure_future(journal.append(MAIN, settled(2), expected=1, bodies=bodies))
    await asyncio.wait([task])
    landed = len(kit.read(path))
    assert landed in {1, 3}
    await journal.append(MAIN, settled(), expected=landed)
    assert kit.found(path) == []


async def test_a_killed_open_holds_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await kit.write(path, settled())

    async def cancelled(_: Journal) -> None:
        raise asyncio.CancelledError

    monkeypatch.setattr(Journal, "_reload", cancelled)
    with pytest.raises(asyncio.CancelledError):
        await Journal.open(path)
    monkeypatch.undo()
    assert [file.name for file in path.parent.iterdir()] == ["a.journal"]


def test_what_was_committed_survives_kill_9(path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CHILD, str(path)], cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.with_name("a.journal-wal").exists()
    assert len(kit.read(path)) == 3
    with kit.raw(path) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert kit.found(path) == []


@pytest.mark.parametrize("suffix", ["", "-wal"])
async def test_a_file_that_is_not_at_its_path_any_more_takes_nothing_and_goes_on_when_it_is_back(
    journal: Journal, path: Path, suffix: str
) -> None:
    await journal.append(MAIN, settled(), expected=0)
    file = path.with_name(f"{path.name}{suffix}")
    away = file.rename(path.with_name("away"))
    for attempt in (
        lambda: journal.append(MAIN, settled(), expected=1),
        lambda: journal.append(MAIN, settled(), expected=1, bodies=kept(BODY)),
        lambda: journal.fork(MAIN, 1, settled()),
        journal.refresh,
    ):
        with pytest.raises(JournalVanished):
            await attempt()
    away.rename(file)
    await journal.append(MAIN, settled(), expected=1)
    assert len(kit.read(path)) == 2
    assert kit.found(path) == []


async def test_another_file_in_its_place_takes_nothing(journal: Journal, path: Path) -> None:
    await journal.append(MAIN, settled(), expected=0)
    path.rename(path.with_name("away"))
    path.write_bytes(path.with_name("away").read_bytes())
    before = path.read_bytes()
    with pytest.raises(JournalVanished, match="another file"):
        await journal.append(MAIN, settled(), expected=1)
    assert path.read_bytes() == before


async def test_a_short_lock_is_waited_out(journal: Journal, path: Path) -> None:
    with kit.raw(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: journal.append(MAIN, settled(), expected=0))
            await anyio.wait_all_tasks_blocked()
            assert kit.read(path) == []
            other.execute("ROLLBACK")
    assert len(kit.read(path)) == 1


async def test_a_lock_that_is_never_let_go_costs_one_long_wait_and_then_short_ones_until_it_is(
    journal: Journal, path: Path
) -> None:
    async def patience() -> int:
        ((milliseconds,),) = await journal._query("PRAGMA busy_timeout")
        return int(milliseconds)

    long, short = (round(s * 1000) for s in (disk.BUSY_SECONDS, disk.BUSY_AGAIN_SECONDS))
    assert await patience() == long
    await journal._query("PRAGMA busy_timeout = 1")  # the long wait itself is SQLite's
    with kit.raw(path) as other:
        other.execute("BEGIN EXCLUSIVE")
        for _ in range(2):
            with pytest.raises(JournalBusy):
                await journal.append(MAIN, settled(), expected=0)
            assert await patience() == short
        other.execute("ROLLBACK")
    await journal.append(MAIN, settled(), expected=0)
    assert await patience() == long
