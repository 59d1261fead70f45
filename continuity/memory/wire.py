"""The shapes Basic Memory's JSON answers must have before we believe them. They are used in `memory` only."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from continuity.memory.calls import Answer, Json

type _Path = Annotated[str, Field(min_length=1, max_length=1024)]
type _Permalink = Annotated[str, Field(max_length=1024)]
type _Checksum = Annotated[str, Field(max_length=200)]


class _Shape(BaseModel):
    """Further fields may come with a newer server and mean nothing to us.

    Built when the first answer comes, not while the host starts.
    """

    model_config = ConfigDict(extra="ignore", strict=True, defer_build=True)


class Created(_Shape):
    """`write_note` made a new note; any other action is not what was asked for."""

    action: Literal["created"]
    file_path: _Path
    permalink: _Permalink | None = None
    checksum: _Checksum | None = None


class Conflict(_Shape):
    """`write_note` did not write, or says so."""

    error: Annotated[str, Field(max_length=80)]
    file_path: _Path | None = None
    permalink: _Permalink | None = None


class Note(_Shape):
    """`read_note` found one; an empty body is a body."""

    file_path: _Path
    content: str
    title: str | None = None
    permalink: _Permalink | None = None
    frontmatter: dict[str, JsonValue] | None = None
    checksum: _Checksum | None = None


class Found(_Shape):
    """One note in an answer that lists notes."""

    file_path: _Path
    title: str = ""
    permalink: _Permalink | None = None
    type: str = "entity"
    content: str | None = None
    content_truncated: bool = False
    metadata: dict[str, JsonValue] | None = None
    updated_at: str | None = None


class Results(_Shape):
    """`search_notes`; each result is read by itself, so that one odd one does not hide the others."""

    results: list[JsonValue]
    has_more: bool = False


class Neighbourhood(_Shape):
    """One result of `build_context`: a note and what it is linked with."""

    primary_result: JsonValue
    related_results: list[JsonValue] = []


class ProjectEntry(_Shape):
    """One project; a source that is neither plainly local nor plainly cloud proves nothing."""

    name: str
    source: str | None = None
    is_default: bool = False
    external_id: str | None = None
    path: str | None = None
    qualified_name: str | None = None

    @property
    def source_class(self) -> Literal["local", "cloud", "unknown"]:
        match self.source:
            case "local":
                return "local"
            case "cloud":
                return "cloud"
            case _:
                return "unknown"


class ProjectList(_Shape):
    """`list_memory_projects`."""

    projects: list[ProjectEntry]


def read[Shape: BaseModel](shape: type[Shape], value: Json | JsonValue) -> Shape | None:
    """Return `value` in `shape`, or None when it has another."""
    try:
        return shape.model_validate(value)
    except ValidationError:
        return None


_KNOWN_TEXTS = (
    ("Project not found", "project-not-found"),
    ("Ambiguous identifier", "ambiguous"),
    ("Unknown tool", "tool-missing"),
    ("# Project Index Required", "not-indexed"),
)
"""Beginnings of sentences that stand for something definite; the rest of the sentence is never looked at."""


def failure_code(answer: Answer) -> str:
    """Return our word for an answer that is not what was asked for; it holds nothing of the server's text."""
    text = answer.texts[0] if answer.texts else ""
    for beginning, code in _KNOWN_TEXTS:
        if text.startswith(beginning):
            return code
    return "error-text" if answer.is_error else "answer-invalid"
