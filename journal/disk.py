"""The journal as a file: made whole or not at all, private, and recognised before it is touched. No event passes here."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

from journal import chain, filesystem
from journal.errors import (
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalExists,
    JournalFull,
    JournalMissing,
    JournalNewer,
    JournalVanished,
    NotAJournal,
    StorageFailed,
)
from journal.row import FIRST_BRANCH, Header
from journal.statements import INSERT_BRANCH

FORMAT = 1
APPLICATION_ID = int.from_bytes(b"TCJR")
BUSY_SECONDS = 5.0
"""How long a commit waits for another program's write lock."""

BUSY_AGAIN_SECONDS = 0.2
"""How long it waits if the one before waited in vain: a lock that is never let go costs one long wait, not one a commit."""


SAFETY = {"synchronous": 2, "secure_delete": 1, "trusted_schema": 0, "journal_size_limit": 4 * 2**20}
"""What a writer sets on its connection, and reads back. 2 is FULL: a commit is on the disk before it returns."""

_SIDECARS = ("", "-wal", "-shm")
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISMATCH}
_FAILURES = {
    sqlite3.SQLITE_READONLY: "it cannot be written to",
    sqlite3.SQLITE_IOERR: "the file system failed",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_PERM: "permission denied",
    sqlite3.SQLITE_CONSTRAINT: "its guards refused it; nothing was written",
}
_open_here: list[tuple[int, int]] = []


def schema() -> str:
    """Return the SQL that makes an empty journal."""
    return files("journal").joinpath("schema.sql").read_text("utf-8")


def explain(error: sqlite3.Error | OSError, path: Path) -> JournalError:
    """Return the error of ours that says what `error` means for the caller, in words of ours: the driver's may quote SQL."""
    code = getattr(error, "sqlite_errorcode", -1) & 0xFF
    if code in _BUSY:
        return JournalBusy(f"{path}: another process holds the write lock; nothing was written")
    if code == sqlite3.SQLITE_FULL:
        return JournalFull(f"{path}: no room; nothing was written")
    if code in _DAMAGED:
        return JournalDamaged(path, "it cannot be read as a journal")
    if isinstance(error, OSError):
        return StorageFailed(f"{path}: {error.strerror or 'the file system failed'}")
    return StorageFailed(f"{path}: {_FAILURES.get(code, 'the database failed')}")


@contextmanager
def explained(path: Path) -> Generator[None]:
    """Let only errors of ours out of the block."""
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise explain(error, path) from error
    except UnicodeDecodeError as error:  # SQLite's own words quote a damaged schema
        raise JournalDamaged(path, "its schema is damaged") from error


def create(path: Path, header: Header, fill: Callable[[sqlite3.Connection], None] | None = None) -> None:
    """Make a journal at `path`, with a first branch or with what `fill` inserts, in one step.

    It is built under another name and linked into place, so nobody ever sees half a journal and nothing
    is ever overwritten. Folders are made 0700 and the file 0600, whatever the umask.

    Raises:
        JournalExists: Something is at `path`; it was left as it is.
        FileSystemUnsupported: No journal is safe there; nothing was made, not even a folder.
        StorageFailed: Nothing was made at `path`.
    """
    if header.format != FORMAT:
        raise ValueError(f"this version makes format {FORMAT}, not {header.format}")
    with explained(path):
        if os.path.lexists(path):
            raise JournalExists(path)
        filesystem.require_local(path)
        make_folder(path.parent)
        draft = _draft_beside(path)
        try:
            _build(draft, header, fill or _first_branch(header))
            os.link(draft, path, follow_symlinks=False)
        except FileExistsError as error:
            raise JournalExists(path) from error
        finally:
            for suffix in _SIDECARS:
                Path(f"{draft}{suffix}").unlink(missing_ok=True)
        _sync_folder(path.parent)


