"""What a person interrupts is said and settled, and nothing that was read before is read again."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio

from journal.events import CaptureProbed, SynthesisFinished, WriteAnswered
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, Rig, Talk, recorded, rig, until

FIRST = "keep the lamp of the first turn lit"


async def escaped(process: Rig, talk: Talk) -> None:
    """Cancel the host's own task in the middle of handing over a settled turn, as Escape does, and let it hand over another."""
    tip = talk.conversation.assistant("Half an ans")
    task = asyncio.ensure_future(process.owner.call("settled", lambda: talk.session.settled(tip, interrupted=True)))
    await anyio.lowlevel.checkpoint()
    task.cancel()
    await asyncio.wait({task})


async def test_escape_during_a_save_leaves_it_to_its_end(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=["hold", "store"])
        await talk.turn(FIRST)
        await until(lambda: process.memory.calls()["write_note"] == 1, "the write")
        first = talk.conversation.tip
        await talk.prompt("another, interrupted")
        await escaped(process, talk)
        process.memory.faults()
        process.memory.release()
        await talk.settle()
        assert [answered.outcome for answered in talk.events(WriteAnswered)] == ["accepted", "accepted"]
        assert talk.events(WriteAnswered)[0].capture_id != talk.events(WriteAnswered)[1].capture_id
        assert len([text for text in process.voice.on("save") if text.startswith("Checkpoint saved")]) == 2
        assert first != talk.state.settled_tip
        assert [FIRST in asked for asked in process.mind.asked] == [True, False]


async def test_escape_while_the_handoff_is_made_leaves_it_to_its_end(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.gate = anyio.Event()
        await talk.turn(FIRST)
        with anyio.fail_after(BOUND):
            await process.mind.arrived.wait()
        await talk.prompt("another, interrupted")
        await escaped(process, talk)
        process.mind.gate.set()
        await talk.settle()
        assert len(talk.events(SynthesisFinished)) == 2
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == talk.conversation.tip
        assert [FIRST in asked for asked in process.mind.asked] == [True, False]


async def test_after_a_save_that_the_end_cut_off_the_next_handoff_goes_on_from_the_one_that_was_made(
    tmp_path: Path,
) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        process.memory.faults(write_note=["hold", "store"])
        await talk.turn(FIRST)
        await until(lambda: process.memory.calls()["write_note"] == 1, "the write")
        path = talk.path
    (cut,) = recorded(path, WriteAnswered)
    assert (cut.outcome, cut.code) == ("unknown", "interrupted")
    assert any("not known whether the checkpoint was stored" in text for text in process.voice.on("save"))
    async with rig(tmp_path) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        assert talk.events(CaptureProbed)[-1].capture_id == cut.capture_id
        assert process.voice.on("settle") == [
            "An interrupted save was not found yet and may still land; it will be read again."
        ]
        await talk.saved("the second turn")
        (asked,) = process.mind.asked
        assert "the second turn" in asked
        assert FIRST not in asked
        assert "Oil, because there is no wind." in asked
