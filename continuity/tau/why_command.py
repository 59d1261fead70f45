"""The command `/bm-why`: what a brief put into context, and why. It costs no model turn; the answer follows as a notice."""

from __future__ import annotations

import re
from functools import partial

from continuity.shell.explaining import Place, explain
from continuity.shell.owner import Owner
from continuity.shell.session import Session
from journal.ids import BranchId

USAGE = "/bm-why [BRANCH@N]"
DESCRIPTION = "What the newest brief put into context, from which revision and why; BRANCH@N an earlier one"
_PLACE = re.compile(r"(\d{1,9})@(\d{1,15})")


def why(session: Session | None, owner: Owner, arguments: str) -> str | None:
    """Return what is said at once; None when the answer is read under `owner` and follows."""
    words = arguments.strip()
    place = _PLACE.fullmatch(words)
    if words and place is None:
        return f"{words!r} names no row: {USAGE}. A brief's own row stands in what /bm-why says."
    if session is not None and not session.begun:
        owner.spawn("why", partial(_once_begun, session, owner, arguments))
        return None
    ledger = session.desk.ledger if session is not None else None
    if session is None or ledger is None:
        return _without_journal(session)
    asked = Place(ledger.current, None) if place is None else Place(BranchId(int(place[1])), int(place[2]))
    head = ledger.states.get(asked.branch)
    if head is None or (asked.position is not None and not 1 <= asked.position <= head.position):
        return f"This session's journal has no row {words}. Nothing was read."
    owner.spawn("why", partial(explain, session.desk, ledger.path, asked))
    return None


async def _once_begun(session: Session, owner: Owner, arguments: str) -> None:
    """The journal is being opened, as in print mode where the command comes first: what it holds follows."""
    await session.hold(make=False)
    text = why(session, owner, arguments)
    if text is not None:
        session.desk.voice.answer(text)


def _without_journal(session: Session | None) -> str:
    if session is None:
        return "This session has no file, so no brief was put into it."
    if session.blocked is not None:
        return f"What was put into context cannot be told: {session.blocked}."
    return "No brief was put into context yet: this session's journal begins with the first prompt."
