"""What was cut off is material and no message, and a turn that brought no answer costs no model anything."""

from pathlib import Path

import anyio
import pytest

from continuity.due import SYNTHESIS_BACKOFF_MS
from journal.events import CaptureBegun, SynthesisFailed, WorkSettled
from tests.fakes.host import Conversation, failing
from tests.shell.rig import BOUND, Talk, replayed, rig

SECRET = "ghp_" + "a1B2" * 9


async def failed(talk: Talk, text: str) -> None:
    """A prompt that the model did not answer."""
    await talk.prompt(text)
    await talk.session.settled(talk.conversation.assistant("", cut=True), interrupted=True)
    await talk.settle()


async def test_a_cut_answer_is_read_by_the_next_synthesis_as_cut_and_masked(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.prompt("mend the foghorn")
        await talk.session.settled(talk.conversation.assistant(f"I set {SECRET} and", cut=True), interrupted=True)
        tip = await talk.saved("go on")
        assert tip == talk.conversation.tip
        (asked,) = process.mind.asked
        assert "An answer that was cut off:\n```text\nI set [masked:github-token] and\n```" in asked
        assert SECRET not in asked


async def test_a_cut_answer_is_never_the_tip_of_a_checkpoint(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.prompt("mend the foghorn")
        said = talk.conversation.tip
        await talk.session.settled(talk.conversation.assistant("I have", cut=True), interrupted=False)
        await talk.settle()
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == said
        assert "I have" not in process.mind.asked[0]


async def test_turns_without_an_answer_ask_no_model_and_say_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.answer = failing("server-error")
        before = len(process.voice.notices)
        for number in range(3):
            await failed(talk, f"light the lamp, attempt {number}")
        assert process.mind.asked == []
        assert len(process.voice.notices) == before
        assert [settled.interrupted for settled in talk.events(WorkSettled)] == [True, True, True]


async def test_what_turns_without_an_answer_gathered_is_captured_with_the_next_answer(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await failed(talk, "light the lamp")
        assert "14 new characters since the last capture; saved once a turn brings an answer" in talk.page
        await talk.saved("and now?")
        assert "saved once a turn brings an answer" not in talk.page
        (asked,) = process.mind.asked
        assert "light the lamp" in asked
        assert "and now?" in asked


@pytest.mark.parametrize("reason", ["command", "compaction", "left-session", "quit"])
async def test_what_a_turn_without_an_answer_gathered_is_captured_when_something_asks_for_it(
    tmp_path: Path, reason: str
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await failed(talk, "light the lamp")
        assert await talk.session.request(reason) == "due"
        await talk.settle()
        assert [begun.reason for begun in talk.events(CaptureBegun)] == [reason]


async def test_a_turn_that_was_stopped_after_an_answer_is_captured(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.prompt("light the lamp")
        await talk.session.settled(talk.conversation.assistant("Lit."), interrupted=True)
        await talk.settle()
        assert [settled.interrupted for settled in talk.events(WorkSettled)] == [False]
        assert len(process.mind.asked) == 1


async def test_a_quit_after_a_failed_turn_asks_a_dead_model_once_and_does_not_wait_for_it(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.mind.answer = failing("server-error")
        talk = await process.open(conversation)
        await failed(talk, "light the lamp")
        assert await talk.session.ending(BOUND)
        assert len(process.mind.asked) == 1
        path = talk.path
    (capture,) = replayed(path).captures
    assert (capture.status, capture.reason) == ("begun", "quit")


async def test_a_quit_during_the_rest_of_a_model_that_failed_asks_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.answer = failing("server-error")
        await talk.turn("light the lamp")
        await talk.settle()
        process.mind.gate = anyio.Event()
        await failed(talk, "are you there?")
        assert await talk.session.ending(BOUND)
        assert len(process.mind.asked) == 1
        assert len(talk.events(SynthesisFailed)) == 1


async def test_a_model_that_stays_dead_is_asked_ever_more_rarely_whatever_the_turns(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.answer = failing("server-error")
        for number in range(12):
            await talk.turn(f"turn {number}")
            await talk.settle()
            process.clock.advance(SYNTHESIS_BACKOFF_MS[1])
        assert len(process.mind.asked) == 3
        assert len(process.voice.on("synthesis")) == 1
