"""The command `/bm-checkpoint`: has what was gathered saved now. It costs no model turn; what came of it is said once more."""

from __future__ import annotations

from functools import partial

from continuity.shell.owner import Owner
from continuity.shell.ports import NoticeLevel
from continuity.shell.session import Asked, Session
from continuity.tau.pages import how_known

USAGE = "/bm-checkpoint [what to keep in view]"
DESCRIPTION = "Save a checkpoint now"

OFF_THE_RECORD = "Off the record: no checkpoint is made. /bm-resume first; what was said meanwhile stays out."


def checkpoint(session: Session | None, owner: Owner, arguments: str) -> str | None:
    """Have the checkpoint made under `owner`; return what is said at once where none can be, and None otherwise."""
    if session is None or session.desk.profile.project is None:
        return "Nothing can be saved here: see /bm-status."
    if session.pausing.paused:
        return OFF_THE_RECORD
    owner.spawn("checkpoint", partial(_requested, session, arguments.strip()))
    return None


async def _requested(session: Session, focus: str) -> None:
    text, level = _acknowledged(session, await session.request("command", focus))
    session.desk.voice.answer(text, level)


def _acknowledged(session: Session, came: Asked) -> tuple[str, NoticeLevel]:
    match came:
        case "due":
            return "A checkpoint is being made. Where it is stored, and how that is known, is said here.", "info"
        case "kept":
            return "A checkpoint is kept already and is saved as soon as memory answers; see /bm-status.", "info"
        case "paused":
            return OFF_THE_RECORD, "info"
        case "nothing":
            return session.blocked or _nothing_new(session), "info"
        case "unrecorded":
            return f"No checkpoint is made: {session.desk.trouble}.", "warning"


def _nothing_new(session: Session) -> str:
    """What is stored already is the proof that a person asks for."""
    stored = session.state.checkpoint if session.state is not None else None
    last = f" The last one is {stored.path}: {how_known(stored)}." if stored is not None else ""
    return f"There is nothing new to save.{last}"
