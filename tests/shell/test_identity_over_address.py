"""What a note says of itself decides, not where it is; a refusal is definite, a taken address a question; no write follows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from continuity.capture import address, capture_id
from continuity.memory.notes import REFUSALS
from journal.events import CaptureProbed, NoteMoved, WriteAnswered
from journal.ids import EntryId, SessionId
from tests.fakes.host import Conversation
from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import names, rig

ELSEWHERE = "archive/kept by me.md"


def overwrites(memory: FakeMemory) -> list[object]:
    """What each write said of overwriting."""
    writes = [request for request in memory.requests() if request["name"] == "write_note"]
    return [write["params"]["arguments"]["overwrite"] for write in writes]


def written_twice(memory: FakeMemory) -> list[str]:
    counted = Counter(note["frontmatter"].get("capture_id") for note in memory.notes.values())
    return [str(identity) for identity, count in counted.items() if count > 1]


@pytest.mark.parametrize("forwarded", [True, False])
async def test_a_note_the_person_moved_is_recalled_from_where_it_is_and_followed_by_one_new_note(
    tmp_path: Path, *, forwarded: bool
) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        assert talk.state.checkpoint is not None
        process.memory.move(str(talk.state.checkpoint.path), ELSEWHERE, forwarded=forwarded)
        conversation.compact()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        brief = (await talk.prompt("two")).brief
        assert brief is not None
        assert f"({ELSEWHERE}) [moved since it was confirmed]" in brief.brief.text
        assert [moved.file_path for moved in talk.events(NoteMoved)] == [ELSEWHERE]
        await talk.saved("three")
        assert talk.state.checkpoint is not None
        newest = process.memory.notes[str(talk.state.checkpoint.path)]
        assert f"continues [[{ELSEWHERE.removesuffix('.md')}]]" in newest["content"]
        assert (len(process.memory.notes), written_twice(process.memory)) == (2, [])
        assert overwrites(process.memory) == [False, False]


async def test_a_taken_address_is_told_whatever_the_note_there_calls_its_tip(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        identity = capture_id("main", SessionId("session"), "checkpoint", EntryId("s2"))
        process.memory.put(address(identity, "tau/checkpoints", "checkpoint").file_path, "x", source_tip="t" * 201)
        await talk.turn("one")
        await talk.settle()
        assert [(capture.capture_id, capture.status) for capture in talk.state.captures] == [(identity, "conflicted")]
        assert process.voice.on("journal") == []
        await talk.saved("two")


async def test_a_note_with_another_tip_is_not_the_checkpoint_though_it_bears_its_id(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        ((path, note),) = process.memory.notes.items()
        forged = str(note["content"]).replace("Oil", "Arsenic")
        process.memory.put(path, forged, **{**note["frontmatter"], "source_tip": "another"})
        conversation.compact()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        brief = (await talk.prompt("two")).brief
        assert brief is not None
        assert "Arsenic" not in brief.brief.text
        assert f"({path}) [local copy" in brief.brief.text
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["conflicted"]
        assert len(process.voice.on(f"gone:{note['frontmatter']['capture_id']}")) == 1


@pytest.mark.parametrize("code", sorted(REFUSALS))
async def test_each_refusal_is_a_status_of_its_own_and_the_next_turn_is_saved(tmp_path: Path, code: str) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"code": code}])
        await talk.turn("light the lamp")
        await talk.settle()
        (refused,) = talk.state.captures
        assert (refused.status, refused.code) == ("refused", code)
        assert f"{refused.path} is refused ({code})" in talk.page
        assert any(code in text for text in process.voice.on("save"))
        assert talk.events(CaptureProbed) == []
        process.memory.faults()
        assert await talk.saved("and the foghorn") == talk.conversation.tip
        assert overwrites(process.memory) == [False, False]


async def test_an_address_taken_by_the_very_note_that_was_sent_confirms_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=["store", "store"])
        await talk.turn("light the lamp")
        await talk.settle()
        (answered,) = talk.events(WriteAnswered)
        assert (answered.outcome, answered.code) == ("unknown", "NOTE_ALREADY_EXISTS")
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["present_same"]
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "read"
        assert len(process.memory.notes) == 1


async def test_an_address_taken_by_another_is_shown_once_and_never_overwritten(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        process.memory.faults(write_note=[{"code": "NOTE_ALREADY_EXISTS"}])
        await talk.turn("light the lamp")
        await talk.settle()
        (stuck,) = talk.state.captures
        assert stuck.status == "in_doubt"
        process.memory.put(str(stuck.path), "Somebody's own note.")
        process.clock.advance(300_000)
        await talk.settle()
        assert [c.status for c in talk.state.captures] == ["conflicted"]
        assert f"{stuck.path} is conflicted" in talk.page
        assert any(str(stuck.path) in text for text in process.voice.on("settle"))
    async with rig(tmp_path) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        before = names(talk.path)
        process.clock.advance(3_600_000)
        await talk.settle()
        assert "capture-probed" not in names(talk.path)[len(before) :]
        assert process.voice.on("settle") == process.voice.on("save") == []
        await talk.saved("and the foghorn")
        assert process.memory.notes[str(stuck.path)]["content"] == "Somebody's own note."
        assert set(overwrites(process.memory)) == {False}
