r"""Carries a journal as canonical JSON lines and back, byte for byte. It repairs nothing and adds nothing of its own.

A header line; branches and events in the order of recording, each branch just
before its first event, each payload as its exact string; bodies only if asked
for, by digest; a last line with the counts, so that a cut file is not taken
for a short journal. Submissions follow from the intents. Only `\n` ends a line.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from journal import chain, codec, disk, statements
from journal.errors import EventDamaged, ImportRefused, JournalDamaged, NotAnExport, UnknownEvent
from journal.ids import BranchId, EntryId, JournalId, SessionId, Sha256
from journal.reader import Reader
from journal.row import BranchRow, Header, RawRow, pack_tip

type _Digest = Annotated[Sha256, Meta(pattern="^[0-9a-f]{64}$")]
type _Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False, tag_field="record"):
    """Base of all lines."""


class _HeaderLine(_Line, frozen=True, kw_only=True, tag="header"):
    format: _Count
    journal_id: JournalId
    session_id: SessionId
    root: EntryId | None


class _BranchLine(_Line, frozen=True, kw_only=True, tag="branch"):
    branch: BranchId
    parent: BranchId | None
    fork_position: _Count
    genesis: _Digest


class _EventLine(_Line, frozen=True, kw_only=True, tag="event"):
    branch: BranchId
    position: _Count
    at_ms: _Count
    tip: EntryId | None
    cause: _Digest | None
    type: str
    payload: str
    digest: _Digest


class _BodyLine(_Line, frozen=True, kw_only=True, tag="body"):
    digest: _Digest
    text: str


class _EndLine(_Line, frozen=True, kw_only=True, tag="end"):
    branches: int
    events: int
    bodies: int


_INSERT_ONE = statements.INSERT_EVENT + "(?, ?, ?, ?, ?, ?, ?, ?)"

type _AnyLine = _HeaderLine | _BranchLine | _EventLine | _BodyLine | _EndLine

_decoder: msgspec.json.Decoder[_AnyLine] = msgspec.json.Decoder(_AnyLine)


def export_lines(reader: Reader, *, bodies: bool = False) -> Iterator[bytes]:
    """Yield the journal behind `reader` as lines, each with its end; nothing is verified.

    Raises:
        JournalDamaged: A text is not UTF-8; the lines before are good.
    """
    try:
        for line in _lines(reader, bodies=bodies):
            yield chain.canonical(line) + b"\n"
    except UnicodeError as error:
        raise JournalDamaged(reader.path, "a text in it is not UTF-8") from error


def _lines(reader: Reader, *, bodies: bool) -> Iterator[_AnyLine]:
    header = reader.header
    yield _HeaderLine(
        format=header.format, journal_id=header.journal_id, session_id=header.session_id, root=header.root
    )
    waiting = list(reader.branches)
    branch_count, event_count, body_count = len(waiting), 0, 0
    for row in reader.rows():
        while waiting and waiting[0].branch <= row.branch:
            yield _branch_line(waiting.pop(0))
        event_count += 1
        yield _event_line(row)
    yield from map(_branch_line, waiting)
    for digest, text in reader.bodies() if bodies else ():
        body_count += 1
        yield _BodyLine(digest=digest, text=text)
    yield _EndLine(branches=branch_count, events=event_count, bodies=body_count)


def _branch_line(row: BranchRow) -> _BranchLine:
    return _BranchLine(branch=row.branch, parent=row.parent, fork_position=row.fork_position, genesis=row.genesis)


def _event_line(row: RawRow) -> _EventLine:
    return _EventLine(
        branch=BranchId(row.branch),
        position=row.position,
        at_ms=row.at_ms,
        tip=None if row.tip is None else EntryId(row.tip),
        cause=None if row.cause is None else Sha256(row.cause.hex()),
        type=row.type,
        payload=row.payload,
        digest=Sha256(row.digest.hex()),
    )


def import_lines(lines: Iterable[bytes], path: Path) -> int:
    """Make a journal at `path` from exported `lines`, each with its end; return the number of events.

    Every digest is computed again before anything is made, and `export_lines`
    of the result gives the same bytes.

    Raises:
        NotAnExport: They are something else from the first line on; no file was made.
        ImportRefused: They are not a whole, sound, canonical export; no file was made.
        JournalExists: Something is at `path`; it was left as it is.
        StorageFailed: The file could not be made.
    """
    arriving = _Import(lines)
    header = arriving.header()
    disk.create(path, header, partial(arriving.fill, header))
    return arriving.events


def _other_kind(raw: bytes) -> str:
    """Say what begins with the line `raw`, which no export does."""
    if raw.startswith(b"SQLite format 3\0"):
        return "this is an SQLite file, as journals are, and no exported text"
    return "this is no text that export wrote: those begin with a line for the header"


class _Import:
    """One import on its way: where it is in the lines, and what the next line may be."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self.events = 0
        self._lines = iter(lines)
        self._record = 0
        self._offset = 0
        self._size = 0
        self._branches: list[BranchRow] = []
        self._heads: dict[int, tuple[int, bytes]] = {}
        self._awaited: int | None = None
        """The branch whose line came last, so that its first event comes next."""
        self._bodies = 0
        self._last_body = ""

    def header(self) -> Header:
        """Take the first line."""
        line = self._next()
        if not isinstance(line, _HeaderLine):
            raise self._refused("an export begins with its header")
        if line.format != disk.FORMAT:
            raise self._refused(f"format {line.format}, and this version reads {disk.FORMAT}: update tau-continuity")
        return Header(format=line.format, journal_id=line.journal_id, session_id=line.session_id, root=line.root)

    def fill(self, header: Header, connection: sqlite3.Connection) -> None:
        """Take all other lines into the new file behind `connection`."""
        while not isinstance(line := self._next(), _EndLine):
            try:
                self._take(line, header, connection)
            except sqlite3.IntegrityError as error:
                raise self._refused("the journal's guards refuse this line") from error
        if line != _EndLine(branches=len(self._branches), events=self.events, bodies=self._bodies):
            raise self._refused("the counts in the last line are not those of the lines before it")
        if not self._branches:
            raise self._refused("there is no first branch")
        if next(self._lines, None) is not None:
            raise self._refused("there is more after this last line")

    def _next(self) -> _AnyLine:
        raw = next(self._lines, b"")
        self._record += 1
        self._offset, self._size = self._offset + self._size, len(raw)
        if not raw and self._record == 1:
            raise NotAnExport("this is empty")
        if not raw:
            raise self._refused("the lines end before the last one, which holds the counts")
        try:
            line = _decoder.decode(raw)
        except (msgspec.MsgspecError, UnicodeError) as error:
            if self._record == 1:
                raise NotAnExport(_other_kind(raw)) from error
            raise self._refused(f"no line of an export: {codec.fault(error)}") from error
        if chain.canonical(line) + b"\n" != raw:
            raise self._refused("not in the one form that export writes")
        return line

    def _take(self, line: _AnyLine, header: Header, connection: sqlite3.Connection) -> None:
        match line:
            case _BranchLine() if not self._bodies:
                self._take_branch(line, header, connection)
            case _EventLine() if not self._bodies:
                self._take_event(line, connection)
            case _BodyLine():
                self._take_body(line, connection)
            case _:
                raise self._refused("a line of this kind has no place here")

    def _take_branch(self, line: _BranchLine, header: Header, connection: sqlite3.Connection) -> None:
        at_fork = self._digest_at_fork(line, connection)
        found = chain.genesis(header, line.branch, line.parent, line.fork_position, at_fork)
        if line.branch != len(self._branches) + 1 or found.hex() != line.genesis:
            raise self._refused("the branch does not begin as header and parent say")
        connection.execute(statements.INSERT_BRANCH, (line.branch, line.parent, line.fork_position, found))
        self._branches.append(
            BranchRow(branch=line.branch, parent=line.parent, fork_position=line.fork_position, genesis=line.genesis)
        )
        self._heads[line.branch] = (line.fork_position, found)
        self._awaited = line.branch

    def _digest_at_fork(self, line: _BranchLine, connection: sqlite3.Connection) -> bytes | None:
        if line.parent is None or not self._branches:
            return None
        if line.fork_position == 0:
            return bytes.fromhex(self._branches[0].genesis)
        place = (line.parent, line.fork_position)
        found = connection.execute("SELECT digest FROM events WHERE branch = ? AND position = ?", place).fetchone()
        return None if found is None else bytes(found[0])

    def _take_event(self, line: _EventLine, connection: sqlite3.Connection) -> None:
        position, previous = self._heads.get(line.branch, (-1, b""))
        begins = bool(self._branches) and position == self._branches[line.branch - 1].fork_position
        if begins != (self._awaited == line.branch) or (self._awaited is not None and not begins):
            raise self._refused("a branch's line stands just before its first event")
        columns = (line.branch, line.position, line.at_ms, line.tip, line.cause, line.type)
        payload = line.payload.encode()
        found = chain.link(previous, columns, payload)
        if line.position != position + 1 or found.hex() != line.digest:
            raise self._refused("the digest does not follow from the event and what is before it")
        with suppress(UnknownEvent):
            self._check(line.type, payload)
        cause = None if line.cause is None else bytes.fromhex(line.cause)
        row = (*columns[:3], pack_tip(line.tip), cause, line.type, line.payload, found)
        connection.execute(_INSERT_ONE, row)
        self._heads[line.branch] = (line.position, found)
        self._awaited = None
        self.events += 1

    def _check(self, type_: str, payload: bytes) -> None:
        try:
            codec.decode(type_, payload)
        except EventDamaged as error:
            raise self._refused(error.what) from error

    def _take_body(self, line: _BodyLine, connection: sqlite3.Connection) -> None:
        if line.digest <= self._last_body or chain.body_digest(line.text) != line.digest:
            raise self._refused("the body is another text, or bodies are not in the order of their digests")
        connection.execute(statements.INSERT_BODY, (bytes.fromhex(line.digest), line.text))
        self._last_body = line.digest
        self._bodies += 1

    def _refused(self, what: str) -> ImportRefused:
        return ImportRefused(what, self._record, self._offset)
