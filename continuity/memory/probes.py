"""Reads made to settle a capture, as observations. They draw no verdict, and a failure to look is never an absence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from continuity.capture import content_digest
from continuity.memory.calls import Caller
from continuity.memory.notes import NoteRead, identify, read_note, search_notes
from continuity.memory.search import SearchResult
from journal.events.writes import NoteAddress, Observation, Way
from journal.ids import CaptureId, EntryId, Sha256

_MOST_READ = 10
"""Notes looked into for one search: ours can be several only after copies or moves."""

_LONGEST_TIP = 200
"""No event holds a longer one, so none of ours is; a note with such a tip is another's, and can be told."""


class _Look(NamedTuple):
    caller: Caller
    project: str
    way: Way
    seconds: float


async def by_address(caller: Caller, project: str, file_path: str, seconds: float) -> tuple[Observation, ...]:
    """Read the note at `file_path`, which ends in `.md`; the server may answer with one that was moved from there."""
    return (observe("address", await read_note(caller, project, file_path, seconds)),)


async def by_title(caller: Caller, project: str, address: NoteAddress, seconds: float) -> tuple[Observation, ...]:
    """Read the notes that bear the address's title, wherever they are; other titles the search offers are let be."""
    found = await search_notes(caller, project, seconds, query=address.title, by_title=True, page_size=_MOST_READ)
    paths = [hit.file_path for hit in found.hits if hit.title == address.title]
    return await _read_each(_Look(caller, project, "title", seconds), found, paths)


async def by_id(caller: Caller, project: str, capture_id: CaptureId, seconds: float) -> tuple[Observation, ...]:
    """Read the notes the index has under `capture_id`."""
    found = await _search_id(caller, project, capture_id, seconds)
    paths = [hit.file_path for hit in found.hits]
    return await _read_each(_Look(caller, project, "id_search", seconds), found, paths)


async def index_finds(caller: Caller, project: str, capture_id: CaptureId, seconds: float) -> bool:
    """Return whether the index has a note that is known to exist; only then does its silence on another mean anything."""
    return bool((await _search_id(caller, project, capture_id, seconds)).hits)


async def _search_id(caller: Caller, project: str, capture_id: CaptureId, seconds: float) -> SearchResult:
    filters = {"capture_id": capture_id}
    return await search_notes(caller, project, seconds, metadata_filters=filters, page_size=_MOST_READ)


async def _read_each(look: _Look, found: SearchResult, paths: Sequence[str]) -> tuple[Observation, ...]:
    """Read what was found. A path the index has and the reader has not is a question, so it counts as not reached."""
    if not paths:
        return (_nothing(look.way) if found.authoritative else _unreachable(look.way),)
    reads = [await read_note(look.caller, look.project, path, look.seconds) for path in paths[:_MOST_READ]]
    return tuple(_unreachable(look.way) if read.outcome == "missing" else observe(look.way, read) for read in reads)


def observe(way: Way, note: NoteRead) -> Observation:
    """Return `note` as an observation: its identity, the digest it declares and the digest of what is in it. Pure."""
    if note.outcome == "missing":
        return _nothing(way)
    if note.outcome != "found" or note.content is None:
        return _unreachable(way)
    said = identify(note)
    tip = said.source_tip if said.source_tip and len(said.source_tip) <= _LONGEST_TIP else None
    return Observation(
        by=way,
        found="note",
        capture_id=None if said.capture_id is None else CaptureId(said.capture_id),
        source_tip=None if tip is None else EntryId(tip),
        declared_sha256=None if said.content_digest is None else Sha256(said.content_digest),
        content_sha256=content_digest(note.content),
        file_path=note.file_path,
        checksum=note.checksum,
    )


def _nothing(way: Way) -> Observation:
    return _without_note(way, "nothing")


def _unreachable(way: Way) -> Observation:
    return _without_note(way, "unreachable")


def _without_note(way: Way, found: Literal["nothing", "unreachable"]) -> Observation:
    return Observation(
        by=way,
        found=found,
        capture_id=None,
        source_tip=None,
        declared_sha256=None,
        content_sha256=None,
        file_path=None,
        checksum=None,
    )
