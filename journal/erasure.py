"""Erases kept texts of a journal that no session has open, with the rows that say so, in one commit. It appends nothing else.

For commands, which wait for nothing: a session erases through its store.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from journal import disk
from journal.ids import Sha256
from journal.row import Record, Row
from journal.seal import seal
from journal.statements import erasing, inserting


def erase(path: Path, after: Row, records: Sequence[Record], digests: Sequence[Sha256]) -> bool:
    """Erase the texts kept under `digests` and append `records` behind `after`, the newest row; return what `sweep` does.

    All of it is on the disk or none of it. Hold the journal's lock. Blocking.

    Raises:
        EventRejected: A record cannot be held; nothing was erased.
        JournalUnreadable: The file is no journal any more; it was left as it is.
        JournalBusy: No write lock within the busy timeout; nothing was erased.
        StorageFailed: The disk failed, or `after` is not the newest row; nothing was erased.
    """
    sealed = list(seal(after.branch, after.position, bytes.fromhex(after.digest), records))
    disk.admit(path)
    with disk.explained(path), closing(_connected(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        for sql, values in (*erasing(digests), *inserting([stored for _, stored in sealed])):
            connection.execute(sql, values)
        connection.execute("COMMIT")
        return _swept(connection)


def sweep(path: Path) -> bool:
    """Let no file of the journal hold what was erased before; return whether none does. Hold its lock. Blocking.

    As long as another program reads it the old pages stay where they are: sweep again once that has ended.

    Raises:
        JournalUnreadable: The file is no journal any more; it was left as it is.
        StorageFailed: The disk failed.
    """
    disk.admit(path)
    with disk.explained(path), closing(_connected(path)) as connection:
        return _swept(connection)


def _swept(connection: sqlite3.Connection) -> bool:
    """SQLite reports a reader that is in the way as a row, and raises nothing."""
    ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return not busy


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(disk.uri(path, "mode=rw"), uri=True, isolation_level=None, timeout=disk.BUSY_SECONDS)
    for setting, number in disk.SAFETY.items():
        connection.execute(f"PRAGMA {setting} = {number}")
    return connection
