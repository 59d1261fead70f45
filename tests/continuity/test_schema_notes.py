"""The schema notes that are shipped are the canonical ones, each complete, and each names what our notes say."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from continuity.handoff.note import CATEGORIES
from continuity.notes import ENTITIES, Entity, SchemaNote, schema_note, schema_notes
from continuity.profile import ProfileKind

ROOT = Path(__file__).parents[2]


class Settings(msgspec.Struct, forbid_unknown_fields=True):
    validation: str
    frontmatter: dict[str, str | list[str]] = {}


class Frontmatter(msgspec.Struct, forbid_unknown_fields=True):
    title: str
    type: str
    entity: str
    version: int
    schema: dict[str, str | list[str]]
    settings: Settings


def frontmatter(note: SchemaNote) -> Frontmatter:
    return msgspec.yaml.decode(note.text.split("---\n")[1], type=Frontmatter)


def required(fields: dict[str, str | list[str]]) -> set[str]:
    return {field for field in fields if "?" not in field}


def test_the_copies_are_the_canonical_notes_byte_for_byte_and_all_of_them() -> None:
    canonical = {path.name: path.read_bytes() for path in (ROOT / "schemas" / "notes").iterdir()}
    shipped = {path.name: path.read_bytes() for path in (ROOT / "continuity" / "notes").glob("*.md")}
    assert shipped == canonical
    assert set(canonical) == {f"{entity}.md" for entity in ENTITIES}


@pytest.mark.parametrize("note", schema_notes(), ids=ENTITIES)
def test_a_schema_note_says_what_it_is_a_schema_of_and_only_warns(note: SchemaNote) -> None:
    said = frontmatter(note)
    assert (said.title, said.type, said.entity, said.version) == (note.title, "schema", note.entity, note.version)
    assert said.settings.validation == "warn"
    assert f"---\n\n# {note.title}\n" in note.text
    assert "[[" not in note.text, "an example of a link would be a link, to a note that is not there"


@pytest.mark.parametrize(("entity", "kind"), [("session", "general"), ("coding_session", "coding")])
def test_every_observation_of_a_checkpoint_is_declared_and_none_is_required(entity: Entity, kind: ProfileKind) -> None:
    declared = frontmatter(schema_note(entity)).schema
    assert set(CATEGORIES[kind]) <= {field.partition("?")[0] for field in declared}
    assert required(declared) == set(), "a section that has nothing to say is no fault"


def test_a_task_and_a_decision_must_say_what_they_are_about() -> None:
    assert required(frontmatter(schema_note("task")).schema) == {"description"}
    assert required(frontmatter(schema_note("decision")).schema) == {"decision"}


def test_where_the_code_is_must_be_said_of_coding_work_alone() -> None:
    asked = {note.entity: required(frontmatter(note).settings.frontmatter) for note in schema_notes()}
    assert asked == {
        "session": {"project", "started"},
        "coding_session": {"project", "started", "repository", "repo_root", "cwd", "branch", "git_sha"},
        "task": set(),
        "decision": set(),
    }
