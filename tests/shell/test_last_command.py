"""`/bm-last` shows what was saved word for word and says how that is known; what it cannot prove it reads, and says so."""

from __future__ import annotations

import shutil
from pathlib import Path

from continuity.capture import content_digest
from continuity.tau.last_command import last
from tests.fakes.host import HANDOFF, Conversation
from tests.fakes.opened_files import opened_files
from tests.shell.rig import Rig, Talk, crash, rig, until

HOUR = 3_600_000


async def shown(process: Rig, talk: Talk) -> str:
    """Type the command, and return what is said of it."""
    return await process.told(lambda: last(talk.session, process.owner, process.clock.now_ms(), ""))


async def erase(talk: Talk) -> None:
    """Erase the text of the newest checkpoint."""
    ledger, checkpoint = talk.session.desk.ledger, talk.state.checkpoint
    assert ledger is not None
    assert checkpoint is not None
    digest = checkpoint.handoff_sha256
    assert digest is not None
    assert await ledger.erase(lambda _: (digest,), reason="rescan") == 1


async def test_the_last_checkpoint_is_shown_as_it_was_sent_and_as_it_is_stored(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        process.clock.advance(2 * HOUR)
        await talk.saved("Fill the lamp")
        head, _, text = (await shown(process, talk)).partition("\n\n")
        checkpoint = talk.state.checkpoint
        assert checkpoint is not None
        stored = process.memory.notes[checkpoint.path or ""]["content"]
        assert (text, "continues" in text) == (stored.strip(), True)
        assert content_digest(text) == checkpoint.content_sha256
        assert f"{checkpoint.path} in project main" in head
        assert "the server answered that it stored it" in head
        assert "less than a minute ago" in head


async def test_no_journal_is_read_where_everything_else_would_wait_for_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        with opened_files() as found:
            await shown(process, talk)
        read = [each for each in found if ".journal?" in each.name]
        assert {each.on_the_loop for each in read} == {False}


async def test_control_characters_in_it_are_spelled_out(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.mind.answer = lambda _: HANDOFF.format(next="Ring the bell \u202e twice.")
        await talk.saved("Trim the lamp")
        text = await shown(process, talk)
        assert "\u202e" not in text
        assert "Ring the bell" in text


async def test_an_erased_text_is_read_from_the_server_and_compared(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        await erase(talk)
        text = await shown(process, talk)
        assert "as the server has it now, for the text kept here was erased; its digest is the one recorded" in text
        assert "Keep the lamp lit." in text


async def test_an_edited_note_read_from_the_server_is_not_called_ours(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        await erase(talk)
        (path,) = process.memory.notes
        process.memory.put(path, "Somebody else's \x1b[2J words.", **process.memory.notes[path]["frontmatter"])
        text = await shown(process, talk)
        assert "NOT the one recorded: somebody changed it" in text
        assert "Somebody else's \\x1b[2J words." in text


async def test_what_neither_place_has_is_said_to_be_shown_nowhere(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        await erase(talk)
        (path,) = process.memory.notes
        process.memory.delete(path)
        assert "the text kept here was erased, and it is not there at the server" in await shown(process, talk)


async def test_a_checkpoint_taken_over_from_elsewhere_is_read_from_the_server(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        await (await process.open(conversation)).saved("Trim the lamp")
    shutil.rmtree(tmp_path / "state")
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open(conversation)
        await talk.turn("Fill the lamp")
        await until(lambda: talk.state.checkpoint, "what was saved elsewhere")
        text = await shown(process, talk)
        assert "it was not made on this branch" in text
        assert "Keep the lamp lit." in text


async def test_before_anything_was_saved_it_says_so(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open()
        assert "begins with the first prompt" in await shown(process, talk)
        await talk.turn("Trim the lamp")
        assert "No checkpoint of this branch" in await shown(process, talk)
        assert "no file" in str(last(None, process.owner, 0, ""))
        assert "takes no words" in str(last(talk.session, process.owner, 0, "all"))


async def test_while_the_journal_is_being_opened_it_follows_as_a_notice(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        await (await process.open(conversation)).saved("Trim the lamp")
    async with rig(tmp_path) as process:
        talk = process.session(conversation)
        assert last(talk.session, process.owner, process.clock.now_ms(), "") is None
        await talk.session.start("startup")
        await until(lambda: process.voice.answers, "what was saved")
        assert "Keep the lamp lit." in process.voice.answers[0]


async def test_without_a_server_what_is_kept_here_is_shown_all_the_same(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        await crash(process)
        assert "rebuilt from what is kept here" in await shown(process, talk)
