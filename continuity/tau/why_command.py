"""The command `/bm-why`: what a brief put into context, and why. It costs no model turn and changes nothing."""

from __future__ import annotations

import re
from concurrent.futures import Future
from functools import partial

import anyio.to_thread

from continuity.shell.explaining import Place, told
from continuity.shell.owner import Owner
from continuity.shell.session import Session
from continuity.tau.pages import begun
from journal.ids import BranchId

USAGE = "/bm-why [BRANCH@N]"
DESCRIPTION = "What the newest brief put into context, from which revision and why; BRANCH@N an earlier one"
_PLACE = re.compile(r"(\d{1,9})@(\d{1,15})")


def why(session: Session | None, owner: Owner, arguments: str) -> str | None:
    """Return what is shown; None where it is not there at once and follows under `owner`."""
    words = arguments.strip()
    if words and _PLACE.fullmatch(words) is None:
        return f"{words!r} names no row: {USAGE}. A brief's own row stands in what /bm-why says."
    if session is None:
        return "This session has no file, so no brief was put into it."
    if not session.begun:
        owner.spawn("why", partial(_once_begun, session, words))
        return None
    asked = _asked(session, words)
    if isinstance(asked, str):
        return asked
    page = begun(asked)
    if page.done():
        return page.result()
    owner.spawn("why", partial(_follow, session, page))
    return None


async def _follow(session: Session, page: Future[str]) -> None:
    session.desk.voice.answer(await anyio.to_thread.run_sync(page.result))


async def _once_begun(session: Session, words: str) -> None:
    """The journal is being opened, as in print mode where the command comes first: what it holds follows."""
    await session.hold(make=False)
    asked = _asked(session, words)
    session.desk.voice.answer(asked if isinstance(asked, str) else await anyio.to_thread.run_sync(asked))


def _asked(session: Session, words: str) -> partial[str] | str:
    """Return how to read what is asked for, or why it cannot be told."""
    ledger = session.desk.ledger
    if ledger is None:
        return _without_journal(session)
    place = _PLACE.fullmatch(words)
    asked = Place(ledger.current, None) if place is None else Place(BranchId(int(place[1])), int(place[2]))
    head = ledger.states.get(asked.branch)
    if head is None or (asked.position is not None and not 1 <= asked.position <= head.position):
        return f"This session's journal has no row {words}. Nothing was read."
    return partial(told, ledger.path, asked, session.desk.clock.now_ms())


def _without_journal(session: Session) -> str:
    if session.blocked is not None:
        return f"What was put into context cannot be told: {session.blocked}."
    return "No brief was put into context yet: this session's journal begins with the first prompt."
