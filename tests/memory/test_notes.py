"""What Basic Memory's answers prove: saved only with a path, refused only by a known code, everything else a question."""

import json
from collections.abc import Mapping

import pytest

from continuity.memory import notes
from continuity.memory.calls import Answer, Json
from continuity.memory.notes import NoteRead, WriteOutcome, WriteRequest, identify, judge_read, judge_write
from continuity.memory.search import SearchResult
from journal.ids import Sha256
from tests.fakes.memory_server import FakeMemory
from tests.memory.conftest import Reach, bound

ID = "c" * 64
REQUEST = WriteRequest(
    project="main",
    folder="tau/x",
    title="One",
    content="# One",
    note_type="session",
    metadata={"capture_id": ID, "source_tip": "00001234"},
)


def said(value: Json, *, is_error: bool = False, wrapped: bool = True) -> Answer:
    text = value if isinstance(value, str) else json.dumps(value)
    return Answer(
        blocks=({"type": "text", "text": text},),
        structured={"result": value} if wrapped and not is_error else None,
        is_error=is_error,
    )


CREATED: Mapping[str, Json] = {
    "action": "created",
    "file_path": "a.md",
    "permalink": "p",
    "checksum": "s",
    "error": None,
}


@pytest.mark.parametrize("wrapped", [True, False])
def test_a_created_note_with_a_path_is_accepted(*, wrapped: bool) -> None:
    outcome = judge_write(said(CREATED, wrapped=wrapped))
    assert outcome == WriteOutcome(outcome="accepted", file_path="a.md", permalink="p", checksum="s")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (said({**CREATED, "file_path": None}), "answer-invalid"),
        (said({**CREATED, "file_path": ""}), "answer-invalid"),
        (said({**CREATED, "action": "updated"}), "answer-invalid"),
        (said(CREATED, is_error=True), "error-without-code"),
        (said({**CREATED, "error": "SOMETHING_NEW"}), "error-unknown"),
        (said({**CREATED, "error": 5}), "error-unknown"),
        (said("Failed to write: disk full"), "answer-text"),
        (said("Invalid frontmatter format", is_error=True), "error-text"),
        (said([1]), "answer-text"),
    ],
)
def test_neither_flag_nor_action_is_trusted_alone(answer: Answer, code: str) -> None:
    assert judge_write(answer) == WriteOutcome(outcome="unknown", code=code)


@pytest.mark.parametrize("code", sorted(notes.REFUSALS))
@pytest.mark.parametrize("is_error", [True, False])
def test_a_known_code_is_a_refusal_in_either_release(code: str, *, is_error: bool) -> None:
    outcome = judge_write(said({"action": "created", "error": code, "file_path": "there.md"}, is_error=is_error))
    assert (outcome.outcome, outcome.code, outcome.file_path) == ("refused", code, "there.md")


def test_already_exists_is_a_question_that_names_the_note() -> None:
    outcome = judge_write(said({"error": "NOTE_ALREADY_EXISTS", "file_path": "there.md"}, is_error=True))
    assert outcome == WriteOutcome(outcome="unknown", code="NOTE_ALREADY_EXISTS", file_path="there.md")


def test_no_word_of_the_server_reaches_a_code() -> None:
    for answer in (said("key sk-123", is_error=True), said({"error": "key sk-123"}), said("key sk-123")):
        assert "sk-123" not in str(judge_write(answer).code) + str(judge_read(answer).code)


NULLS: Mapping[str, Json] = dict.fromkeys(("title", "permalink", "file_path", "content", "frontmatter"))
NOTE: Mapping[str, Json] = {"file_path": "a.md", "content": "\nbody\n", "frontmatter": {"n": 5, "b": True, "t": "00"}}


def test_a_missing_note_is_missing_and_no_error() -> None:
    assert judge_read(said({**NULLS, "error": "NOTE_NOT_FOUND", "related_results": []})) == NoteRead(outcome="missing")


def test_the_separating_newline_is_no_part_of_the_body_and_frontmatter_is_text() -> None:
    read = judge_read(said(NOTE))
    assert read.content == "body\n"
    assert read.frontmatter == {"n": "5", "b": "true", "t": "00"}


def test_an_empty_body_is_a_note_and_null_is_none() -> None:
    assert judge_read(said({**NOTE, "content": ""})).outcome == "found"
    assert judge_read(said({**NOTE, "content": None})).code == "answer-invalid"


@pytest.mark.parametrize(
    ("answer", "outcome", "code"),
    [
        (said("Ambiguous identifier 'One' matches 2 notes: ...", is_error=True), "ambiguous", "ambiguous"),
        (said("Project not found: 'nots'", is_error=True), "unreachable", "project-not-found"),
        (said("Unknown tool: 'read_note'", is_error=True), "unreachable", "tool-missing"),
        (said("anything else", is_error=True), "unreachable", "error-text"),
        (said({**NULLS, "error": "SECURITY_VALIDATION_ERROR"}), "unreachable", "answer-invalid"),
        (said({**NOTE, "error": "NOTE_NOT_FOUND"}), "unreachable", "answer-invalid"),
    ],
)
def test_everything_else_is_no_absence(answer: Answer, outcome: str, code: str) -> None:
    read = judge_read(answer)
    assert (read.outcome, read.code) == (outcome, code)


