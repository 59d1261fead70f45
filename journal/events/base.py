"""What every event has in common: the closed base class and bounded field types. No event is defined here."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from journal.ids import (
    CallId,
    CaptureId,
    ConnectionId,
    EntryId,
    ProjectName,
    Sha256,
    WriterId,
)


class Fact(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    gc=False,
    tag_field="type",
):
    """Base of all events: something that happened, in the past tense, never changed afterwards.

    A published tag keeps its shape for ever. A new meaning is a new tag, an
    upcaster and a golden line.
    """


class Part(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    gc=False,
):
    """Base of the values nested inside events: as closed and immutable as the events."""


type Count = Annotated[int, Meta(ge=0, le=2**53 - 1)]
"""A number of things, or UTC milliseconds: never negative, exact in every JSON reader."""

type Word = Annotated[str, Meta(max_length=80)]
"""One of our own words: a class of error, a reason, a query's name."""

type Name = Annotated[str, Meta(max_length=200)]
"""A name that came from elsewhere: a version, a tool, a model, a server."""

type Path = Annotated[str, Meta(max_length=1024)]
"""Where a note is, relative to its project; a permalink or a folder."""

type Digest = Annotated[Sha256, Meta(pattern="^[0-9a-f]{64}$")]
type Capture = Annotated[CaptureId, Meta(pattern="^[0-9a-f]{64}$")]
type Entry = Annotated[EntryId, Meta(min_length=1, max_length=200)]
type Project = Annotated[ProjectName, Meta(min_length=1, max_length=200)]
type Connection = Annotated[ConnectionId, Meta(min_length=1, max_length=80)]
type Writer = Annotated[WriterId, Meta(min_length=1, max_length=80)]
type Call = Annotated[CallId, Meta(min_length=1, max_length=200)]
type Attempt = Annotated[int, Meta(ge=1, le=1000)]
