"""A compaction costs one checkpoint at most, whatever is told of it, and a chain of them leads to the newest work."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from continuity.commands import Observed
from continuity.shell.session import Prompted
from journal.events import (
    CaptureBegun,
    CaptureSuperseded,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    SessionOpened,
    WriteAnswered,
)
from journal.events.lifecycle import CompactionReason
from journal.ids import EntryId
from tests.fakes.host import Conversation
from tests.fakes.story import handoff_of
from tests.shell.rig import Rig, Talk, replayed, rig

PATIENT = {"characters": 100_000, "minutes": 60}
"""Nothing but a compaction makes a checkpoint due."""

type Way = Literal["manual", "threshold", "overflow"]
WAYS: Sequence[Way] = ("manual", "threshold", "overflow")


def started(reason: CompactionReason = "overflow") -> CompactionStarted:
    return CompactionStarted(reason=reason)


def ended(reason: CompactionReason = "overflow", *, aborted: bool = False) -> CompactionEnded:
    return CompactionEnded(reason=reason, aborted=aborted)


async def told(talk: Talk, *facts: Observed) -> None:
    for fact in facts:
        await talk.session.note(fact)


async def worked(talk: Talk, text: str, way: Way) -> None:
    """One turn with a compaction in it or after it, told as stock Tau tells it."""
    await talk.prompt(text)
    if way == "overflow":
        await told(talk, started())
        talk.conversation.compact()
        await told(talk, ended())
    await talk.session.settled(talk.conversation.assistant(f"Done: {text}"), interrupted=False)
    if way != "overflow":
        talk.conversation.compact()
    await talk.settle()


def continues(process: Rig, path: str) -> str | None:
    """The note that the note at `path` goes on from, as it says itself."""
    _, _, rest = str(process.memory.notes[path]["content"]).partition("- continues [[")
    return rest.partition("]]")[0] or None


def chain(process: Rig, talk: Talk) -> list[str]:
    """Notes in the order in which they were confirmed; each has to continue the one before it."""
    paths = [answer.file_path for answer in talk.events(WriteAnswered) if answer.outcome == "accepted"]
    found = [path for path in paths if path is not None]
    permalinks = [process.memory.notes[path]["permalink"] for path in found]
    assert [continues(process, path) for path in found] == [None, *permalinks[:-1]]
    return found


# -- many of them --------------------------------------------------------------


async def test_thirty_compactions_leave_a_chain_in_which_each_note_continues_the_one_before(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        process.mind.answer = handoff_of
        talk = await process.open()
        for n in range(30):
            await worked(talk, f"Next: step {n}", WAYS[n % 3])
        for n in range(30, 33):
            await talk.turn(f"Next: step {n}")
        await talk.session.request("command")
        await talk.settle()
        assert len(chain(process, talk)) == len(talk.events(CaptureBegun)) == 31
        assert talk.events(CaptureSuperseded) == []
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == talk.conversation.tip
        assert talk.state == replayed(talk.path)


async def test_after_thirty_compactions_and_a_reload_the_brief_is_about_the_newest_work(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, cadence=PATIENT) as process:
        process.mind.answer = handoff_of
        talk = await process.open(conversation)
        for n in range(30):
            await worked(talk, f"Next: step {n}", WAYS[n % 3])
    async with rig(tmp_path, cadence=PATIENT) as process:
        process.mind.answer = handoff_of
        brief = text_of(await (await process.open(conversation)).prompt("go on"))
        assert "step 29" in brief
        assert not any(f"step {n}\n" in brief for n in range(29))


def text_of(prompted: Prompted) -> str:
    assert prompted.brief is not None
    return prompted.brief.brief.text


# -- one of them ---------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
async def test_a_compaction_makes_one_checkpoint_however_it_is_learnt_of(tmp_path: Path, way: Way) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open()
        await talk.turn("what was said before")
        await worked(talk, "what was said last", way)
        await talk.prompt("go on")
        await talk.settle()
        assert [begun.reason for begun in talk.events(CaptureBegun)] == ["compaction"]
        assert len(talk.events(CompactionNoticed)) == 1
        assert process.memory.calls()["write_note"] == 1


async def test_compactions_that_come_together_and_one_that_a_move_came_back_before_are_each_noticed_once(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open()
        await talk.turn("what was said before")
        older, newer = talk.conversation.compact(), talk.conversation.compact()
        await talk.turn("go on")
        talk.conversation.go_to(older)
        await talk.turn("another way")
        assert [noticed.entry for noticed in talk.events(CompactionNoticed, branch=2)] == [older, newer]
        assert talk.events(SessionOpened, branch=2)[-1].reason == "branch"


STARTS_AND_ENDS: dict[str, tuple[Sequence[Observed], int]] = {
    "a start without an end": ((started(),), 1),
    "an end without a start": ((ended(),), 0),
    "two starts": ((started(), started("manual"), ended()), 1),
    "an aborted end": ((started(), ended(aborted=True)), 1),
    "two ends": ((started(), ended(), ended()), 1),
    "an end before its start": ((ended(), started()), 1),
    "a reason nobody knows": ((started("unknown"), ended("unknown")), 1),
    "a compaction that folded nothing": ((started("threshold"), ended("threshold")), 1),
}


@pytest.mark.parametrize("case", STARTS_AND_ENDS)
async def test_whatever_is_told_of_a_compaction_costs_one_checkpoint_at_most(tmp_path: Path, case: str) -> None:
    facts, checkpoints = STARTS_AND_ENDS[case]
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open()
        await talk.turn("what there is to lose")
        await told(talk, *facts)
        await talk.settle()
        assert len(talk.events(CaptureBegun)) == checkpoints
        assert len(talk.events(CompactionStarted)) + len(talk.events(CompactionEnded)) == len(facts)
        await talk.turn("and on it goes")
        await talk.settle()
        assert len(talk.events(CaptureBegun)) == checkpoints
        assert talk.state == replayed(talk.path)


async def test_a_compaction_that_was_aborted_puts_no_brief_into_context(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open()
        await talk.turn("what there is to lose")
        await told(talk, started(), ended(aborted=True))
        await talk.settle()
        assert (await talk.prompt("go on")).brief is None


async def test_a_compaction_that_a_kill_cut_off_is_in_progress_for_nobody_afterwards(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open(conversation)
        await talk.turn("what there is to lose")
        await told(talk, started("manual"))
        await process.kill()
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open(conversation)
        assert len(talk.events(CaptureBegun)) == process.memory.calls()["write_note"] == 1
        await talk.turn("and on it goes")
        await told(talk, started("manual"), ended("manual"))
        await talk.settle()
        assert len(chain(process, talk)) == 2


async def test_a_host_that_tells_of_no_compaction_at_all_still_has_its_turns_saved(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        tips = [await talk.saved(f"turn {n}") for n in range(3)]
        assert [begun.source_tip for begun in talk.events(CaptureBegun)] == tips
        assert {opened.level for opened in talk.events(SessionOpened)} == {"B"}
        assert "a compaction you start or a change of branch is noticed at your next prompt" in talk.page


# -- a crash in between ----------------------------------------------------------


async def confirmed_and_killed(root: Path, conversation: Conversation) -> EntryId:
    """A compaction begins, its checkpoint is confirmed, and the process dies before the host has folded anything."""
    async with rig(root, cadence=PATIENT) as process:
        talk = await process.open(conversation)
        await talk.turn("what is about to be folded")
        await told(talk, started("manual"))
        await talk.settle()
        assert talk.state.checkpoint is not None
        await process.kill()
        return talk.conversation.tip or EntryId("")


async def test_the_same_stretch_is_compacted_again_after_a_crash_with_the_checkpoint_there_is(tmp_path: Path) -> None:
    conversation = Conversation()
    tip = await confirmed_and_killed(tmp_path, conversation)
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open(conversation)
        await told(talk, started("manual"))
        conversation.compact()
        await told(talk, ended("manual"))
        await talk.settle()
        brief = text_of(await talk.prompt("go on"))
        assert process.memory.calls()["write_note"] == 1
        assert [begun.source_tip for begun in talk.events(CaptureBegun)] == [tip]
        assert "Keep the lamp lit." in brief
        assert process.voice.on("failure") == []


async def test_after_such_a_crash_the_next_checkpoint_continues_that_one(tmp_path: Path) -> None:
    conversation = Conversation()
    await confirmed_and_killed(tmp_path, conversation)
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open(conversation)
        await worked(talk, "what came after", "manual")
        await talk.prompt("go on")
        await talk.settle()
        assert len(chain(process, talk)) == 2
        assert "what is about to be folded" not in process.mind.asked[-1]
