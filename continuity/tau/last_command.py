"""The command `/bm-last`: what was saved last on this branch, verbatim, and how that is known. It costs no model turn."""

from __future__ import annotations

from concurrent.futures import Future
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio.to_thread

from continuity.console import escaped
from continuity.pending import age
from continuity.shell.opening import trouble
from continuity.shell.owner import Owner
from continuity.shell.session import Session
from continuity.shell.showing import Rebuilt, rebuilt, show_stored
from continuity.state import Capture
from continuity.tau.pages import begun, how_known
from journal.errors import JournalError
from journal.ids import BranchId

USAGE = "/bm-last"
DESCRIPTION = "What was saved last, word for word, where it is and how that is known"

_PROOF = "  shown        as it was sent: rebuilt from what is kept here, and its digest is the one recorded"


def last(session: Session | None, owner: Owner, now_ms: int, arguments: str) -> str | None:
    """Return what is shown; None where the newest confirmed checkpoint is not there at once and follows under `owner`."""
    if arguments.strip():
        return f"{USAGE} takes no words."
    if session is None:
        return "Nothing was saved: this session has no file."
    if not session.begun:
        owner.spawn("last", partial(_once_begun, session, now_ms))
        return None
    saved = _saved(session, now_ms)
    if saved is None:
        return _nothing(session)
    page = begun(saved.read)
    shown = saved.page(page.result()) if page.done() else None
    if shown is None:
        owner.spawn("last", partial(_follow, session, saved, page))
    return shown


class _Saved(NamedTuple):
    """The checkpoint that is asked for, and what is said of it before its text."""

    checkpoint: Capture
    head: str
    path: Path
    branch: BranchId

    def read(self) -> Rebuilt | JournalError:
        """What is kept is proven by the whole history, which is verified: that grows with the session. Blocking."""
        try:
            return rebuilt(self.path, self.branch, self.checkpoint)
        except JournalError as error:
            return error

    def page(self, found: Rebuilt | JournalError) -> str | None:
        """Return what is shown of it; None when the server has to be asked."""
        if isinstance(found, JournalError):
            return f"{self.head}\nIts text cannot be shown: {trouble(found)}."
        if found.text is None:
            return None
        return f"{self.head}\n{_PROOF}\n\n{_spelled(found.text.strip())}"


def _saved(session: Session, now_ms: int) -> _Saved | None:
    ledger = session.desk.ledger
    checkpoint = ledger.last_saved if ledger is not None else None
    if ledger is None or checkpoint is None:
        return None
    head = _spelled(_head(checkpoint, now_ms, gone=checkpoint.capture_id in ledger.withdrawn))
    return _Saved(checkpoint, head, ledger.path, ledger.current)


async def _once_begun(session: Session, now_ms: int) -> None:
    """The journal is being opened, as in print mode where the command comes first: what it holds follows."""
    await session.hold(make=False)
    saved = _saved(session, now_ms)
    if saved is None:
        session.desk.voice.answer(_nothing(session))
    else:
        await _tell(session, saved, await anyio.to_thread.run_sync(saved.read))


async def _follow(session: Session, saved: _Saved, page: Future[Rebuilt | JournalError]) -> None:
    await _tell(session, saved, await anyio.to_thread.run_sync(page.result))


async def _tell(session: Session, saved: _Saved, found: Rebuilt | JournalError) -> None:
    text = saved.page(found)
    if text is not None:
        session.desk.voice.answer(text)
    elif isinstance(found, Rebuilt):
        await show_stored(session.desk, saved.checkpoint, saved.head, found.why, _spelled)


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
    since = (("moved", checkpoint.moved), ("edited", checkpoint.edited), ("withdrawn: its note is gone", gone))
    return "\n".join(
        [
            "Saved last on this branch",
            f"  note         {checkpoint.path} in project {checkpoint.project}",
            f"  {'sent' if checkpoint.intent is not None else 'taken over':<13}{when}, {age(now_ms - sent_ms)} ago",
            f"  evidence     {how_known(checkpoint)}",
            *(f"  since then   {label}" for label, on in since if on),
        ]
    )
