"""`/bm-remember` keeps a person's words, or says in one sentence that it did not. Nothing is lost silently."""

from __future__ import annotations

from pathlib import Path

import pytest

from continuity.shell.remembering import LONGEST_CHARS
from continuity.tau.remember_command import remembered
from journal.events import CaptureBegun
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, Rig, Talk, crash, names, replayed, rig, unwritable

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
WORDS = "Oil, for there is no wind."


async def told(process: Rig, talk: Talk, words: str = WORDS) -> str:
    return await process.told(lambda: remembered(talk.session, process.owner, words))


async def test_words_are_kept_at_once_and_the_proof_follows(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("Trim the lamp")
        text = await told(process, talk, f"{WORDS}\nAsk Ada.")
        assert text.startswith(
            "Kept in this session's journal, for project main, folder tau/checkpoints; it is sent as soon as memory answers"
        )
        await talk.settle()
        (path,) = (each for each in process.memory.notes if "oil-for" in each)
        assert process.memory.notes[path]["frontmatter"]["type"] == "note"
        assert WORDS in process.memory.notes[path]["content"]
        row = f"1@{talk.state.position}, {str(talk.state.digest)[:10]}"
        assert process.voice.on("save")[-1] == f"Note saved: {path} (answered by the server). Recorded as row {row}."


async def test_before_the_first_prompt_the_words_begin_the_journal(tmp_path: Path) -> None:
    conversation = Conversation()
    conversation.compact()  # any entry: the host has a file
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert talk.session.state is None
        await told(process, talk)
        await talk.settle()
        assert names(talk.path)[0] == "session-opened"
        assert len(process.memory.notes) == 1
        await talk.turn("Trim the lamp")
        assert (talk.state.branch, replayed(talk.path).position) == (1, talk.state.position)


async def test_without_a_file_of_the_host_the_words_are_said_to_be_kept_nowhere(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        text = await told(process, talk)
        assert text.startswith("Not remembered: this session has no file yet")
        assert "kept nowhere" in text


async def test_the_same_words_twice_are_one_note(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await crash(process)
        await told(process, talk)
        assert (await told(process, talk)).startswith("These very words are kept in this session already, and on their")
        assert [begun.kind for begun in talk.events(CaptureBegun)].count("note") == 1


async def test_words_that_the_server_refused_are_settled_first_and_can_be_said_again_then(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        process.memory.faults(write_note=[{"code": "PROJECT_CONSTRAINED"}])
        await told(process, talk)
        await talk.settle()
        assert "are not known to be stored; nothing was written again. /bm-pending" in await told(process, talk)
        (item,) = talk.session.settling.items
        await talk.session.settling.resolve(item, "abandon", "a wrong project")
        process.memory.faults()
        assert (await told(process, talk)).startswith("Kept in this session's journal")
        await talk.settle()
        assert (await told(process, talk)).startswith("These very words were stored in this session already")


async def test_what_only_may_be_a_credential_is_counted_where_it_is_masked(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        text = await told(process, talk, f"the key for the lamp is q7Rk2Vd9Xw4Lm8TzB5nC3hJp\nand {SECRET}")
        assert "2 values that looked like a credential were masked." in text


async def test_credentials_are_masked_and_counted_and_never_said(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        text = await told(process, talk, f"The key is {SECRET} for now")
        await talk.settle()
        assert "1 value that looked like a credential was masked." in text
        assert SECRET not in str(process.memory.notes) + str(process.voice.notices)
        assert all(SECRET.encode() not in file.read_bytes() for file in talk.path.parent.iterdir())


async def test_off_the_record_a_person_still_has_words_kept(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await talk.settle()
        await talk.session.switch(off=True, anchor=talk.conversation.tip)
        await told(process, talk)
        await talk.settle()
        assert sum("oil-for" in path for path in process.memory.notes) == 1


async def test_a_journal_in_trouble_and_another_process_keep_nothing_and_say_so(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("Trim the lamp")
        async with rig(tmp_path) as second:
            assert "another process has this session open" in await told(second, await second.open(conversation))
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            assert "say them again later" in await told(process, talk)
        assert not any("oil-for" in path for path in process.memory.notes)


async def test_words_said_while_the_server_is_gone_are_stored_once_it_is_back(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await talk.settle()
        await crash(process)
        await told(process, talk)
        await process.link.up(BOUND)
        await talk.settle()
        assert sum("oil-for" in path for path in process.memory.notes) == 1


async def test_without_a_project_the_words_are_said_to_be_kept_nowhere(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        assert str(remembered(talk.session, process.owner, WORDS)).startswith("Not remembered: no project")
        assert process.voice.answers == []


@pytest.mark.parametrize(
    ("words", "sentence"), [("  ", "What is to be remembered?"), ("x" * (LONGEST_CHARS + 1), "20,001 characters")]
)
async def test_no_words_and_too_many_are_refused_in_one_sentence(tmp_path: Path, words: str, sentence: str) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert sentence in str(remembered(talk.session, process.owner, words))
        assert "no file" in str(remembered(None, process.owner, WORDS))


async def test_a_note_is_named_after_its_first_line(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await told(process, talk, "\n# Oil: why\nNo wind.")
        await talk.settle()
        (note,) = (note for path, note in process.memory.notes.items() if "/oil-why-" in path)
        assert note["content"] == "# Oil: why\nNo wind.\n"


@pytest.mark.parametrize("before", range(40, 84, 4))
async def test_a_credential_where_the_title_would_end_is_nowhere(tmp_path: Path, before: int) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await told(process, talk, f"{'x' * before} {SECRET} is the key")
        await talk.settle()
        held = b"".join(file.read_bytes() for file in talk.path.parent.iterdir()).decode("latin-1")
        shown = f"{process.memory.notes} {held}".lower()
        assert "[masked:github-token]" in shown
        assert not any(SECRET[at : at + 12] in shown for at in range(len(SECRET) - 11))
