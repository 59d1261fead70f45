"""Journals of made-up sessions: events in, a sound file out, with the tips, times and causes a live one would have."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from continuity.causes import Causes
from journal import chain, codec
from journal.chain import canonical
from journal.events import Event
from journal.ids import BranchId, EntryId, JournalId, SessionId, Sha256
from journal.interchange import import_lines
from journal.row import BranchRow, Header, Record, Row
from journal.seal import seal
from tests.facts import TIP

HEADER = Header(
    format=1, journal_id=JournalId("0123456789abcdef" * 2), session_id=SessionId("session-1"), root=EntryId("aa00")
)
BEGAN_MS = 1_700_000_000_000


class Recording:
    """A journal being made up; rows are a second apart, and `write` puts it on disk."""

    def __init__(self, header: Header = HEADER) -> None:
        self.header = header
        self.branches: list[BranchRow] = []
        self.rows: list[Row] = []
        self._bodies: dict[Sha256, str] = {}
        self._branch(None, 0)

    def append(
        self,
        *events: Event,
        branch: int = 1,
        tip: str | None = TIP,
        cause: Sha256 | None = None,
        bodies: Sequence[str] = (),
    ) -> Recording:
        """Record `events` on `branch`; `cause` instead of the one they have."""
        for event in events:
            history = self.history(branch)
            record = Record(
                event=event,
                at_ms=BEGAN_MS + 1_000 * len(self.rows),
                tip=None if tip is None else EntryId(tip),
                cause=cause or _cause(history, event),
            )
            own = [row for row in self.rows if row.branch == branch]
            previous = own[-1].digest if own else self.branches[branch - 1].genesis
            position = own[-1].position if own else self.branches[branch - 1].fork_position
            ((row, _),) = seal(BranchId(branch), position, bytes.fromhex(previous), [record])
            self.rows.append(row)
        self._bodies |= {chain.body_digest(text): text for text in bodies}
        return self

    def fork(self, parent: int, position: int, *events: Event, tip: str | None = TIP) -> int:
        """Leave `parent` after row `position`, which it recorded itself; return the number of the new branch."""
        branch = self._branch(parent, position)
        self.append(*events, branch=branch, tip=tip)
        return branch

    def history(self, branch: int, upto: int | None = None) -> list[Row]:
        """The rows of `branch` with its ancestors' up to where it left them."""
        described = self.branches[branch - 1]
        own = [row for row in self.rows if row.branch == branch and (upto is None or row.position <= upto)]
        if described.parent is None:
            return own
        shared = described.fork_position if upto is None else min(upto, described.fork_position)
        return [*self.history(described.parent, shared), *own]

    def at(self, branch: int, position: int) -> Row:
        """The row that stands there."""
        return next(row for row in self.history(branch) if row.position == position)

    def write(self, path: Path) -> Path:
        """Put the journal on disk and return its path."""
        import_lines(self.lines(), path)
        return path

    def lines(self) -> Iterator[bytes]:
        """The journal as an export, its bodies included."""
        start = {"journal_id": self.header.journal_id, "session_id": self.header.session_id, "root": self.header.root}
        yield _line(record="header", format=self.header.format, **start)
        waiting = list(self.branches)
        for row in self.rows:
            while waiting and waiting[0].branch <= row.branch:
                yield _branch_line(waiting.pop(0))
            yield _event_line(row)
        yield from map(_branch_line, waiting)
        for digest in sorted(self._bodies):
            yield _line(record="body", digest=digest, text=self._bodies[digest])
        yield _line(record="end", branches=len(self.branches), events=len(self.rows), bodies=len(self._bodies))

    def _branch(self, parent: int | None, position: int) -> int:
        branch = BranchId(len(self.branches) + 1)
        at_fork = None if parent is None else bytes.fromhex(self.at(parent, position).digest)
        genesis = Sha256(chain.genesis(self.header, branch, parent, position, at_fork).hex())
        known = None if parent is None else BranchId(parent)
        self.branches.append(BranchRow(branch=branch, parent=known, fork_position=position, genesis=genesis))
        return branch


def _cause(history: Sequence[Row], event: Event) -> Sha256 | None:
    causes = Causes()
    for row in history:
        causes.saw(row)
    return causes.of(event)


def _line(**fields: str | int | None) -> bytes:
    return canonical(fields) + b"\n"


def _branch_line(row: BranchRow) -> bytes:
    return _line(
        record="branch", branch=row.branch, parent=row.parent, fork_position=row.fork_position, genesis=row.genesis
    )


def _event_line(row: Row) -> bytes:
    type_, payload = codec.encode(row.event)
    columns = {"branch": row.branch, "position": row.position, "at_ms": row.at_ms, "tip": row.tip, "cause": row.cause}
    return _line(record="event", **columns, type=type_, payload=payload, digest=row.digest)


def recorded(path: Path, *events: Event) -> Path:
    """Put a journal with these events on its one branch on disk."""
    return Recording().append(*events).write(path)


def session_file(path: Path, *receipts: dict[str, str | int | None]) -> Path:
    """Write a Tau session file that holds these receipts among other entries."""
    entries: list[dict[str, object]] = [
        {"type": "message", "id": "aa00", "message": {"role": "user", "content": "hello"}}
    ]
    for number, data in enumerate(receipts):
        entries.append(
            {"type": "custom", "id": f"cc{number:02}", "namespace": "basic-memory.continuity.v1", "data": data}
        )
    path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    return path
