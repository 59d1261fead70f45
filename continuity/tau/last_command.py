"""The command `/bm-last`: what was saved last on this branch, verbatim, and how that is known. It costs no model turn."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import anyio.to_thread

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
    """Return what is said at once; None when the newest confirmed checkpoint, as it was sent, follows under `owner`."""
    if arguments.strip():
        return f"{USAGE} takes no words."
    if session is None:
        return "Nothing was saved: this session has no file."
    owner.spawn("last", partial(_told, session, now_ms))
    return None


async def _told(session: Session, now_ms: int) -> None:
    """What is kept is proven by the whole history, which is verified off the loop: it grows with the session."""
    if not session.begun:  # as in print mode, where the command comes first
        await session.hold(make=False)
    desk, ledger = session.desk, session.desk.ledger
    checkpoint = ledger.last_saved if ledger is not None else None
    if ledger is None or checkpoint is None:
        desk.voice.answer(_nothing(session))
        return
    head = _spelled(_head(checkpoint, now_ms, gone=checkpoint.capture_id in ledger.withdrawn))
    try:
        found = await anyio.to_thread.run_sync(rebuilt, ledger.path, ledger.current, checkpoint)
    except JournalError as error:
        desk.voice.answer(f"{head}\nIts text cannot be shown: {trouble(error)}.")
        return
    if found.text is None:
        await show_stored(desk, checkpoint, head, found.why, _spelled)
        return
    proof = "  shown        as it was sent: rebuilt from what is kept here, and its digest is the one recorded"
    desk.voice.answer(f"{head}\n{proof}\n\n{_spelled(found.text.strip())}")


def _nothing(session: Session) -> str:
    if session.desk.ledger is not None:
        return "No checkpoint of this branch is known to be stored yet. /bm-status says what is under way."
    if session.blocked:
        return f"What was saved cannot be told: {session.blocked}."
    return "Nothing was saved yet: this session's journal begins with the first prompt."


def _spelled(text: str) -> str:
    """Everything that a terminal obeys is spelled out, but for line ends and tabs."""
    return escaped(text, keep="\n\t")


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
