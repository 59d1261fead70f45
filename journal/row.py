"""The shapes that stand around an event: rows, records, header, branches. Nothing here computes a digest."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from journal.events import Event
from journal.events.base import Writer
from journal.events.lifecycle import Process
from journal.ids import BranchId, EntryId, JournalId, SessionId, Sha256

FIRST_BRANCH = BranchId(1)


class RawRow(NamedTuple):
    """One event as it is stored, undecoded and unverified; what an auditor lists when decoding fails."""

    branch: int
    position: int
    at_ms: int
    tip: str | None
    cause: bytes | None
    type: str
    payload: str
    digest: bytes


class Row(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One recorded event: verified, decoded, and where it stands."""

    event: Event
    branch: BranchId
    position: int
    """1-based place in the branch's history, ancestors included."""
    at_ms: int
    tip: EntryId | None
    cause: Sha256 | None
    digest: Sha256


class Record(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event on its way into the journal; position and digest are the journal's to give."""

    event: Event
    at_ms: int
    tip: EntryId | None
    cause: Sha256 | None


class Header(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What the whole file is: written once, bound into every digest."""

    format: int
    journal_id: JournalId
    session_id: SessionId
    root: EntryId | None
    """The session's first entry: the same session id with another root is another journal."""


class BranchRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One event stream and where it left its parent."""

    branch: BranchId
    parent: BranchId | None
    fork_position: int
    """The last position shared with the parent; 0 when nothing is."""
    genesis: Sha256
    """What the stream's first digest is chained to."""


class WriterRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Who holds, or last held, a journal's lock. The lock itself is the operating system's; these are the words."""

    writer: Writer
    process: Process


def pack_tip(tip: str | None) -> bytes | str | None:
    """Return `tip` as it is stored: raw bytes when it is lower-case hex of even length, itself otherwise."""
    if not tip:
        return tip
    try:
        packed = bytes.fromhex(tip)
    except ValueError:
        return tip
    return packed if packed.hex() == tip else tip


def unpack_tip(stored: bytes | str | None) -> EntryId | None:
    """Return the tip that `pack_tip` stored."""
    if stored is None:
        return None
    return EntryId(stored.hex() if isinstance(stored, bytes) else stored)