def test_identity_is_what_the_frontmatter_declares_in_the_right_shape() -> None:
    read = NoteRead(outcome="found", frontmatter={"capture_id": ID, "source_tip": "00001234", "content_digest": "no"})
    said_of = identify(read)
    assert (said_of.capture_id, said_of.source_tip, said_of.content_digest) == (ID, "00001234", None)
    assert identify(NoteRead(outcome="missing")).capture_id is None


def test_a_project_not_indexed_yet_has_nothing_found_and_proves_nothing() -> None:
    result = SearchResult.from_answer(said("# Project Index Required\n\n..."))
    assert result == SearchResult(outcome="answered", code="not-indexed")
    assert not result.authoritative


def test_a_search_that_fails_is_no_empty_search() -> None:
    result = SearchResult.from_answer(said("Project not found: 'nots'", is_error=True))
    assert (result.outcome, result.code) == ("unreachable", "project-not-found")


def test_one_odd_hit_costs_only_itself_and_the_proof() -> None:
    result = SearchResult.from_answer(said({"results": [{"file_path": 5}, {"file_path": "a.md"}], "has_more": False}))
    assert [hit.file_path for hit in result.hits] == ["a.md"]
    assert not result.authoritative


def test_more_pages_prove_no_absence() -> None:
    assert not SearchResult.from_answer(said({"results": [], "has_more": True})).authoritative
    assert SearchResult.from_answer(said({"results": [], "has_more": False})).authoritative


def test_a_neighbourhood_lists_each_note_once_and_no_relations() -> None:
    note: Json = {"type": "entity", "file_path": "a.md", "title": "A"}
    other: Json = {"type": "entity", "file_path": "b.md", "title": "B"}
    link: Json = {"type": "relation", "file_path": "a.md", "title": "continues: B"}
    result = SearchResult.from_answer(
        said({"results": [{"primary_result": note, "related_results": [link, other, note]}]})
    )
    assert [hit.title for hit in result.hits] == ["A", "B"]


async def test_a_note_goes_out_create_only_and_comes_back(fake: FakeMemory, reach: Reach) -> None:
    async with reach() as connection:
        outcome = await notes.write_note(connection, REQUEST, 5)
        again = await notes.write_note(connection, REQUEST, 5)
        read = await notes.read_note(connection, "main", "tau/x/One.md", 5)
        found = await notes.search_notes(connection, "main", 5, metadata_filters={"capture_id": ID})
        projects = await notes.list_memory_projects(connection, 5)
    assert (outcome.outcome, outcome.file_path) == ("accepted", "tau/x/One.md")
    assert (again.outcome, again.code, again.file_path) == ("unknown", "NOTE_ALREADY_EXISTS", "tau/x/One.md")
    assert identify(read).capture_id == ID
    assert [hit.file_path for hit in found.hits] == ["tau/x/One.md"]
    assert (projects.source("main"), projects.source("none")) == ("local", "unknown")


def test_a_project_is_told_from_another_of_its_name_only_where_the_name_is_one_projects() -> None:
    one, other = (notes.ProjectInfo(name="main", source="local", sha256=Sha256(mark * 64)) for mark in "ab")
    assert notes.Projects(projects=(one,)).sha256("main") == one.sha256
    assert notes.Projects(projects=(one, one)).sha256("main") == one.sha256
    assert notes.Projects(projects=(one, other)).sha256("main") is None
    assert notes.Projects(projects=(one,)).sha256("other") is None


@pytest.mark.parametrize(
    ("steps", "outcome", "code"),
    [
        (["store", "silent"], "unknown", "timeout"),
        (["store", "exit"], "unknown", "connection-lost"),
        (["store", "truncated"], "unknown", "answer-unreadable"),
        (["store", "empty"], "unknown", "answer-empty"),
        (["store", "rpc-error"], "unknown", "protocol-error"),
        (["store", {"error": "disk full"}], "unknown", "error-text"),
        (["text"], "unknown", "answer-text"),
        ([{"code": "NOTE_PATH_CONFLICT"}], "refused", "NOTE_PATH_CONFLICT"),
    ],
)
async def test_one_call_whatever_becomes_of_it(
    fake: FakeMemory, reach: Reach, steps: list[Json], outcome: str, code: str
) -> None:
    fake.faults(write_note=steps)
    async with reach() as connection:
        result = await notes.write_note(connection, REQUEST, bound(steps))
    assert (result.outcome, result.code) == (outcome, code)
    assert fake.calls()["write_note"] == 1


async def test_a_write_to_a_lost_server_is_not_sent(fake: FakeMemory, reach: Reach) -> None:
    async with reach() as connection:
        pass
    assert (await notes.write_note(connection, REQUEST, 5)).outcome == "not-sent"
    assert fake.calls()["write_note"] == 0
