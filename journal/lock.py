"""One writer at a time: a lock the kernel drops at death, beside the words about who holds it. It judges nobody's liveness.

The lock is `flock` on `<journal>.lock`; the file stays when it is released,
so that the next writer can read who the last one was.
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import msgspec

from journal import chain, disk, filesystem
from journal.errors import JournalLocked
from journal.row import WriterRecord

_PROBE_PATIENCE = 200
"""How many milliseconds to wait for those who only look; an owner is reported at once."""

_words: msgspec.json.Decoder[WriterRecord] = msgspec.json.Decoder(WriterRecord)


class Holder(NamedTuple):
    """What can be said of a journal's writer without becoming one."""

    live: bool
    """Some process holds the lock at this moment."""
    record: WriterRecord | None
    """Who holds it, or held it last; None when it left no words."""


class JournalLock:
    """The right to write one journal, until `release` or this process's end."""

    def __init__(self, path: Path, handle: int, previous: WriterRecord | None) -> None:
        """Use `acquire`."""
        self.path = path
        self.previous = previous
        """The last writer before this one. It no longer holds the lock; that it ended is not said."""
        self._handle: int | None = handle

    @classmethod
    def acquire(cls, journal: Path, record: WriterRecord) -> JournalLock:
        """Become the one writer of `journal`, which need not exist yet; waits for nobody who writes.

        Raises:
            JournalLocked: Another process, or another lock of this one, holds it; nothing was touched.
            FileSystemUnsupported: A lock there says nothing of other machines; nothing was made.
            StorageFailed: This file system has no locks, or failed.
        """
        path = lock_path(journal)
        with disk.explained(path):
            filesystem.require_local(journal)
            disk.make_folder(path.parent)
            handle = _locked(path)
            try:
                previous = _read(handle)
                _write(handle, record)
            except BaseException:
                os.close(handle)
                raise
        return cls(path, handle, previous)

    def release(self) -> None:
        """Let the next writer in. Releasing twice is releasing once."""
        if self._handle is not None:
            handle, self._handle = self._handle, None
            # A child that was forked without exec shares the lock; closing alone would leave it with the child.
            with suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def lock_path(journal: Path) -> Path:
    """Return the path of `journal`'s lock file."""
    return Path(f"{journal}.lock")


def holder(journal: Path) -> Holder:
    """Tell whether a live process writes `journal`, and who does or did, without standing in anybody's way.

    Raises:
        StorageFailed: The lock file is there and could not be asked.
    """
    path = lock_path(journal)
    with disk.explained(path):
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return Holder(live=False, record=None)
        try:
            return Holder(live=not _try(handle, fcntl.LOCK_SH), record=_read(handle))
        finally:
            os.close(handle)


def _locked(path: Path) -> int:
    """Return an open, exclusively locked handle of the file that is at `path` now.

    `holder` takes a shared lock for a moment. Whoever finds the exclusive one
    refused and the shared one free has met only such a look, and tries again.
    """
    for _ in range(_PROBE_PATIENCE):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(handle, 0o600)
            if _try(handle, fcntl.LOCK_EX) and _is_at(handle, path):
                return handle
            owned, record = not _try(handle, fcntl.LOCK_SH), _read(handle)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)
        if owned:
            raise JournalLocked(path, record)
        time.sleep(0.001)
    raise JournalLocked(path, None)


def _try(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Tell whether nobody has put another file in this one's place since it was opened."""
    try:
        return os.path.samestat(os.fstat(handle), path.lstat())
    except FileNotFoundError:
        return False


def _read(handle: int) -> WriterRecord | None:
    try:
        return _words.decode(os.pread(handle, 65536, 0))
    except (msgspec.MsgspecError, UnicodeError):
        return None


def _write(handle: int, record: WriterRecord) -> None:
    os.ftruncate(handle, 0)
    os.pwrite(handle, chain.canonical(record), 0)
