"""What a model is given for a handoff lets it tell what is done, what was called off, and what governs: the newest words."""

from pathlib import Path

import pytest

from continuity.handoff import INSTRUCTIONS
from journal.events import CompactionStarted
from tests.fakes.host import Conversation
from tests.fakes.story import handoff_of
from tests.fakes.transcript import Transcript
from tests.shell.rig import Rig, Talk, rig

PATIENT = {"characters": 100_000, "minutes": 60}
NEWEST = "Only review from here on, do not edit: `src/lamp.py` above all."
COMPACTION_WORDS = "Keep the plan and rewrite everything at once."


async def planned(process: Rig, conversation: Conversation) -> Talk:
    """A session that began two plans, finished one, called the other off, and was told something new at last."""
    process.mind.answer = handoff_of
    talk = await process.open(conversation)
    await talk.turn("Unfinished: plan P1, wire the lamp", "Unfinished: plan P2, paint the tower")
    await talk.session.request("command")
    await talk.settle()
    await talk.turn("Done: plan P1, wire the lamp", "Verified: the lamp turns")
    await talk.turn("Done: plan P2, paint the tower", "Understood, the tower stays as it is.")
    await talk.turn(NEWEST, "Next: review the lamp")
    return talk


def newest_in(asked: str) -> str:
    """What the request says is the newest, within its fence."""
    rest = asked.partition("The user's newest request, which may also stand in a part to come:\n")[2]
    fence, _, body = rest.partition("text\n")
    return body.partition(f"\n{fence}")[0]


async def test_the_newest_instruction_is_given_word_for_word_and_before_the_conversation(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await planned(process, Conversation())
        await talk.session.request("command")
        await talk.settle()
        asked = process.mind.asked[-1]
        assert newest_in(asked) == NEWEST
        assert asked.index(NEWEST) < asked.index("The conversation, part 1:")


async def test_every_part_of_a_long_conversation_comes_with_the_newest_instruction(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT, summary_chunk_chars=1000) as process:
        process.mind.answer = handoff_of
        talk = await process.open()
        await talk.turn("log of the keeper " * 200)
        await talk.turn(NEWEST)
        await talk.session.request("command")
        await talk.settle()
        assert len(process.mind.asked) > 3
        assert {newest_in(asked) for asked in process.mind.asked} == {NEWEST}


async def test_what_was_finished_and_called_off_is_told_and_no_open_plan_of_before_is_left(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await planned(process, Conversation())
        await talk.session.request("command")
        await talk.settle()
        before, _, told = process.mind.asked[-1].partition("The conversation, part 1:")
        assert "plan P1, wire the lamp" in before
        assert "Done: plan P1, wire the lamp" in told
        assert "Done: plan P2, paint the tower" in told
        assert talk.state.checkpoint is not None
        note = process.memory.notes[str(talk.state.checkpoint.path)]["content"]
        assert "plan P1" not in note
        assert "plan P2" not in note
        assert NEWEST in note.partition("## Decisions")[0]


async def test_an_instruction_that_was_not_answered_any_more_is_the_newest_all_the_same(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        process.mind.answer = handoff_of
        talk = await process.open()
        await talk.turn("Unfinished: plan P1")
        prompt = talk.conversation.user(NEWEST)
        await talk.session.prompted(prompt, characters=len(NEWEST), typed=True)
        await talk.session.settled(prompt, interrupted=True)
        await talk.session.request("quit")
        await talk.settle()
        assert newest_in(process.mind.asked[-1]) == NEWEST


async def test_an_answer_alone_is_given_with_the_instruction_it_answers_masked_as_ever(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        process.mind.answer = handoff_of
        talk = await process.open()
        await talk.prompt(f"{NEWEST} With password=hunter2hunter2.")
        await talk.session.note(CompactionStarted(reason="overflow"))
        await talk.settle()
        await talk.session.settled(talk.conversation.assistant("Reviewed."), interrupted=False)
        await talk.session.request("command")
        await talk.settle()
        asked = process.mind.asked[-1]
        assert NEWEST not in asked.partition("The conversation, part 1:")[2]
        assert newest_in(asked) == f"{NEWEST} With password=[masked:named-value]"


async def test_what_a_compaction_was_asked_for_and_what_it_made_are_not_given(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "session.jsonl")
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await planned(process, transcript)
        transcript.compact(f"## Goal\nUnfinished: plan P1, wire the lamp\n{COMPACTION_WORDS}")
        await talk.prompt("go on")
        await talk.settle()
        asked = process.mind.asked[-1]
        assert COMPACTION_WORDS not in "".join(process.mind.asked)
        assert "## Goal" not in asked
        assert newest_in(asked) == NEWEST


async def test_a_brief_in_the_conversation_is_nothing_that_a_model_is_given(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "session.jsonl")
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await planned(process, transcript)
        transcript.compact("folded")
        prompted = await talk.prompt("go on")
        await talk.settle()
        assert prompted.brief is not None
        transcript.insert(prompted.brief)
        await talk.session.settled(transcript.assistant("Going on."), interrupted=False)
        await talk.session.request("command")
        await talk.settle()
        assert "Going on." in process.mind.asked[-1]
        assert "Untrusted historical reference" not in "".join(process.mind.asked)


@pytest.mark.parametrize("rule", ["it governs", "What is finished or was called off does not belong here", "untrusted"])
def test_the_instructions_say_what_the_newest_words_are_worth(rule: str) -> None:
    assert rule in " ".join(INSTRUCTIONS.split())
