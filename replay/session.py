"""Reads the receipts out of a Tau session file; it looks at nothing else in it and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from continuity.capture import RECEIPT_NAMESPACE, Receipt, parse_receipts


class NotASession(Exception):
    """The file is no session that Tau wrote, or cannot be read."""


class Place(NamedTuple):
    """Where a line stands: its number from 1, and the bytes before it."""

    record: int
    offset: int


class Mirrored(NamedTuple):
    """What a session file holds of receipts."""

    receipts: tuple[Receipt, ...]
    unreadable: int
    """Entries in the receipts' namespace that are none."""
    damaged: tuple[Place, ...]
    """Whole lines that are no entries: whether one was a receipt, nobody can tell."""


def mirrored(path: Path) -> Mirrored:
    """Return the receipts in the session file at `path`. A line that is no entry costs itself, and only a line feed ends one.

    Raises:
        NotASession: It cannot be read, or no line of it is an entry.
    """
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise NotASession(f"{path}: {error.strerror}") from error
    found = [_entry(line) for line in lines]
    entries = [entry for entry in found if entry is not None]
    if not entries:
        raise NotASession(f"{path}: no line of it is a session entry")
    receipts, unreadable = parse_receipts(_data(entries))
    return Mirrored(receipts, unreadable, tuple(_damaged(lines, found)))


def _damaged(lines: Sequence[bytes], entries: Sequence[object]) -> Iterator[Place]:
    """Yield where lines with an end are no entries; what has none yet is still being written."""
    offset = 0
    for record, (line, entry) in enumerate(zip(lines[:-1], entries, strict=False), 1):
        if entry is None and line.strip():
            yield Place(record, offset)
        offset += len(line) + 1


def _entry(line: bytes) -> dict[str, object] | None:
    try:
        found = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None
    return cast("dict[str, object]", found) if isinstance(found, dict) and "type" in found else None


def _data(entries: list[dict[str, object]]) -> Iterator[object]:
    for entry in entries:
        if entry.get("type") == "custom" and entry.get("namespace") == RECEIPT_NAMESPACE:
            yield entry.get("data")
