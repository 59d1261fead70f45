"""Keeps a person's words as a note that is owed, and settles one where no session runs. It sends nothing twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import anyio
import msgspec

from continuity.capture import capture_id
from continuity.commands import BeginCapture, CommandRejected
from continuity.due import Submit
from continuity.notetext import kept_form, named, titled, worded
from continuity.privacy import RULE_SET_VERSION
from continuity.profile import folder_fault
from continuity.shell import capturing, reconciling
from continuity.shell.desk import Desk, kept
from continuity.shell.ledger import Ledger
from continuity.state import PENDING, Capture, State
from journal.events import CaptureProbed, SynthesisFinished
from journal.events.writes import Verdict
from journal.ids import BranchId, CaptureId, ProjectName, Sha256


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """A note in the caller's words: the user's, or our own schema notes. It is masked here."""

    title: str
    folder: str
    note_type: str
    text: str
    metadata: Mapping[str, str] = {}
    exact_title: bool = False
    """For notes that others find by their title, and only for texts of ours: the frontmatter in `text` counts then."""


async def keep(desk: Desk, note: Note, *, reason: str) -> CaptureId | None:
    """Record the masked `note` as a capture that is ready to be sent, and return its identity.

    Begun and finished in one commit, its text in bodies: from here on its submission is owed like any other's. None if
    the same words are kept or stored already, which the session's journal knows.

    Raises:
        CommandRejected: There is no journal, no project to write to, or the folder is none; nothing was written.
        JournalError: Nothing was written, unless the error says otherwise.
    """
    ledger, project = desk.ledger, desk.profile.project
    if ledger is None or project is None:
        raise CommandRejected("keep", "this session has no journal" if ledger is None else "no project is set")
    fault = folder_fault(note.folder)
    if fault is not None:
        raise CommandRejected("keep", f"the folder {fault}")
    candidates = desk.settings.mask_candidates and not note.exact_title
    words = worded(note.folder, note.title, note.note_type, note.text, note.metadata, candidates=candidates)
    identity = capture_id(project, desk.session_id, "note", words.tip)
    if await is_kept(ledger, identity):
        return None
    made = titled(words) if note.exact_title else named(words, identity)
    digest, bodies = kept(kept_form(made))
    command = BeginCapture(
        capture_id=identity,
        kind="note",
        project=ProjectName(project),
        source_tip=words.tip,
        reason=reason,
        text=finished(identity, digest, len(made.content), words.maskings),
    )
    await desk.apply(command, bodies=bodies)
    desk.link.want(at_once=True)
    desk.wake()
    return identity


def finished(identity: CaptureId, digest: Sha256, characters: int, maskings: int) -> SynthesisFinished:
    """Return what is recorded of a text that no model made."""
    return SynthesisFinished(
        capture_id=identity,
        handoff_sha256=digest,
        characters=characters,
        chunks=0,
        maskings=maskings,
        rule_set=RULE_SET_VERSION,
        model=None,
        tokens_in=0,
        tokens_out=0,
    )


async def is_kept(ledger: Ledger, identity: CaptureId) -> bool:
    """Return whether this journal knows the capture: as one that is open on any branch, or as one that was sent once."""
    if any(state.capture(identity) is not None for state in ledger.states.values()):
        return True
    return await ledger.journal.submitted(identity)


class Settled(NamedTuple):
    """One note as the journal knows it, and what was read of it."""

    capture: Capture
    read: Verdict | None
    """Of the newest read; None without one. What was stored may have been edited since, or read as somebody else's."""


async def settle_now(desk: Desk, identity: CaptureId, *, seconds: float) -> Settled:
    """Send a kept note if it was not sent, read what became of it, and return what is known of it then.

    For callers without a runner. It is sent at most once, whatever happens: what cannot be found out within `seconds`
    is returned as it stands, and stays open.

    Raises:
        CommandRejected: No such note is kept here, or the server does not have the project; nothing was sent.
        JournalError: What was sent is recorded as far as it could be; it is settled by reading later.
    """
    read: Verdict | None = None
    with anyio.move_on_after(seconds):
        branch, _, capture = _found(desk, identity)
        if capture.status == "ready" and await desk.link.up(seconds) is not None:
            await capturing.submit(desk, Submit(identity, capture.attempt), branch)
        read = await _read(desk, identity)
    known = _found(desk, identity)[2]
    return Settled(known, read or known.verdict)


async def _read(desk: Desk, identity: CaptureId) -> Verdict | None:
    """Read the note once: what is in doubt is settled by it, what was answered is proven or is not."""
    branch, state, capture = _found(desk, identity)
    connection = desk.link.connection
    if connection is None or capture.status not in {*PENDING, "confirmed"}:
        return None
    rows = await desk.apply(await reconciling.observe(desk, connection, state, capture), branch=branch)
    return next((row.event.verdict for row in rows if isinstance(row.event, CaptureProbed)), None)


def _found(desk: Desk, identity: CaptureId) -> tuple[BranchId, State, Capture]:
    if desk.ledger is not None:
        for branch, state in desk.ledger.states.items():
            capture = state.capture(identity)
            if capture is not None:
                return branch, state, capture
    raise CommandRejected("settle-note", "no such note is open here")
