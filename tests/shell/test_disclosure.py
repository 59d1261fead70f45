"""Before anything is saved by itself a person reads what, when, where to, and how to stop it. Once a session suffices."""

from __future__ import annotations

from pathlib import Path

import pytest

from continuity.shell.ports import NoticeLevel
from tests.fakes.host import Conversation, Listener
from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import Rig, rig


class Witness(Listener):
    """A voice that notes how many writes the server had received when each thing was said."""

    def __init__(self, memory: FakeMemory) -> None:
        super().__init__()
        self.writes: dict[str, int] = {}
        self._memory = memory

    def say(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        self.writes.setdefault(topic, self._memory.calls()["write_note"])
        super().say(topic, text, level)


def witnessed(process: Rig) -> Witness:
    process.voice = witness = Witness(process.memory)
    return witness


async def test_where_to_what_when_and_how_to_stop_it_is_said_before_the_first_write_and_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        witness = witnessed(process)
        talk = await process.open()
        await talk.saved("Trim the lamp")
        await talk.saved("Fill the lamp")
        assert process.memory.calls()["write_note"] == 2
        assert witness.writes["destination:session"] == 0
        (told,) = witness.on("destination:session")
        assert told == (
            "Continuity saves masked summaries of this conversation after every turn to project main (local), folder "
            "tau/checkpoints. /bm-pause stops it in this session, `capture_knowledge` false in all; /bm-last shows what "
            "was saved."
        )


async def test_in_a_later_process_it_is_said_again_only_where_the_place_is_another(tmp_path: Path) -> None:
    conversation, told = Conversation(), list[int]()
    for folder in ("tau/checkpoints", "tau/checkpoints", "elsewhere"):
        async with rig(tmp_path, checkpoint_folder=folder) as process:
            witness = witnessed(process)
            talk = await process.open(conversation)
            await talk.saved("Trim the lamp")
            told.append(len(witness.on("destination:session")))
    assert told == [1, 0, 1]


@pytest.mark.parametrize(
    ("cadence", "when"), [("every", "after every turn"), ({"characters": 1, "minutes": 9}, "as work gathers")]
)
async def test_it_says_when_as_the_settings_have_it(tmp_path: Path, cadence: object, when: str) -> None:
    async with rig(tmp_path, cadence=cadence) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        assert when in process.voice.on("destination:session")[0]


async def test_transcripts_are_told_of_apart_and_before_the_first_of_them(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False, capture_transcript=True) as process:
        witness = witnessed(process)
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await talk.settle()
        assert witness.writes["transcripts:session"] == 0
        (told,) = witness.on("transcripts:session")
        assert "every message of this conversation" in told
        assert "folder tau/transcripts. /bm-pause stops it" in told
        assert witness.on("destination:session") == []
