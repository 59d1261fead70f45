"""Whatever a host leaves out, does late or does at a bad moment, each stretch of work is saved once, under its own session."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import anyio
import pytest

from journal.events import CaptureSuperseded, SessionOpened, WorkSettled, WriteAnswered, WriteIntended
from journal.lock import JournalLock
from tests.fakes.host import HANDOFF, Conversation
from tests.shell.rig import BOUND, Rig, Talk, recorded, replayed, rig, until

MINUTE_MS = 60_000
PATIENT = {"characters": 100_000, "minutes": 10}


def bodies(process: Rig) -> list[str]:
    return [str(note) for note in process.memory.notes.values()]


async def left(process: Rig, talk: Talk) -> None:
    """The host goes to another session."""
    talk.session.left()
    await talk.session.leave(lambda: process.owner.spawn("left", talk.session.end_when_idle, daemon=True))


async def test_what_waited_for_its_time_in_a_session_that_was_left_is_saved_at_once_and_of_that_session_alone(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        one = await process.open(Conversation("a"), name="one")
        await one.turn("only in the first")
        path = one.path
        assert not one.state.captures
        await left(process, one)
        two = await process.open(Conversation("b"), name="two")
        await two.turn("only in the second")
        with anyio.fail_after(BOUND):
            await one.session.gone.wait()
        process.clock.advance(11 * MINUTE_MS)
        two.session.runner.wake()
        await until(lambda: len(process.memory.notes) == 2, "the second's note")
        assert ["only in the second" in asked for asked in process.mind.asked] == [False, True]
        assert ["only in the first" in asked for asked in process.mind.asked] == [True, False]
        assert replayed(path).checkpoint is not None


async def test_what_waits_for_its_time_in_two_sessions_is_saved_in_time_under_each(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        one = await process.open(Conversation("a"), name="one")
        two = await process.open(Conversation("b"), name="two")
        await one.turn("only in the first")
        process.clock.advance(5 * MINUTE_MS)
        await two.turn("only in the second")
        process.clock.advance(6 * MINUTE_MS)
        one.session.runner.wake()
        await one.settle()
        assert one.state.checkpoint is not None
        assert two.state.checkpoint is None
        assert ["only in the second" in asked for asked in process.mind.asked] == [False]


async def test_a_turn_whose_end_was_never_told_is_saved_with_the_next_one(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.prompt("one")
        conversation.assistant("Decision: oil, because there is no wind")
        await talk.saved("two")
        assert len(talk.events(WriteIntended)) == 1
        assert "oil, because there is no wind" in process.mind.asked[0]


async def test_a_start_settles_the_turn_whose_end_was_never_told_and_saves_it_once(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.prompt("one")
        conversation.assistant("Decision: oil, because there is no wind")
        path = talk.path
        await process.kill()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.settle()
        assert [event.interrupted for event in recorded(path, WorkSettled)] == [False]
        assert [event.outcome for event in recorded(path, WriteAnswered)] == ["accepted"]
        assert "oil, because there is no wind" in process.mind.asked[0]


async def test_an_interrupted_turn_is_on_record_as_that_once_whoever_settles_it_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        prompt = conversation.user("do a lot")
        await talk.session.prompted(prompt, characters=8, typed=True)
        await talk.session.settled(prompt, interrupted=True)
        await talk.session.settled(prompt, interrupted=True)
        await talk.session.start("reload")
        assert [event.interrupted for event in talk.events(WorkSettled)] == [True]


async def test_a_session_first_met_at_a_reload_has_its_brief_with_the_next_prompt(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        path = talk.path
        await talk.session.close("left-session")
        again = process.session(conversation)
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        await again.session.start("reload")
        prompted = await again.turn("two")
        assert [event.reason for event in recorded(path, SessionOpened)] == ["startup", "resume"]
        assert prompted.brief is not None
        assert "Mend the foghorn." in prompted.brief.brief.text


async def test_a_decision_of_an_answer_in_the_middle_is_in_every_later_checkpoint_and_no_note_is_changed(
    tmp_path: Path,
) -> None:
    decided = "Decision: oil, because there is no wind"
    async with rig(tmp_path) as process:
        process.mind.answer = lambda text: HANDOFF.format(next=decided if decided in text else "Ask.")
        talk = await process.open()
        notes: list[str] = []
        for answer in ("Hello.", decided, "Done.", "Done."):
            await talk.turn("go on", answer)
            await talk.settle()
            assert bodies(process)[: len(notes)] == notes
            notes = bodies(process)
        assert [decided in note for note in notes] == [False, True, True, True]


async def test_of_what_a_long_outage_kept_the_newest_alone_is_sent_and_each_other_gave_way_on_record(
    tmp_path: Path,
) -> None:
    turns = 40
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="reject")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        for number in range(turns):
            await talk.turn(f"work {number}")
            await talk.settle()
        assert len(talk.events(CaptureSuperseded)) == turns - 1
        assert [capture.status for capture in talk.state.captures] == ["ready"]
        process.memory.faults()
        assert await process.link.up(BOUND)
        await talk.settle()
        assert process.memory.calls()["write_note"] == 1
        assert talk.state.captures == ()
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == talk.conversation.tip


async def test_what_was_said_before_a_project_was_named_is_saved_once_it_is(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        await talk.turn("before")
        assert not process.memory.calls()
        process.settings = process.settings.model_copy(update={"project": "main"})
        talk.session.desk.settings = process.settings
        talk.session.desk.profile = process.settings.profile(tmp_path / "work", tmp_path)
        await talk.session.start("reload")
        await talk.saved("after")
        assert "before" in process.mind.asked[0]


async def test_a_reload_asks_for_nothing_again_and_reads_no_note_that_was_just_written(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        before = process.memory.calls()
        for _ in range(3):
            await talk.session.start("reload")
            await talk.settle()
        assert process.memory.calls() == before


async def test_a_start_asks_each_question_once_and_what_was_written_is_not_read_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        await (await process.open(conversation)).saved("one")
    async with rig(tmp_path) as process:
        before = len(process.memory.requests())
        await (await process.open(conversation)).saved("two")
        asked = [r for r in process.memory.requests()[before:] if r["method"] in ("initialize", "tools/call")]
        questions = [str(request["params"]) for request in asked]
        assert len(questions) == len(set(questions))
        assert asked[-1]["name"] == "write_note"


async def test_a_server_that_came_late_brings_its_brief_with_the_next_prompt(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        process.memory.faults(initialize="reject")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        assert (await talk.turn("one")).brief is None
        await until(lambda: process.voice.on("link"), "what is wrong")
        process.memory.faults()
        assert await process.link.up(BOUND)
        brief = (await talk.turn("two")).brief
        assert brief is not None
        assert "Mend the foghorn." in brief.brief.text


async def test_a_bound_is_counted_in_seconds(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=0.5) as process:
        process.memory.faults(initialize="hang")
        began = anyio.current_time()
        assert await process.link.up(BOUND) is None
        assert anyio.current_time() - began >= 0.5
        assert process.link.error == "timeout"


@pytest.mark.parametrize("steps", [1, 30, 300])
async def test_a_start_that_the_end_cuts_off_leaves_the_journal_free_and_as_it_was(tmp_path: Path, steps: int) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        path = talk.path
    async with rig(tmp_path) as process:
        again = process.session(conversation)
        process.owner.spawn("start", partial(again.session.start, "resume"))
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
    JournalLock.acquire(path, process.writer).release()
    assert replayed(path).closed
    async with rig(tmp_path) as process:
        await (await process.open(conversation)).saved("two")
