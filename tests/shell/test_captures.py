"""A turn becomes a note in one write whose intent was on disk first; what interrupts it is recorded and never repeated."""

from pathlib import Path

import anyio
import pytest

from continuity.due import SYNTHESIS_BACKOFF_MS
from journal.events import CaptureBegun, CaptureSuperseded, SynthesisAdvanced, SynthesisFailed, WriteAnswered
from tests.fakes.host import HANDOFF, Conversation, failing
from tests.shell.rig import names, recorded, replayed, rig, until


async def test_a_turn_is_saved_and_its_intent_comes_before_its_answer(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("light the lamp")
        told = names(talk.path)
        path = ["capture-begun", "synthesis-finished", "write-intended", "write-answered"]
        assert [name for name in told if name in path] == path
        assert told.index("work-settled") < told.index("capture-begun")
        assert process.memory.calls()["write_note"] == 1


async def test_an_unchanged_tip_is_not_saved_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("light the lamp")
        assert await talk.session.request("command") == "nothing"
        await talk.settle()
        assert process.memory.calls()["write_note"] == 1


async def test_a_small_turn_waits_for_more_unless_it_is_asked_for(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence={"characters": 1000, "minutes": 10}) as process:
        talk = await process.open()
        await talk.turn("a little")
        await talk.settle()
        assert talk.events(CaptureBegun) == []
        assert await talk.session.request("command") == "due"
        await talk.settle()
        assert [begun.reason for begun in talk.events(CaptureBegun)] == ["command"]


async def test_what_is_kept_already_is_not_called_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path, project="mian") as process:
        talk = await process.open()
        await talk.turn("light the lamp")
        await talk.settle()
        assert await talk.session.request("command") == "kept"
        assert talk.session.unsaved


async def test_a_project_the_server_does_not_have_is_named_and_nothing_is_sent(tmp_path: Path) -> None:
    async with rig(tmp_path, project="mian") as process:
        talk = await process.open()
        await talk.turn("light the lamp")
        await talk.settle()
        (said,) = process.voice.on("project")
        assert "'mian'" in said
        assert "main" in said
        assert [capture.status for capture in talk.state.captures] == ["ready"]
        assert process.memory.calls()["write_note"] == 0


async def test_the_next_handoff_is_made_from_the_last_and_from_what_is_new_alone(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("the first thing")
        await talk.saved("the second thing")
        first, second = process.mind.asked
        assert "the first thing" in first
        assert "the second thing" in second
        assert "the first thing" not in second
        assert "Oil, because there is no wind." in second


@pytest.mark.parametrize("note", ["there", "gone"])
async def test_a_handoff_whose_text_was_erased_is_taken_from_its_note_or_made_anew(tmp_path: Path, note: str) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("the first thing")
        ledger, basis = talk.session.desk.ledger, talk.state.handoff
        assert ledger is not None
        assert basis is not None
        await ledger.journal.append(ledger.current, [], expected=talk.state.position, erase=[basis.sha256])
        if note == "gone":
            (path,) = process.memory.notes
            process.memory.delete(path)
        await talk.saved("the second thing")
        assert ("the first thing" in process.mind.asked[-1]) == (note == "gone")
        assert ("Oil, because there is no wind." in process.mind.asked[-1]) == (note == "there")
        assert "the second thing" in process.mind.asked[-1]


async def test_a_model_that_fails_is_asked_again_only_after_a_rest(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.mind.answer = failing("server-error")
        talk = await process.open()
        await talk.turn("light the lamp")
        await talk.settle()
        for _ in range(3):
            talk.session.runner.wake()
            await talk.settle()
        assert [failed.error for failed in talk.events(SynthesisFailed)] == ["server-error"]
        process.clock.advance(SYNTHESIS_BACKOFF_MS[1])
        await talk.settle()
        assert len(process.mind.asked) == 2


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        (HANDOFF.format(next="Go on.").replace("END-OF-HANDOFF", ""), "no-end-line"),
        ("## Objective\nOnly this.\n\nEND-OF-HANDOFF", "no-heading"),
    ],
)
async def test_an_answer_that_is_no_handoff_is_refused_and_the_good_checkpoint_stands(
    tmp_path: Path, answer: str, why: str
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        tip = await talk.saved("light the lamp")
        process.mind.answer = lambda _: answer
        await talk.turn("and the foghorn")
        await talk.settle()
        assert len(talk.events(SynthesisFailed)) == 1
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == tip
        assert process.voice.on("synthesis")


async def test_parts_already_folded_are_not_read_again_after_a_failure(tmp_path: Path) -> None:
    async with rig(tmp_path, summary_chunk_chars=1000) as process:
        talk = await process.open()
        good = process.mind.answer
        process.mind.answer = lambda text: failing("cut")(text) if "part 3:" in text else good(text)
        await talk.turn("tell me all", "\n".join(f"line {n} of many" for n in range(200)))
        await talk.settle()
        assert len(talk.events(SynthesisAdvanced)) == 2
        process.mind.answer = good
        process.mind.asked.clear()
        process.clock.advance(SYNTHESIS_BACKOFF_MS[1])
        await talk.settle()
        assert talk.state.checkpoint is not None
        assert "line 0 of many" not in "".join(process.mind.asked)
        assert "line 199 of many" in process.mind.asked[-1]


async def test_a_finished_handoff_that_was_never_sent_gives_way_to_a_newer_tip(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="reject")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.turn("while the server is away")
        await talk.settle()
        await talk.turn("and once more")
        await talk.settle()
        assert len(talk.events(CaptureSuperseded)) == 1
        assert [capture.status for capture in talk.state.captures] == ["ready"]


async def test_a_write_cut_off_by_the_end_of_the_process_is_recorded_as_unknown(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=["store", "hold"])
        await talk.turn("light the lamp")
        await until(lambda: process.memory.calls()["write_note"] == 1, "the write")
        path = talk.path
    (answered,) = recorded(path, WriteAnswered)
    assert (answered.outcome, answered.code) == ("unknown", "interrupted")
    assert [capture.status for capture in replayed(path).captures] == ["in_doubt"]


async def test_a_synthesis_cut_off_by_the_end_of_the_process_is_owed_by_the_next(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        process.mind.gate = anyio.Event()
        await talk.turn("light the lamp")
        with anyio.fail_after(20):
            await process.mind.arrived.wait()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.settle()
        assert len(talk.events(CaptureBegun)) == 1
        assert talk.state.checkpoint is not None
