"""Runs the present rules over the kept texts of journals, and erases those that hold what they know now. No value is told."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from continuity.keeping import erased, unstored
from continuity.privacy import RULE_SET_VERSION, mask
from journal import erasure
from journal.errors import JournalDamaged, JournalError, JournalLocked
from journal.events.lifecycle import Process
from journal.folders import journals_at
from journal.ids import Sha256, WriterId
from journal.lock import JournalLock
from journal.reader import open_reader
from journal.row import RawRow, Record, Row, WriterRecord
from replay.fold import folded
from replay.shapes import Rescan, RescanFinding

REASON = "rescan"
"""What the event says of why."""


class Rescanned(NamedTuple):
    """What came of looking at some journals, and what was in the way."""

    view: Rescan
    troubles: list[str]
    """Journals and folders that could not be read."""
    live: list[str]
    """Journals of which nothing was erased, for a session has them open."""
    without: list[Path]
    """Folders with no journal in them."""


def rescan(paths: Sequence[Path], *, erase_at_ms: int | None) -> Rescanned:
    """Look at every kept text of the journals at `paths`, or in the folders there; those found go if there is a time for it."""
    journals, without, closed = journals_at(paths)
    troubles = [f"{error.filename}: {error.strerror}" for error in closed]
    live: list[str] = []
    unfinished: list[str] = []
    findings: list[RescanFinding] = []
    texts = 0
    for path in journals:
        try:
            found, looked_at = _found(path)
            texts += looked_at
            if erase_at_ms is not None and (found or _has_log(path)):
                found = _erased(path, found, erase_at_ms, live, unfinished)
            findings += found
        except JournalError as error:
            troubles.append(str(error))
    view = Rescan(
        rule_set=RULE_SET_VERSION, journals=len(journals), texts=texts, findings=findings, unfinished=unfinished
    )
    return Rescanned(view, troubles, live, without)


def _has_log(path: Path) -> bool:
    """Whether something lies beside the journal that may be left of an erasure while somebody read it."""
    try:
        return Path(f"{path}-wal").stat().st_size > 0
    except OSError:
        return False


def _found(path: Path) -> tuple[list[RescanFinding], int]:
    """Return the texts of one journal that would be masked now, where they were recorded, and how many there are."""
    with open_reader(path) as reader:
        counts = {digest: mask(text).count for digest, text in reader.bodies()}
        found = {digest: count for digest, count in counts.items() if count}
        places: Mapping[Sha256, RawRow] = _first_named(reader.rows(), found) if found else {}
        states = [folded(reader, each.branch).state for each in reader.branches] if found else []
        session = reader.header.session_id
    held = frozenset(digest for state in states for digest in unstored(state))
    findings = [
        _finding(path, session, digest, count, places.get(digest), unstored=digest in held)
        for digest, count in found.items()
    ]
    return sorted(findings, key=lambda each: (each.branch or 0, each.position or 0, each.digest)), len(counts)


def _first_named(rows: Iterable[RawRow], wanted: Iterable[Sha256]) -> Mapping[Sha256, RawRow]:
    """Return the first row that names each of the `wanted` digests: the one that its text was kept with."""
    left = set(wanted)
    found: dict[Sha256, RawRow] = {}
    for row in rows:
        for digest in [each for each in left if each in row.payload]:
            found[digest] = row
            left.remove(digest)
        if not left:
            break
    return found


def _finding(
    path: Path, session: str, digest: Sha256, values: int, row: RawRow | None, *, unstored: bool
) -> RescanFinding:
    return RescanFinding(
        journal=str(path),
        session_id=session,
        branch=row.branch if row else None,
        position=row.position if row else None,
        type=row.type if row else None,
        digest=digest,
        values=values,
        erased=False,
        unstored=unstored,
    )


def _erased(
    path: Path, found: Sequence[RescanFinding], at_ms: int, live: list[str], unfinished: list[str]
) -> list[RescanFinding]:
    """Erase what was found and what is left of an earlier time, unless a session has the journal open: `live` says so.

    What somebody who reads the journal keeps in its files is told in `unfinished`, and not called erased. A text that
    nothing would bring back stays.
    """
    digests = [Sha256(each.digest) for each in found if not each.unstored]
    try:
        with JournalLock.acquire(path, _us()):
            gone = _erase(path, digests, at_ms) if digests else erasure.sweep(path)
    except JournalLocked as error:
        if found:
            who = f"process {error.holder.process.pid}" if error.holder is not None else "another process"
            live.append(f"{path}: {who} has it open")
        return list(found)
    if not gone:
        unfinished.append(str(path))
    return [replace(each, erased=gone and not each.unstored) for each in found]


def _erase(path: Path, digests: Sequence[Sha256], at_ms: int) -> bool:
    after = _newest(path)
    records = [Record(event=event, at_ms=at_ms, tip=after.tip, cause=None) for event in erased(digests, REASON)]
    return erasure.erase(path, after, records, digests)


def _newest(path: Path) -> Row:
    """Return the row that was written last, after all before it on its branch were proven.

    Raises:
        JournalUnreadable, RowUnreadable: Nothing is written behind what is not proven.
    """
    with open_reader(path) as reader:
        last = deque(reader.verified(reader.last_branch()), maxlen=1)
    if not last:
        raise JournalDamaged(path, "it keeps texts and has no row")
    return last.pop()


def _us() -> WriterRecord:
    """What stands in the lock file while we write: words for whoever finds it taken, no proof of anything."""
    unknown = Process(machine="", boot="", pid_namespace="", pid=os.getpid(), process_group=os.getpgrp(), started=0)
    return WriterRecord(writer=WriterId(f"rescan-{os.getpid()}"), process=unknown)
