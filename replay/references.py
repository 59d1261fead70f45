"""Finds the row a person means: `BRANCH@N`, `@`, `@-`, or the beginning of its digest. It never guesses between two."""

from __future__ import annotations

import re
from collections.abc import Sequence

from continuity.pending import shown
from journal.reader import Reader
from journal.row import RawRow

SPELLINGS = "a digest or its beginning (at least 4 digits), BRANCH@N, @ (the newest), @- (the one before)"
_PLACE = re.compile(r"(\d{1,15})@(\d{1,15})")
_NEWEST = re.compile(r"@(-*)")
_DIGEST = re.compile(r"[0-9a-f]{4,64}")
_SHOWN = 5


class NoSuchReference(Exception):
    """The reference names no row, or more than one; `hint` says what to type instead."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


def find(reader: Reader, reference: str) -> RawRow:
    """Return the one row that `reference` names, unverified.

    Raises:
        NoSuchReference: There is none, or there are several.
    """
    if newest := _NEWEST.fullmatch(reference):
        return _newest(reader, len(newest[1]))
    if place := _PLACE.fullmatch(reference):
        return _at(reader, int(place[1]), int(place[2]))
    if _DIGEST.fullmatch(reference.lower()):
        return _by_digest(reader, reference.lower())
    raise NoSuchReference(f"{shown(reference)} is no reference", f"a reference is {SPELLINGS}")


def _newest(reader: Reader, back: int) -> RawRow:
    """The `back`th row before the newest of the branch written last, into its ancestors."""
    branch = reader.last_branch()
    head = reader.head(branch)
    if head - back < 1:
        first = f"its first row is {branch}@1" if head else "nothing was recorded yet"
        raise NoSuchReference(f"branch {branch} does not go back so far", first)
    return _at(reader, branch, head - back)


def _at(reader: Reader, branch: int, position: int) -> RawRow:
    known = [row.branch for row in reader.branches]
    if branch not in known:
        only = f"the only branch is {known[0]}" if len(known) == 1 else f"the branches are {_listed(known)}"
        raise NoSuchReference(f"there is no branch {branch}", only)
    head = reader.head(branch)
    if not 1 <= position <= head:
        raise NoSuchReference(f"there is no row {branch}@{position}", f"branch {branch} goes from 1 to {head}")
    for row in reader.history(branch, position):
        if row.position == position:
            return row
    raise NoSuchReference(
        f"the row {branch}@{position} is missing", "`continuity audit` says what is wrong with the file"
    )


def _listed(numbers: Sequence[int]) -> str:
    return f"{', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def _by_digest(reader: Reader, beginning: str) -> RawRow:
    found = [row for row in reader.rows() if row.digest.hex().startswith(beginning)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NoSuchReference(f"no row's digest begins with {beginning}", "`continuity log` lists them")
    places = ", ".join(f"{row.branch}@{row.position}" for row in found[:_SHOWN])
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    raise NoSuchReference(f"{len(found)} rows begin with {beginning}", f"type more digits, or one of {places}{more}")
