"""Looks over many journals at once; one that cannot be read costs itself and is named."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from journal.errors import JournalError
from journal.folders import journals_at
from journal.lock import holder
from journal.reader import open_reader
from replay.projections import unproven
from replay.shapes import NotStored, Unproven


class Found(NamedTuple):
    """What is not settled in some journals, or not sent yet, and what was in the way of finding more."""

    items: list[Unproven]
    unsent: list[NotStored]
    """What was not sent yet, a journal each."""
    troubles: list[str]
    unreadable: bool
    """At least one journal or folder could not be read at all."""
    without: list[Path]
    """Folders with no journal in them: nothing found there is nothing looked at."""


def over(paths: Sequence[Path]) -> Found:
    """Return what is not settled or not sent yet in the journals at `paths`, or in the folders there, the oldest first."""
    items: list[Unproven] = []
    unsent: list[NotStored] = []
    journals, without, closed = journals_at(paths)
    troubles = [f"error: {Path(error.filename)}: {error.strerror}" for error in closed]
    unreadable = bool(closed)
    for path in journals:
        try:
            live = holder(path).live
            with open_reader(path) as reader:
                for each in unproven(reader, path, live=live):
                    if isinstance(each, Unproven):
                        items.append(each)
                    elif isinstance(each, NotStored):
                        unsent.append(each)
                    else:
                        troubles.append(f"broken: {path}: {each}; what came after is not listed")
        except JournalError as error:
            troubles.append(f"error: {error}")
            unreadable = True
    items.sort(key=lambda item: item.since_ms)
    unsent.sort(key=lambda each: each.since_ms)
    return Found(items, unsent, troubles, unreadable, without)


def at_home(folder: Path) -> Found:
    """Return the same of our own folder, which need not be made yet."""
    return over((folder,)) if os.path.lexists(folder) else Found([], [], [], unreadable=False, without=[folder])
