"""Reads a journal without being able to change it: what replay, audit and export stand on. It never repairs.

A journal whose writer lives is read through SQLite beside it. Any other is
read from a private copy of file and log, so that not a byte of it changes and
a read-only folder is no obstacle.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import cached_property, partial
from hashlib import sha256
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

from journal import chain, codec, disk
from journal.chain import canonical
from journal.errors import ChainBroken, JournalBusy, JournalDamaged, NoSuchPlace, RowUnreadable
from journal.ids import BranchId, JournalId, SessionId, Sha256
from journal.lock import holder
from journal.row import FIRST_BRANCH, BranchRow, Header, RawRow, Row, unpack_tip

CHUNK = 128
"""Rows verified at once: enough to spread the cost, few enough to stay in the processor's cache."""

_COPY_TRIES = 5
_VERIFY = """
SELECT position, at_ms, tip, cause, CAST(type AS BLOB), CAST(payload AS BLOB), digest FROM events
WHERE branch = ? AND position > ? AND position <= ? ORDER BY position
"""
_ROWS = "SELECT branch, position, at_ms, tip, cause, type, payload, digest FROM events "
_RECORDED = _ROWS + "ORDER BY id"
_PART = _ROWS + "WHERE branch = ? AND position > ? AND position <= ? ORDER BY position"

# Damaged text must come back as the bytes it is, or damage could not even be listed.
_text = partial(str, encoding="utf-8", errors="surrogateescape")

type _Value = str | bytes | int
type _Stored = tuple[int, int, bytes | str | None, bytes | None, bytes, bytes, bytes]
"""position, at_ms, tip, cause, type, payload, digest: as verification reads them."""


class Segment(NamedTuple):
    """The part of a history that one branch recorded: positions `after` + 1 to `upto`."""

    branch: BranchRow
    after: int
    upto: int


