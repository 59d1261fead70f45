"""Keeps what a person asked to have remembered, as a note in their words, and says what came of it. It asks no model."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from continuity.commands import CommandRejected
from continuity.profile import Profile
from continuity.shell import noting
from continuity.shell.noting import Kept, Known, Note
from continuity.shell.opening import trouble
from continuity.shell.session import Session
from journal.errors import JournalError

LONGEST_CHARS = 20_000
"""A note is read again in briefs and by other agents: what is longer is a document, and belongs in a file."""


async def remember(session: Session, words: str) -> None:
    """Keep `words` on disk, say that at once, and owe them to the server like any other capture.

    A session whose journal was not begun gets it now: a person's command is a first use as much as a prompt is.
    """
    desk = session.desk
    if not await session.hold():
        desk.voice.answer(f"Not remembered: {_why_not(session)}. Your words were kept nowhere.", "warning")
        return
    try:
        came = await noting.keep(desk, noted(words, desk.profile), reason="command")
    except CommandRejected as error:
        desk.voice.answer(f"Not remembered: {error.reason}. Your words were kept nowhere.", "warning")
    except JournalError as error:
        desk.stopped(error)
        desk.voice.answer(
            f"Not remembered: {trouble(error)}. Your words were kept nowhere; say them again later.", "error"
        )
    else:
        desk.voice.answer(_kept(desk.profile, came.maskings) if isinstance(came, Kept) else _KNOWN[came])


def noted(words: str, profile: Profile) -> Note:
    """Return the note of `words`: a fact, filed where this work's checkpoints are, under its first line."""
    metadata = {"repository": profile.repository} if profile.repository is not None else {}
    return Note(folder=profile.checkpoint_folder, note_type="note", text=words, metadata=metadata)


_KNOWN: Mapping[Known, str] = MappingProxyType(
    {
        "open": "These very words are kept in this session already, and on their way; nothing was written again. "
        "/bm-status shows what is not stored yet.",
        "unsettled": "These very words were sent in this session already and are not known to be stored; nothing was "
        "written again. /bm-pending shows what is known of them and what to do.",
        "stored": "These very words were stored in this session already; nothing was written again.",
        "doubted": "These very words were sent in this session already, and given up while nobody knew whether they are "
        "stored: they may be, so nothing was written again. Look for them, or say it in other words.",
    }
)


def _kept(profile: Profile, maskings: int) -> str:
    values = "1 value" if maskings == 1 else f"{maskings} values"
    masked = f" {values} that looked like a credential {'was' if maskings == 1 else 'were'} masked." if maskings else ""
    where = f"project {profile.project}, folder {profile.checkpoint_folder}"
    return (
        f"Kept in this session's journal, for {where}; it is sent as soon as memory answers, and said here once it is "
        f"stored.{masked} "
        "What is not stored yet stands in /bm-status."
    )


def _why_not(session: Session) -> str:
    if session.blocked is not None:
        return session.blocked
    if session.desk.trouble is not None:
        return session.desk.trouble
    return "this session has no file yet; say it again after your first prompt"
