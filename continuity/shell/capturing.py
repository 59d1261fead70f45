"""Performs a capture but for its text: begins it, commits the intent, sends once. It judges no answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import anyio

from continuity.capture import capture_id
from continuity.commands import BeginCapture, CommandRejected, Observe, Request, SubmitWrite
from continuity.due import Begin, Submit
from continuity.memory.calls import Ticket
from continuity.memory.notes import WriteOutcome, WriteRequest, write_note
from continuity.shell.desk import Desk, kept
from continuity.shell.mirroring import mirrored
from continuity.shell.requests import request_of
from continuity.shell.saying import disclosed, told
from continuity.state import Capture
from journal.errors import AlreadySubmitted, JournalError
from journal.events import SynthesisFailed, WriteAnswered, WriteIntended
from journal.events.writes import NoteAddress
from journal.ids import BranchId, ProjectName, Sha256
from journal.row import Row

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection  # brings mcp, which a warm start does without


async def begin(desk: Desk, effect: Begin, branch: BranchId) -> None:
    """Record that a capture begins at the owed tip; its identity follows from project, session and tip alone."""
    project = desk.profile.project
    if project is None:
        return
    await desk.apply(
        BeginCapture(
            capture_id=capture_id(project, desk.session_id, "checkpoint", effect.tip),
            kind="checkpoint",
            project=ProjectName(project),
            source_tip=effect.tip,
            reason=effect.reason,
        ),
        branch=branch,
    )


async def submit(desk: Desk, effect: Submit, branch: BranchId) -> None:
    """Commit the intent, then send the one call. What cannot be committed is not sent."""
    connection = desk.link.connection
    described = desk.link.described(_project(desk))
    capture = desk.live(effect.capture_id, branch)
    if connection is None or described is None or capture is None:
        return
    if await desk.link.lacks(capture.project):
        raise _no_project(desk, capture.project)
    await desk.apply(Observe(described), branch=branch)
    state = desk.state(branch)
    request = await request_of(desk, capture, branch)
    if request is None:
        await _unsendable(desk, capture, branch, "body-missing")
        return
    disclosed(desk, capture.kind, request, described)
    digest, bodies = kept(json.dumps(request.metadata, sort_keys=True, ensure_ascii=False))
    command = SubmitWrite(
        capture_id=capture.capture_id,
        address=NoteAddress(folder=request.folder.strip("/"), title=request.title),
        content_sha256=Sha256(request.metadata["content_digest"]),
        note_type=request.note_type,
        metadata_sha256=digest,
        writer=desk.writer.writer,
        connection=connection.id,
        as_of=state.position if state is not None else None,
    )
    try:
        rows = await desk.apply(command, branch=branch, bodies=bodies)
    except AlreadySubmitted:
        await _overtaken(desk, capture, branch)
        return
    except JournalError:
        await desk.outcome(_unrecorded(capture), branch=branch)
        raise
    intents = [row.event for row in rows if isinstance(row.event, WriteIntended)]  # on disk from here on
    for intent in intents:
        await _send(desk, connection, request, intent, branch)


async def _unsendable(desk: Desk, capture: Capture, branch: BranchId, why: str) -> None:
    """Nothing of it was sent. A checkpoint is made anew from the session; of another kind there is nothing to make."""
    if capture.kind == "note" and why == "body-missing":
        desk.voice.say(
            f"gone:{capture.capture_id}",
            "A note was not sent, and its text was erased meanwhile, so it is let go.",
            "warning",
        )
    await desk.apply(Observe(SynthesisFailed(capture_id=capture.capture_id, error=why, model_calls=0)), branch=branch)


async def _overtaken(desk: Desk, capture: Capture, branch: BranchId) -> None:
    """The one submission of this capture is another branch's, which settles it; here newer work takes its place."""
    if capture.kind != "checkpoint":
        await _unsendable(desk, capture, branch, "submitted-elsewhere")
        return
    desk.voice.say(
        f"submitted:{capture.capture_id}",
        "A checkpoint was sent from another branch of this session already and is settled there; "
        "here the next one takes its place.",
    )
    await desk.apply(Request(reason="overtaken"), branch=branch)
    state = desk.state(branch)
    had = state.gathered if state else None
    if had is not None and had.tip is not None and had.owed is not None:
        await begin(desk, Begin(had.tip, had.owed), branch)


def _unrecorded(capture: Capture) -> WriteAnswered:
    """The intent may be on disk although its append failed. It was not sent, and that is known to nobody else."""
    attempt = capture.attempt + 1 if capture.intent is not None else capture.attempt
    return WriteAnswered(
        capture_id=capture.capture_id,
        attempt=attempt,
        outcome="not-sent",
        code="not-recorded",
        file_path=None,
        permalink=None,
        checksum=None,
    )


def _no_project(desk: Desk, project: str) -> CommandRejected:
    """A project of no place would leave a doubt that no reading can settle: nothing is sent, and the names are told."""
    several = desk.link.projects.named(project)
    if several:
        known = ", ".join(one.label for one in several[:20])
        desk.voice.say(
            "project",
            f"Basic Memory has several projects {project!r}, so nothing is saved; what is made is kept. They are: {known}. "
            "Set `project` to one of them with its workspace, or give each a name of its own.",
            "warning",
        )
        return CommandRejected("submit-write", "the server has several projects of the name")
    known = ", ".join(one.name for one in desk.link.projects.projects[:20])
    desk.voice.say(
        "project",
        f"Basic Memory has no project {project!r}, so nothing is saved; what is made is kept. It has: {known}. "
        "Set `project`, or create it with `bm project add`.",
        "warning",
    )
    return CommandRejected("submit-write", "the server has no such project")


async def _send(
    desk: Desk, connection: MemoryConnection, request: WriteRequest, intent: WriteIntended, branch: BranchId
) -> None:
    """The intent is on disk: whatever interrupts from here on, what is known is recorded before that passes on."""
    ticket = Ticket()
    outcome: WriteOutcome | None = None
    row: Row | None = None
    try:
        await mirrored(desk.mirror, desk.ledger, branch, intent.capture_id)
        outcome = await write_note(connection, request, desk.settings.timeout_seconds, ticket=ticket)
    finally:
        ticket.withdraw()
        if outcome is None:
            outcome = WriteOutcome(outcome="unknown" if ticket.sent else "not-sent", code="interrupted")
        with anyio.CancelScope(shield=True):
            row = await desk.outcome(_answered(intent, outcome), branch=branch)
        told(desk, intent, outcome, row)
    await mirrored(desk.mirror, desk.ledger, branch, intent.capture_id)


def _answered(intent: WriteIntended, outcome: WriteOutcome) -> WriteAnswered:
    return WriteAnswered(
        capture_id=intent.capture_id,
        attempt=intent.attempt,
        outcome=outcome.outcome,
        code=outcome.code,
        file_path=outcome.file_path[:1024] if outcome.file_path else None,
        permalink=outcome.permalink[:1024] if outcome.permalink else None,
        checksum=outcome.checksum[:200] if outcome.checksum else None,
    )


def _project(desk: Desk) -> ProjectName | None:
    return ProjectName(desk.profile.project) if desk.profile.project else None
