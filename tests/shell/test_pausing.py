"""What is said off the record is in no later checkpoint, whatever happens in between; what was said before it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from continuity.shell.announced import AnnouncedSession
from continuity.state import Span
from journal.events import CaptureBegun, CompactionEnded, CompactionStarted, Paused, RecallPlanned, Resumed, WorkSettled
from journal.ids import EntryId
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, Rig, Talk, recorded, replayed, rig, unwritable

CANARY = "the marsh-warbler nests under the jetty"


async def off(talk: Talk) -> str:
    return await talk.session.switch(off=True, anchor=talk.conversation.tip)


async def on(talk: Talk) -> str:
    return await talk.session.switch(off=False, anchor=talk.conversation.tip)


def leaked(process: Rig, talk: Talk) -> bool:
    """Whether words said off the record are in the journal, in a note, or were given to the model."""
    files = b"".join(path.read_bytes() for path in talk.path.parent.glob(f"{talk.path.name}*"))
    notes = str(process.memory.notes)
    return CANARY.encode() in files or CANARY in notes or any(CANARY in text for text in process.mind.asked)


async def test_nothing_is_captured_while_paused_and_what_was_said_then_never_is(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        tip = await talk.saved("Trim the lamp")
        assert await off(talk) == "recorded"
        await talk.turn(CANARY, f"Noted: {CANARY}")
        await talk.settle()
        assert [one.source_tip for one in talk.events(CaptureBegun)] == [tip]
        assert await on(talk) == "recorded"
        await talk.turn("Fill the lamp")
        await talk.settle()
        assert [one.prior_tip for one in talk.events(CaptureBegun)] == [None, tip]
        assert "Fill the lamp" in process.mind.asked[-1]
        assert not leaked(process, talk)


async def test_characters_said_off_the_record_are_not_counted(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence={"characters": 1000, "minutes": 60}) as process:
        talk = await process.open()
        await talk.turn("one")
        await off(talk)
        await talk.turn("x" * 900)
        await on(talk)
        await talk.turn("two")
        assert [event.characters for event in talk.events(WorkSettled)] == [8, 0, 8]
        assert (talk.state.gathered.characters, talk.state.captures) == (16, ())


async def test_a_pause_before_the_first_prompt_holds_and_is_recorded_with_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert await off(talk) == "waiting"
        await talk.turn(CANARY)
        assert talk.state.off == (Span(None),)
        await on(talk)
        await talk.turn("Fill the lamp")
        await talk.settle()
        assert len(process.memory.notes) == 1
        assert not leaked(process, talk)


async def test_a_pause_taken_back_before_the_first_prompt_leaves_no_row(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await off(talk)
        assert (await on(talk), talk.session.pausing.paused) == ("waiting", False)
        await talk.saved("Trim the lamp")
        assert talk.events(Paused) == []


@pytest.mark.parametrize("end", ["kill", "close"])
async def test_a_pause_survives_the_end_of_the_process(tmp_path: Path, end: str) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.turn("Trim the lamp")
        await off(talk)
        await talk.turn(CANARY)
        await (process.kill() if end == "kill" else talk.session.close("quit"))
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert talk.session.pausing.paused
        await talk.turn(CANARY)
        assert await talk.session.switch(off=False, anchor=None) == "recorded"
        await talk.saved("Fill the lamp")
        assert not leaked(process, talk)


async def test_the_end_of_the_session_and_a_command_save_nothing_while_paused(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence={"characters": 10_000, "minutes": 60}) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await off(talk)
        await talk.turn(CANARY)
        assert [await talk.session.request(why) for why in ("command", "compaction", "quit")] == ["paused"] * 3
        assert await talk.session.ending(5)
        assert (process.memory.notes, process.mind.asked) == ({}, [])


async def test_a_resume_while_the_model_answers_waits_for_the_answer(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await off(talk)
        await talk.prompt(CANARY)
        assert (await on(talk), talk.session.pausing.paused) == ("after-this", True)
        await talk.session.settled(talk.conversation.assistant(f"So {CANARY}"), interrupted=False)
        assert not talk.session.pausing.paused
        await talk.saved("Fill the lamp")
        assert not leaked(process, talk)


async def test_a_pause_while_the_model_answers_takes_the_answer_out(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        prompt = (await talk.prompt("Trim the lamp"), talk.conversation.tip)[1]
        await off(talk)
        await talk.session.settled(talk.conversation.assistant(CANARY), interrupted=False)
        await on(talk)
        await talk.saved("Fill the lamp")
        assert "Trim the lamp" in process.mind.asked[0]
        assert talk.state.off[0].after == prompt
        assert not leaked(process, talk)


async def test_a_branch_below_the_beginning_of_the_pause_is_off_the_record_too(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        early = await talk.saved("Trim the lamp")
        await talk.saved("Fill the lamp")
        await off(talk)
        talk.conversation.go_to(early)
        await talk.turn(CANARY)
        assert (talk.state.branch, talk.state.paused) == (2, True)
        await on(talk)
        await talk.saved("Wire the foghorn")
        assert not leaked(process, talk)


async def test_a_resume_from_another_place_in_the_tree_leaves_what_was_said_off_the_record(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        early = await talk.saved("Trim the lamp")
        await off(talk)
        await talk.turn(CANARY)
        left = talk.conversation.tip
        talk.conversation.go_to(early)  # a mere look: no prompt follows there
        await on(talk)
        talk.conversation.go_to(left)
        await talk.saved("Fill the lamp")
        assert not leaked(process, talk)


async def test_a_branch_from_within_a_pause_that_is_over_goes_on_the_record(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        await off(talk)
        await talk.turn(CANARY)
        within = talk.conversation.tip
        await talk.turn(CANARY)
        await on(talk)
        talk.conversation.go_to(within)
        await talk.saved("Fill the lamp")
        assert (talk.state.branch, talk.state.paused) == (2, False)
        assert not leaked(process, talk)


async def test_whoever_comes_back_to_a_branch_left_while_paused_finds_it_off_until_resumed(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        early = await talk.saved("Trim the lamp")
        await talk.saved("Fill the lamp")
        left = talk.conversation.tip
        talk.conversation.go_to(early)
        await talk.saved("Wire the foghorn")
        await off(talk)
        talk.conversation.go_to(left)
        await talk.turn(CANARY)
        await on(talk)
        await talk.saved("Paint the rail")
        assert (talk.state.branch, replayed(talk.path, 2).paused) == (1, False)
        assert not leaked(process, talk)


async def test_the_topic_of_a_prompt_off_the_record_is_not_asked_about(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open()
        await off(talk)
        process.memory.put("tasks/lamp.md", "Trim it.", type="task", status="active")
        await talk.prompt(CANARY)
        assert talk.events(RecallPlanned)
        assert all(event.topic_sha256 is None for event in talk.events(RecallPlanned))
        assert "warbler" not in str(process.memory.requests())


async def test_a_pause_that_cannot_be_recorded_holds_and_is_recorded_before_anything_counts(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            assert await off(talk) == "unrecorded"
        assert talk.session.pausing.paused
        await talk.turn(CANARY)
        assert len(recorded(talk.path, Paused)) == 1
        await on(talk)
        await talk.saved("Fill the lamp")
        assert not leaked(process, talk)


async def test_a_transcript_has_every_message_but_those_off_the_record(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False, capture_transcript=True) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await off(talk)
        await talk.turn(CANARY, f"So {CANARY}")
        await talk.settle()
        await on(talk)
        await talk.turn("Fill the lamp")
        await talk.settle()
        texts = [str(note["content"]) for note in process.memory.notes.values()]
        assert [sum(words in text for text in texts) for words in ("Trim", "Fill", "Done.")] == [1, 1, 2]
        assert (len(texts), leaked(process, talk)) == (4, False)


async def test_a_restart_with_everything_on_disk_leaves_a_pause_as_it_is(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await off(talk)
        state = talk.state
        again = replayed(talk.path)
        assert (again.paused, again.paused_ms, again.off) == (True, state.paused_ms, state.off)


async def test_asking_twice_is_told_and_recorded_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        assert (await on(talk), await off(talk), await off(talk)) == ("already", "recorded", "already")
        assert (await on(talk), await on(talk)) == ("recorded", "already")
        assert (len(talk.events(Paused)), len(talk.events(Resumed))) == (1, 1)


async def spoken_apart(talk: Talk) -> list[EntryId]:
    """A turn off the record with an answer before its last, and back on it; return the turn's messages, oldest first."""
    await off(talk)
    await talk.prompt(CANARY)
    asked = talk.conversation.tip
    first = talk.conversation.assistant(f"Half: {CANARY}")
    last = talk.conversation.assistant(CANARY)
    await talk.session.settled(last, interrupted=False)
    await on(talk)
    assert asked is not None
    return [asked, first, last]


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("transcripts", [False, True])
async def test_a_branch_from_any_message_of_a_pause_that_is_over_leaves_them_out(
    tmp_path: Path, number: int, transcripts: bool
) -> None:
    async with rig(tmp_path, capture_transcript=transcripts) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        talk.conversation.go_to((await spoken_apart(talk))[number])
        await talk.saved("Fill the lamp")
        assert not talk.state.paused
        assert "Fill the lamp" in process.mind.asked[-1]
        assert not leaked(process, talk)


