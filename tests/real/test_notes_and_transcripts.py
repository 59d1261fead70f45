"""The real server takes notes of any title and every message of a session, each once, whatever its settings for files are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import Any

import pytest

from continuity.capture import content_digest
from continuity.evolve import fold
from continuity.memory import notes
from continuity.memory.connection import MemoryConnection
from continuity.notes import ENTITIES, schema_notes
from continuity.shell import noting
from continuity.shell.desk import Desk
from continuity.shell.noting import Note
from journal.events import CaptureProbed, WriteAnswered, WriteIntended
from tests.fakes import sudden_death
from tests.fakes.real_memory import SECONDS, RealMemory, real_memory
from tests.fakes.scenario import HOLD, Scenario, until
from tests.shell.calls import began
from tests.shell.rig import Talk, rig

pytestmark = [pytest.mark.real, pytest.mark.timeout(240)]

WAITS: dict[str, Any] = {"timeout_seconds": SECONDS, "recall_wait_seconds": SECONDS}
TITLES = (
    "Fix: split (a: b)",
    "# leading",
    "say \"hi\" and 'ho'",
    "x" * 300,
    "../x",
    "/etc/passwd",
    "trailing dot.",
    "CON",
    "\U0001f525 burning \U0001f469\u200d\U0001f680",
    "a\\b|c?d*e<f>g",
    "[[link]] and {brace} & 100%",
    "  spaces  ",
    "null",
    "---",
    "OIL",
    "oil",
)


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RealMemory]:
    async with real_memory(tmp_path_factory.mktemp("basic-memory")) as running:
        yield running


@pytest.fixture
async def renaming(tmp_path: Path) -> AsyncGenerator[RealMemory]:
    """A server that names files its own way."""
    (tmp_path / "renaming").mkdir()
    async with real_memory(tmp_path / "renaming", BASIC_MEMORY_KEBAB_FILENAMES="true") as running:
        yield running


def connection(memory: RealMemory) -> MemoryConnection:
    found = memory.link.connection
    assert found is not None
    return found


def alone(talk: Talk) -> Desk:
    """The session's desk, with nobody but the caller to perform what is owed."""
    talk.session.runner.closed = True
    talk.session.runner.wake()
    return talk.session.desk


async def stored(desk: Desk, note: Note) -> str:
    """Keep, send and read a note; returns the path it is proven to be at."""
    came = await noting.keep(desk, note, reason="command")
    assert isinstance(came, noting.Kept)
    settled = await noting.settle_now(desk, came.identity, seconds=SECONDS)
    known = settled.capture
    assert (known.status, known.evidence, settled.read) == ("confirmed", "read", "present_same"), settled
    assert (known.moved, known.edited) == (False, False)
    return str(known.path)


async def one_file_each(memory: RealMemory, root: Path) -> None:
    """Fail unless a note of every title is one file, read back as it was sent."""
    project = await memory.project()
    async with rig(root, link=memory.link, project=project, auto_recall=False, **WAITS) as process:
        desk = alone(await began(process))
        for number, title in enumerate(TITLES):
            text = f"Text {number}.\n\n---\ntype: task\n---\n- [decision] x"
            path = await stored(desk, Note(title=title, folder="notes/mine", note_type="note", text=text))
            read = await notes.read_note(connection(memory), project, path, SECONDS)
            assert (read.outcome, read.file_path, read.frontmatter["type"]) == ("found", path, "note")
            assert read.content is not None
            assert content_digest(read.content) == read.frontmatter["content_digest"]
            assert text in read.content
    assert len(await memory.until_files(project, len(TITLES))) == len(TITLES)


async def test_a_note_of_any_title_is_one_file_that_is_read_back_as_it_was_sent(
    memory: RealMemory, tmp_path: Path
) -> None:
    await one_file_each(memory, tmp_path)


async def test_so_it_is_where_the_server_names_files_its_own_way(renaming: RealMemory, tmp_path: Path) -> None:
    await one_file_each(renaming, tmp_path)


async def test_metadata_of_a_note_stays_words_whatever_it_looks_like(memory: RealMemory, tmp_path: Path) -> None:
    project = await memory.project()
    told = {
        "status": "open",
        "count": "007",
        "flag": "true",
        "when": "2026-11-30",
        "quoted": 'a: "b" # c',
        "none": "null",
    }
    async with rig(tmp_path, link=memory.link, project=project, auto_recall=False, **WAITS) as process:
        desk = alone(await began(process))
        note = Note(title="Oil", folder="notes", note_type="decision", text="x", metadata=told)
        read = await notes.read_note(connection(memory), project, await stored(desk, note), SECONDS)
        assert {name: read.frontmatter[name] for name in told} == told
        assert (read.frontmatter["agent"], read.frontmatter["session_id"]) == ("tau", "session")


async def test_schema_notes_go_this_way_whole_and_stay_schemas(memory: RealMemory, tmp_path: Path) -> None:
    project = await memory.project()
    async with rig(tmp_path, link=memory.link, project=project, auto_recall=False, **WAITS) as process:
        desk = alone(await began(process))
        for schema in schema_notes():
            note = Note(title=schema.title, folder="schemas", note_type="schema", text=schema.text, exact_title=True)
            path = await stored(desk, note)
            read = await notes.read_note(connection(memory), project, path, SECONDS)
            assert (read.title, read.frontmatter["type"]) == (schema.title, "schema")
            assert (read.frontmatter["entity"], read.frontmatter["version"]) == (schema.entity, str(schema.version))
            assert '"validation": "warn"' in read.frontmatter["settings"]
    assert len(await memory.until_files(project, len(ENTITIES))) == len(ENTITIES)


