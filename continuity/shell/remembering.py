"""Keeps what a person asked to have remembered, as a note in their words, and says what came of it. It asks no model."""

from __future__ import annotations

from continuity.commands import CommandRejected
from continuity.privacy import mask_words
from continuity.profile import Profile
from continuity.shell import noting
from continuity.shell.noting import Note
from continuity.shell.opening import trouble
from continuity.shell.session import Session
from journal.errors import JournalError

LONGEST_CHARS = 20_000
"""A note is read again in briefs and by other agents: what is longer is a document, and belongs in a file."""

_TITLE_CHARS = 80


async def remember(session: Session, words: str) -> None:
    """Keep `words` on disk, say that at once, and owe them to the server like any other capture.

    A session whose journal was not begun gets it now: a person's command is a first use as much as a prompt is.
    """
    desk = session.desk
    if not await session.hold():
        desk.voice.answer(f"Not remembered: {_why_not(session)}. Your words were kept nowhere.", "warning")
        return
    try:
        identity = await noting.keep(desk, noted(words, desk.profile), reason="command")
    except CommandRejected as error:
        desk.voice.answer(f"Not remembered: {error.reason}. Your words were kept nowhere.", "warning")
    except JournalError as error:
        desk.stopped(error)
        desk.voice.answer(
            f"Not remembered: {trouble(error)}. Your words were kept nowhere; say them again later.", "error"
        )
    else:
        maskings = mask_words(words, candidates=desk.settings.mask_candidates).count
        desk.voice.answer(_kept(desk.profile, maskings) if identity is not None else _KNOWN)


def noted(words: str, profile: Profile) -> Note:
    """Return the note of `words`: a fact, filed where this work's checkpoints are, under its first line."""
    first = next((line.strip() for line in words.splitlines() if line.strip()), "").lstrip("# ")
    title = first if len(first) <= _TITLE_CHARS else first[:_TITLE_CHARS].rpartition(" ")[0] or first[:_TITLE_CHARS]
    metadata = {"repository": profile.repository} if profile.repository is not None else {}
    return Note(title=title, folder=profile.checkpoint_folder, note_type="note", text=words, metadata=metadata)


_KNOWN = "These very words are kept in this session already; nothing was written again."


def _kept(profile: Profile, maskings: int) -> str:
    values = "1 value" if maskings == 1 else f"{maskings} values"
    masked = f" {values} that looked like a credential {'was' if maskings == 1 else 'were'} masked." if maskings else ""
    where = f"project {profile.project}, folder {profile.checkpoint_folder}"
    return (
        f"Kept in this session's journal, and on its way to {where}; it is said here once it is stored.{masked} "
        "What is not stored yet stands in /bm-status."
    )


def _why_not(session: Session) -> str:
    if session.blocked is not None:
        return session.blocked
    if session.desk.trouble is not None:
        return session.desk.trouble
    return "this session has no file yet; say it again after your first prompt"
