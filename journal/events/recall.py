"""Events of recall: what was asked, what came back, what was put into context. Topics and texts live in bodies."""

from __future__ import annotations

from typing import Literal

from journal.events.base import (
    Capture,
    Count,
    Digest,
    Entry,
    Fact,
    Name,
    Part,
    Path,
    Word,
)


class QueryRef(Part, frozen=True, kw_only=True):
    """One planned query by its name and the digest of its parameters."""

    name: Word
    query_sha256: Digest


class RecallPlanned(Fact, frozen=True, kw_only=True, tag="recall-planned.v1"):
    """The queries that will be asked, in the order that decides."""

    reason: Word
    topic_sha256: Digest | None
    """Of the words taken from a prompt, when the queries are about them alone; null for those asked ahead of it."""
    queries: tuple[QueryRef, ...]


class HitRef(Part, frozen=True, kw_only=True):
    """One note that came back, and what was done with it."""

    file_path: Path
    checksum: Name | None
    characters: Count
    treatment: Literal["kept", "used", "cut", "withheld"]
    """`kept` may go into a brief; the others are said of one that was made."""
    why: Word


class RecallAnswered(Fact, frozen=True, kw_only=True, tag="recall-answered.v1"):
    """One query was answered."""

    name: Word
    query_sha256: Digest
    authoritative: bool
    """False when the server could not look (no index yet): nothing found proves nothing."""
    hits: tuple[HitRef, ...]


class BriefDelivered(Fact, frozen=True, kw_only=True, tag="brief-delivered.v1"):
    """Recalled text was put into the model's context."""

    brief_sha256: Digest
    characters: Count
    sources: tuple[HitRef, ...]
    how: Literal["steered", "appended"]
    entry: Entry | None
    complete: bool
    """False when no server answered in time: the brief stays due."""


class CheckpointReferenced(Fact, frozen=True, kw_only=True, tag="checkpoint-referenced.v1"):
    """A brief named this confirmed checkpoint, in this state of proof."""

    capture_id: Capture
    evidence: Word
    brief_sha256: Digest


ROUND = "round"
"""The name under which a whole round of questions fails: nobody answered any of them."""


ANEW = "orient"
"""Why questions are asked that a person wants asked again: the brief of their answers is due."""


class RecallFailed(Fact, frozen=True, kw_only=True, tag="recall-failed.v1"):
    """One query cost itself and the others stand; or, by the name `ROUND`, all of them went unanswered."""

    name: Word
    error: Word
