"""Looks over many journals at once; one that cannot be read costs itself and is named."""

from __future__ import annotations

from collections.abc import Sequence
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
    without: list[Path]
    """Folders with no journal in them: nothing open there is nothing looked at."""


def over(paths: Sequence[Path]) -> Found:
    """Return every open write and call in the journals at `paths`, or in the folders there, the oldest first."""
    items: list[Unproven] = []
    troubles: list[str] = []
    unreadable = False
    journals, without = _journals(paths)
    for path in journals:
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
    return Found(sorted(items, key=lambda item: item.since_ms), troubles, unreadable, without)


def _journals(paths: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Return the journals at `paths`, each once, and the folders that have none."""
    found: dict[Path, Path] = {}
    without: list[Path] = []
    for path in paths:
        here = sorted(path.rglob("*.journal")) if path.is_dir() else [path]
        if not here:
            without.append(path)
        for each in here:
            found.setdefault(each.resolve(), each)
    return list(found.values()), without
