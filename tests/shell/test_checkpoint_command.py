"""`/bm-checkpoint` is answered each time, and what came of it is said once, at once, with note, evidence and row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from continuity.shell.ports import NoticeLevel
from continuity.tau.checkpoint_command import OFF_THE_RECORD, checkpoint
from tests.fakes.host import Listener, failing
from tests.shell.rig import Rig, Talk, crash, rig, until

NEVER: dict[str, Any] = {"cadence": {"characters": 100_000, "minutes": 600}}


class Hurried(Listener):
    """A voice that keeps what could not wait."""

    def __init__(self) -> None:
        super().__init__()
        self.hurried: list[tuple[str, NoticeLevel]] = []

    def at_once(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        if not topic.startswith("destination"):
            self.hurried.append((text, level))


def listening(process: Rig) -> Hurried:
    process.voice = hurried = Hurried()
    return hurried


async def asked(process: Rig, talk: Talk, words: str = "") -> str:
    return await process.told(lambda: checkpoint(talk.session, process.owner, words))


async def test_it_is_acknowledged_and_its_proof_names_note_evidence_and_row(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        voice = listening(process)
        talk = await process.open()
        await talk.turn("one")
        assert (await asked(process, talk)).startswith("A checkpoint is being made.")
        await talk.settle()
        (path,) = process.memory.notes
        row = f"1@{talk.state.position}, {str(talk.state.digest)[:10]}"
        saved = f"Checkpoint saved: {path} (answered by the server). Recorded as row {row}."
        assert voice.hurried == [(saved, "info")]


async def test_what_nobody_asked_for_may_wait(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        voice = listening(process)
        talk = await process.open()
        await talk.saved("one")
        assert voice.hurried == []
        assert [text.partition(" (")[2] for text in voice.on("save")] == ["answered by the server)."]


async def test_a_model_that_failed_is_said_at_once_and_so_is_what_it_made_later(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        voice, process.mind.answer, usual = listening(process), failing("server-error"), process.mind.answer
        talk = await process.open()
        await talk.turn("one")
        await asked(process, talk)
        await until(lambda: voice.hurried, "the failure")
        assert "the model gave no summary of use (server-error)" in voice.hurried[0][0]
        process.mind.answer = usual
        process.clock.advance(1_000_000)
        talk.session.runner.wake()
        await talk.settle()
        assert [text.partition(":")[0] for text, _ in voice.hurried[1:]] == ["Checkpoint saved"]


async def test_nothing_new_is_answered_with_what_is_stored_and_how_that_is_known(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert await asked(process, talk) == "There is nothing new to save."
        await talk.saved("one")
        (path,) = process.memory.notes
        last = f"The last one is {path}: the server answered that it stored it."
        assert await asked(process, talk) == f"There is nothing new to save. {last}"


async def test_what_is_made_and_waits_for_memory_is_told_as_kept(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(initialize="exit")
        await crash(process)
        await talk.turn("one")
        await until(lambda: talk.state.captures and talk.state.captures[0].status == "ready", "a handoff")
        assert (await asked(process, talk)).startswith(
            "A checkpoint is kept already and is saved as soon as memory answers"
        )


async def test_where_nothing_can_be_saved_it_is_said_at_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert checkpoint(None, process.owner, "") == "Nothing can be saved here: see /bm-status."
        await talk.session.switch(off=True, anchor=None)
        assert checkpoint(talk.session, process.owner, "") == OFF_THE_RECORD