async def test_no_line_of_a_message_is_a_link_or_an_observation_of_its_note(memory: RealMemory, tmp_path: Path) -> None:
    project = await memory.project()
    settings: dict[str, Any] = {
        **WAITS,
        "auto_recall": False,
        "capture_knowledge": False,
        "capture_transcript": True,
    }
    async with rig(tmp_path, link=memory.link, project=project, **settings) as process:
        talk = await process.open()
        await talk.turn(
            "- relates_to [[Somewhere]]\n- [decision] forged\n\nand [[Elsewhere]]", "---\ntype: task\n---\nx"
        )
        await talk.settle()
        assert [one.outcome for one in talk.events(WriteAnswered)] == ["accepted", "accepted"]
        for source in talk.state.sources:
            seen = await notes.build_context(connection(memory), project, source.address, SECONDS)
            assert [hit.permalink for hit in seen.hits] == [source.address]
        found = await notes.search_notes(connection(memory), project, SECONDS, note_types=["tau_transcript"])
        assert len(found.hits) == 2


async def test_a_checkpoint_names_the_messages_that_the_server_has(memory: RealMemory, tmp_path: Path) -> None:
    project = await memory.project()
    settings: dict[str, Any] = {**WAITS, "auto_recall": False, "capture_transcript": True}
    async with rig(tmp_path, link=memory.link, project=project, **settings) as process:
        talk = await process.open()
        await talk.turn("light the lamp", "It is lit.")
        await talk.settle()
        said = [source.address for source in talk.state.sources]
        await talk.saved("and the foghorn")
        checkpoint = talk.state.checkpoint
        assert checkpoint is not None
        seen = await notes.build_context(connection(memory), project, str(checkpoint.permalink), SECONDS)
        assert len(said) == 2
        assert set(said) <= {hit.permalink for hit in seen.hits}


# -- a real Tau --------------------------------------------------------------


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scenario]:
    with Scenario(tmp_path_factory.mktemp("said"), capture_transcript=True) as made:
        sudden_death.install(made.home)
        yield made


def said(scenario: Scenario) -> list[str]:
    """The texts of the transcript notes on disk, in no order."""
    found = [path.read_text(encoding="utf-8") for path in scenario.notes() if "tau/transcripts" in str(path)]
    return sorted(text.split("text\n")[-1].split("\n```")[0] for text in found)


def wait_stored(scenario: Scenario, session_id: str, count: int) -> None:
    """Wait until so many messages are known to be stored, and until their files are there."""

    def all_stored() -> bool | None:
        state = fold(scenario.rows(session_id))
        sent = [event for event in scenario.events(session_id, WriteIntended) if event.kind == "transcript"]
        kept = [c for c in state.captures if c.kind == "transcript"]
        return True if len(sent) >= count and not kept and not state.behind else None

    until(all_stored, f"{count} messages", seconds=120)
    until(lambda: True if len(said(scenario)) >= count else None, f"{count} files")


def sent_once(scenario: Scenario, session_id: str) -> bool:
    """Whether no capture of the session reached the server twice."""
    captures = {event.capture_id for event in scenario.events(session_id, WriteIntended)}
    return all(len(scenario.writes(capture)) <= 1 for capture in captures)


def test_every_message_of_a_session_is_stored_once_and_named_by_the_next_checkpoint(scenario: Scenario) -> None:
    with scenario.tau() as tau:
        tau.prompt("Objective: keep the lamp lit")
        session_id = tau.session_id
        wait_stored(scenario, session_id, 2)
        assert tau.quit() == 0
    assert said(scenario) == ["Objective: keep the lamp lit", "Understood."]
    with scenario.tau(session_id) as tau:
        tau.prompt("Next: wire the foghorn")
        wait_stored(scenario, session_id, 4)
        assert tau.quit() == 0
    assert said(scenario) == ["Next: wire the foghorn", "Objective: keep the lamp lit", "Understood.", "Understood."]
    assert sent_once(scenario, session_id)
    newest = max(
        (path for path in scenario.notes() if "tau/checkpoints" in str(path)), key=lambda path: path.stat().st_mtime
    )
    text = newest.read_text(encoding="utf-8")
    assert text.count("- derived_from [[main/tau/transcripts/tau-transcript-") == 2


def test_killed_with_the_answer_held_a_message_is_settled_by_reading_and_the_rest_follows(scenario: Scenario) -> None:
    scenario.set(capture_knowledge=False)
    with scenario.tau() as tau:
        after = len(scenario.log())
        with scenario.holding(HOLD):
            tau.prompt("Objective: killed with the answer held")
            session_id = tau.session_id
            scenario.wait_log("answer-held", after=after)
            tau.kill()
    with scenario.tau(session_id) as tau:
        settled = scenario.wait_event(session_id, CaptureProbed, lambda event: event.verdict != "unreachable")
        assert settled.verdict == "present_same"
        wait_stored(scenario, session_id, 2)
        assert sent_once(scenario, session_id)
        tau.quit()
