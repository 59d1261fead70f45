"""A transcript is one note a message, oldest first and each once; it delays nothing and tells nothing it was not to."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import rig


def spoken(memory: FakeMemory) -> list[str]:
    """The texts of the transcript notes, in the order in which they were sent."""
    sent = [request["params"]["arguments"] for request in memory.requests() if request["name"] == "write_note"]
    return [
        one["content"].split("```text\n")[1].split("\n```")[0] for one in sent if one["note_type"] == "tau_transcript"
    ]


async def test_each_public_message_becomes_one_note_oldest_first(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_transcript=True) as process:
        talk = await process.open()
        await talk.turn("light the lamp", "It is lit.")
        await talk.turn("and the foghorn", "It is wired.")
        await talk.settle()
        assert spoken(process.memory) == ["light the lamp", "It is lit.", "and the foghorn", "It is wired."]
        assert talk.state.captures == ()
