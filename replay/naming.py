"""Finds what a person means by a reference, in one journal or over many: a row, a capture or a call. It never guesses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from continuity.causes import thread_of
from continuity.pending import SHORTEST, shown
from journal import codec
from journal.errors import JournalError, RowUnreadable
from journal.events import CaptureBegun, Event, ToolCalled, WriteIntended
from journal.folders import journals_at
from journal.reader import Reader, open_reader
from journal.row import RawRow
from replay.references import SPELLINGS, NoSuchReference, find

NAMES = (
    f"a reference is the beginning of a capture's or a call's identity (at least {SHORTEST} characters), {SPELLINGS}"
)
_PLACE = re.compile(r"\d{1,15}@\d{1,15}|@-*")
_SHOWN = 5


class Named(NamedTuple):
    """One thing that a reference names, and the journal it is in."""

    path: Path
    kind: Literal["row", "subject"]
    identity: str
    """A row's digest, or the identity of a capture or a call."""
    original: bool
    """A subject's journal began or sent it; another one may only have taken over its receipt."""


class Searched(NamedTuple):
    """What is meant, and the journals that could not be looked into."""

    named: Named | None
    """None only when there were troubles: what is meant may be where nobody could look."""
    troubles: list[str]


def find_named(where: Path, reference: str, *, ours: bool) -> Searched:
    """Return what `reference` names in the journal at `where`, or in those of the folder there.

    `ours` says that it is our own folder, which need not be made yet.

    Raises:
        NoSuchReference: It names nothing there, or more than one thing.
        JournalError: `where` is one journal, and it cannot be read.
    """
    if not ours and not os.path.isdir(where):  # noqa: PTH112  # Path.is_dir raises where this is False
        with open_reader(where) as reader:
            return Searched(_in_journal(reader, where, reference), [])
    if _PLACE.fullmatch(reference):
        raise NoSuchReference(
            f"{shown(reference)} is a place in every journal", "name the one that is meant: --in FILE"
        )
    wanted = _checked(reference)
    journals, _, closed = journals_at((where,)) if os.path.lexists(where) else ([], [], [])
    troubles = [f"{error.filename}: {error.strerror}" for error in closed]
    found: list[Named] = []
    for path in journals:
        try:
            with open_reader(path) as reader:
                found += _matches(reader, path, wanted)
        except JournalError as error:
            troubles.append(str(error))
    if not found and troubles:
        return Searched(None, troubles)
    return Searched(_chosen(found, reference, where), troubles)


def _in_journal(reader: Reader, path: Path, reference: str) -> Named:
    """Return what is named in one journal, where a place such as `BRANCH@N` is a name too."""
    if _PLACE.fullmatch(reference):
        return Named(path, "row", find(reader, reference).digest.hex(), original=True)
    return _chosen(list(_matches(reader, path, _checked(reference))), reference, path)


def _chosen(found: Sequence[Named], reference: str, where: Path) -> Named:
    """Return the one that is meant. Of a subject in several journals it is the one that began it."""
    if not found:
        listed = "`continuity unproven` lists what is open, `continuity log FILE` the rows of a journal"
        raise NoSuchReference(f"nothing in {where} is named {shown(reference)}", listed)
    exact = [each for each in found if each.identity == reference] or found
    identities = sorted({each.identity for each in exact})
    if len(identities) > 1:
        some = ", ".join(each[:16] for each in identities[:_SHOWN])
        more = f" and {len(identities) - _SHOWN} more" if len(identities) > _SHOWN else ""
        raise NoSuchReference(f"{len(identities)} things are named {reference}", f"type more of {some}{more}")
    original = [each for each in exact if each.original] or exact
    if len(original) > 1:
        some = ", ".join(str(each.path) for each in original[:_SHOWN])
        raise NoSuchReference(f"{reference} is in {len(original)} journals", f"name one with --in: {some}")
    return original[0]


def _checked(reference: str) -> str:
    if len(reference) < SHORTEST:
        raise NoSuchReference(f"{shown(reference)} is no reference", NAMES)
    return reference.lower() if re.fullmatch(r"[0-9A-Fa-f]+", reference) else reference


def _matches(reader: Reader, path: Path, wanted: str) -> Iterator[Named]:
    """Yield the rows and the subjects whose name begins so, each once."""
    subjects: dict[str, bool] = {}
    for row in reader.rows():
        if row.digest.hex().startswith(wanted):
            yield Named(path, "row", row.digest.hex(), original=True)
        for name, began in _subject(row, wanted):
            subjects[name] = subjects.get(name, False) or began
    for name, began in subjects.items():
        yield Named(path, "subject", name, original=began)


def _subject(row: RawRow, wanted: str) -> Iterator[tuple[str, bool]]:
    """Yield the identity that `row` is about if it begins so, and whether the row began or sent it."""
    if f'_id":"{wanted}' not in row.payload:
        return
    try:
        event = codec.decode(row.type, row.payload)
    except RowUnreadable:
        return
    identity = identity_of(event)
    if identity is not None and identity.startswith(wanted):
        yield identity, isinstance(event, CaptureBegun | WriteIntended | ToolCalled)


def identity_of(event: Event) -> str | None:
    """Return the capture or the call whose story `event` is part of."""
    identity = getattr(event, "capture_id", None) or getattr(event, "call_id", None)
    return identity if identity is not None and identity == thread_of(event) else None
