"""Answers what a brief of this session held and where it came from: out of its journal, asking neither model nor server."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from continuity.origins import lines, origins_of
from continuity.pending import age
from continuity.shell.opening import trouble
from journal.errors import JournalError
from journal.ids import BranchId
from journal.reader import open_reader

NOTHING = "No brief was put into context yet."
NOTHING_THERE = "No brief was put into context up to that row."


class Place(NamedTuple):
    """A row: what is told is the newest brief at or before it."""

    branch: BranchId
    position: int | None
    """None for the newest row."""


def told(path: Path, place: Place, now_ms: int) -> str:
    """Return where a brief came from, or why that cannot be read. Blocking."""
    try:
        return explained(path, place, now_ms)
    except JournalError as error:
        return f"The journal cannot be read: {trouble(error)}."


def explained(path: Path, place: Place, now_ms: int) -> str:
    """Return the same as `continuity why --brief` tells of the journal at `path`.

    Raises:
        JournalError: It cannot be read, or a row of it proves nothing.
    """
    with open_reader(path) as reader:
        origins = origins_of(list(reader.verified(place.branch)), place.position)
        if origins is None:
            return NOTHING if place.position is None else NOTHING_THERE
        topic = reader.body(origins.topic_sha256) if origins.topic_sha256 is not None else None
    return "\n".join(lines(origins, when=f"{age(now_ms - origins.at_ms)} ago", topic=topic))
