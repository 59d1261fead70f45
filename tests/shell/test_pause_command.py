"""`/bm-pause` and `/bm-resume` say what became of the record, in words that are true of the disk. No model is asked."""

from __future__ import annotations

from pathlib import Path

from continuity.tau.pause_command import switch
from tests.fakes.host import Conversation
from tests.shell.rig import Rig, Talk, rig, unwritable

MINUTE = 60_000


async def told(process: Rig, talk: Talk, *, off: bool) -> str:
    return await process.told(lambda: switch(talk.session, process.owner, talk.conversation.tip, "", off=off))


async def test_a_pause_says_what_it_stops_and_what_goes_on(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        text = await told(process, talk, off=True)
        assert text.startswith("Off the record: nothing said from here on is saved")
        assert "/bm-remember" in text
        assert await told(process, talk, off=False) == ("On the record again. What was said meanwhile stays off it.")


async def test_a_pause_is_told_with_its_age_and_the_status_shows_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await told(process, talk, off=True)
        process.clock.advance(12 * MINUTE)
        assert "for 12 minutes" in await told(process, talk, off=True)
        assert "off the record for 12 minutes: nothing is saved" in talk.page
        await told(process, talk, off=False)
        assert "off the record" not in talk.page


async def test_before_the_first_prompt_a_pause_is_said_to_be_recorded_with_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert (await told(process, talk, off=True)).endswith("It is recorded with the first prompt.")
        assert "off the record: nothing is saved" in talk.page


async def test_where_no_prompt_follows_a_pause_before_the_first_is_said_to_end_with_the_process(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        said = await process.told(lambda: switch(talk.session, process.owner, None, "", off=True, alone=True))
        assert said.endswith("it ends with this process: say it in the session itself.")


async def test_a_pause_the_disk_refuses_is_said_to_hold_and_not_to_be_on_disk(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            assert "It is not on disk yet" in await told(process, talk, off=True)


async def test_a_resume_without_a_pause_and_one_during_an_answer_say_so(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert await told(process, talk, off=False) == "On the record, as before."
        await told(process, talk, off=True)
        await talk.prompt("Trim the lamp")
        assert "once the answer under way has ended" in await told(process, talk, off=False)
        await talk.session.settled(talk.conversation.assistant("Done."), interrupted=False)
        assert process.voice.on("record") == ["Continuity: on the record again, from your next prompt on."]


async def test_a_session_file_that_cannot_be_read_keeps_a_pause_and_lets_one_begin(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        talk.conversation.unreadable = True
        assert "Off the record" in await told(process, talk, off=True)
        assert (await told(process, talk, off=False)).startswith("Still off the record")
        assert talk.session.pausing.paused


async def test_without_a_session_file_and_with_words_nothing_is_changed(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        assert "no file" in str(switch(None, process.owner, None, "", off=True))
        assert "takes no words" in str(switch(None, process.owner, None, "for good", off=False))


async def test_a_second_process_goes_off_the_record_before_it_has_the_journal(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        await (await first.open(conversation)).saved("Trim the lamp")
        async with rig(tmp_path) as second:
            talk = await second.open(conversation)
            assert "cannot be recorded: another process" in await told(second, talk, off=True)
            await talk.turn("the marsh-warbler")
            await first.end()
            await talk.turn("the marsh-warbler again")
            assert talk.state.paused
            assert "warbler" not in str(second.mind.asked)
