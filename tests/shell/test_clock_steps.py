"""A clock that is set back, runs ahead or stands still changes no order, no verdict, no save, and makes no storm."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from continuity.due import PROBE_SPACING_MS, SYNTHESIS_BACKOFF_MS
from continuity.shell.runner import REST_MS
from journal.events import CaptureBegun, CaptureProbed, Gap, SynthesisFailed, WriteAnswered
from journal.reader import open_reader
from tests.fakes.host import failing
from tests.journal import kit
from tests.shell.rig import replayed, rig, until, unwritable

HOUR, YEAR = 3_600_000, 365 * 86_400_000
STEPS = {"back an hour": -HOUR, "ahead a year": YEAR, "standing still": 0, "back to 1970": -1_767_225_600_000}


@pytest.fixture(params=STEPS)
def step(request: pytest.FixtureRequest) -> int:
    return STEPS[str(request.param)]


async def test_saves_on_both_sides_of_a_step_stand_in_the_order_of_recording(tmp_path: Path, step: int) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        first = await talk.saved("one")
        process.clock.advance(step)
        second = await talk.saved("two")
        process.clock.advance(-step)
        third = await talk.saved("three")
        assert [begun.source_tip for begun in talk.events(CaptureBegun)] == [first, second, third]
        assert process.memory.calls()["write_note"] == 3
        assert talk.state == replayed(talk.path)
        assert kit.found(talk.path) == []
        with open_reader(talk.path) as reader:
            rows = list(reader.verified(1))
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))


async def test_a_doubt_is_read_at_most_once_for_a_step_and_gets_the_verdict_it_would_have_got(
    tmp_path: Path, step: int
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"error": "disk full"}])
        await talk.turn("light the lamp")
        await until(lambda: talk.events(WriteAnswered), "an outcome")
        await talk.settle()
        before = len(talk.events(CaptureProbed))
        process.clock.advance(step)
        for _ in range(5):
            await talk.settle()
        assert len(talk.events(CaptureProbed)) <= before + 1
        process.clock.advance(PROBE_SPACING_MS[-1])
        await talk.settle()
        assert len(talk.events(CaptureProbed)) > before
        assert {probe.verdict for probe in talk.events(CaptureProbed)} == {"absent_open"}
        assert process.memory.calls()["write_note"] == 1


async def test_what_gathers_is_saved_once_and_not_later_than_its_time(tmp_path: Path, step: int) -> None:
    async with rig(tmp_path, cadence={"characters": 100_000, "minutes": 10}) as process:
        talk = await process.open()
        await talk.turn("a few words")
        await talk.settle()
        assert talk.events(CaptureBegun) == []
        process.clock.advance(step)
        for _ in range(5):
            await talk.settle()
        assert len(talk.events(CaptureBegun)) == (step != 0)
        process.clock.advance(10 * 60_000)
        await talk.settle()
        assert len(talk.events(CaptureBegun)) == 1
        assert process.memory.calls()["write_note"] == 1


async def test_a_model_that_failed_is_asked_at_most_once_for_a_step_and_then_in_its_time(
    tmp_path: Path, step: int
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        answer, process.mind.answer = process.mind.answer, failing("overloaded")
        await talk.turn("light the lamp")
        await talk.settle()
        assert len(talk.events(SynthesisFailed)) == 1
        process.clock.advance(step)
        for _ in range(5):
            await talk.settle()
        assert len(talk.events(SynthesisFailed)) == 1 + (step != 0)
        process.mind.answer = answer
        process.clock.advance(SYNTHESIS_BACKOFF_MS[2])
        await talk.settle()
        assert talk.state.checkpoint is not None


async def test_a_lane_that_rests_wakes_in_its_time_and_the_gap_tells_when_it_began(tmp_path: Path, step: int) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        process.mind.gate, process.mind.arrived = anyio.Event(), anyio.Event()
        await talk.turn("two")
        await process.mind.arrived.wait()
        began_ms = process.clock.now_ms()
        async with unwritable(ledger.journal):
            process.mind.gate.set()  # what was made cannot be recorded, so the lane rests
            await until(lambda: process.voice.on("journal"), "the trouble")
            await talk.turn("three")
            asked = len(process.mind.asked)
            process.clock.advance(step)
            for _ in range(5):
                await talk.settle()
            assert len(process.mind.asked) <= asked + 1
        process.clock.advance(REST_MS)
        tip = talk.conversation.tip
        await talk.settle()
        await talk.turn("four")
        await talk.settle()
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == talk.conversation.tip != tip
        (gap,) = talk.events(Gap)
        assert gap.since_ms == began_ms