class Reader:
    """One consistent view of a journal: nothing written after the first look is seen."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Use `open_reader`."""
        self.path = path
        self._connection = connection

    @cached_property
    def header(self) -> Header:
        """What the file is.

        Raises:
            JournalDamaged: There is not exactly one header.
        """
        found = list(self.rows_of("SELECT id, format, journal_id, session_id, root FROM header"))
        if len(found) != 1 or found[0][0] != 1:
            raise JournalDamaged(self.path, f"{len(found)} headers where one, numbered 1, belongs")
        _, format_, journal_id, session_id, root = found[0]
        return Header(format=format_, journal_id=JournalId(journal_id), session_id=SessionId(session_id), root=root)

    @cached_property
    def branches(self) -> tuple[BranchRow, ...]:
        """All branches, by number, as they are stored.

        Raises:
            JournalDamaged: One of them is no branch.
        """
        found = self.rows_of("SELECT branch, parent, fork_position, genesis FROM branches ORDER BY branch")
        try:
            return tuple(
                BranchRow(branch=branch, parent=parent, fork_position=fork, genesis=Sha256(genesis.hex()))
                for branch, parent, fork, genesis in found
            )
        except AttributeError as error:
            raise JournalDamaged(self.path, "a branch's genesis is no digest") from error

    def journal_mode(self) -> str:
        """Return SQLite's word for how this file is written.

        Raises:
            JournalDamaged: It cannot be told.
        """
        ((found,),) = self.rows_of("PRAGMA journal_mode")
        return str(found)

    def head(self, branch: int) -> int:
        """Return the last position of `branch`'s history."""
        ((found,),) = self.rows_of("SELECT max(position) FROM events WHERE branch = ?", branch)
        return int(found) if found is not None else self._branch(branch).fork_position

    def last_branch(self) -> BranchId:
        """Return the branch written last; the first one of a journal that has no event yet."""
        found = list(self.rows_of("SELECT branch FROM events ORDER BY rowid DESC LIMIT 1"))
        return BranchId(found[0][0]) if found else FIRST_BRANCH

    def rows(self) -> Iterator[RawRow]:
        """Yield every row of every branch in the order of recording, undecoded and unverified."""
        return self._raw(_RECORDED)

    def history(self, branch: int, at: int | None = None) -> Iterator[RawRow]:
        """Yield rows 1 to `at` of `branch`'s history, ancestors first, undecoded and unverified.

        Raises:
            NoSuchPlace: There is no such branch or position.
        """
        for segment in self.segments(branch, at):
            yield from self._raw(_PART, segment.branch.branch, segment.after, segment.upto)

    def verified(self, branch: int, at: int | None = None) -> Iterator[Row]:
        """Yield rows 1 to `at` of `branch`'s history, decoded, each only after its digest was proven.

        Raises:
            NoSuchPlace: There is no such branch or position.
            ChainBroken: A row does not follow from what is before it; the rows already yielded are good.
            UnknownEvent: A row has a tag of a later version; the rows already yielded are good.
            EventDamaged: A row's payload is not what its tag says; the rows already yielded are good.
        """
        header, segments = self.header, self.segments(branch, at)
        previous: bytes | None = None
        for segment in segments:
            row = segment.branch
            previous = chain.genesis(header, row.branch, row.parent, row.fork_position, previous)
            if previous.hex() != row.genesis:
                raise ChainBroken("the branch does not begin as its header says", row.branch, segment.after)
            for rows, digest in self._verified_chunks(segment, previous):
                previous = digest
                yield from rows

    def segments(self, branch: int, at: int | None = None) -> list[Segment]:
        """Return the parts of `branch`'s history up to `at`, the oldest first.

        Raises:
            NoSuchPlace: There is no such branch or position.
            ChainBroken: A branch names a parent that cannot be one.
        """
        head = self.head(branch)
        upto = head if at is None else at
        if not 0 <= upto <= head:
            raise NoSuchPlace(branch, at)
        found: list[Segment] = []
        row = self._branch(branch)
        while True:
            if row.parent is None or upto > row.fork_position:
                found.append(Segment(row, row.fork_position, upto))
            if row.parent is None:
                return found[::-1]
            if row.parent >= row.branch:
                raise ChainBroken("the branch is older than its parent", row.branch, row.fork_position)
            upto = min(upto, row.fork_position)
            row = self._branch(row.parent)

    def submissions(self) -> frozenset[tuple[str, int]]:
        """Return every (capture, attempt) that was ever intended."""
        found = self.rows_of("SELECT capture, attempt FROM submissions")
        return frozenset((capture, attempt) for capture, attempt in found)

    def body(self, digest: Sha256) -> str | None:
        """Return the text kept under `digest`, unverified; None when it was erased or never kept."""
        found = list(self.rows_of("SELECT text FROM bodies WHERE digest = ?", bytes.fromhex(digest)))
        return str(found[0][0]) if found else None

    def digests(self) -> tuple[Sha256, ...]:
        """Return the digests under which a text is kept."""
        return tuple(Sha256(digest.hex()) for (digest,) in self.rows_of("SELECT digest FROM bodies ORDER BY digest"))

    def bodies(self) -> Iterator[tuple[Sha256, str]]:
        """Yield every body with the digest it is kept under, by digest."""
        for digest, text in self.rows_of("SELECT digest, text FROM bodies ORDER BY digest"):
            yield Sha256(digest.hex()), text

    def rows_of(self, sql: str, *values: _Value) -> Iterator[sqlite3.Row]:
        """Yield what the query `sql` finds, a chunk at a time; tuples, whatever their declared type."""
        with self._found(sql, values) as cursor:
            while chunk := cursor.fetchmany(CHUNK):
                yield from chunk

    @contextmanager
    def _found(self, sql: str, values: tuple[_Value, ...]) -> Generator[sqlite3.Cursor]:
        with disk.explained(self.path):
            cursor = self._connection.execute(sql, values)
            try:
                yield cursor
            finally:
                # A generator that was left half read may be ended after its view was closed.
                with suppress(sqlite3.ProgrammingError):
                    cursor.close()

    def _raw(self, sql: str, *values: _Value) -> Iterator[RawRow]:
        for branch, position, at_ms, tip, cause, type_, payload, digest in self.rows_of(sql, *values):
            yield RawRow(branch, position, at_ms, unpack_tip(tip), cause, type_, payload, digest)

    def _branch(self, branch: int) -> BranchRow:
        for row in self.branches:
            if row.branch == branch:
                return row
        raise NoSuchPlace(branch)

    def _verified_chunks(self, segment: Segment, previous: bytes) -> Iterator[tuple[Iterable[Row], bytes]]:
        branch, place = segment.branch.branch, segment.after
        with self._found(_VERIFY, (branch, segment.after, segment.upto)) as cursor:
            while chunk := cursor.fetchmany(CHUNK):
                yield _proven(branch, place, previous, chunk), chunk[-1][6]
                place, previous = chunk[-1][0], chunk[-1][6]
        if place != segment.upto:
            raise ChainBroken("the row is missing", branch, place + 1)


def relink(branch: int, previous: bytes, row: _Stored) -> bytes | None:
    """Return the digest that `row` of `branch` would have after `previous`; None if its columns are of the wrong kind."""
    position, at_ms, tip, cause, type_, payload, _ = row
    try:
        columns = (branch, position, at_ms, unpack_tip(tip), None if cause is None else cause.hex(), type_.decode())
        return chain.link(previous, columns, payload)
    except (TypeError, AttributeError, UnicodeError):
        return None


def _proven(branch: BranchId, place: int, previous: bytes, chunk: Sequence[_Stored]) -> Iterable[Row]:
    """Return the rows of `chunk`, all proven; or yield those before the first that is not, and raise for that one."""
    try:
        return _all_at_once(branch, place, previous, chunk)
    except (TypeError, AttributeError, UnicodeError, RowUnreadable):
        return _one_by_one(branch, place, previous, chunk)


