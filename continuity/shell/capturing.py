"""Performs a capture: begins it, reads what is new, asks the model, commits the intent, sends once. It judges no answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio

from continuity import handoff
from continuity.capture import PublicMessage, address, capture_id
from continuity.commands import BeginCapture, CommandRejected, Observe, Request, SubmitWrite
from continuity.due import Begin, Submit, Synthesise
from continuity.handoff import Chunk, Handoff, HandoffRefused, Through
from continuity.memory.calls import Ticket
from continuity.memory.notes import WriteOutcome, WriteRequest, write_note
from continuity.privacy import RULE_SET_VERSION
from continuity.shell.desk import Desk, kept
from continuity.shell.ports import ModelFailed
from continuity.shell.screening import screened
from continuity.state import Capture, State
from journal.errors import AlreadySubmitted, JournalError
from journal.events import (
    MemoryConnected,
    SynthesisAdvanced,
    SynthesisFailed,
    SynthesisFinished,
    WriteAnswered,
    WriteIntended,
)
from journal.ids import BranchId, CaptureId, ProjectName, Sha256

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection  # brings mcp, which a warm start does without

HANDOFF_LIMIT_CHARS = 40_000
"""A longer answer is no handoff."""


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


async def synthesise(desk: Desk, effect: Synthesise, branch: BranchId) -> None:
    """Fold what is new into the handoff, part by part; each part is kept, so no failure makes it be read again."""
    capture = _capture(desk, effect.capture_id, branch)
    if capture is None:
        return
    synthesis = _Synthesis(desk, capture, branch)
    try:
        with anyio.fail_after(desk.settings.summary_timeout_seconds):
            await synthesis.fold()
    except (ModelFailed, TimeoutError) as error:
        code = error.code if isinstance(error, ModelFailed) else "timeout"
        failed = SynthesisFailed(capture_id=capture.capture_id, error=code, model_calls=synthesis.calls)
        await desk.note(failed, branch=branch)
        desk.voice.say(
            "synthesis",
            f"Continuity could not make a checkpoint ({code}); the last one stands, and it will be tried again later.",
            "warning",
        )


class _Synthesis:
    """One run at one capture's handoff, and what it costs."""

    def __init__(self, desk: Desk, capture: Capture, branch: BranchId) -> None:
        self._desk = desk
        self._capture = capture
        self._branch = branch
        self._done = capture.progress.chunks if capture.progress else 0
        self._tokens = (0, 0)
        self._maskings = 0
        self._model: str | None = None
        self.calls = 0

    async def fold(self) -> None:
        """Go through the parts not read yet; the last one finishes the capture.

        Raises:
            ModelFailed: The model gave no handoff; what was folded before is recorded.
        """
        capture, progress = self._capture, self._capture.progress
        messages = await self._desk.source.messages(capture.source_tip)
        if not messages or messages[-1].entry_id != capture.source_tip:
            raise ModelFailed("nothing-to-read")  # a tip that was not read is not saved
        prior = await self._desk.body(progress.handoff_sha256 if progress else capture.prior_sha256)
        if prior is None:
            progress, self._done = None, 0  # nothing was folded yet, or its text was erased: all is read again
        covered = 0 if prior is None else _covered(messages, capture)
        masked, self._maskings = await screened(self._desk, capture, messages, covered)
        after = Through(progress.through_entry, progress.through_offset) if progress else None
        focus = await self._desk.body(capture.focus_sha256)
        parts = tuple(handoff.chunks(masked, self._desk.settings.summary_chunk_chars, after=after))
        newest = handoff.newest_request(masked)
        for number, part in enumerate(parts, start=1):
            made = await self._ask(handoff.request(part, prior=prior, newest=newest, focus=focus))
            prior = handoff.kept_text(made)
            self._done += 1
            if number < len(parts):
                await self._advance(part, prior)
        if prior is None:
            raise ModelFailed("nothing-to-read")
        await self._finish(prior)

    async def _ask(self, text: str) -> Handoff:
        self.calls += 1
        answer = await self._desk.model.summarize(
            text, instructions=handoff.INSTRUCTIONS, timeout=self._desk.settings.summary_timeout_seconds
        )
        self._tokens = (self._tokens[0] + answer.tokens_in, self._tokens[1] + answer.tokens_out)
        self._model = answer.model[:200]
        made = handoff.accept_handoff(answer.text, HANDOFF_LIMIT_CHARS)
        if isinstance(made, HandoffRefused):
            raise ModelFailed(made.reason)
        self._maskings += made.maskings
        return made

    async def _advance(self, part: Chunk, text: str) -> None:
        digest, bodies = kept(text)
        advanced = SynthesisAdvanced(
            capture_id=self._capture.capture_id,
            through_entry=part.through_entry,
            through_offset=part.through_offset,
            handoff_sha256=digest,
            chunks=self._done,
        )
        await self._desk.apply(Observe(advanced), branch=self._branch, bodies=bodies)

    async def _finish(self, text: str) -> None:
        digest, bodies = kept(text)
        finished = SynthesisFinished(
            capture_id=self._capture.capture_id,
            handoff_sha256=digest,
            characters=len(text),
            chunks=self._done,
            maskings=self._maskings,
            rule_set=RULE_SET_VERSION,
            model=self._model,
            tokens_in=self._tokens[0],
            tokens_out=self._tokens[1],
        )
        await self._desk.apply(Observe(finished), branch=self._branch, bodies=bodies)


