"""Of the records in a session that we cannot use each costs itself: it is counted, and recall and saving go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from continuity.capture import receipt
from journal.events import ReceiptAdopted
from journal.ids import CaptureId, EntryId, Sha256
from tests.fakes.host import Conversation
from tests.shell.rig import rig

TASK = "Mend the valve of the foghorn."
GOOD = receipt(
    project="main",
    identity=CaptureId("a" * 64),
    kind="checkpoint",
    status="confirmed",
    source_tip=EntryId("s1"),
    content_sha256=Sha256("b" * 64),
    file_path="tau/checkpoints/a.md",
)


def without(name: str) -> dict[str, str | int | None]:
    return {key: value for key, value in GOOD.items() if key != name}


@pytest.mark.parametrize(
    "entry",
    [GOOD | {"status": "abandoned"}, *map(without, GOOD), {"v": 2}, {}],
    ids=["another status", *(f"without {name}" for name in GOOD), "another version", "nothing"],
)
async def test_a_record_that_cannot_be_read_is_counted_and_memory_goes_on(
    tmp_path: Path, entry: dict[str, str | int | None]
) -> None:
    conversation = Conversation()
    conversation.user("from before")
    conversation.receipt(entry)
    async with rig(tmp_path) as process:
        process.memory.put("tasks/valve.md", TASK, type="task", status="active")
        talk = await process.open(conversation)
        brief = (await talk.prompt("one")).brief
        assert brief is not None
        assert TASK in brief.brief.text
        assert await talk.saved("two") == conversation.tip
        assert process.voice.on("receipts") == ["1 unreadable receipt(s) in this session were passed over."]
        page = talk.page
        assert talk.state.checkpoint is not None
        assert f"last save    {talk.state.checkpoint.path}" in page
        assert talk.events(ReceiptAdopted) == []


async def test_a_record_of_another_project_is_let_be_and_is_no_trouble(tmp_path: Path) -> None:
    conversation = Conversation()
    conversation.user("from before")
    conversation.receipt(GOOD | {"project": "another"})
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert await talk.saved("one") == conversation.tip
        assert process.voice.on("receipts") == []
        assert talk.events(ReceiptAdopted) == []
