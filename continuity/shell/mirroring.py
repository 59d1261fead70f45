"""Receipts in the host's session: which of them settle something here, and which one the session lacks. It appends nothing."""

from __future__ import annotations

from continuity.capture import Anchor, parse_receipts, receipt
from continuity.shell.ledger import Ledger
from continuity.shell.ports import PathView
from journal.events import ReceiptAdopted
from journal.ids import EntryId, ProjectName

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
    state = ledger.state
    checkpoint = state.checkpoint
    if checkpoint is None or state.digest is None or checkpoint.content_sha256 is None or not view.certain:
        return None
    known = {one.capture_id for one in parse_receipts(view.receipts)[0] if one.status == "confirmed"}
    on_path = any(message.entry_id == checkpoint.source_tip for message in view.public)
    if checkpoint.capture_id in known or not on_path:
        return None
    return receipt(
        project=checkpoint.project,
        identity=checkpoint.capture_id,
        kind=checkpoint.kind,
        status="confirmed",
        source_tip=EntryId(checkpoint.source_tip),
        content_sha256=checkpoint.content_sha256,
        file_path=checkpoint.path,
        anchor=Anchor(ledger.journal.header.journal_id, state.branch, state.position, state.digest),
    )