def _covered(messages: Sequence[PublicMessage], capture: Capture) -> int:
    """How many messages the prior handoff covers; none, if that handoff's tip is not on this path."""
    places = (index + 1 for index, message in enumerate(messages) if message.entry_id == capture.prior_tip)
    return next(places, 0)


async def submit(desk: Desk, effect: Submit, branch: BranchId) -> None:
    """Commit the intent, then send the one call. What cannot be committed is not sent."""
    connection = desk.link.connection
    described = desk.link.described(_project(desk))
    capture = _capture(desk, effect.capture_id, branch)
    if connection is None or described is None or capture is None:
        return
    if await desk.link.lacks(capture.project):
        raise _no_project(desk, capture.project)
    await desk.apply(Observe(described), branch=branch)
    request = await _request(desk, capture, branch)
    if request is None:
        gone = SynthesisFailed(capture_id=capture.capture_id, error="body-missing", model_calls=0)
        await desk.apply(Observe(gone), branch=branch)
        return
    _disclose(desk, request, described)
    digest, bodies = kept(json.dumps(request.metadata, sort_keys=True, ensure_ascii=False))
    command = SubmitWrite(
        capture_id=capture.capture_id,
        address=address(capture.capture_id, request.folder, capture.kind),
        content_sha256=Sha256(request.metadata["content_digest"]),
        note_type=request.note_type,
        metadata_sha256=digest,
        writer=desk.writer.writer,
        connection=connection.id,
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


async def _overtaken(desk: Desk, capture: Capture, branch: BranchId) -> None:
    """The one submission of this capture is another branch's, which settles it; here newer work takes its place."""
    desk.voice.say(
        f"submitted:{capture.capture_id}",
        "A checkpoint was sent from another branch of this session already and is settled there; "
        "here the next one takes its place.",
    )
    await desk.apply(Request(reason="overtaken"), branch=branch)
    state = _state(desk, branch)
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
    """A mistyped project would leave a doubt that no reading can settle: nothing is sent, and the names are told."""
    known = ", ".join(one.name for one in desk.link.projects.projects[:20])
    desk.voice.say(
        "project",
        f"Basic Memory has no project {project!r}, so nothing is saved; what is made is kept. It has: {known}. "
        "Set `project`, or create it with `bm project add`.",
        "warning",
    )
    return CommandRejected("submit-write", "the server has no such project")


def _disclose(desk: Desk, request: WriteRequest, described: MemoryConnected) -> None:
    """Before the first automatic write of a session the person is told where to, what, when, and the switch."""
    every = desk.settings.cadence == "every"
    when = "after every turn" if every else "as work gathers, at compactions and at exit"
    desk.voice.say(
        f"destination:{desk.session_id}",
        f"Continuity saves masked summaries of this conversation {when} to project {request.project} "
        f"({described.project_source}), folder {request.folder}. Set `capture_knowledge` to false to switch it off.",
    )


async def _send(
    desk: Desk, connection: MemoryConnection, request: WriteRequest, intent: WriteIntended, branch: BranchId
) -> None:
    """Whatever interrupts the call, what is known of it is recorded before the interruption passes on."""
    ticket = Ticket()
    outcome: WriteOutcome | None = None
    try:
        outcome = await write_note(connection, request, desk.settings.timeout_seconds, ticket=ticket)
    finally:
        ticket.withdraw()
        if outcome is None:
            outcome = WriteOutcome(outcome="unknown" if ticket.sent else "not-sent", code="interrupted")
        with anyio.CancelScope(shield=True):
            await desk.outcome(_answered(intent, outcome), branch=branch)
        _tell(desk, outcome)


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


def _tell(desk: Desk, outcome: WriteOutcome) -> None:
    match outcome.outcome:
        case "accepted":
            desk.voice.say("save", f"Checkpoint saved: {outcome.file_path} (answered by the server).")
        case "refused":
            desk.voice.say("save", f"The server refused the checkpoint ({outcome.code}). See /bm-pending.", "warning")
        case "unknown":
            desk.voice.say(
                "save",
                f"It is not known whether the checkpoint was stored ({outcome.code}); it is being settled by reading.",
                "warning",
            )
        case "not-sent":
            desk.voice.say("save", f"The checkpoint was not sent ({outcome.code}); it is kept.", "warning")


async def _request(desk: Desk, capture: Capture, branch: BranchId) -> WriteRequest | None:
    """The note exactly as it will be sent; None when the handoff's text was erased."""
    text = await desk.body(capture.handoff_sha256)
    made = handoff.from_kept(text) if text is not None else None
    if made is None:
        return None
    messages = await desk.source.messages(capture.source_tip)
    profile, git = await desk.checkout(desk.profile)
    body = handoff.note_body(made, profile.kind, continues=_continued(desk, _state(desk, branch), capture))
    metadata = handoff.note_metadata(
        profile,
        project=capture.project,
        capture_id=capture.capture_id,
        session_id=desk.session_id,
        source_tip=capture.source_tip,
        trigger=capture.reason,
        started_ms=messages[0].at_ms if messages else capture.begun_ms,
        ended_ms=messages[-1].at_ms if messages else capture.begun_ms,
        body=body,
        git=git,
    )
    folder = profile.checkpoint_folder
    return WriteRequest(
        project=capture.project,
        folder=folder,
        title=address(capture.capture_id, folder, capture.kind).title,
        content=body,
        note_type=profile.note_type,
        metadata=metadata,
    )


def _continued(desk: Desk, state: State | None, capture: Capture) -> str | None:
    """Only an older, confirmed note that is not known to be gone is continued; a moved one under its new path."""
    checkpoint = state.checkpoint if state else None
    if checkpoint is None or checkpoint.capture_id in desk.unfound:
        return None
    if checkpoint.begun_position > capture.begun_position:
        return None  # a lost one that is written again came before it
    permalink = None if checkpoint.moved else checkpoint.permalink
    return permalink or (checkpoint.path or "").removesuffix(".md") or None


def _state(desk: Desk, branch: BranchId) -> State | None:
    return desk.ledger.states.get(branch) if desk.ledger else None


def _capture(desk: Desk, identity: CaptureId, branch: BranchId) -> Capture | None:
    state = _state(desk, branch)
    return state.live(identity) if state else None


def _project(desk: Desk) -> ProjectName | None:
    return ProjectName(desk.profile.project) if desk.profile.project else None
