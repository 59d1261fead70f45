"""Reads a Tau session file from where it stopped; it never writes, and never takes a half line for an entry."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from continuity.tau.entries import Entry, EntryDamaged, MessageKey, Parsed, parse_entry
from journal.ids import EntryId

_HEAD_BYTES = 256
_TAIL_BYTES = 64


@dataclass(frozen=True, slots=True)
class Reading:
    """What one look at the file brought."""

    entries: tuple[Entry, ...]
    damaged: int
    """Lines of this look that were no entries; they were skipped."""
    restarted: bool
    """The file was cut or replaced, and everything was read again."""


@dataclass(frozen=True, slots=True)
class ActivePath:
    """Entries from the root to the tip."""

    entries: tuple[Entry, ...]
    matched: bool
    """The tip is the entry of the event's message, not merely the last of the file."""


class _Key(NamedTuple):
    role: str
    timestamp_ms: int
    text_hash: int


class SessionFile:
    """One session's entries, kept in memory and read incrementally.

    Plain blocking code: call it through a worker thread. Calls from several
    threads queue up.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damaged = 0
        """Lines skipped since the last (re)start of reading."""
        self._mutex = threading.Lock()
        self._forget()

    def __len__(self) -> int:
        return len(self._by_id)

    def __contains__(self, entry_id: object) -> bool:
        return entry_id in self._by_id

    @property
    def root(self) -> EntryId | None:
        """The id of the session's first entry; with the session id it identifies the session."""
        return next(iter(self._by_id), None)

    def read_new(self) -> Reading:
        """Take in the complete lines written since the last call.

        A missing file is an empty session. A cut or replaced file is read
        again from its start.

        Raises:
            OSError: The file is there but cannot be read; nothing changed.
        """
        with self._mutex:
            chunk, restarted = self._new_bytes()
            if restarted:
                self._forget()
            return self._take(chunk, restarted=restarted)

    def path_to(self, entry_id: EntryId) -> tuple[Entry, ...]:
        """Return the entries from the root to `entry_id`; a missing parent is a root, an unknown id is ()."""
        with self._mutex:
            return self._path(entry_id)

    def active_path(self, message: MessageKey | None = None) -> ActivePath:
        """Return the path the host is on, as far as the file can tell.

        With an event's `message` it ends at the newest entry that is this
        message, for another process may have appended since. Without one, or
        when the file does not hold it, it ends at the last entry of the file.
        """
        with self._mutex:
            found = None if message is None else self._newest.get(_key(message))
            tip = found or self._last
            return ActivePath(self._path(tip) if tip is not None else (), matched=found is not None)

    def _forget(self) -> None:
        self.damaged = 0
        self._offset = 0
        self._head = b""
        self._tail = b""
        self._by_id: dict[EntryId, Entry] = {}
        self._newest: dict[_Key, EntryId] = {}
        self._first: dict[_Key, EntryId] = {}
        self._last: EntryId | None = None
        self._walked: tuple[Entry, ...] = ()
        self._walked_at: dict[EntryId, int] = {}

    def _new_bytes(self) -> tuple[bytes, bool]:
        try:
            with _shared_lock(self.path), self.path.open("rb") as file:
                restarted = not self._continues(file)
                file.seek(0 if restarted else self._offset)
                return file.read(), restarted
        except FileNotFoundError:
            return b"", self._offset > 0

    def _continues(self, file: BinaryIO) -> bool:
        """Tell whether `file` still begins with the bytes already read."""
        if os.fstat(file.fileno()).st_size < self._offset:
            return False
        if file.read(len(self._head)) != self._head:
            return False
        file.seek(self._offset - len(self._tail))
        return file.read(len(self._tail)) == self._tail

    def _take(self, chunk: bytes, *, restarted: bool) -> Reading:
        complete = chunk[: chunk.rfind(b"\n") + 1]
        taken: list[Entry] = []
        damaged = 0
        for line in complete.split(b"\n"):
            if not line.strip():
                continue
            parsed = _decoded(line)
            if parsed is None or parsed.entry.id in self._by_id:
                damaged += 1
                continue
            self._keep(parsed)
            taken.append(parsed.entry)
        self._advance(complete)
        self.damaged += damaged
        return Reading(tuple(taken), damaged, restarted)

    def _keep(self, parsed: Parsed) -> None:
        entry_id = parsed.entry.id
        self._by_id[entry_id] = parsed.entry
        if parsed.key is not None:
            key = _key(parsed.key)
            self._newest[key] = entry_id
            first = self._first.setdefault(key, entry_id)
            if first != entry_id and key.timestamp_ms:  # role, time and text: it is the same message
                self._by_id[entry_id] = replace(parsed.entry, first_id=first)
        if not parsed.is_leaf:
            self._last = entry_id

    def _advance(self, complete: bytes) -> None:
        self._offset += len(complete)
        self._head = (self._head + complete[:_HEAD_BYTES])[:_HEAD_BYTES]
        self._tail = (self._tail + complete[-_TAIL_BYTES:])[-_TAIL_BYTES:]

    def _path(self, entry_id: EntryId) -> tuple[Entry, ...]:
        """Walk up to the root, or to where the previous walk passed: a longer session costs no longer walk."""
        upwards: list[Entry] = []
        seen: set[EntryId] = set()
        current: EntryId | None = entry_id
        while current is not None and current not in self._walked_at:
            entry = self._by_id.get(current)
            if entry is None or current in seen:
                # A parent that is missing (or a circle): not remembered, for the file may yet bring it.
                return tuple(reversed(upwards))
            seen.add(current)
            upwards.append(entry)
            current = entry.parent_id
        return self._remember(-1 if current is None else self._walked_at[current], upwards)

    def _remember(self, joined: int, upwards: list[Entry]) -> tuple[Entry, ...]:
        if not upwards:
            return self._walked[: joined + 1]
        for entry in self._walked[joined + 1 :]:
            del self._walked_at[entry.id]
        self._walked = (*self._walked[: joined + 1], *reversed(upwards))
        for position in range(joined + 1, len(self._walked)):
            self._walked_at[self._walked[position].id] = position
        return self._walked


def _decoded(line: bytes) -> Parsed | None:
    try:
        return parse_entry(json.loads(line))
    except (EntryDamaged, ValueError, OverflowError, RecursionError):
        return None


def _key(message: MessageKey) -> _Key:
    return _Key(message.role, message.timestamp_ms, hash(message.text))


@contextmanager
def _shared_lock(path: Path) -> Generator[None]:
    """Hold Tau's per-session lock shared, as Tau's own readers do.

    Where it cannot be had (read-only folder, no flock) we read without it: a
    line is taken only when its end is there, so a writer in between is seen
    as a half line.
    """
    lock = _open_lock(path)
    if lock is None:
        yield
        return
    with lock:
        yield


def _open_lock(path: Path) -> BinaryIO | None:
    with suppress(OSError, ImportError):
        import fcntl

        if not path.exists():
            return None
        lock_path = path.with_name(f".{path.name}.lock")
        lock = os.fdopen(os.open(lock_path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), "r+b")
        try:
            fcntl.flock(lock.fileno(), fcntl.LOCK_SH)
        except OSError:
            lock.close()
            return None
        return lock
    return None
