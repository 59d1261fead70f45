"""The rules that need something outside the journal: a session's receipts, the notes on disk. They never trust a count."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path

from continuity.capture import Anchor
from continuity.sentences import short
from continuity.state import Capture
from journal.ids import CaptureId
from journal.reader import Reader
from journal.row import BranchRow
from replay.rules import Finding
from replay.session import Mirrored, Place

type Vouched = Mapping[int, int]
"""Branch to the last position of its history that something outside the file vouches for."""


def anchors(reader: Reader, mirror: Mirrored, proven: Mapping[int, int]) -> tuple[list[Finding], Vouched]:
    """Return what is wrong with the session's anchors, and how far the good ones vouch.

    `proven` says how far each branch's digests hold: an anchor past that vouches for nothing.
    """
    journal = reader.header.journal_id
    ours = sorted(
        {r.anchor for r in mirror.receipts if r.anchor is not None and r.anchor.journal_id == journal}, key=_key
    )
    others = len({r.anchor for r in mirror.receipts if r.anchor is not None}) - len(ours)
    stored = _digests(reader, {(anchor.branch, anchor.position) for anchor in ours})
    findings: list[Finding] = []
    vouched: dict[int, int] = {}
    for anchor in ours:
        wrong = _wrong(reader, anchor, stored)
        if wrong is not None:
            findings.append(Finding("anchors", "broken", anchor.branch, anchor.position, wrong))
        elif anchor.position <= proven.get(anchor.branch, 0):
            vouched[anchor.branch] = max(anchor.position, vouched.get(anchor.branch, 0))
    if others:
        detail = f"{others} receipts of the session name another journal, and say nothing about this one"
        findings.append(Finding("anchors", "unproven", None, None, detail))
    if mirror.unreadable:
        detail = f"{mirror.unreadable} receipts of the session cannot be read"
        findings.append(Finding("anchors", "unproven", None, None, detail))
    if mirror.damaged:
        findings.append(Finding("anchors", "unproven", None, None, _no_entries(mirror.damaged)))
    return findings, _with_ancestors(reader.branches, vouched)


def _no_entries(damaged: Sequence[Place]) -> str:
    count, first = len(damaged), damaged[0]
    lines = (
        "1 line of the session is no entry" if count == 1 else f"{count} lines of the session are no entries, the first"
    )
    return f"{lines}: record {first.record} at byte {first.offset}; a receipt there is lost"


def _key(anchor: Anchor) -> tuple[int, int, str]:
    return anchor.branch, anchor.position, anchor.digest


def _digests(reader: Reader, places: AbstractSet[tuple[int, int]]) -> dict[tuple[int, int], str]:
    if not places:
        return {}
    return {(r.branch, r.position): r.digest.hex() for r in reader.rows() if (r.branch, r.position) in places}


def _wrong(reader: Reader, anchor: Anchor, stored: Mapping[tuple[int, int], str]) -> str | None:
    found = stored.get((anchor.branch, anchor.position))
    if found == anchor.digest:
        return None
    if found is not None:
        return f"cut or replaced: the session names the row {short(anchor.digest)} here, and this is {short(found)}"
    if all(row.branch != anchor.branch for row in reader.branches):
        return f"cut: the session names the row {short(anchor.digest)} on branch {anchor.branch}, which is not here"
    head = reader.head(anchor.branch)
    return f"cut: the session names the row {short(anchor.digest)} here, and the branch ends at {head}"


def _with_ancestors(branches: tuple[BranchRow, ...], vouched: dict[int, int]) -> dict[int, int]:
    """A row's digest covers its ancestors: an anchor on a fork vouches for its parent up to the fork."""
    for row in reversed(branches):
        if row.parent is not None and vouched.get(row.branch, 0) > row.fork_position:
            vouched[row.parent] = max(row.fork_position, vouched.get(row.parent, 0))
    return vouched


def receipts(mirror: Mirrored, journal: str, confirmed: AbstractSet[CaptureId]) -> Iterator[Finding]:
    """Yield receipts of ours that say confirmed where the journal never did; the reverse is normal."""
    for receipt in mirror.receipts:
        anchor = receipt.anchor
        if anchor is None or anchor.journal_id != journal or receipt.status != "confirmed":
            continue
        if receipt.capture_id not in confirmed:
            detail = f"the session holds {short(receipt.capture_id)} as confirmed, and nothing here confirms it"
            yield Finding("receipts", "broken", anchor.branch, anchor.position, detail)


def tail(reader: Reader, vouched: Vouched, *, asked: bool) -> Iterator[Finding]:
    """Yield the newest rows of each branch that nothing outside vouches for: some after them may have been cut off."""
    hint = "" if asked else "; --session FILE compares with a session's receipts"
    for row in reader.branches:
        head, known = reader.head(row.branch), max(vouched.get(row.branch, 0), row.fork_position)
        if head > known:
            span = f"row {head}" if head == known + 1 else f"rows {known + 1} to {head}"
            detail = f"{span}: nothing outside this file says whether more followed{hint}"
            yield Finding("tail", "unproven", row.branch, known + 1, detail)


def notes(folder: Path, confirmed: Mapping[CaptureId, tuple[int, int, Capture]]) -> Iterator[Finding]:
    """Yield confirmed notes that are not under `folder` as they were confirmed. People may move and edit notes."""
    for branch, position, capture in confirmed.values():
        wrong = _note(Path(os.path.realpath(folder)), capture)
        if wrong is not None:
            detail = f"{short(capture.capture_id)} at {capture.path}: {wrong}"
            yield Finding("notes", "unproven", branch, position, detail)


def _note(folder: Path, capture: Capture) -> str | None:
    try:
        path = Path(os.path.realpath(folder / (capture.path or "")))
        if not path.is_relative_to(folder):
            return "leads out of the folder, and was not looked at"
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        return f"cannot be read ({error.strerror})"
    except ValueError:
        return "is at a path that no file can have"
    if capture.checksum is None:
        return "no checksum was recorded to compare it with"
    return None if found == capture.checksum else "is another text than was confirmed"