def make_folder(folder: Path) -> None:
    """Make `folder` and what is missing above it, 0700 whatever the umask; one that exists stays as it is."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)


def _draft_beside(path: Path) -> Path:
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".new", dir=path.parent)
    try:
        os.fchmod(handle, 0o600)
    finally:
        os.close(handle)
    return Path(name)


def _build(draft: Path, header: Header, fill: Callable[[sqlite3.Connection], None]) -> None:
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(f"BEGIN IMMEDIATE; {schema()}")
        connection.execute(
            "INSERT INTO header (id, format, journal_id, session_id, root) VALUES (1, ?, ?, ?, ?)",
            (header.format, header.journal_id, header.session_id, header.root),
        )
        fill(connection)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _first_branch(header: Header) -> Callable[[sqlite3.Connection], None]:
    row = (FIRST_BRANCH, None, 0, chain.genesis(header, FIRST_BRANCH))
    return lambda connection: connection.execute(INSERT_BRANCH, row).close()


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def admit(path: Path) -> None:
    """Let a writer at `path`: it must be a journal of a format we know, no link, and private from here on.

    Raises:
        JournalUnreadable: It is not; it was left as it is.
        FileSystemUnsupported: It may be read where it is, and not written.
        StorageFailed: Its permissions could not be tightened.
    """
    with explained(path):
        if path.is_symlink():
            raise NotAJournal(path, "a symbolic link is not followed for writing")
        recognise(path)
        filesystem.require_local(path)
        for suffix in _SIDECARS:
            file = Path(f"{path}{suffix}")
            if file.exists() and stat.S_IMODE(file.stat().st_mode) & 0o077:
                file.chmod(0o600)


def recognise(path: Path) -> None:
    """Return if `path` is a journal of a format known here. Takes no lock and changes no byte.

    SQLite itself looks, as on unchanging media: closing a file that we had opened past it would drop
    the locks of every connection this process has to it.

    Raises:
        JournalUnreadable: It is not; it was left as it is.
        OSError: It cannot be looked at.
    """
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise JournalMissing(path, "no such file") from error
    if not path.is_file() or not path.stat().st_size:
        raise NotAJournal(path, "an empty file is not a journal" if path.is_file() else "not a file")
    try:
        with closing(sqlite3.connect(uri(path, "mode=ro&immutable=1"), uri=True)) as connection:
            check_format(path, connection)
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", -1) == sqlite3.SQLITE_NOTADB:
            raise NotAJournal(path, "not an SQLite file") from error
        raise explain(error, path) from error


def check_format(path: Path, connection: sqlite3.Connection) -> None:
    """Raise NotAJournal or JournalNewer unless the file behind `connection` says what ours say."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or found < 1:
        raise NotAJournal(path, "an SQLite file, but not a journal")
    if found > FORMAT:
        raise JournalNewer(path, found, FORMAT)


def uri(path: Path, query: str) -> str:
    """Return the SQLite URI of `path`."""
    return f"{path.absolute().as_uri()}?{query}"


def note_open(path: Path) -> tuple[int, int]:
    """Remember that this process writes to `path`; give the result to `note_closed`."""
    found = path.stat()
    _open_here.append((found.st_dev, found.st_ino))
    return _open_here[-1]


def note_closed(identity: tuple[int, int]) -> None:
    """Forget one `note_open`."""
    _open_here.remove(identity)


def require_present(path: Path, identity: tuple[int, int]) -> None:
    """Return if the file noted as `identity`, and a log, still lie at `path`: SQLite commits to a deleted file too.

    Raises:
        JournalVanished: What is written now would be nowhere.
    """
    try:
        found = path.stat()
        path.with_name(f"{path.name}-wal").stat()
    except OSError as error:
        raise JournalVanished(f"{path} is not there any more; nothing was written") from error
    if (found.st_dev, found.st_ino) != identity:
        raise JournalVanished(f"{path} is another file now; nothing was written")


def is_open_here(path: Path) -> bool:
    """Tell whether this process writes to `path`: then it must not be opened past SQLite."""
    found = path.stat()
    return (found.st_dev, found.st_ino) in _open_here
