"""The command `/bm-orient`: memory is asked anew what this work should know. No message of a person's and no turn comes of it."""

from __future__ import annotations

from functools import partial

from continuity.shell.announced import AnnouncedSession
from continuity.shell.orienting import Append, Oriented, orient
from continuity.shell.owner import Owner
from continuity.shell.ports import NoticeLevel
from continuity.shell.saying import reason_down, recorded_as
from continuity.shell.session import Session

USAGE = "/bm-orient [topic]"
DESCRIPTION = "Ask memory anew what this work should know, also about a topic, and have it put into context"

ASKED = "Memory is being asked what this work should know. What comes of it is said here."


def oriented(
    session: Session | None, owner: Owner, append: Append, arguments: str, *, alone: bool = False
) -> str | None:
    """Have memory asked under `owner`; return what is said at once where nothing can be asked, and None otherwise.

    `alone` when no prompt follows in this process.
    """
    if session is None:
        return "Nothing can be recalled here: this session has no file. Memory's tools work all the same."
    if session.desk.profile.project is None:
        return "Nothing can be recalled here, for no project is configured: see /bm-status."
    owner.spawn("orient", partial(_oriented, session, append, arguments.strip(), alone=alone))
    return None


async def _oriented(session: Session, append: Append, words: str, *, alone: bool) -> None:
    voice = session.desk.voice
    voice.answer(ASKED)
    came = await orient(session, words, append if isinstance(session, AnnouncedSession) else None)
    text, level = _told(session, came, alone=alone)
    if words and session.pausing.paused:
        text += " Off the record nothing was asked about the topic, for its words would leave this session."
    voice.answer(text, level)


def _told(session: Session, came: Oriented, *, alone: bool) -> tuple[str, NoticeLevel]:
    why = f" {recorded_as(came.row)}" if came.row is not None else ""
    notes = len(came.composed.brief.sources) if came.composed is not None else 0
    brief = f"{notes} note{'' if notes == 1 else 's'}"
    match came.how:
        case "put-in":
            where = f" {came.row.branch}@{came.row.position}" if came.row is not None else ""
            return (
                f"A brief of {brief} was put into the conversation.{why} /bm-why{where} shows it note by note.",
                "info",
            )
        case "next-prompt":
            again = f" (tau --session {session.desk.session_id})" if alone else ""
            return (
                f"A brief of {brief} comes with your next prompt{again}; /bm-why shows it note by note then.{why}",
                "info",
            )
        case "known":
            return f"Nothing new: the same brief is in context already; /bm-why shows it.{why}", "info"
        case "nothing":
            return f"Memory has nothing for this work beyond what is in context, so no brief is made.{why}", "info"
        case "moved":
            return f"The conversation went to another branch meanwhile; /bm-orient asks for that one.{why}", "info"
        case "unreachable":
            return f"Memory is not reachable, so nothing was asked: {reason_down(session.desk.link.error)}.", "warning"
        case "unanswered":
            asked_again = "it is asked again by itself, and what it answers comes with a later prompt"
            return f"Memory answered no question in time; {asked_again}. /bm-status shows the connection.", "warning"
        case "unrecorded":
            return f"Nothing was asked, for nothing can be recorded: {_why_not(session)}.", "warning"


def _why_not(session: Session) -> str:
    return session.blocked or session.desk.trouble or "no journal of it is open; say it again after a prompt"
