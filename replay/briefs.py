"""Finds a brief in a session's journal and tells, note by note, where it came from; it says nothing that no row says."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import asdict

from continuity.console import escaped
from continuity.origins import Origins, lines, origins_of
from continuity.sentences import utc
from journal.errors import JournalError, RowUnreadable
from journal.folders import journals_at
from journal.reader import Reader, open_reader
from journal.row import RawRow, Row
from replay.references import NoSuchReference, find
from replay.shapes import BriefNote, BriefQuestion, BriefView

_DELIVERED = "brief-delivered.v1"
_SHORTEST = 4
_SHOWN = 5


class Found(NamedTuple):
    """A session's journal, and those that could not be looked into."""

    path: Path | None
    troubles: list[str]


class Told(NamedTuple):
    """What is told of a brief, and the row at which its branch stopped being proven, if it did."""

    view: BriefView
    lines: list[str]
    stop: RowUnreadable | None


def find_session(where: Path, session: str) -> Found:
    """Return the journal of the session whose id begins with `session`, at `where` or in the folder there.

    Raises:
        NoSuchReference: There is none, or more than one.
    """
    if len(session) < _SHORTEST:
        raise NoSuchReference(f"{session!r} is no session", f"type at least {_SHORTEST} characters of its id")
    journals, _, closed = journals_at((where,)) if os.path.lexists(where) else ([], [], [])
    troubles = [f"{error.filename}: {error.strerror}" for error in closed]
    found: dict[Path, str] = {}
    for path in journals:
        try:
            with open_reader(path) as reader:
                if reader.header.session_id.startswith(session):
                    found[path] = reader.header.session_id
        except JournalError as error:
            troubles.append(str(error))
    exact = [path for path, name in found.items() if name == session] or list(found)
    if len(exact) > 1:
        some = ", ".join(str(path) for path in exact[:_SHOWN])
        raise NoSuchReference(f"{len(exact)} journals are of sessions that begin so", f"name one with --in: {some}")
    if not exact and not troubles:
        raise NoSuchReference(
            f"no journal in {where} is of a session {session}", "`continuity paths` says where they are"
        )
    return Found(exact[0] if exact else None, troubles)


def told(reader: Reader, path: Path, at: str | None) -> Told:
    """Return, of the journal at `path`, where the newest brief came from, or the newest one at or before the row `at`.

    Raises:
        NoSuchReference: There is none.
        RowUnreadable: It is, or lies behind, a row that proves nothing.
    """
    row = find(reader, at) if at is not None else _newest(reader)
    history, stop = _proven(reader, row.branch if row is not None else reader.last_branch())
    upto = row.position if row is not None else len(history)
    if stop is not None and len(history) < upto:
        raise stop
    origins = origins_of(history, upto)
    if origins is None:
        raise NoSuchReference("no brief was put into context by then", "`continuity log FILE` lists what was recorded")
    topic = reader.body(origins.topic_sha256) if origins.topic_sha256 is not None else None
    said = lines(origins, when=utc(origins.at_ms), topic=topic)
    header = reader.header
    head = f"session {header.session_id}, in {path}"
    view = _view(reader, path, origins, topic)
    return Told(view, [escaped(text) for text in (head, *said)], stop)


def _newest(reader: Reader) -> RawRow | None:
    """The delivery recorded last, on whatever branch."""
    newest: RawRow | None = None
    for row in reader.rows():
        if row.type == _DELIVERED:
            newest = row
    return newest


def _proven(reader: Reader, branch: int) -> tuple[list[Row], RowUnreadable | None]:
    history: list[Row] = []
    try:
        history.extend(reader.verified(branch))
    except RowUnreadable as error:
        return history, error
    return history, None


def _view(reader: Reader, path: Path, origins: Origins, topic: str | None) -> BriefView:
    fields = {name: getattr(origins, name) for name in origins.__struct_fields__ if name not in ("notes", "questions")}
    return BriefView(
        path=str(path),
        session=reader.header.session_id,
        journal=reader.header.journal_id,
        topic=topic,
        notes=[BriefNote(**asdict(note)) for note in origins.notes],
        questions=[BriefQuestion(**asdict(question)) for question in origins.questions],
        **fields,
    )
