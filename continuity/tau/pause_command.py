"""The commands `/bm-pause` and `/bm-resume`: off the record and on it again. They cost no model turn; the answer is a notice."""

from __future__ import annotations

from functools import partial

from continuity.pending import age
from continuity.shell.owner import Owner
from continuity.shell.pausing import Switched
from continuity.shell.ports import NoticeLevel
from continuity.shell.session import Session

PAUSES = "Go off the record: nothing said from here on is saved, until /bm-resume"
RESUMES = "Go back on the record; what was said meanwhile stays off it"


def switch(
    session: Session | None, owner: Owner, anchor: object | None, arguments: str, *, off: bool, alone: bool = False
) -> str | None:
    """Take the session off the record after the message `anchor`, or back on it; what came of it is said as a notice.

    `alone` when no prompt follows in this process.
    """
    name = "/bm-pause" if off else "/bm-resume"
    if arguments.strip():
        return f"{name} takes no words, and nothing was changed. It counts for this session, from now on."
    if session is None:
        return "This session has no file, so nothing of it is ever saved: there is no record to leave or to return to."
    owner.spawn(name, partial(_switched, session, anchor, off=off, alone=alone))
    return None


async def _switched(session: Session, anchor: object | None, *, off: bool, alone: bool) -> None:
    came = await session.switch(off=off, anchor=anchor)
    text = (_paused(session, came) if off else _resumed(came)) + _how_kept(session, came, alone=alone)
    level: NoticeLevel = "warning" if came in ("unrecorded", "unread") else "info"
    session.desk.voice.answer(text, level)


def _paused(session: Session, came: Switched) -> str:
    if came == "already":
        return f"Already off the record{_since(session)}: nothing is saved until /bm-resume."
    return (
        "Off the record: nothing said from here on is saved or goes into a later checkpoint or transcript. "
        "What came before waits for /bm-resume. /bm-remember still works."
    )


def _resumed(came: Switched) -> str:
    match came:
        case "already":
            return "On the record, as before."
        case "after-this":
            return "On the record again once the answer under way has ended: it belongs to what is off the record."
        case "unread":
            return "Still off the record: the session's file cannot be read now. Say /bm-resume again."
        case _:
            return "On the record again. What was said meanwhile stays off it."


def _how_kept(session: Session, came: Switched, *, alone: bool) -> str:
    """Whether it is on disk: a wish holds in this process whatever the disk does."""
    if came == "unrecorded":
        return f" It is not on disk yet ({session.desk.trouble}); it holds here, and is recorded as soon as it can be."
    if came == "waiting" and session.blocked is not None:
        return f" It holds in this process; it cannot be recorded: {session.blocked}."
    if came == "waiting" and alone:
        return " There is no journal yet to record it in, so it ends with this process: say it in the session itself."
    return " It is recorded with the first prompt." if came == "waiting" else ""


def _since(session: Session) -> str:
    since_ms = session.pausing.since_ms
    return f", for {age(session.desk.clock.now_ms() - since_ms)}" if since_ms is not None else ""
