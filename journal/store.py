"""The one writer of a journal file: append, fork, keep bodies. It never edits, never reads history, never decides.

An append of events alone is one hop to the connection's thread and one
durable commit. What is known of each branch's head is kept in memory; the
guards in the file are what makes the optimistic check safe, so a second
writer costs a conflict and never a row.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import NamedTuple, Self

import aiosqlite
import anyio
import anyio.to_thread
from anyio.lowlevel import checkpoint_if_cancelled

from journal import chain, disk
from journal.errors import (
    AlreadySubmitted,
    EventRejected,
    JournalBusy,
    JournalClosed,
    JournalDamaged,
    JournalError,
    NoSuchPlace,
    StorageFailed,
    VersionConflict,
)
from journal.events import WriteIntended
from journal.ids import BranchId, CaptureId, JournalId, SessionId, Sha256
from journal.row import FIRST_BRANCH, BranchRow, Header, Record, Row
from journal.seal import seal
from journal.statements import INSERT_BRANCH, Statement, Value, erasing, inserting, keeping

# It would write parameters, and so texts, into the log of whoever turns on debugging.
logging.getLogger("aiosqlite").setLevel(logging.WARNING)

LONGEST_LOG = 4 * disk.SAFETY["journal_size_limit"]
"""Bytes of a log that no commit of ours explains: SQLite begins it anew at a quarter of that, unless a reader pins it."""

_NOTHING: Mapping[Sha256, str] = MappingProxyType({})
_HEADS = """
SELECT b.branch, b.parent, b.fork_position, b.genesis, e.position, e.digest FROM branches b
LEFT JOIN events e ON e.branch = b.branch AND e.position = (SELECT max(position) FROM events WHERE branch = b.branch)
ORDER BY b.branch
"""


class Head(NamedTuple):
    """Where a branch ends: the position of its newest row and that row's digest, or those of its fork."""

    position: int
    digest: Sha256


