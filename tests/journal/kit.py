"""A journal with everything in it, and the few words needed to make another."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from journal import chain
from journal.events import Event
from journal.ids import BranchId, CaptureId, EntryId, JournalId, SessionId, Sha256, WriterId
from journal.integrity import Damage, damage
from journal.reader import open_reader
from journal.row import Header, Record, Row, WriterRecord
from journal.store import Journal
from tests import facts

HEADER = Header(format=1, journal_id=JournalId("0" * 32), session_id=SessionId("session-1"), root=EntryId("aa00"))
MAIN = BranchId(1)
WRITER = WriterRecord(writer=WriterId("writer-1"), process=facts.PROCESS)
BODY = "what was decided: ü \u2028 \x85 \x00 \r"
OTHER_BODY = "and why"


def record(
    event: Event, *, tip: str | None = "aa01", cause: Sha256 | None = None, at_ms: int = 1_700_000_000_000
) -> Record:
    """One event, ready to be appended."""
    return Record(event=event, at_ms=at_ms, tip=None if tip is None else EntryId(tip), cause=cause)


def settled(count: int = 1) -> list[Record]:
    """Some plain records."""
    return [record(facts.settled(number)) for number in range(count)]


def kept(*texts: str) -> dict[Sha256, str]:
    """Bodies under their digests."""
    return {chain.body_digest(text): text for text in texts}


async def write(path: Path, records: Sequence[Record] = ()) -> tuple[Row, ...]:
    """Make a journal with one branch and close it."""
    async with await Journal.create(path, HEADER) as journal:
        return await journal.append(MAIN, records, expected=0)


async def write_all_kinds(path: Path) -> None:
    """Make a journal with four branches, tips and causes of every form, two intents and two bodies, and close it.

    1: 1 2 3 4 5 6      2 leaves 1 at 3: 4 5 6      3 leaves 2 at 5: 6 7      4 leaves 1 at 0: 1
    """
    async with await Journal.create(path, HEADER) as journal:
        first = await journal.append(MAIN, [record(facts.opened(), tip=None)], expected=0)
        cause = first[0].digest
        rest = [
            record(facts.connected(), tip="Entry-1", cause=cause),
            record(facts.begun(), tip="abc"),
            record(facts.finished(), cause=cause),
        ]
        await journal.append(MAIN, rest, expected=1, bodies=kept(BODY))
        third = [record(facts.intended()), record(facts.settled(), tip="00" * 16)]
        await journal.append(MAIN, third, expected=4)
        left = [
            record(facts.settled(7)),
            record(facts.intended(CaptureId("d" * 64))),
            record(facts.settled(8), tip=None),
        ]
        await journal.fork(MAIN, 3, left, bodies=kept(OTHER_BODY))
        await journal.fork(BranchId(2), 5, settled(2))
        await journal.fork(MAIN, 0, settled(1))


def found(path: Path) -> list[Damage]:
    """Everything wrong with the journal at `path`."""
    with open_reader(path) as reader:
        return list(damage(reader))


@contextmanager
def raw(path: Path) -> Generator[sqlite3.Connection]:
    """The file, opened by somebody who is not us."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield connection


def without_guards(connection: sqlite3.Connection) -> None:
    """Drop every trigger, as a forger would."""
    connection.execute("PRAGMA ignore_check_constraints = ON")
    for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")


def read(path: Path, branch: int = MAIN, at: int | None = None) -> list[Row]:
    """The verified rows of a branch's history."""
    with open_reader(path) as reader:
        return list(reader.verified(branch, at))


def snapshot(folder: Path) -> dict[str, bytes]:
    """Every file in `folder` with its bytes."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}
