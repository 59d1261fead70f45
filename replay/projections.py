"""Lists for people, computed from a folded journal: a state's view, branches, what is unproven. They decide nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from continuity.pending import Open, choices, next_step, open_items, why
from continuity.state import Capture, State
from continuity.unstored import Unstored, unstored, waits_for, what_stores
from journal.errors import RowUnreadable
from journal.reader import Reader
from journal.row import Header, RawRow
from replay.fold import folded
from replay.shapes import (
    BranchesView,
    BranchView,
    Checkpoint,
    NotStored,
    PendingCapture,
    RecallView,
    StateView,
    Unproven,
)


def state_view(header: Header, branch: int, state: State) -> StateView:
    """Return what `state` looks like from outside."""
    return StateView(
        session=header.session_id,
        journal=header.journal_id,
        branch=branch,
        position=state.position,
        tip=state.tip,
        checkpoint=None if state.checkpoint is None else _checkpoint(state.checkpoint),
        pending=[_pending(capture) for capture in state.pending],
        recall=RecallView(
            due=state.recall.due,
            planned=state.recall.planned,
            brief_sha256=state.recall.brief_sha256,
            delivered_ms=state.recall.delivered_ms or None,
            failures=list(state.recall.failures),
        ),
    )


def _checkpoint(capture: Capture) -> Checkpoint:
    labels: list[Literal["moved", "edited"]] = []
    if capture.moved:
        labels.append("moved")
    if capture.edited:
        labels.append("edited")
    return Checkpoint(
        capture_id=capture.capture_id,
        attempt=capture.attempt,
        project=capture.project,
        file_path=capture.path,
        evidence=capture.evidence,
        labels=labels,
    )


def _pending(capture: Capture) -> PendingCapture:
    return PendingCapture(
        capture_id=capture.capture_id,
        attempt=capture.attempt,
        status=capture.status,
        project=capture.project,
        file_path=capture.path,
        since_ms=_since(capture),
    )


def _since(capture: Capture) -> int:
    return capture.intent.at_ms if capture.intent is not None else capture.begun_ms


def branches_view(reader: Reader) -> BranchesView:
    """Return all branches as they are stored, unverified."""
    last, own = reader.last_branch(), _own_rows(reader)
    return BranchesView(
        session=reader.header.session_id,
        journal=reader.header.journal_id,
        branches=[
            BranchView(
                branch=row.branch,
                parent=row.parent,
                fork_position=row.fork_position,
                position=reader.head(row.branch),
                events=own[row.branch][0] if row.branch in own else 0,
                tip=own[row.branch][2].tip if row.branch in own else None,
                first_ms=own[row.branch][1].at_ms if row.branch in own else None,
                last_ms=own[row.branch][2].at_ms if row.branch in own else None,
                digest=own[row.branch][2].digest.hex() if row.branch in own else None,
                written_last=row.branch == last,
            )
            for row in reader.branches
        ],
    )


def _own_rows(reader: Reader) -> dict[int, tuple[int, RawRow, RawRow]]:
    """Return how many rows each branch recorded, its first and its last."""
    found: dict[int, tuple[int, RawRow, RawRow]] = {}
    for row in reader.rows():
        count, first, _ = found.get(row.branch, (0, row, row))
        found[row.branch] = (count + 1, first, row)
    return found


def unproven(reader: Reader, path: Path, *, live: bool) -> Iterator[Unproven | NotStored | RowUnreadable]:
    """Yield what is not settled on every branch, why a branch could be read only in part, and what was not sent yet.

    A capture belongs to the branch that began it, so none is listed twice.
    `live` says that a running process holds the journal.
    """
    states: list[State] = []
    for row in reader.branches:
        state, stop = folded(reader, row.branch)
        states.append(state)
        for item in open_items(row.branch, state):
            yield _unproven(reader.header, path, item, live=live)
        if stop is not None:
            yield stop
    left = unstored(states, live=live)
    if left is not None:
        yield _not_stored(reader.header, path, left, live=live)


def _not_stored(header: Header, path: Path, left: Unstored, *, live: bool) -> NotStored:
    return NotStored(
        path=str(path),
        session=header.session_id,
        journal=header.journal_id,
        ready=left.ready,
        unmade=left.unmade,
        failed=left.failed,
        since_ms=left.since_ms,
        live=live,
        why=waits_for(left),
        next_step=what_stores(left, header.session_id, live=live),
    )


def _unproven(header: Header, path: Path, item: Open, *, live: bool) -> Unproven:
    return Unproven(
        path=str(path),
        session=header.session_id,
        journal=header.journal_id,
        branch=item.branch,
        reference=item.reference,
        kind=item.what or "call",
        capture_id=item.reference if item.kind == "capture" else None,
        attempt=item.attempt,
        status=item.status,
        project=item.project,
        file_path=item.file_path,
        tool=item.tool,
        since_ms=item.since_ms,
        probes=item.probes,
        probed_ms=item.probed_ms,
        verdict=item.verdict,
        code=item.code,
        unproven=item.unproven,
        live=live,
        why=why(item, live=live),
        next_step=next_step(item, live=live),
        choices=list(choices(item, live=live)),
    )
