"""Builds the one note that a finished capture is sent as, by its kind. It sends nothing and asks no model."""

from __future__ import annotations

from collections.abc import Collection

from continuity import handoff
from continuity.capture import address
from continuity.handoff import Handoff
from continuity.memory.notes import WriteRequest
from continuity.notetext import from_kept_form, metadata_of
from continuity.profile import ProfileKind
from continuity.shell.desk import Desk
from continuity.shell.filing import filed_now
from continuity.shell.pausing import spoken
from continuity.state import Capture, State
from journal.ids import BranchId, CaptureId


async def request_of(desk: Desk, capture: Capture, branch: BranchId) -> WriteRequest | None:
    """Return the note exactly as it will be sent; None when its text was erased."""
    text = await desk.body(capture.handoff_sha256)
    if text is None:
        return None
    return await (
        _checkpoint(desk, capture, branch, text) if capture.kind == "checkpoint" else _kept(desk, capture, text)
    )


async def _kept(desk: Desk, capture: Capture, text: str) -> WriteRequest | None:
    """What no model made is kept as it is sent, all but its identity."""
    note = from_kept_form(text)
    if note is None:
        return None
    return WriteRequest(
        project=capture.project,
        folder=note.folder,
        title=note.title,
        content=note.content,
        note_type=note.note_type,
        metadata=metadata_of(
            note,
            project=capture.project,
            capture_id=capture.capture_id,
            session_id=desk.session_id,
            source_tip=capture.source_tip,
        ),
    )


async def _checkpoint(desk: Desk, capture: Capture, branch: BranchId, text: str) -> WriteRequest | None:
    made = handoff.from_kept(text)
    if made is None:
        return None
    messages = spoken(desk, branch, await desk.source.messages(capture.source_tip))
    found = await filed_now(desk)
    profile, git = found.profile, found.git
    body = checkpoint_body(made, profile.kind, desk.state(branch), capture, unfound=desk.unfound)
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


def checkpoint_body(
    made: Handoff, kind: ProfileKind, state: State | None, capture: Capture, *, unfound: Collection[CaptureId]
) -> str:
    """Return the body of a checkpoint's note as `state` links it: with what it continues and what it draws on."""
    sources = [source.address for source in state.sources] if state is not None else []
    return handoff.note_body(made, kind, continues=_continued(unfound, state, capture), sources=sources)


def _continued(unfound: Collection[CaptureId], state: State | None, capture: Capture) -> str | None:
    """Only an older, confirmed note that is not known to be gone is continued; a moved one under its new path."""
    checkpoint = state.checkpoint if state else None
    if checkpoint is None or checkpoint.capture_id in unfound:
        return None
    if checkpoint.begun_position > capture.begun_position:
        return None  # a lost one that is written again came before it
    permalink = None if checkpoint.moved else checkpoint.permalink
    return permalink or (checkpoint.path or "").removesuffix(".md") or None
