"""The command `/bm-remember`: a person's own words as a note. It costs no model turn; the answer follows as a notice."""

from __future__ import annotations

from functools import partial

from continuity.shell.owner import Owner
from continuity.shell.remembering import LONGEST_CHARS, remember
from continuity.shell.session import Session

USAGE = "/bm-remember TEXT"
DESCRIPTION = "Keep your words as a note, as you say them"


def remembered(session: Session | None, owner: Owner, arguments: str) -> str | None:
    """Have the words kept under `owner`; return what is said at once where they cannot be, and None otherwise."""
    words = arguments.strip()
    if not words:
        return f"What is to be remembered? {USAGE}"
    if len(words) > LONGEST_CHARS:
        return (
            f"That is {len(words):,} characters, and a note takes {LONGEST_CHARS:,}: nothing was kept. Say it shorter, "
            "or ask the agent to write it with bm_write_note."
        )
    if session is None:
        return "Not remembered: this session has no file, so it has no journal to keep your words in."
    if session.desk.profile.project is None:
        return "Not remembered: no project is configured to write to, and your words were kept nowhere. See /bm-status."
    owner.spawn("remember", partial(remember, session, words))
    return None