async def test_an_answer_that_a_killed_process_got_off_the_record_stays_off_it(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        base = await talk.saved("Trim the lamp")
        await off(talk)
        await talk.prompt("Whose nest is it?")
        await process.kill()
    answer = conversation.assistant(CANARY)
    conversation.go_to(base)
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await on(talk)
        await talk.saved("Wire the foghorn")
        conversation.go_to(answer)
        await talk.saved("Fill the lamp")
        assert not leaked(process, talk)


async def test_a_person_who_moves_on_before_the_answer_is_settled_finds_it_off_the_record(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        base = await talk.saved("Trim the lamp")
        await off(talk)
        await talk.prompt("Whose nest is it?")
        answer = talk.conversation.assistant(CANARY)
        talk.conversation.go_to(base)
        await talk.turn("Wire the foghorn")
        await on(talk)
        await talk.saved("Paint the rail")
        talk.conversation.go_to(answer)
        await talk.saved("Fill the lamp")
        assert talk.state.branch == 1
        assert not leaked(process, talk)


@pytest.mark.parametrize("rests", [False, True])
async def test_a_resume_in_the_middle_of_a_turn_leaves_all_of_the_turn_off_the_record(
    tmp_path: Path, rests: bool
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        await off(talk)
        await talk.prompt("Whose nest is it?")
        within = talk.conversation.assistant(f"Half: {CANARY}")
        last = talk.conversation.assistant(CANARY)
        if rests:
            await talk.session.settled(last, interrupted=False)
        talk.session.pausing.running = False
        talk.conversation.go_to(within)
        await on(talk)
        await talk.saved("Fill the lamp")
        talk.conversation.go_to(last)
        await talk.saved("Wire the foghorn")
        assert not leaked(process, talk)


async def test_what_a_run_without_a_prompt_goes_on_from_is_not_taken_for_its_prompt(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        base = await talk.saved("Trim the lamp")
        await off(talk)
        await talk.prompt("Whose nest is it?")
        answer = talk.conversation.assistant(CANARY)
        talk.conversation.go_to(base)
        await talk.turn("Wire the foghorn")
        await on(talk)
        talk.conversation.go_to(answer)
        await talk.session.prompted(answer, characters=0, typed=False)
        await talk.session.settled(talk.conversation.assistant("Done."), interrupted=False)
        await talk.settle()
        await talk.saved("Fill the lamp")
        assert not leaked(process, talk)


async def test_an_answer_cut_off_in_a_pause_stays_off_the_record_though_nothing_else_was_said(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.prompt("Trim the lamp")
        await off(talk)
        talk.conversation.assistant(CANARY, cut=True)
        await talk.session.settled(talk.conversation.tip, interrupted=True)
        await on(talk)
        await talk.saved("Fill the lamp")
        assert "Trim the lamp" in process.mind.asked[-1]
        assert not leaked(process, talk)


async def broken(talk: Talk, prompt: str, answer: str) -> None:
    """A turn of which no boundary gets to the disk."""
    ledger = talk.session.desk.ledger
    assert ledger is not None
    async with unwritable(ledger.journal):
        await talk.turn(prompt, answer)


@pytest.mark.parametrize("places", ["prompt", "rest"])
async def test_what_was_never_recorded_in_a_pause_elsewhere_stays_off_the_record(tmp_path: Path, places: str) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        early = await talk.saved("Trim the lamp")
        await talk.saved("Fill the lamp")
        await off(talk)
        talk.conversation.go_to(early)
        await broken(talk, CANARY, f"So {CANARY}")
        assert await on(talk) == "recorded"
        ledger = talk.session.desk.ledger
        assert ledger is not None
        if places == "rest":
            async with unwritable(ledger.journal):
                await talk.prompt("Wire the foghorn")
        else:
            await talk.prompt("Wire the foghorn")
        await talk.session.settled(talk.conversation.assistant("It is wired."), interrupted=False)
        await talk.settle()
        assert "Wire the foghorn" in process.mind.asked[-1]
        assert (talk.state.branch, leaked(process, talk)) == (2, False)


async def test_wishes_the_disk_refused_are_recorded_where_the_session_goes_on(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        early = await talk.saved("Trim the lamp")
        await talk.saved("Fill the lamp")
        talk.conversation.go_to(early)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            await talk.turn("Oil the hinge")
            assert await off(talk) == "unrecorded"
            await talk.turn(CANARY)
            within = talk.conversation.tip
            await talk.turn(CANARY)
            assert await on(talk) == "unrecorded"
        talk.conversation.go_to(within)
        await talk.saved("Wire the foghorn")
        assert (talk.state.branch, leaked(process, talk)) == (2, False)


async def test_a_host_that_announces_its_moves_leaks_nothing_of_a_pause_either(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = process.session(Conversation(), kind=AnnouncedSession)
        ours = talk.session
        assert isinstance(ours, AnnouncedSession)
        await ours.start("startup")
        await process.link.up(BOUND)
        await talk.saved("Trim the lamp")
        within = (await spoken_apart(talk))[1]
        talk.conversation.go_to(within)
        await ours.moved(within)
        await ours.asked(within, "Fill the lamp")
        await talk.saved("Fill the lamp")
        assert talk.state.branch == 2
        assert not leaked(process, talk)


async def test_a_compaction_in_a_pause_saves_nothing_of_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        await off(talk)
        await talk.prompt(CANARY)
        await talk.session.note(CompactionStarted(reason="overflow"))
        talk.conversation.compact()
        await talk.session.note(CompactionEnded(reason="overflow", aborted=False))
        await talk.session.settled(talk.conversation.assistant(f"So {CANARY}"), interrupted=False)
        await talk.settle()
        assert len(process.mind.asked) == 1
        await on(talk)
        await talk.saved("Fill the lamp")
        assert not leaked(process, talk)


async def test_an_answer_cut_off_in_a_pause_of_a_process_without_the_journal_stays_off_the_record(
    tmp_path: Path,
) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        await (await first.open(conversation)).saved("Trim the lamp")
        async with rig(tmp_path) as second:
            talk = await second.open(conversation)
            await talk.prompt("Whose nest is it?")
            await off(talk)
            conversation.assistant(CANARY, cut=True)
            await talk.session.settled(conversation.tip, interrupted=True)
            assert await on(talk) == "waiting"
            await first.end()
            await talk.saved("Fill the lamp")
            assert not leaked(second, talk)