def _all_at_once(branch: BranchId, place: int, previous: bytes, chunk: Sequence[_Stored]) -> list[Row]:
    """Return the rows of `chunk`, or raise without saying for which. Replay spends its time here: `chain.link`, inlined."""
    positions, times, stored_tips, stored_causes, stored_types, payloads, digests = zip(*chunk, strict=True)
    types = [type_.decode() for type_ in stored_types]
    tips = [tip.hex() if tip.__class__ is bytes else tip for tip in stored_tips]
    causes = [None if cause is None else cause.hex() for cause in stored_causes]
    found: list[bytes] = []
    for columns, payload in zip(zip(repeat(branch), positions, times, tips, causes, types), payloads):  # noqa: B905
        previous = sha256(previous + canonical(columns) + b"\n" + payload).digest()
        found.append(previous)
    if found != list(digests) or positions != tuple(range(place + 1, place + 1 + len(chunk))):
        raise ChainBroken("a row does not follow from what is before it")
    events = codec.decode_many(types, payloads)
    names = [digest.hex() for digest in found]
    return [
        Row(event=event, branch=branch, position=position, at_ms=at_ms, tip=tip, cause=cause, digest=name)
        for event, position, at_ms, tip, cause, name in zip(events, positions, times, tips, causes, names, strict=True)
    ]


def _one_by_one(branch: BranchId, place: int, previous: bytes, chunk: Iterable[_Stored]) -> Iterator[Row]:
    for row in chunk:
        position, at_ms, tip, cause, type_, payload, digest = row
        place += 1
        if position != place:
            raise ChainBroken("the row is missing", branch, place)
        if relink(branch, previous, row) != digest:
            raise ChainBroken("the digest does not follow from the row and what is before it", branch, place)
        try:
            event = codec.decode(type_.decode(), payload)
        except RowUnreadable as error:
            raise error.at(branch, place) from error
        yield Row(
            event=event,
            branch=branch,
            position=position,
            at_ms=at_ms,
            tip=unpack_tip(tip),
            cause=None if cause is None else Sha256(cause.hex()),
            digest=Sha256(digest.hex()),
        )
        previous = digest


@contextmanager
def open_reader(path: Path) -> Generator[Reader]:
    """Open one consistent view of the journal at `path`; links are followed.

    Raises:
        JournalUnreadable: It is missing, newer, damaged or something else; it was left as it is.
        JournalBusy: It changed all the while it was being copied; nothing was touched.
        StorageFailed: It could not be read.
    """
    path = Path(os.path.realpath(path))  # resolve() raises over links in a circle
    with ExitStack() as stack:
        with disk.explained(path):
            disk.recognise(path)
            connection = _beside_the_writer(path) if _is_live(path) else None
            if connection is None:
                connection = _view(stack.enter_context(_private_copy(path)), "mode=rw")
            stack.enter_context(closing(connection))
            disk.check_format(path, connection)
        yield Reader(path, connection)


def _is_live(path: Path) -> bool:
    sidecars = all(Path(f"{path}{suffix}").exists() for suffix in ("-wal", "-shm"))
    return sidecars and (disk.is_open_here(path) or holder(path).live)


def _beside_the_writer(path: Path) -> sqlite3.Connection | None:
    """Return a view of a file in use; None if it may only be copied."""
    try:
        return _view(path, "mode=ro")
    except sqlite3.OperationalError:
        if disk.is_open_here(path):
            raise
        return None


def _view(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(disk.uri(path, mode), uri=True, isolation_level=None, timeout=disk.BUSY_SECONDS)
    try:
        connection.text_factory = _text
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM header").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _private_copy(path: Path) -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="continuity-") as folder:
        copy = Path(folder) / "journal"
        for _ in range(_COPY_TRIES):
            before = _stamp(path)
            _copy_both(path, copy)
            if _stamp(path) == before:
                break
        else:
            raise JournalBusy(f"{path} changed all the while it was being copied")
        yield copy


def _copy_both(path: Path, copy: Path) -> None:
    """Copy the file, then its log: whatever a checkpoint moved meanwhile is still in the log until that is begun anew."""
    log = Path(f"{copy}-wal")
    for made in (copy, log):
        made.touch(mode=0o600)  # its owner's alone from the first byte on, whatever the umask
    shutil.copyfile(path, copy)
    try:
        shutil.copyfile(f"{path}-wal", log)
    except FileNotFoundError:
        log.unlink(missing_ok=True)


def _stamp(path: Path) -> tuple[int, int, int, bytes]:
    """Return what changes when a log is begun anew, or when the file is written without one."""
    found = path.stat()
    try:
        with Path(f"{path}-wal").open("rb") as log:
            begun = log.read(32)
    except FileNotFoundError:
        begun = b""
    return found.st_ino, found.st_size, found.st_mtime_ns, begun
