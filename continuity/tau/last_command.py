"""The command `/bm-last`: what was saved last on this branch, verbatim, and how that is known. It costs no model turn."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

from continuity.console import escaped
from continuity.pending import age
from continuity.shell.opening import trouble
from continuity.shell.owner import Owner
from continuity.shell.session import Session
from continuity.shell.showing import rebuilt, show_stored
from continuity.state import Capture
from journal.errors import JournalError

USAGE = "/bm-last"
DESCRIPTION = "What was saved last, word for word, where it is and how that is known"

_EVIDENCE = {
    "answered": "the server answered that it stored it",
    "adopted": "a receipt from elsewhere says so",
    "read": "it was read back",
    "on_disk": "its file was read",
    "indexed": "it was found by search",
}


def last(session: Session | None, owner: Owner, now_ms: int, arguments: str) -> str | None:
    """Return the newest confirmed checkpoint as it was sent, at once; None when it is read from the server and follows."""
    if arguments.strip():
        return f"{USAGE} takes no words."
    if session is None:
        return "Nothing was saved: this session has no file."
    ledger = session.desk.ledger
    if ledger is None:
        return _without_journal(session)
    checkpoint = ledger.last_saved
    if checkpoint is None:
        return "No checkpoint of this branch is known to be stored yet. /bm-status says what is under way."
    head = escaped(_head(checkpoint, now_ms, gone=checkpoint.capture_id in ledger.withdrawn), keep="\n")
    try:
        found = rebuilt(ledger.path, ledger.current, checkpoint)
    except JournalError as error:
        return f"{head}\nIts text cannot be shown: {trouble(error)}."
    if found.text is None:
        owner.spawn("last", partial(show_stored, session.desk, checkpoint, head, found.why))
        return None
    proof = "  shown        as it was sent: rebuilt from what is kept here, and its digest is the one recorded"
    return f"{head}\n{proof}\n\n{escaped(found.text.strip(), keep=chr(10) + chr(9))}"


def _head(checkpoint: Capture, now_ms: int, *, gone: bool) -> str:
    sent_ms = checkpoint.intent.at_ms if checkpoint.intent is not None else checkpoint.begun_ms
    when = datetime.fromtimestamp(sent_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    proof = "a person accepted it" if checkpoint.accepted else _EVIDENCE.get(checkpoint.evidence or "", "none")
    since = (("moved", checkpoint.moved), ("edited", checkpoint.edited), ("withdrawn: its note is gone", gone))
    return "\n".join(
        [
            "Saved last on this branch",
            f"  note         {checkpoint.path} in project {checkpoint.project}",
            f"  {'sent' if checkpoint.intent is not None else 'taken over':<13}{when}, {age(now_ms - sent_ms)} ago",
            f"  evidence     {proof}",
            *(f"  since then   {label}" for label, on in since if on),
        ]
    )


def _without_journal(session: Session) -> str:
    if session.blocked is not None:
        return f"What was saved cannot be told: {session.blocked}."
    if not session.begun:
        return "The journal is being opened; ask again in a moment."
    return "Nothing was saved yet: this session's journal begins with the first prompt."
