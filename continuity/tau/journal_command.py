"""The command `/bm-journal`: the newest rows of this branch's history in words. It costs no model turn and changes nothing."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from continuity.console import escaped
from continuity.sentences import named, sentence, utc
from continuity.shell.opening import trouble
from continuity.shell.owner import Owner
from continuity.shell.session import Session
from continuity.tau.pages import begun
from journal.errors import ChainBroken, EventDamaged, JournalError, UnknownEvent
from journal.ids import BranchId
from journal.reader import Reader, open_reader
from journal.row import BranchRow, RawRow

USAGE = "/bm-journal [ROWS] [BRANCH@ | BRANCH@N]"
DESCRIPTION = "What was recorded last on this branch; BRANCH@N shows what came before a row, or another branch"

USUAL_ROWS = 20
MOST_ROWS = 200
"""More than this is for `continuity log`, in a terminal of its own."""

_WORDS = re.compile(r"(?:(?P<rows>[1-9]\d{0,8})(?: |$))?(?:(?P<branch>\d{1,9})@(?P<at>\d{1,15})?)?")


class Wanted(NamedTuple):
    """What part of which history is asked for."""

    path: Path
    branch: BranchId
    at: int
    rows: int


def timeline(session: Session | None, owner: Owner, arguments: str) -> str | None:
    """Return what is shown; None where it is not there at once and follows under `owner`."""
    words = " ".join(arguments.split())
    if _WORDS.fullmatch(words) is None:
        return f"{words!r} names no part of a journal: {USAGE}."
    if session is None:
        return "This session has no file, so it has no journal."
    if not session.begun:
        owner.spawn("journal", partial(_once_begun, session, words))
        return None
    wanted = _wanted(session, words)
    if isinstance(wanted, str):
        return wanted
    page = begun(partial(_told, wanted))
    if page.done():
        return page.result()
    owner.spawn("journal", partial(_follow, session, page))
    return None


async def _follow(session: Session, page: Future[str]) -> None:
    session.desk.voice.answer(await anyio.to_thread.run_sync(page.result))


async def _once_begun(session: Session, words: str) -> None:
    """The journal is being opened, as in print mode where the command comes first: what it holds follows."""
    await session.hold(make=False)
    wanted = _wanted(session, words)
    text = wanted if isinstance(wanted, str) else await anyio.to_thread.run_sync(_told, wanted)
    session.desk.voice.answer(text)


def _wanted(session: Session, words: str) -> Wanted | str:
    """Return what is to be read, or why there is nothing to."""
    ledger, asked = session.desk.ledger, _WORDS.fullmatch(words)
    if ledger is None or asked is None:
        return _without_journal(session)
    branch = BranchId(int(asked["branch"])) if asked["branch"] else ledger.current
    head = ledger.states[branch].position if branch in ledger.states else 0
    at = int(asked["at"]) if asked["at"] else head
    if not 1 <= at <= head:
        return f"This session's journal has no row {branch}@{asked['at'] or ''}. Its branches: {_known(ledger.states)}."
    return Wanted(ledger.path, branch, at, min(int(asked["rows"] or USUAL_ROWS), MOST_ROWS))


def _known(branches: Iterable[BranchId]) -> str:
    return ", ".join(map(str, sorted(branches)))


def _without_journal(session: Session) -> str:
    if session.blocked is not None:
        return f"What was recorded cannot be told: {session.blocked}."
    return "Nothing was recorded yet: this session's journal begins with the first prompt."


def _told(wanted: Wanted) -> str:
    """Return the page, or why the journal cannot be read. Blocking; its time grows with the branch."""
    try:
        with open_reader(wanted.path) as reader:
            return "\n".join(_page(reader, wanted))
    except JournalError as error:
        return f"The journal cannot be read: {trouble(error)}."


def _page(reader: Reader, wanted: Wanted) -> Iterator[str]:
    rows = list(reversed(deque(reader.history(wanted.branch, wanted.at), maxlen=wanted.rows)))
    damaged = _damaged(reader, wanted)
    many = f", branch {wanted.branch} of {len(reader.branches)}" if len(reader.branches) > 1 else " of this session"
    oldest = rows[-1].position if rows else wanted.at
    yield f"Journal{many}: rows {wanted.at} to {oldest}, newest first (UTC)"
    if damaged is not None:
        yield f"Damaged: row {damaged} does not verify, so nothing from there on is proven; `continuity audit` tells more."
    yield from _lines(rows, [each for each in reader.branches if each.parent is not None])
    if oldest > 1:
        yield f"What came before: /bm-journal {wanted.branch}@{oldest - 1}"
    yield f"All of it: continuity log {escaped(str(wanted.path))} --branch {wanted.branch}"


def _damaged(reader: Reader, wanted: Wanted) -> int | None:
    """Return the first row that is not what its digest says. A row of a later version is none."""
    sound = 0
    try:
        for row in reader.verified(wanted.branch, wanted.at):
            sound = row.position
    except (ChainBroken, EventDamaged):
        return sound + 1
    except UnknownEvent:
        return None
    return None


def _lines(rows: Sequence[RawRow], forks: Sequence[BranchRow]) -> Iterator[str]:
    """Each row with its place and time, under the day it was recorded on; a fork stands above the row it left at."""
    width, day = max((len(_place(row)) for row in rows), default=0), ""
    for row in rows:
        date, _, time = utc(row.at_ms).partition(" ")
        if date != day:
            day = date
            yield f"  {date}"
        for fork in forks:
            if (fork.parent, fork.fork_position) == (row.branch, row.position):
                yield f"  {'':{width}}  {'':8}  branch {fork.branch} leaves here"
        yield f"  {_place(row):{width}}  {time[:8]:8}  {escaped(named(row))}: {escaped(sentence(row))}"


def _place(row: RawRow) -> str:
    return f"{row.branch}@{row.position}"
