"""Effects stand in lanes: one at a time in each, none waits for another's, and one that fails rests without ending the rest."""

import os
import signal
from pathlib import Path

import anyio

from continuity.due import PROBE_SPACING_MS, SUBMIT_SPACING_MS
from continuity.memory.notes import read_note
from continuity.shell.runner import REST_MS
from journal.events import (
    BriefDelivered,
    CaptureProbed,
    OperationFailed,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    SynthesisFailed,
    WriteAnswered,
    WriteIntended,
)
from tests.fakes.host import HANDOFF, Conversation
from tests.shell.rig import BOUND, Talk, recorded, replayed, rig, until, unwritable


def ahead(talk: Talk) -> list[RecallPlanned]:
    """The rounds that were asked ahead of a prompt."""
    return [planned for planned in talk.events(RecallPlanned) if planned.topic_sha256 is None]


async def test_a_slow_model_holds_back_neither_a_probe_nor_recall(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        process.memory.faults(write_note=[{"error": "disk full"}])
        await talk.turn("one")
        await until(lambda: talk.events(WriteAnswered), "an outcome")
        await talk.settle()
        process.memory.faults()
        process.mind.gate = anyio.Event()
        await talk.turn("two")
        await until(lambda: len(process.mind.asked) == 2, "a question to the model")
        process.clock.advance(PROBE_SPACING_MS[1])
        talk.session.runner.wake()
        await until(lambda: len(talk.events(CaptureProbed)) == 2, "a probe")
        conversation.compact()
        await talk.prompt("three")
        await until(lambda: [each.reason for each in ahead(talk)] == ["start", "compaction"], "a recall")
        process.mind.gate.set()
        await talk.settle()


async def test_one_capture_is_under_way_at_a_time_and_the_newest_tip_is_next(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.gate = anyio.Event()
        for number in range(5):
            await talk.turn(f"turn {number}")
        process.mind.gate.set()
        await talk.settle()
        assert len(process.mind.asked) == 2
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == talk.conversation.tip


async def test_what_was_not_sent_is_attempted_again_as_a_new_attempt(tmp_path: Path) -> None:
    conversation = Conversation()
    path = tmp_path / "state" / "session.journal"
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        connection = process.link.connection
        assert connection is not None
        await talk.prompt("one")
        await talk.settle()
        os.killpg(connection.process.process_group, signal.SIGSTOP)
        async with anyio.create_task_group() as group:
            group.start_soon(read_note, connection, "main", "x" * 500_000, 10)  # it fills the pipe: what follows waits
            await talk.session.settled(conversation.assistant("Done."), interrupted=False)
            await until(lambda: talk.events(WriteIntended), "the intent")
            await process.end()
    assert [answer.outcome for answer in recorded(path, WriteAnswered)] == ["not-sent"]
    assert process.memory.calls()["write_note"] == 0
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        process.clock.advance(SUBMIT_SPACING_MS[1])
        await talk.settle()
        assert [intent.attempt for intent in talk.events(WriteIntended)] == [1, 2]
        assert [answer.outcome for answer in talk.events(WriteAnswered)] == ["not-sent", "accepted"]
        assert process.memory.calls()["write_note"] == 1


async def test_an_intent_that_could_not_be_recorded_is_not_sent_and_sent_once_when_it_can(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.gate = anyio.Event()
        await talk.turn("one")
        await until(lambda: process.mind.asked, "a question to the model")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            process.mind.gate.set()
            await talk.settle()
            assert process.memory.calls()["write_note"] == 0
            assert process.voice.on("journal")
        process.clock.advance(REST_MS)
        await talk.settle()
        assert process.memory.calls()["write_note"] == 1
        assert len(talk.events(WriteIntended)) == 1
        assert talk.state == replayed(talk.path)


async def test_an_answer_that_could_not_be_recorded_is_recorded_when_it_can(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=["hold", "store"])
        await talk.turn("one")
        await until(lambda: talk.events(WriteIntended), "the intent")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            process.memory.release()
            await until(lambda: talk.session.desk.late, "a late outcome")
        await talk.settle()
        assert [answer.outcome for answer in talk.events(WriteAnswered)] == ["accepted"]
        assert process.memory.calls()["write_note"] == 1


async def test_an_effect_that_fails_in_an_unforeseen_way_is_recorded_and_rests(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.answer = unforeseen
        await talk.turn("one")
        for _ in range(3):
            await talk.settle()
        assert len(process.mind.asked) == 1
        (failed,) = talk.events(OperationFailed)
        assert (failed.operation, failed.error) == ("synthesise", "ZeroDivisionError")
        process.mind.answer = lambda _: HANDOFF.format(next="Go on.")
        process.clock.advance(REST_MS)
        await talk.settle()
        assert talk.state.checkpoint is not None


async def test_a_clock_that_was_set_back_ends_a_rest(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.answer = unforeseen
        await talk.turn("one")
        await talk.settle()
        process.mind.answer = lambda _: HANDOFF.format(next="Go on.")
        process.clock.advance(-86_400_000)
        await talk.settle()
        assert talk.state.checkpoint is not None


def unforeseen(text: str) -> str:
    raise ZeroDivisionError(text)


async def test_what_cannot_be_recorded_is_not_done_over_and_over(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        process.mind.gate, process.mind.answer = anyio.Event(), lambda _: "null"
        await talk.turn("two")
        await until(lambda: len(process.mind.asked) == 2, "a question to the model")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            process.mind.gate.set()
            for _ in range(3):
                await talk.settle()
            assert len(process.mind.asked) == 2
            process.clock.advance(REST_MS)
            talk.session.runner.wake()
            await until(lambda: len(process.mind.asked) == 3, "another question")
            await talk.settle()
        assert not talk.events(SynthesisFailed)


async def test_a_question_that_fails_costs_its_own_answer_alone(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        process.memory.faults(recent_activity=["empty"])
        talk = await process.open()
        prompted = await talk.prompt("hello")
        assert [failed.name for failed in talk.events(RecallFailed)] == ["recent"]
        assert talk.events(RecallAnswered)
        assert prompted.brief is not None
        assert "Mend the foghorn." in prompted.brief.brief.text


async def test_recall_is_asked_once_for_one_start(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        asked = process.memory.calls()["search_notes"]
        assert asked > 0
        for number in range(3):
            await talk.saved(f"turn {number}")
        assert process.memory.calls()["search_notes"] == asked
        assert len(talk.events(RecallPlanned)) == 1


async def test_a_brief_after_a_compaction_holds_the_checkpoint_made_because_of_it(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence={"characters": 100_000, "minutes": 60}) as process:
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        talk = await process.open()
        first = (await talk.turn("one")).brief
        assert first is not None
        await talk.session.delivered(first)
        talk.conversation.brief(first.brief.sha256)
        talk.conversation.compact()
        process.mind.gate = anyio.Event()
        second = (await talk.prompt("two")).brief
        assert second is not None
        await talk.session.delivered(second)
        talk.conversation.brief(second.brief.sha256)
        process.mind.gate.set()
        await talk.session.settled(talk.conversation.assistant("Done."), interrupted=False)
        await talk.settle()
        third = (await talk.prompt("three")).brief
        assert third is not None
        assert "Oil, because there is no wind." in third.brief.text
        await talk.session.delivered(third)
        talk.conversation.brief(third.brief.sha256)
        assert (await talk.prompt("four")).brief is None
        assert talk.events(BriefDelivered)[-1].complete


async def test_a_drained_session_owes_nothing_that_can_be_done_now(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.gate = anyio.Event()
        await talk.turn("one")
        drained: list[bool] = []

        async def wait(seconds: float) -> None:
            drained.append(await talk.session.runner.drained(seconds))

        async with anyio.create_task_group() as group:
            group.start_soon(wait, BOUND)
            group.start_soon(wait, BOUND)
            await wait(0.05)
            process.mind.gate.set()
        assert drained == [False, True, True]
        assert not talk.events(SynthesisFailed)


async def test_whoever_waits_for_a_session_is_told_when_it_lets_go(tmp_path: Path) -> None:
    """An exit may find a session that is just being left."""
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(talk.session.runner.drained, BOUND)
                group.start_soon(talk.session.close, "left-session")
