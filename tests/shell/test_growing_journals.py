"""A large tool output stays out of the journal, a log that somebody pins is said, and a deleted session leaves nothing.

What is deleted today: nothing, by itself. A session's history is one file with its log and its lock beside it, named by
the session's id; whoever deletes `ID.journal*` has deleted all that is kept of that session, and only of that one.
"""

from __future__ import annotations

from pathlib import Path

from continuity.memory.calls import Ticket
from continuity.shell.bridging import Call, forward
from journal.events import CompactionNoticed, ToolAnswered
from journal.ids import EntryId
from tests.fakes.host import Conversation
from tests.journal import kit
from tests.shell.calls import READ, WRITE, text_of
from tests.shell.rig import names, rig

LARGE = "a tool's output, " * 125_000
"""More than two million bytes."""


def size(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))


async def test_neither_what_a_call_carries_nor_what_it_brings_is_in_the_journal(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open()
        await talk.prompt("hello")
        await talk.settle()
        before = size(talk.path)
        arguments = {"project": "main", "directory": "d", "title": "large", "content": LARGE}
        await forward(process.link, talk.session.desk, Call(WRITE, dict(arguments), Ticket(), 20.0))
        read = await forward(process.link, talk.session.desk, Call(READ, {"identifier": "d/large.md"}, Ticket(), 20.0))
        assert len(text_of(read)) > len(LARGE)
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["accepted"]
        assert size(talk.path) - before < 100_000


async def test_a_log_that_another_program_keeps_growing_is_said_once_and_so_is_its_end(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open()
        await talk.prompt("hello")
        with kit.raw(talk.path) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM events").fetchall()
            for number in range(10):
                fact = CompactionNoticed(entry=EntryId(f"k{number}"))
                assert await talk.session.desk.note(fact, bodies=kit.kept(f"{number} {LARGE}"))
            (said,) = process.voice.on("log")
            assert "grows, because another program holds the file open" in said
            assert "MB beside it: another program" in talk.page
        for text in ("one", "two", "three"):
            await talk.prompt(text)
        assert process.voice.on("log")[1:] == ["Continuity: the log of this session's journal is short again."]
        assert "MB beside it" not in talk.page


async def test_deleting_the_files_of_a_session_leaves_nothing_of_it_and_all_of_the_others(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open(Conversation("a"), "first")
        await talk.saved("one")
        other = await process.open(Conversation("b"), "second")
        await other.saved("another")
        gone, stays = talk.path, other.path
    kept = names(stays)
    with kit.raw(gone) as connection:
        (journal,) = connection.execute("SELECT journal_id FROM header").fetchone()
    for file in gone.parent.glob(f"{gone.name}*"):
        file.unlink()
    left = [file for file in (tmp_path / "state").rglob("*") if file.is_file()]
    assert stays in left
    for file in left:
        content = file.read_bytes()
        assert b"first" not in content, file
        assert journal.encode() not in content, file
    assert names(stays) == kept
