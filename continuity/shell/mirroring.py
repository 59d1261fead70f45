"""Receipts in the host's session: which of them settle something here, and which ones the session lacks."""

from __future__ import annotations

from continuity.capture import Anchor, ReceiptStatus, parse_receipts, receipt
from continuity.shell.ledger import Ledger
from continuity.shell.ports import Mirror, PathView
from continuity.state import Capture, State, Status
from journal.events import ReceiptAdopted
from journal.ids import BranchId, CaptureId, EntryId, ProjectName

type Receipt = dict[str, str | int | None]


def adoptable(view: PathView, project: str | None) -> tuple[tuple[ReceiptAdopted, ...], int]:
    """Return what this path's confirmed receipts for `project` say, newest first, and how many could not be read."""
    found, skipped = parse_receipts(view.receipts)
    facts = tuple(
        ReceiptAdopted(
            capture_id=one.capture_id,
            attempt=1,
            kind="checkpoint",
            project=ProjectName(one.project),
            source_tip=one.source_tip,
            content_sha256=one.content_digest,
            file_path=(one.file_path or "")[:1024],
            origin="session" if one.anchor is not None else "tool",
        )
        for one in reversed(found)
        if one.status == "confirmed" and one.kind == "checkpoint" and one.project == project
    )
    return facts, skipped


def unmirrored(ledger: Ledger, view: PathView) -> Receipt | None:
    """Return the receipt of the newest confirmed checkpoint, if this path lacks it and is known to carry its tip."""
    checkpoint = ledger.state.checkpoint
    if checkpoint is None or not view.certain:
        return None
    known = {one.capture_id for one in parse_receipts(view.receipts)[0] if one.status == "confirmed"}
    on_path = any(message.entry_id == checkpoint.source_tip for message in view.public)
    if checkpoint.capture_id in known or not on_path:
        return None
    return _receipt(ledger, ledger.state, checkpoint, "confirmed")


async def mirrored(mirror: Mirror | None, ledger: Ledger | None, branch: BranchId, identity: CaptureId) -> None:
    """Put into the host's session how far this checkpoint has come, where the host takes it and its path holds the tip."""
    state = ledger.states.get(branch) if ledger is not None else None
    capture = state.capture(identity) if state is not None else None
    if mirror is None or ledger is None or state is None or capture is None or capture.kind != "checkpoint":
        return
    status = _STATUSES.get(capture.status)
    data = _receipt(ledger, state, capture, status) if status is not None else None
    if data is not None:
        await mirror(data, capture.source_tip)


_STATUSES: dict[Status, ReceiptStatus] = {"intended": "pending", "confirmed": "confirmed"}


def _receipt(ledger: Ledger, state: State, capture: Capture, status: ReceiptStatus) -> Receipt | None:
    if state.digest is None or capture.content_sha256 is None:
        return None
    return receipt(
        project=capture.project,
        identity=capture.capture_id,
        kind=capture.kind,
        status=status,
        source_tip=EntryId(capture.source_tip),
        content_sha256=capture.content_sha256,
        file_path=capture.path if status == "confirmed" else None,
        anchor=Anchor(ledger.journal.header.journal_id, state.branch, state.position, state.digest),
    )
