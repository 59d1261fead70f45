"""What the index does not find may be there: the address is read first, a miss proves nothing, and nothing is written for it."""

from __future__ import annotations

from pathlib import Path

from continuity.due import PROBE_SPACING_MS
from journal.events import CaptureProbed, WriteAnswered
from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import Rig, Talk, rig, until


def asked(memory: FakeMemory, since: int) -> list[tuple[str, object]]:
    """The tools called since request number `since`, and the note each was to read."""
    made = [request for request in memory.requests()[since:] if request["method"] == "tools/call"]
    return [(call["name"], call["params"]["arguments"].get("identifier")) for call in made]


def verdicts(talk: Talk) -> list[str]:
    return [probe.verdict for probe in talk.events(CaptureProbed)]


async def lost(process: Rig, talk: Talk, **faults: object) -> int:
    """One turn whose note is stored and whose answer is lost; returns how many requests came before its reads."""
    process.memory.faults(write_note=["store", "rpc-error"], **faults)
    await talk.turn("light the lamp")
    await until(lambda: talk.events(WriteAnswered), "an outcome")
    made = [request["name"] for request in process.memory.requests()]
    return len(made) - made[::-1].index("write_note")


async def test_a_note_that_the_index_lags_behind_is_confirmed_by_reading_its_address(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        since = await lost(process, talk, index="lag")
        await talk.settle()
        assert verdicts(talk) == ["present_same"]
        assert asked(process.memory, since) == [("read_note", next(iter(process.memory.notes)))]


async def test_a_note_that_nobody_finds_stays_in_doubt_through_spaced_reads_until_it_is_shown(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await lost(process, talk, index="hidden")
        for _ in range(30):
            await talk.settle()
            assert [c.status for c in talk.state.captures] == ["in_doubt"]
            process.clock.advance(1_000)
        within = sum(sum(PROBE_SPACING_MS[:n]) <= 30_000 for n in range(1, len(PROBE_SPACING_MS)))
        assert verdicts(talk) == ["absent_open"] * within
        process.memory.faults()
        process.clock.advance(PROBE_SPACING_MS[-1])
        await talk.settle()
        assert verdicts(talk) == [*["absent_open"] * within, "present_same"]
        assert talk.state.checkpoint is not None
        assert process.memory.calls()["write_note"] == len(process.memory.notes) == 1


async def test_a_project_that_was_never_indexed_is_written_to_and_settled_by_its_addresses(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(index="required")
        talk = await process.open()
        await talk.saved("the first note there is")
        await lost(process, talk, index="required")
        await talk.settle()
        assert [answered.outcome for answered in talk.events(WriteAnswered)] == ["accepted", "unknown"]
        assert verdicts(talk) == ["present_same"]
        assert process.memory.calls()["write_note"] == len(process.memory.notes) == 2


async def test_in_a_project_that_was_never_indexed_no_absence_is_final(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(index="required")
        talk = await process.open()
        await talk.saved("the first note there is")
        process.memory.faults(index="required", write_note=["exit"])
        await talk.turn("light the lamp")
        await until(lambda: [c for c in talk.state.pending if c.probes], "a read through another server")
        await talk.settle()
        (doubted,) = talk.state.pending
        probes = [probe for probe in talk.events(CaptureProbed) if probe.capture_id == doubted.capture_id]
        assert [(probe.writing_server, probe.verdict) for probe in probes] == [("gone", "absent_open")]
