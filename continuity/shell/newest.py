"""The newest checkpoint of a branch as a brief shows it: as the server has it, or as it is kept here, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from continuity.capture import address
from continuity.commands import RecordProbe
from continuity.memory import notes
from continuity.selection import Item, Label
from continuity.shell.asking import Fetched
from continuity.shell.desk import Desk
from continuity.state import Capture, State, is_ours

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection  # brings mcp, which a warm start does without

_LABELS: Mapping[tuple[bool, bool], Label] = MappingProxyType(
    {
        (False, False): "",
        (True, False): "moved",
        (False, True): "edited",
        (True, True): "moved and edited",
    }
)
"""What is said of a checkpoint that was read, by whether it was moved and whether it was edited."""


async def newest(desk: Desk, fetched: Fetched | None, state: State) -> Item | None:
    """Return what is shown of the branch's own work; nothing that is not confirmed, or was until its note was gone."""
    checkpoint = state.checkpoint
    withdrawn = await _withdrawn(desk, state)
    if withdrawn is not None or checkpoint is None:
        return withdrawn
    read = fetched.checkpoint if fetched and fetched.capture_id == checkpoint.capture_id else None
    if read is not None and read.outcome == "found" and read.content is not None:
        label = _LABELS[checkpoint.moved, checkpoint.edited]
        return _item(checkpoint, read.content, label, path=read.file_path, checksum=read.checksum)
    basis = state.handoff
    taken = basis.sha256 if basis is not None and basis.capture_id == checkpoint.capture_id else None
    text = await desk.body(checkpoint.handoff_sha256 or taken)
    kept_here: Label = "not found" if checkpoint.capture_id in desk.unfound else "local copy"
    return _item(checkpoint, text, kept_here) if text else None


async def _withdrawn(desk: Desk, state: State) -> Item | None:
    """The newest handoff as it is kept here, if its note is proven gone: no older checkpoint knows as much."""
    ledger, handoff = desk.ledger, state.handoff
    if ledger is None or handoff is None or handoff.capture_id not in ledger.withdrawn:
        return None
    return Item(
        section="checkpoint",
        title=f"checkpoint {handoff.capture_id[:12]}",
        path=address(handoff.capture_id, desk.profile.checkpoint_folder, "checkpoint").file_path,
        text=await desk.body(handoff.sha256) or "",
        project=desk.profile.project or "",
        label="withdrawn",
    )


def _item(
    checkpoint: Capture, text: str, label: Label, *, path: str | None = None, checksum: str | None = None
) -> Item:
    return Item(
        section="checkpoint",
        title=f"checkpoint {checkpoint.capture_id[:12]}",
        path=path or checkpoint.path or "",
        text=text,
        project=checkpoint.project,
        checksum=checksum,
        label=label,
    )


async def read_elsewhere(
    connection: MemoryConnection, checkpoint: Capture, probe: RecordProbe, read: notes.NoteRead, seconds: float
) -> notes.NoteRead:
    """A note that is not where it was may have moved: its identity found it, or it is missing."""
    for seen in probe.observations:
        if is_ours(checkpoint, seen) and seen.file_path is not None:
            return await notes.read_note(connection, checkpoint.project, seen.file_path, seconds)
    return notes.NoteRead(outcome="missing") if read.outcome == "found" else read
