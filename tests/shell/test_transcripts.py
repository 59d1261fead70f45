"""A transcript is one note a message, oldest first and each once; it delays nothing and tells nothing it was not to."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from continuity.capture import PublicMessage, capture_id
from continuity.checkout import Filed
from continuity.commands import RecordProbe, Resolve
from continuity.due import MOST_OPEN_TRANSCRIPTS
from continuity.profile import Profile
from continuity.shell import noting
from continuity.shell.reconciling import observe
from continuity.shell.transcribing import LOOK_AGAIN_MS
from continuity.state import Transcript
from continuity.tau.presence import unsaved
from journal.events import CaptureProbed, SessionClosed, TranscriptPassed, WriteAnswered, WriteIntended
from journal.ids import CaptureId, EntryId, SessionId, Sha256
from tests.fakes.host import Conversation, failing
from tests.shell.rig import Rig, Talk, crash, recorded, replayed, rig, until
from tests.shell.test_noting import DEAF, LAMP, NEVER, sent

ON: dict[str, Any] = {"capture_transcript": True}
ALONE: dict[str, Any] = {**ON, "capture_knowledge": False}
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
ODD = "the key for the lamp is q7Rk2Vd9Xw4Lm8TzB5nC3hJp"


def notes(process: Rig) -> list[dict[str, Any]]:
    """The transcript notes, in the order in which they were sent."""
    return [one for one in sent(process) if one["note_type"] == "tau_transcript"]


def spoken(process: Rig) -> list[str]:
    """Their texts."""
    return [one["content"].split("```text\n")[1].split("\n```")[0] for one in notes(process)]


def kinds(talk: Talk) -> list[str]:
    return [intent.kind for intent in talk.events(WriteIntended)]


# -- the ordinary way --------------------------------------------------------


async def test_each_public_message_becomes_one_note_oldest_first(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON) as process:
        talk = await process.open()
        await talk.turn("light the lamp", "It is lit.")
        await talk.turn("and the foghorn", "It is wired.")
        await talk.settle()
        assert spoken(process) == ["light the lamp", "It is lit.", "and the foghorn", "It is wired."]
        assert talk.state.captures == ()
        assert replayed(talk.path) == talk.state


async def test_a_message_s_note_says_who_spoke_where_in_which_session(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON, capture_folder="said/here") as process:
        talk = await process.open()
        await talk.turn("light the lamp", "It is lit.")
        await talk.settle()
        _, second = notes(process)
        identity = capture_id("main", SessionId("session"), "transcript", EntryId("s2"))
        told = second["metadata"]
        assert (told["role"], told["number"], told["capture_id"], told["source_tip"]) == (
            "assistant",
            "2",
            identity,
            "s2",
        )
        assert (second["directory"], told["session_id"], told["project"]) == ("said/here", "session", "main")


async def test_by_default_no_message_is_stored(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("light the lamp")
        assert (notes(process), talk.state.transcript) == ([], None)


async def test_messages_are_stored_without_any_checkpoint_if_that_is_what_is_wanted(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        await talk.turn("light the lamp", "It is lit.")
        await talk.settle()
        assert kinds(talk) == ["transcript", "transcript"]
        assert process.mind.asked == []


async def test_the_person_is_told_once_before_the_first_message_is_stored(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        await talk.turn("light the lamp", "It is lit.")
        await talk.settle()
        (told,) = process.voice.on("transcripts:session")
        assert "every message" in told
        assert "project main (local), folder tau/transcripts" in told
        assert "`capture_transcript`" in told
        assert process.voice.on("save") == []


async def test_what_is_stored_is_named_by_the_next_checkpoint_and_by_no_other(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON) as process:
        talk = await process.open()
        for text in ("light the lamp", "and the foghorn", "and the bell"):
            await talk.turn(text)
            await talk.settle()
        checkpoints = [one["content"] for one in sent(process) if one["note_type"] == "session"]
        named = [
            [
                one["title"]
                for one in notes(process)
                if f"- derived_from [[main/tau/transcripts/{one['title']}]]" in text
            ]
            for text in checkpoints
        ]
        titles = [one["title"] for one in notes(process)]
        assert named == [[], titles[:2], titles[2:4]]


async def test_only_what_is_known_to_be_stored_is_named(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
        await talk.turn("light the lamp")
        await talk.settle()
        process.memory.faults()
        await talk.saved("and the foghorn")
        (last,) = [one for one in sent(process) if one["note_type"] == "session"][-1:]
        assert "derived_from" not in last["content"]


async def test_a_message_proven_stored_while_a_checkpoint_is_about_to_be_sent_is_named_by_it(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON, **NEVER, timeout_seconds=2.0) as process:
        talk = await process.open()
        process.memory.faults(write_note=["store", "rpc-error"], **DEAF)
        await talk.turn("light the lamp")
        await talk.settle()
        process.memory.faults()
        proven_late(process, talk)
        await talk.session.request("command")
        await talk.settle()
        (checkpoint,) = [one for one in sent(process) if one["note_type"] == "session"]
        assert [one["title"] in checkpoint["content"] for one in notes(process)] == [True, True]
        assert talk.state.sources == ()


def proven_late(process: Rig, talk: Talk) -> None:
    """Each time a checkpoint is put together, let the next doubt be settled before its intent is committed."""
    desk = talk.session.desk

    async def checkout(profile: Profile) -> Filed:
        doubted = next((one for one in talk.state.captures if one.status == "in_doubt"), None)
        if doubted is not None and desk.link.connection is not None:
            found = await observe(desk, desk.link.connection, talk.state, doubted)
            process.owner.spawn("proof", partial(applied, found))
            await anyio.lowlevel.checkpoint()
        return Filed(profile=profile)

    async def applied(found: RecordProbe) -> None:
        await desk.apply(found)

    desk.checkout = checkout


# -- what gets no note -------------------------------------------------------


async def test_what_may_hold_a_credential_gets_no_note_and_is_told_of_by_its_number(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        await talk.turn("light the lamp", ODD)
        await talk.turn(ODD, "It is lit.")
        await talk.settle()
        assert spoken(process) == ["light the lamp", "It is lit."]
        assert talk.events(TranscriptPassed) == [TranscriptPassed(through=EntryId("s3"), messages=2, withheld=2)]
        assert [text for topic, text, _ in process.voice.notices if topic == "transcript:s3"] == [
            "Continuity: 2 messages get no transcript note, for a credential may be in there that no rule knows."
        ]
        assert "q7Rk2Vd9" not in str(process.voice.notices)


async def test_with_the_switch_for_candidates_off_such_a_message_passes(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE, mask_candidates=False) as process:
        talk = await process.open()
        await talk.turn("light the lamp", ODD)
        await talk.settle()
        assert spoken(process) == ["light the lamp", ODD]


async def test_a_credential_is_masked_and_a_key_that_began_in_an_earlier_message_too(tmp_path: Path) -> None:
    key = "MIIEowIBAAKCAQEAq7Rk2Vd9Xw4Lm8TzB5nC3hJpYtGfRdEsWaQzXcVbNmKjHg"
    async with rig(tmp_path, **ALONE, mask_candidates=False) as process:
        talk = await process.open()
        await talk.turn(f"the key is {SECRET}", "-----BEGIN RSA PRIVATE KEY-----")
        await talk.turn(f"{key}\n-----END RSA PRIVATE KEY-----\nis the rest", "Thanks.")
        await talk.settle()
        assert len(notes(process)) == 4
        assert SECRET not in str(sent(process))
        assert key not in str(sent(process))
        assert "is the rest" in spoken(process)[2]


async def test_what_was_cut_off_and_what_is_empty_gets_no_note(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        await talk.prompt("light the lamp")
        talk.conversation.assistant("I was about to", cut=True)
        await talk.session.settled(talk.conversation.assistant("   "), interrupted=False)
        await talk.settle()
        assert spoken(process) == ["light the lamp"]
        assert [one.messages for one in talk.events(TranscriptPassed)] == [1]


async def test_nothing_said_off_the_record_gets_a_note_though_the_rest_was_late(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        await crash(process)
        await talk.turn("light the lamp", "It is lit.")
        await talk.session.switch(off=True, anchor=talk.conversation.tip)
        await talk.turn("nobody hears this", "Nobody.")
        await talk.session.switch(off=False, anchor=talk.conversation.tip)
        await talk.turn("and the foghorn", "It is wired.")
        await process.link.up(10)
        await talk.settle()
        assert spoken(process) == ["light the lamp", "It is lit.", "and the foghorn", "It is wired."]


async def test_nothing_is_sent_while_paused_not_even_what_was_said_before(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        await talk.session.desk.link.up(10)
        await crash(process)
        await talk.turn("light the lamp", "It is lit.")
        await talk.session.switch(off=True, anchor=talk.conversation.tip)
        await process.link.up(10)
        await talk.settle()
        assert sent(process) == []
        await talk.session.switch(off=False, anchor=talk.conversation.tip)
        talk.session.runner.wake()
        await talk.settle()
        assert spoken(process) == ["light the lamp", "It is lit."]


# -- a path the host does not know -------------------------------------------


class Forgetful(Conversation):
    """A host that tells of no path but the one it is on, until it knows them all."""

    def __init__(self) -> None:
        super().__init__()
        self.knows = False
        self.asked = 0

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        self.asked += 1
        return await super().messages(tip) if self.knows else ()


async def test_messages_that_could_not_be_read_are_owed_until_they_can_be(tmp_path: Path) -> None:
    conversation = Forgetful()
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        await talk.turn("light the lamp", "It is lit.")
        await talk.settle()
        assert (talk.state.behind, talk.events(TranscriptPassed), conversation.asked) == (True, [], 1)
        conversation.knows = True
        process.clock.advance(LOOK_AGAIN_MS)
        talk.session.runner.wake()
        await talk.settle()
        assert spoken(process) == ["light the lamp", "It is lit."]


async def test_a_path_nobody_knows_keeps_nothing_else_waiting_and_is_asked_for_once_the_session_goes_on(
    tmp_path: Path,
) -> None:
    conversation = Forgetful()
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        await talk.turn("light the lamp", "It is lit.")
        await talk.settle()
        await noting.keep(talk.session.desk, LAMP, reason="command")
        await talk.settle()
        assert (len(sent(process)), conversation.asked) == (1, 1)
        conversation.knows = True
        await talk.turn("and the foghorn", "It is wired.")
        await talk.settle()
        assert spoken(process) == ["light the lamp", "It is lit.", "and the foghorn", "It is wired."]


# -- in nobody's way ---------------------------------------------------------


async def test_a_long_backlog_delays_no_checkpoint_and_no_note(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON) as process:
        talk = await process.open()
        await crash(process)
        for number in range(6):
            await talk.turn(f"turn {number}")
        await noting.keep(talk.session.desk, LAMP, reason="command")
        await process.link.up(10)
        await talk.settle()
        assert kinds(talk)[:2] == ["note", "checkpoint"]
        assert kinds(talk)[2:] == ["transcript"] * 12


async def test_a_checkpoint_whose_model_fails_delays_no_message(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON) as process:
        process.mind.answer = failing("timeout")
        talk = await process.open()
        await talk.turn("light the lamp", "It is lit.")
        await talk.settle()
        assert spoken(process) == ["light the lamp", "It is lit."]


async def test_several_refusals_stop_it_and_the_state_stays_small(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"code": "PROJECT_CONSTRAINED"}])
        for number in range(MOST_OPEN_TRANSCRIPTS):
            await talk.turn(f"turn {number}")
        await talk.settle()
        assert len(sent(process)) == len(talk.state.captures) == MOST_OPEN_TRANSCRIPTS
        assert talk.state.behind


async def test_that_it_stopped_is_said_once_shown_and_told_at_the_end(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"code": "PROJECT_CONSTRAINED"}])
        for number in range(MOST_OPEN_TRANSCRIPTS):
            await talk.turn(f"turn {number}")
        await talk.settle()
        (told,) = (text for topic, text, _ in process.voice.notices if topic.startswith("transcript-stopped:"))
        assert "the transcript stopped, for 5 of its notes are not settled" in told
        assert "  transcript   stopped: 5 notes are not settled; /bm-pending settles them" in talk.page
        assert unsaved(talk.session) == (
            "Continuity: the transcript of this session stopped: 5 notes are not settled. "
            "`continuity unproven` lists them, `continuity resolve` settles them"
        )


async def test_once_one_is_settled_it_goes_on_and_a_second_stop_is_said_again(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"code": "PROJECT_CONSTRAINED"}])
        for number in range(MOST_OPEN_TRANSCRIPTS):
            await talk.turn(f"turn {number}")
        await talk.settle()
        await abandoned(talk, talk.state.captures[0].capture_id)
        assert len(sent(process)) == MOST_OPEN_TRANSCRIPTS + 1
        assert sum(topic.startswith("transcript-stopped:") for topic, _, _ in process.voice.notices) == 2


async def abandoned(talk: Talk, identity: CaptureId) -> None:
    """A person lets go of it."""
    command = Resolve(capture_id=identity, decision="abandon", reason_sha256=Sha256("7" * 64))
    await talk.session.desk.apply(command)
    talk.session.runner.wake()
    await talk.settle()


async def test_a_checkpoint_that_is_not_stored_is_told_of_beside_a_transcript_that_stopped(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON, **NEVER) as process:
        talk = await process.open()
        process.memory.faults(write_note=[{"code": "PROJECT_CONSTRAINED"}])
        for number in range(MOST_OPEN_TRANSCRIPTS):
            await talk.turn(f"turn {number}")
        await talk.settle()
        told = unsaved(talk.session)
        assert told is not None
        assert "It is saved when the session is resumed: tau --session session; the transcript of" in told


async def test_the_state_does_not_grow_with_the_messages_that_are_stored(tmp_path: Path) -> None:
    async with rig(tmp_path, **ON) as process:
        talk = await process.open()
        for number in range(12):
            await talk.turn(f"turn {number}")
            await talk.settle()
        assert len(notes(process)) == 24
        assert talk.state.captures == ()
        assert len(talk.state.sources) <= 2


# -- sessions, branches, switches --------------------------------------------


async def test_what_was_said_before_it_was_switched_on_is_not_stored_in_an_old_session(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open(conversation)
        await talk.turn("of old")
        await process.kill()
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        await talk.turn("of now", "It is now.")
        await talk.settle()
        assert spoken(process) == ["of now", "It is now."]
        assert [one["metadata"]["number"] for one in notes(process)] == ["3", "4"]


async def test_a_session_older_than_its_journal_is_stored_from_the_first_prompt_we_saw(tmp_path: Path) -> None:
    conversation = Conversation()
    conversation.user("long ago")
    conversation.assistant("Yes.")
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        await talk.turn("of now", "It is now.")
        await talk.settle()
        assert spoken(process) == ["of now", "It is now."]


async def test_switching_it_off_stops_it_and_switching_it_on_again_does_not_catch_up(tmp_path: Path) -> None:
    conversation = Conversation()
    for number, on in enumerate((True, False, True)):
        async with rig(tmp_path, capture_knowledge=False, capture_transcript=on) as process:
            talk = await process.open(conversation)
            await talk.turn(f"turn {number}", f"answer {number}")
            await talk.settle()
            await process.kill()
            assert len(notes(process)) == (2, 2, 4)[number]
            assert [text for text in spoken(process) if text.endswith("1")] == []


async def test_a_fork_stores_what_is_said_after_it_and_nothing_twice(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        await talk.turn("one", "First.")
        shared = conversation.tip
        await talk.turn("two", "Second.")
        await talk.settle()
        conversation.go_to(shared)
        await talk.turn("three", "Third.")
        await talk.settle()
        assert spoken(process) == ["one", "First.", "two", "Second.", "three", "Third."]
        assert [one["metadata"]["number"] for one in notes(process)] == ["1", "2", "3", "4", "3", "4"]


async def test_a_message_that_two_branches_share_is_passed_by_on_the_second(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        await talk.prompt("one")
        shared = conversation.assistant("First, and more follows.")
        await talk.session.settled(conversation.assistant("First, done."), interrupted=False)
        await talk.settle()
        conversation.go_to(shared)
        await talk.turn("two", "Second.")
        await talk.settle()
        assert spoken(process) == ["one", "First, and more follows.", "First, done.", "two", "Second."]
        assert recorded(talk.path, TranscriptPassed, 2) == [TranscriptPassed(through=shared, messages=1, withheld=0)]


async def test_a_branch_that_is_left_with_messages_owed_still_has_them_stored(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        await crash(process)
        await talk.turn("one", "First.")
        shared = conversation.tip
        await talk.turn("two", "Second.")
        conversation.go_to(shared)
        await talk.turn("three", "Third.")
        await process.link.up(10)
        await talk.settle()
        assert sorted(spoken(process)) == sorted(["one", "First.", "two", "Second.", "three", "Third."])
        assert len(process.memory.notes) == 6


# -- a process that ends -----------------------------------------------------


@pytest.mark.parametrize("kept", range(5))
async def test_after_a_kill_at_any_step_every_message_is_sent_once(tmp_path: Path, kept: int) -> None:
    """It is killed once `kept` writes are answered, wherever it is with the next one then."""
    conversation, turns = Conversation(), [("one", "First."), ("two", "Second."), ("three", "Third.")]
    async with rig(tmp_path, timeout_seconds=2.0, **ALONE) as process:
        talk = await process.open(conversation)
        process.memory.faults(write_note=["store"])
        for text, answer in turns:
            await talk.turn(text, answer)
        await until(lambda: len(talk.events(WriteAnswered)) >= kept, "the answers")
        process.memory.faults(write_note=["store", "silent"], read_note=["rpc-error"], search_notes=["rpc-error"])
        await process.kill()
    async with rig(tmp_path, **ALONE) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        process.clock.advance(10_000_000)
        talk.session.runner.wake()
        await talk.settle()
        assert spoken(process) == [text for turn in turns for text in turn]
        assert talk.state.captures == ()
        assert len(talk.events(WriteIntended)) == 6


async def test_a_message_with_a_lost_answer_is_settled_by_reading_and_the_next_does_not_wait(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=1.5, **ALONE) as process:
        talk = await process.open()
        process.memory.faults(write_note=["store", "rpc-error"])
        await talk.turn("light the lamp", "It is lit.")
        await until(lambda: talk.events(WriteAnswered), "an answer")
        process.memory.faults()
        await talk.settle()
        assert [one.outcome for one in talk.events(WriteAnswered)] == ["unknown", "accepted"]
        assert [one.verdict for one in talk.events(CaptureProbed)] == ["present_same"]
        assert len(talk.state.sources) == 2
        assert len(sent(process)) == 2


async def test_at_a_quit_what_is_left_waits_for_the_next_start(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        process.memory.faults(write_note=["hold", "store"])
        await talk.turn("light the lamp", "It is lit.")
        with anyio.fail_after(5):
            assert not await talk.session.ending(0.2)
        assert talk.session.unsaved
        assert "  transcript   not all messages are stored yet" in talk.page
        process.memory.release()
        await until(lambda: talk.events(WriteAnswered), "an answer")
        await process.kill()
    async with rig(tmp_path, **ALONE) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        await talk.settle()
        assert talk.events(SessionClosed) == []
        assert spoken(process) == ["light the lamp", "It is lit."]
        assert not talk.session.unsaved


async def test_a_reload_begins_nothing_anew(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open(conversation)
        await talk.turn("light the lamp", "It is lit.")
        await talk.settle()
        await talk.session.start("reload")
        await talk.settle()
        assert len(sent(process)) == 2
        assert talk.state.transcript == Transcript(EntryId("s1"), EntryId("s2"), EntryId("s2"))


async def test_the_same_words_said_twice_are_two_messages_and_two_notes(tmp_path: Path) -> None:
    async with rig(tmp_path, **ALONE) as process:
        talk = await process.open()
        await talk.turn("again", "Done.")
        await talk.turn("again", "Done.")
        await noting.keep(talk.session.desk, replace(LAMP, text="again"), reason="command")
        await talk.settle()
        assert len(process.memory.notes) == len(sent(process)) == 5
