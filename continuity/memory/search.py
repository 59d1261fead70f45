"""What a listing of notes proves: which were found, and whether not being among them means anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from pydantic import JsonValue

from continuity.memory import wire
from continuity.memory.calls import Answer, Json, payload


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One note that a listing named; `content` is null where the listing carries no bodies."""

    title: str
    permalink: str | None
    file_path: str
    content: str | None = None
    truncated: bool = False
    updated_at: str | None = None
    metadata: Mapping[str, str] = {}
    checksum: str | None = None
    """Of the revision that has this text; a listing tells none, reading the note does."""


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """The notes of one listing, each path once, in the server's order."""

    outcome: Literal["answered", "unreachable"]
    code: str | None = None
    hits: tuple[Hit, ...] = ()
    authoritative: bool = False
    """The server searched, said everything it found, and all of it was understood. Even so a miss is no proof: its
    index follows later than its notes."""

    @classmethod
    def from_answer(cls, answer: Answer) -> SearchResult:
        """Read a listing. Text where JSON was asked, as of a project not indexed yet, is nothing found and proves nothing."""
        if answer.is_error:
            return cls(outcome="unreachable", code=wire.failure_code(answer))
        said = payload(answer)
        entries = _entries(said)
        if entries is None:
            return cls(outcome="answered", code=wire.failure_code(answer))
        hits, odd = _read(entries)
        whole = not odd and not (isinstance(said, Mapping) and said.get("has_more"))
        return cls(outcome="answered", hits=hits, authoritative=whole)


def _entries(said: Json) -> Sequence[Json | JsonValue] | None:
    """Return the notes of any of the three listings, graph neighbours after the note they belong to."""
    if isinstance(said, list):
        return said
    results = wire.read(wire.Results, said)
    return None if results is None else [note for result in results.results for note in _flat(result)]


def _flat(result: JsonValue) -> Iterator[JsonValue]:
    around = wire.read(wire.Neighbourhood, result)
    if around is None:
        yield result
        return
    yield around.primary_result
    yield from around.related_results


def _read(entries: Sequence[Json | JsonValue]) -> tuple[tuple[Hit, ...], int]:
    """Return the notes among `entries` and the number of entries that could not be understood."""
    hits: dict[str, Hit] = {}
    odd = 0
    for entry in entries:
        found = wire.read(wire.Found, entry)
        if found is None:
            odd += 1
        elif found.type == "entity":
            hits.setdefault(found.file_path, _hit(found))
    return tuple(hits.values()), odd


def _hit(found: wire.Found) -> Hit:
    metadata = {name: value for name, value in (found.metadata or {}).items() if isinstance(value, str)}
    return Hit(
        title=found.title,
        permalink=found.permalink,
        file_path=found.file_path,
        content=found.content,
        truncated=found.content_truncated,
        updated_at=found.updated_at,
        metadata=metadata,
    )