class Journal:
    """An open journal file. Hold its `JournalLock`; use it from one event loop; close it."""

    header: Header
    """What the file is."""

    def __init__(self, path: Path) -> None:
        """Use `create` or `open`."""
        self.path = path
        self._connection = aiosqlite.connect(
            disk.uri(path, "mode=rw"), uri=True, isolation_level=None, timeout=disk.BUSY_SECONDS
        )
        self._identity = (0, 0)
        self._branches: dict[BranchId, BranchRow] = {}
        self._heads: dict[BranchId, Head] = {}
        self._stale = True
        self._closed = False
        self._patience = disk.BUSY_SECONDS
        self._unswept = False
        self._lock = anyio.Lock(fast_acquire=True)

    @classmethod
    async def create(cls, path: Path, header: Header) -> Journal:
        """Make a journal with one empty branch at `path` and open it.

        Raises:
            JournalExists: Something is there; it was left as it is.
            StorageFailed: Nothing was made.
        """
        await anyio.to_thread.run_sync(partial(disk.create, path, header))
        return await cls.open(path)

    @classmethod
    async def open(cls, path: Path) -> Journal:
        """Open the journal at `path` for writing. Its history is not verified here; that is the reader's business.

        Raises:
            JournalUnreadable: It is missing, newer, damaged or something else; it was left as it is.
            StorageFailed: This file system keeps no write-ahead log, or failed.
        """
        await anyio.to_thread.run_sync(disk.admit, path)
        journal = cls(path)
        with anyio.CancelScope(shield=True):
            await journal._begin()
        return journal

    async def _begin(self) -> None:
        with disk.explained(self.path):
            # Awaiting it starts its thread and opens the file; closing it, below or in `close`, ends both.
            _ = await self._connection
            try:
                self.header = await _prepared(self._connection, self.path)
                await self._reload()
                await self._sweep()
                self._identity = disk.note_open(self.path)
            except BaseException:
                await self._connection.close()
                raise

    @property
    def branches(self) -> tuple[BranchRow, ...]:
        """All branches, by number."""
        return tuple(self._branches.values())

    def head(self, branch: BranchId) -> Head:
        """Return where `branch` ends, as far as this process knows."""
        if branch not in self._heads:
            raise NoSuchPlace(branch)
        return self._heads[branch]

    @property
    def log_bytes(self) -> int:
        """How long the log beside the file is; 0 when there is none to be seen. What is in it is safe, and slow to read."""
        try:
            return Path(f"{self.path}-wal").stat().st_size
        except OSError:
            return 0

    @property
    def log_is_pinned(self) -> bool:
        """Whether somebody who reads the file keeps the log from being begun anew, so that it grows."""
        return self.log_bytes > LONGEST_LOG

    async def append(
        self,
        branch: BranchId,
        records: Sequence[Record],
        *,
        expected: int,
        bodies: Mapping[Sha256, str] = _NOTHING,
        erase: Sequence[Sha256] = (),
    ) -> tuple[Row, ...]:
        """Append `records` to `branch` after position `expected` and return them as rows.

        All land or none do, with their `bodies` and the erasure of those named
        in `erase`, which `sweep` completes. Once begun, an append runs to its
        end even if the caller is cancelled.

        Raises:
            EventRejected: A record or a body cannot be held; nothing was written.
            NoSuchPlace: There is no such branch; nothing was written.
            VersionConflict: The branch is at another position; nothing was written.
            AlreadySubmitted: An intent among them was intended before; nothing was written.
            JournalBusy: No write lock within the busy timeout; nothing was written.
            JournalFull: No room; nothing was written.
            JournalVanished: The file is not at its path any more; nothing was written.
            StorageFailed: The commit failed; read again to learn whether it holds.
        """
        async with self._writing():
            previous = await self._head_at(branch, expected)
            sealed = list(seal(branch, expected, bytes.fromhex(previous.digest), records))
            statements = [*keeping(bodies), *erasing(erase), *inserting([stored for _, stored in sealed])]
            await self._commit(statements, branch, expected, records)
            rows = tuple(row for row, _ in sealed)
            if rows:
                self._heads[branch] = Head(rows[-1].position, rows[-1].digest)
            if erase or self._unswept:
                await self._sweep()
        return rows

    async def fork(
        self, parent: BranchId, position: int, records: Sequence[Record], *, bodies: Mapping[Sha256, str] = _NOTHING
    ) -> tuple[BranchRow, tuple[Row, ...]]:
        """Begin a branch after `position` of `parent`'s history with `records`, which may not be empty.

        The branch row names the ancestor that recorded `position`, so a fork has one spelling.

        Raises:
            NoSuchPlace: There is no such branch or position; nothing was written.
        And what `append` raises; a conflict means that another writer made a branch.
        """
        if not records:
            raise EventRejected("a branch begins with its first event; nothing was written")
        async with self._writing():
            await self._refreshed()
            owner, digest = await self._owner(parent, position)
            branch = BranchId(len(self._branches) + 1)
            genesis = chain.genesis(self.header, branch, owner, position, digest)
            sealed = list(seal(branch, position, genesis, records))
            begin: Statement = (INSERT_BRANCH, (branch, owner, position, genesis))
            statements = [*keeping(bodies), begin, *inserting([stored for _, stored in sealed])]
            await self._commit(statements, branch, position, records)
            rows = tuple(row for row, _ in sealed)
            made = BranchRow(branch=branch, parent=owner, fork_position=position, genesis=Sha256(genesis.hex()))
            self._branches[branch] = made
            self._heads[branch] = Head(rows[-1].position, rows[-1].digest)
        return made, rows

    async def body(self, digest: Sha256) -> str | None:
        """Return the text kept under `digest`, or None when it was erased or never kept."""
        self._refuse_closed()
        with disk.explained(self.path):
            found = await self._query("SELECT text FROM bodies WHERE digest = ?", (bytes.fromhex(digest),))
        return str(found[0][0]) if found else None

    async def submitted(self, capture: CaptureId) -> bool:
        """Return whether a write of `capture` was ever committed to, on whatever branch."""
        self._refuse_closed()
        with disk.explained(self.path):
            return bool(await self._query("SELECT 1 FROM submissions WHERE capture = ? LIMIT 1", (capture,)))

    async def refresh(self) -> None:
        """Read the branches and their heads again, as after a failed append.

        Raises:
            JournalVanished: The file is not at its path any more.
        """
        async with self._writing():
            disk.require_present(self.path, self._identity)
            await self._reload()

    async def sweep(self) -> bool:
        """Let no file hold what was erased: move the log into the main file and empty it. Return whether that was done.

        It waits for nobody and undoes no commit: what a reader or the disk keeps from it is tried again.
        """
        async with self._writing():
            return await self._sweep()

    async def close(self) -> None:
        """Sweep and let go of the file. Closing twice is closing once."""
        with anyio.CancelScope(shield=True):
            async with self._lock:
                if self._closed:
                    return
                self._closed = True
                disk.note_closed(self._identity)
                try:
                    await self._sweep()
                finally:
                    with disk.explained(self.path):
                        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @asynccontextmanager
    async def _writing(self) -> AsyncGenerator[None]:
        await checkpoint_if_cancelled()
        async with self._lock:
            self._refuse_closed()
            with anyio.CancelScope(shield=True):
                yield

    def _refuse_closed(self) -> None:
        if self._closed:
            raise JournalClosed(f"{self.path} is closed; nothing was written")

    async def _query(self, sql: str, values: tuple[Value, ...] = ()) -> Sequence[sqlite3.Row]:
        return list(await self._connection.execute_fetchall(sql, values))

    async def _head_at(self, branch: BranchId, expected: int) -> Head:
        if self._stale or branch not in self._heads or self._heads[branch].position != expected:
            await self._reload()
        head = self.head(branch)
        if head.position != expected:
            raise VersionConflict(branch, expected, head.position)
        return head

    async def _refreshed(self) -> None:
        if self._stale:
            await self._reload()

    async def _reload(self) -> None:
        with disk.explained(self.path):
            found = await self._query(_HEADS)
        for branch, parent, fork_position, genesis, position, digest in found:
            at_fork = Head(fork_position, Sha256(genesis.hex()))
            self._branches[branch] = BranchRow(
                branch=branch, parent=parent, fork_position=fork_position, genesis=at_fork.digest
            )
            self._heads[branch] = at_fork if position is None else Head(position, Sha256(digest.hex()))
        if FIRST_BRANCH not in self._heads:
            raise JournalDamaged(self.path, "there is no first branch")
        self._stale = False

    async def _owner(self, branch: BranchId, position: int) -> tuple[BranchId, bytes]:
        """Return the branch that recorded `position` of `branch`'s history, and the digest there."""
        row = self._branches.get(branch)
        while row is not None and row.parent is not None and position <= row.fork_position:
            row = self._branches.get(row.parent)
        if row is None or not 0 <= position <= self._heads[row.branch].position:
            raise NoSuchPlace(branch, None if row is None else position)
        if position == 0:
            return row.branch, bytes.fromhex(row.genesis)
        with disk.explained(self.path):
            place = (row.branch, position)
            found = await self._query("SELECT digest FROM events WHERE branch = ? AND position = ?", place)
        if not found:
            raise NoSuchPlace(branch, position)
        return row.branch, bytes(found[0][0])

    async def _commit(
        self, statements: Sequence[Statement], branch: BranchId, expected: int, records: Iterable[Record]
    ) -> None:
        disk.require_present(self.path, self._identity)
        try:
            if len(statements) == 1:
                await self._query(*statements[0])
            elif statements:
                await self._transaction(statements)
        except sqlite3.Error as error:
            self._stale = True
            refusal = await self._refusal(error, branch, expected, records)
            await self._wait_at_most(disk.BUSY_AGAIN_SECONDS if isinstance(refusal, JournalBusy) else disk.BUSY_SECONDS)
            raise refusal from error
        except BaseException:
            # Nothing shields from `Task.cancel`. The statement runs on in its thread; the caller learns of it after its end.
            self._stale = True
            await self._quietly("SELECT 1")
            raise
        await self._wait_at_most(disk.BUSY_SECONDS)

    async def _wait_at_most(self, seconds: float) -> None:
        if seconds != self._patience:
            self._patience = seconds
            await self._quietly(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    async def _transaction(self, statements: Sequence[Statement]) -> None:
        try:
            await self._query("BEGIN IMMEDIATE")
            for sql, values in statements:
                await self._query(sql, values)
            await self._query("COMMIT")
        except BaseException:
            # SQLite may have rolled back, or not begun, or even committed: then there is nothing to roll back.
            await self._quietly("ROLLBACK")
            raise

    async def _quietly(self, sql: str) -> None:
        with anyio.CancelScope(shield=True), suppress(sqlite3.Error):
            await self._query(sql)

    async def _refusal(
        self, error: sqlite3.Error, branch: BranchId, expected: int, records: Iterable[Record]
    ) -> JournalError:
        if not isinstance(error, sqlite3.IntegrityError):
            return disk.explain(error, self.path)
        if "already submitted" in str(error):
            intents = (record.event for record in records if isinstance(record.event, WriteIntended))
            return AlreadySubmitted(tuple((str(intent.capture_id), intent.attempt) for intent in intents))
        if "out of order" in str(error):
            await self._reload()
            return VersionConflict(branch, expected, self.head(branch).position)
        return disk.explain(error, self.path)

    async def _sweep(self) -> bool:
        self._unswept, before = True, self._patience
        try:
            await self._wait_at_most(0)  # waiting for readers here would keep the write lock from everybody
            with suppress(sqlite3.Error):
                ((busy, _, _),) = await self._query("PRAGMA wal_checkpoint(TRUNCATE)")
                self._unswept = bool(busy)
        finally:
            await self._wait_at_most(before)
        return not self._unswept


async def _prepared(connection: aiosqlite.Connection, path: Path) -> Header:
    """Make the connection durable, read back that it is, and return the file's header."""
    for setting, number in disk.SAFETY.items():
        await connection.execute_fetchall(f"PRAGMA {setting} = {number}")
    wanted: dict[str, str | int] = {"journal_mode": "wal", **disk.SAFETY}
    for name, value in wanted.items():
        ((found,),) = await connection.execute_fetchall(f"PRAGMA {name}")
        if found != value:
            raise StorageFailed(f"{path}: {name} is {found} here and {value} is needed; use a local disk")
    found_header = list(await connection.execute_fetchall("SELECT format, journal_id, session_id, root FROM header"))
    if len(found_header) != 1 or found_header[0][0] != disk.FORMAT:
        raise JournalDamaged(path, f"it has {len(found_header)} headers, or one of another format")
    format_, journal_id, session_id, root = found_header[0]
    return Header(format=format_, journal_id=JournalId(journal_id), session_id=SessionId(session_id), root=root)
