"""A write whose outcome is not known is settled by reading, and by nothing else."""

import os
import signal
from pathlib import Path

import pytest

from continuity.capture import address, capture_id, content_digest
from continuity.due import PROBE_SPACING_MS
from journal.events import CaptureProbed, WriteAnswered
from journal.ids import CaptureId, EntryId, SessionId
from tests.fakes.host import Conversation
from tests.shell.rig import Rig, Talk, replayed, rig, until

FOLDER = "tau/checkpoints"


def identity(tip: str) -> CaptureId:
    return capture_id("main", SessionId("session"), "checkpoint", EntryId(tip))


def verdicts(talk: Talk, capture: str) -> list[str]:
    return [probe.verdict for probe in talk.events(CaptureProbed) if probe.capture_id == capture]


async def doubted(process: Rig, talk: Talk) -> CaptureId:
    """One turn whose write has no known outcome; returns its capture."""
    await talk.turn("light the lamp")
    await until(lambda: talk.events(WriteAnswered), "an outcome")
    await talk.settle()
    return talk.events(WriteAnswered)[-1].capture_id


@pytest.mark.parametrize("fault", ["empty", "invalid", "rpc-error", "text", {"error": "disk trouble"}])
async def test_a_note_that_was_stored_is_found_by_the_first_read(tmp_path: Path, fault: object) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=["store", fault])
        capture = await doubted(process, talk)
        assert [answer.outcome for answer in talk.events(WriteAnswered)] == ["unknown"]
        assert verdicts(talk, capture) == ["present_same"]
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "read"
        assert process.memory.calls()["write_note"] == 1


async def test_a_note_that_is_not_there_is_read_for_again_in_growing_steps(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"error": "disk full"}])
        capture = await doubted(process, talk)
        for step in PROBE_SPACING_MS[1:4]:
            process.clock.advance(step - 1)
            await talk.settle()
            before = len(verdicts(talk, capture))
            process.clock.advance(1)
            await talk.settle()
            assert len(verdicts(talk, capture)) == before + 1
        assert set(verdicts(talk, capture)) == {"absent_open"}
        assert process.memory.calls()["write_note"] == 1


async def test_a_note_that_lands_late_settles_the_doubt(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        talk = await process.open()
        process.memory.faults(write_note=["hold", "store"])
        capture = await doubted(process, talk)
        process.memory.release()
        await until(lambda: process.memory.notes, "the note")
        process.clock.advance(PROBE_SPACING_MS[1])
        await talk.settle()
        assert verdicts(talk, capture) == ["absent_open", "present_same"]


async def test_absence_is_final_only_after_the_writing_server_is_gone(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("the index is known to work")
        process.memory.faults(write_note=[{"error": "disk full"}])
        capture = await doubted(process, talk)
        assert verdicts(talk, capture) == ["absent_open"]
        await replace_server(process, talk)
        process.clock.advance(PROBE_SPACING_MS[1])
        await talk.settle()
        assert verdicts(talk, capture) == ["absent_open", "absent_final"]
        assert [c.status for c in talk.state.captures] == ["lost"]
        assert process.memory.calls()["write_note"] == 2


async def test_absence_stays_open_while_the_index_has_found_nothing_yet(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"error": "disk full"}])
        capture = await doubted(process, talk)
        await replace_server(process, talk)
        process.clock.advance(PROBE_SPACING_MS[1])
        await talk.settle()
        assert set(verdicts(talk, capture)) == {"absent_open"}


@pytest.mark.parametrize("folder", ["elsewhere", None])
async def test_another_store_with_a_project_of_the_same_name_proves_no_absence(
    tmp_path: Path, folder: str | None
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("the index is known to work")
        process.memory.faults(write_note=[{"error": "disk full"}])
        capture = await doubted(process, talk)
        await replace_server(process, talk, project_folder=folder)
        process.clock.advance(PROBE_SPACING_MS[1])
        await talk.settle()
        assert verdicts(talk, capture) == ["absent_open", "absent_open"]
        assert talk.events(CaptureProbed)[-1].project_source == "unknown"


async def replace_server(process: Rig, talk: Talk, **faults: object) -> None:
    """Kill the server; another one, with `faults`, is up when this returns."""
    connection = process.link.connection
    assert connection is not None
    os.killpg(connection.process.process_group, signal.SIGKILL)
    await connection.wait_lost()
    process.memory.faults(**faults)
    process.link.want(at_once=True)
    await until(lambda: process.link.connection not in (None, connection), "another server")


async def test_an_address_that_is_taken_by_our_own_note_is_a_save_of_another_process(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        body = "## Objective\n\nThe same, in a rival's words."
        tip = "s2"
        place = address(identity(tip), FOLDER, "checkpoint")
        process.memory.put(
            place.file_path, body, capture_id=identity(tip), source_tip=tip, content_digest=content_digest(body)
        )
        capture = await doubted(process, talk)
        assert capture == identity(tip)
        assert verdicts(talk, capture) == ["present_twin"]
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "adopted"
        assert process.memory.notes[place.file_path]["content"] == body


async def test_an_address_that_is_taken_by_a_stranger_is_shown_and_never_overwritten(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        place = address(identity("s2"), FOLDER, "checkpoint")
        process.memory.put(place.file_path, "Somebody's own note.")
        capture = await doubted(process, talk)
        assert verdicts(talk, capture) == ["conflicted"]
        assert [c.status for c in talk.state.captures] == ["conflicted"]
        assert process.memory.notes[place.file_path]["content"] == "Somebody's own note."
        assert any("nothing was overwritten" in text for text in process.voice.on("settle"))


@pytest.mark.parametrize("code", ["NOTE_LOCKED", "NOTE_PATH_CONFLICT"])
async def test_a_refusal_with_a_known_code_is_definite_and_read_for_by_nobody(tmp_path: Path, code: str) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"code": code}])
        await talk.turn("light the lamp")
        await talk.settle()
        assert [c.status for c in talk.state.captures] == ["refused"]
        assert talk.events(CaptureProbed) == []


async def test_a_stuck_doubt_does_not_keep_later_work_from_being_saved(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"error": "disk full"}])
        stuck = await doubted(process, talk)
        process.memory.faults()
        for number in range(5):
            await talk.saved(f"turn {number}")
        assert [c.capture_id for c in talk.state.pending] == [stuck]
        assert process.memory.calls()["write_note"] == 6


async def test_what_an_ended_process_left_open_is_settled_by_the_next(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        process.memory.faults(write_note=["store", "hold"])
        await talk.turn("light the lamp")
        await until(lambda: process.memory.notes, "the note")
        path = talk.path
        await process.kill()
    assert replayed(path).pending
    async with rig(tmp_path) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        await talk.settle()
        assert talk.events(CaptureProbed)[0].verdict == "present_same"
        assert process.memory.calls()["write_note"] == 1
