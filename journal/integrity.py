"""Finds and locates what is wrong with a journal: every edit, removal, swap or insertion but of a tail. It mends nothing.

What no check on the file alone can find: that a branch's newest rows, or the
newest branches with all their rows, were cut away, if none was an intent. And
a body that is gone was erased, on purpose or not: the chain does not need it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import Literal, NamedTuple

from journal import chain, codec, disk
from journal.errors import JournalDamaged, RowUnreadable, UnknownEvent
from journal.events import WriteIntended
from journal.reader import Reader, relink
from journal.row import BranchRow, Header, pack_tip

type What = Literal["file", "guards", "header", "branch", "order", "chain", "event", "unknown", "submission", "body"]

_EVENTS = """
SELECT position, at_ms, tip, cause, CAST(type AS BLOB), CAST(payload AS BLOB), digest, branch, id FROM events
ORDER BY branch, position
"""
_DIGEST_AT = "SELECT digest FROM events WHERE branch = ? AND position = ?"
_GUARDS = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"


class Damage(NamedTuple):
    """One thing that is wrong, and where: branch and position are 0 where it has none."""

    what: What
    branch: int
    position: int
    detail: str


class _Place(NamedTuple):
    branch: int
    position: int


type _Intents = dict[tuple[str, int], _Place]


def damage(reader: Reader) -> Iterator[Damage]:
    """Yield everything that is wrong with the journal, in the order file, header, branches, events, submissions, bodies.

    One edit may be found more than once: at its row, and at what was chained
    to it. `unknown` is an event of a later version: the row itself is sound.
    """
    intents: _Intents = {}
    yield from _through(lambda: _file(reader))
    yield from _through(lambda: _guards(reader))
    yield from _through(lambda: _header_and_branches(reader))
    yield from _through(lambda: _events(reader, intents))
    yield from _through(lambda: _submissions(reader, intents))
    yield from _through(lambda: _bodies(reader))


def _through(check: Callable[[], Iterable[Damage]]) -> Iterator[Damage]:
    """Yield what `check` finds; a file too damaged to be checked is itself a finding."""
    try:
        yield from check()
    except JournalDamaged as error:
        yield Damage("file", 0, 0, error.what)
    except (TypeError, AttributeError):
        yield Damage("file", 0, 0, "a column holds a value of another kind")


def _file(reader: Reader) -> Iterator[Damage]:
    for (found,) in reader.rows_of("PRAGMA integrity_check"):
        if found != "ok":
            yield Damage("file", 0, 0, found)


def _guards(reader: Reader) -> Iterator[Damage]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(disk.schema())
        wanted: dict[str, str] = dict(connection.execute(_GUARDS))
    found: dict[str, str] = {name: sql for name, sql in reader.rows_of(_GUARDS)}  # noqa: C416  # rows are not pairs to a checker
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            state = "missing" if name not in found else "changed" if name in wanted else "not ours"
            yield Damage("guards", 0, 0, f"{name} is {state}")


def _header_and_branches(reader: Reader) -> Iterator[Damage]:
    try:
        header = reader.header
    except JournalDamaged as error:
        yield Damage("header", 0, 0, error.what)
        return
    if header.format != disk.FORMAT:
        yield Damage("header", 0, 0, f"format {header.format} in a file of format {disk.FORMAT}")
    for number, row in enumerate(reader.branches, 1):
        if row.branch != number:
            yield Damage("branch", row.branch, row.fork_position, f"it stands where branch {number} belongs")
        yield from _genesis(reader, header, row)
    if not reader.branches:
        yield Damage("branch", 1, 0, "there is no first branch")


def _genesis(reader: Reader, header: Header, row: BranchRow) -> Iterator[Damage]:
    if (row.parent is None) != (row.branch == 1) or (row.parent or 0) >= row.branch:
        yield Damage("branch", row.branch, row.fork_position, f"branch {row.parent} cannot be its parent")
        return
    at_fork = _digest_at_fork(reader, row)
    if row.parent is not None and at_fork is None:
        yield Damage("branch", row.branch, row.fork_position, f"branch {row.parent} did not record what it leaves")
        return
    expected = chain.genesis(header, row.branch, row.parent, row.fork_position, at_fork)
    if expected.hex() != row.genesis:
        what: What = "header" if row.branch == 1 else "branch"
        yield Damage(what, row.branch, row.fork_position, "header and branch do not give the genesis that is stored")


def _digest_at_fork(reader: Reader, row: BranchRow) -> bytes | None:
    if row.parent is None:
        return None
    if row.fork_position == 0:
        return next((bytes.fromhex(first.genesis) for first in reader.branches if first.branch == 1), None)
    return next((bytes(digest) for (digest,) in reader.rows_of(_DIGEST_AT, row.parent, row.fork_position)), None)


def _events(reader: Reader, intents: _Intents) -> Iterator[Damage]:
    branches = {int(row.branch): row for row in reader.branches}
    for branch, rows in groupby(reader.rows_of(_EVENTS), key=itemgetter(7)):
        if branch in branches:
            yield from _stream(branches[branch], rows, intents)
        else:
            yield Damage("branch", branch, next(rows)[0], "events of a branch that does not exist")


def _stream(branch: BranchRow, rows: Iterable[sqlite3.Row], intents: _Intents) -> Iterator[Damage]:
    place, previous, recorded = branch.fork_position, bytes.fromhex(branch.genesis), 0
    for position, at_ms, tip, cause, type_, payload, digest, _, id_ in rows:
        here = _Place(branch.branch, position)
        if position != place + 1:
            yield Damage("order", branch.branch, place + 1, f"position {position} stands where {place + 1} belongs")
        if id_ < recorded:
            yield Damage("order", *here, "it was recorded before the row it follows")
        if relink(branch.branch, previous, (position, at_ms, tip, cause, type_, payload, digest)) != digest:
            yield Damage("chain", *here, "the digest does not follow from the row and what is before it")
        if isinstance(tip, str) and pack_tip(tip) != tip:
            yield Damage("event", *here, "the tip is not stored in its one form")
        yield from _event(here, type_.decode("utf-8", "surrogateescape"), payload, intents)
        place, previous, recorded = position, digest, id_


def _event(here: _Place, type_: str, payload: bytes, intents: _Intents) -> Iterator[Damage]:
    try:
        event = codec.decode(type_, payload)
    except RowUnreadable as error:
        yield Damage("unknown" if isinstance(error, UnknownEvent) else "event", *here, error.what)
        return
    if isinstance(event, WriteIntended):
        key = (str(event.capture_id), event.attempt)
        if key in intents:
            yield Damage("submission", *here, f"intended before, at {intents[key].branch}@{intents[key].position}")
        intents[key] = here


def _submissions(reader: Reader, intents: _Intents) -> Iterator[Damage]:
    submitted = reader.submissions()
    for key in sorted(intents.keys() - submitted):
        yield Damage("submission", *intents[key], "the intent's submission is missing")
    for capture, attempt in sorted(submitted - intents.keys()):
        yield Damage("submission", 0, 0, f"{capture[:12]} attempt {attempt} was submitted and its intent is missing")


def _bodies(reader: Reader) -> Iterator[Damage]:
    for digest, text in reader.bodies():
        if sha256(text.encode("utf-8", "surrogateescape")).hexdigest() != digest:
            yield Damage("body", 0, 0, f"the text under {digest[:12]} is another")
