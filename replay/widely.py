"""Looks over many journals at once; one that cannot be read costs itself and is named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from journal.errors import JournalError
from journal.reader import open_reader
from replay.projections import unproven
from replay.shapes import Unproven


class Found(NamedTuple):
    """What is open in some journals, and what was in the way of finding more."""

    items: list[Unproven]
    troubles: list[str]
    unreadable: bool
    """At least one journal could not be read at all."""


def over(paths: Sequence[Path]) -> Found:
    """Return every open write and call in the journals at `paths`, or in the folders there, the oldest first."""
    items: list[Unproven] = []
    troubles: list[str] = []
    unreadable = False
    for path in _journals(paths):
        try:
            with open_reader(path) as reader:
                for each in unproven(reader, path):
                    if isinstance(each, Unproven):
                        items.append(each)
                    else:
                        troubles.append(f"broken: {path}: {each}; what came after is not listed")
        except JournalError as error:
            troubles.append(f"error: {error}")
            unreadable = True
    return Found(sorted(items, key=lambda item: item.since_ms), troubles, unreadable)


def _journals(paths: Sequence[Path]) -> Iterator[Path]:
    seen: set[Path] = set()
    for path in paths:
        for each in sorted(path.rglob("*.journal")) if path.is_dir() else [path]:
            if each.resolve() not in seen:
                seen.add(each.resolve())
                yield each
