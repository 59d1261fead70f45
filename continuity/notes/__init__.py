"""The four schema notes that a project of checkpoints, tasks and decisions has; it offers them and writes none.

They are checked copies of `schemas/notes`, for those are not shipped.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Literal, NamedTuple

type Entity = Literal["session", "coding_session", "task", "decision"]

ENTITIES: tuple[Entity, ...] = ("session", "coding_session", "task", "decision")
"""The note types that have a schema, the two kinds of checkpoint first."""

_TITLE = re.compile(r"(?m)^title: (.+)$")
_VERSION = re.compile(r"(?m)^version: ([0-9]+)$")


class SchemaNote(NamedTuple):
    """One schema note as it is offered to a person, whole."""

    entity: Entity
    """The type of the notes it speaks of."""
    title: str
    version: int
    text: str
    """Frontmatter and body, as they would be on disk."""


def schema_notes() -> tuple[SchemaNote, ...]:
    """Return all of them, in the order of `ENTITIES`."""
    return tuple(schema_note(entity) for entity in ENTITIES)


def schema_note(entity: Entity) -> SchemaNote:
    """Return the one for notes of type `entity`."""
    text = files(__name__).joinpath(f"{entity}.md").read_text(encoding="utf-8")
    return SchemaNote(entity, _TITLE.findall(text)[0], int(_VERSION.findall(text)[0]), text)
