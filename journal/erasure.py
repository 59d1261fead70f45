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


def erase(path: Path, after: Row, records: Sequence[Record], digests: Sequence[Sha256]) -> tuple[Row, ...]:
    """Erase the texts kept under `digests`, append `records` behind `after`, the newest row, and return them as rows.

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
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # else the log would still hold what is gone
    return tuple(row for row, _ in sealed)


def _connected(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(disk.uri(path, "mode=rw"), uri=True, isolation_level=None, timeout=disk.BUSY_SECONDS)
    for setting, number in disk.SAFETY.items():
        connection.execute(f"PRAGMA {setting} = {number}")
    return connection
