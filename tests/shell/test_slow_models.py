"""However long a message is and however slow or bad a model, nothing is read twice and no turn pays for it again."""

import math
from pathlib import Path

import anyio
import pytest

from continuity.capture import PublicMessage
from continuity.due import SYNTHESIS_BACKOFF_MS
from continuity.shell.ports import ModelFailed
from journal.events import SynthesisFailed, SynthesisFinished
from journal.ids import EntryId
from tests.fakes.clock import FakeClock
from tests.fakes.host import HANDOFF, Conversation, ScriptedMind, failing
from tests.shell.rig import BOUND, Rig, Talk, rig, until

CHUNK = 16_000
LINE = "The keeper climbed the stairs and wrote down what the wind did. "
MILLION = "".join(f"{number:07d} {LINE}" for number in range(1_000_000 // (len(LINE) + 8) + 1))[:1_000_000]
SECRET = "ghp_" + "a1B2" * 9


def parts(characters: int) -> int:
    return math.ceil(characters / CHUNK)


class Timed(Conversation):
    """A conversation that knows, by a clock, when an attempt last began to read it."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock
        self.began_ms = 0

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        self.began_ms = self._clock.now_ms()
        return await super().messages(tip)


async def slow(process: Rig, *, each_ms: int = 100, until_ms: int = 2_000) -> Talk:
    """A session whose model takes its time for every answer, and is cut off when that of the attempt is over."""
    conversation = Timed(process.clock)

    def answer(_: str) -> str:
        if process.clock.advance(each_ms) > conversation.began_ms + until_ms:
            raise ModelFailed("timeout")
        return HANDOFF.format(next="Wire the foghorn.")

    process.mind.answer = answer
    return await process.open(conversation)


def hangs_at(process: Rig, number: int) -> None:
    """Let the model answer until its request `number`, and never that one."""
    good = ScriptedMind().answer

    def answer(text: str) -> str:
        if len(process.mind.asked) == number - 1:
            process.mind.gate = anyio.Event()
        return good(text)

    process.mind.answer = answer


def read(process: Rig) -> str:
    """The conversation as the model was given it, all requests run together."""
    return "".join(asked.partition("The conversation, part")[2] for asked in process.mind.asked)


async def saved(talk: Talk) -> None:
    await talk.settle()
    assert talk.state.checkpoint is not None
    assert talk.state.checkpoint.source_tip == talk.conversation.tip


async def test_a_very_long_message_is_read_once_in_as_many_attempts_as_it_takes(tmp_path: Path) -> None:
    async with rig(tmp_path, summary_timeout_seconds=2) as process:
        talk = await slow(process)
        await talk.turn("Keep this.", MILLION)
        await saved(talk)
        assert len(process.mind.asked) <= parts(len(MILLION) + 20) + 1
        assert talk.events(SynthesisFailed) == []
        assert all(read(process).count(f"{number:07d} The") == 1 for number in range(0, len(MILLION) // 72, 97))


async def test_each_later_turn_costs_one_request(tmp_path: Path) -> None:
    async with rig(tmp_path, summary_timeout_seconds=2) as process:
        talk = await slow(process)
        await talk.turn("Keep this.", MILLION)
        await saved(talk)
        process.mind.asked.clear()
        for _ in range(3):
            await talk.turn("And now?")
            await saved(talk)
        assert len(process.mind.asked) == 3
        assert "The keeper climbed" not in read(process)


async def test_what_was_read_before_the_process_ended_is_not_read_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        hangs_at(process, 20)
        await talk.turn("Keep this.", MILLION)
        await until(lambda: len(process.mind.asked) == 20, "the request that hangs")
        first = process.mind.asked
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await saved(talk)
        assert len(first) + len(process.mind.asked) <= parts(len(MILLION) + 20) + 1
        assert "0000000 The keeper" not in read(process)


async def test_a_model_slower_than_its_time_holds_no_turn_and_is_asked_once(tmp_path: Path) -> None:
    async with rig(tmp_path, summary_timeout_seconds=0.05) as process:
        talk = await process.open()
        process.mind.gate = anyio.Event()
        for number in range(4):
            await talk.turn(f"turn {number}")
            await talk.settle()
        assert len(process.mind.asked) == 1
        assert [failed.error for failed in talk.events(SynthesisFailed)] == ["timeout"]
        assert len(process.voice.on("synthesis")) == 1


async def test_a_turn_does_not_wait_for_a_handoff_that_is_being_made(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.gate = anyio.Event()
        await talk.turn("one")
        with anyio.fail_after(BOUND):
            await process.mind.arrived.wait()
            await talk.turn("two")
            await talk.turn("three")
        assert talk.events(SynthesisFinished) == []


async def test_an_exit_waits_for_a_slow_model_no_longer_than_it_may(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.gate = anyio.Event()
        await talk.turn("one")
        with anyio.fail_after(BOUND):
            assert not await talk.session.ending(0.05)


async def test_a_part_that_failed_is_the_one_that_is_asked_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        good = process.mind.answer
        process.mind.answer = lambda text: failing("cut")(text) if len(process.mind.asked) == 30 else good(text)
        await talk.turn("Keep this.", MILLION)
        await talk.settle()
        process.clock.advance(SYNTHESIS_BACKOFF_MS[1])
        await saved(talk)
        assert len(process.mind.asked) <= parts(len(MILLION) + 20) + 1
        failed, again = (
            asked.partition("The conversation, part")[2].partition(":")[2] for asked in process.mind.asked[29:31]
        )
        assert failed == again


async def test_a_model_that_comes_back_is_told_of_and_so_is_its_next_failure(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        good = process.mind.answer
        for number in range(2):
            process.mind.answer = failing("server-error")
            await talk.turn(f"turn {number}")
            await talk.settle()
            assert "not made yet and will be tried again (server-error)" in talk.page
            process.mind.answer = good
            process.clock.advance(SYNTHESIS_BACKOFF_MS[1])
            await saved(talk)
        assert len(process.voice.on("synthesis")) == 4


async def test_a_persons_command_asks_a_model_that_failed_again_at_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        good, process.mind.answer = process.mind.answer, failing("server-error")
        await talk.turn("Trim the lamp")
        await talk.settle()
        process.clock.advance(SYNTHESIS_BACKOFF_MS[1] // 2)
        await talk.settle()
        assert "(server-error), for less than a minute; /bm-checkpoint tries now" in talk.page
        asked, process.mind.answer = len(process.mind.asked), good
        assert await talk.session.request("command") == "due"
        await saved(talk)
        assert len(process.mind.asked) == asked + 1


@pytest.mark.parametrize("before", range(0, 60, 7))
async def test_a_credential_where_a_part_would_end_is_in_no_request(tmp_path: Path, before: int) -> None:
    async with rig(tmp_path, summary_chunk_chars=1000) as process:
        talk = await process.open()
        filler = "word " * 150 + "x" * before
        await talk.turn("look", f"{filler} {SECRET} {filler} {SECRET} {filler}")
        await saved(talk)
        assert "".join(process.mind.asked).count("[masked:github-token]") == 2
        assert not any(SECRET[start : start + 8] in asked for asked in process.mind.asked for start in range(32))


BAD = HANDOFF.format(next="Sink the ship.")


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("", "empty"),
        ("null", "null"),
        (BAD.replace("END-OF-HANDOFF", ""), "cut-off"),
        (BAD.replace("Sink the ship.", "Sink the ship. " * 4_000), "oversized"),
        (BAD.replace("## Unfinished work", "Unfinished work:"), "missing-heading"),
        (BAD.replace("Sink the ship.", ""), "empty-section"),
    ],
    ids=["nothing", "null", "no end", "too long", "a heading less", "no next action"],
)
async def test_a_bad_answer_becomes_no_checkpoint_and_seeds_none(tmp_path: Path, answer: str, code: str) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        good, tip = process.mind.answer, await talk.saved("light the lamp")
        process.mind.answer = lambda _: answer
        await talk.turn("and the foghorn")
        await talk.settle()
        assert [failed.error for failed in talk.events(SynthesisFailed)] == [code]
        assert (talk.state.checkpoint and talk.state.checkpoint.source_tip, len(process.memory.notes)) == (tip, 1)
        process.mind.answer = good
        process.clock.advance(SYNTHESIS_BACKOFF_MS[1])
        await saved(talk)
        assert "Wire the foghorn." in process.mind.asked[-1]
        assert "Sink the ship" not in process.mind.asked[-1]
