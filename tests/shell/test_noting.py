"""A person's note goes the way of every write: on disk first, sent once, settled by reading. It moves no checkpoint."""

from __future__ import annotations

from pathlib import Path

from continuity.shell import noting
from continuity.shell.noting import Note
from journal.events import CaptureBegun
from journal.ids import CaptureId
from tests.shell.calls import began
from tests.shell.rig import Talk, names, rig

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
LAMP = Note(
    title="Oil: why", folder="notes", note_type="note", text="Oil, for there is no wind.", metadata={"status": "open"}
)


async def kept(talk: Talk, note: Note = LAMP) -> CaptureId:
    identity = await noting.keep(talk.session.desk, note, reason="command")
    assert identity is not None
    return identity


async def test_a_note_is_on_disk_whole_before_it_is_sent_and_is_then_sent_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        await kept(talk)
        await talk.settle()
        assert names(talk.path)[-4:] == ["capture-begun", "synthesis-finished", "write-intended", "write-answered"]
        (path,) = process.memory.notes
        assert path.startswith("notes/oil-why-")
        assert process.memory.notes[path]["content"] == "# Oil: why\n\nOil, for there is no wind.\n"
        assert process.voice.on("save") == [f"Note saved: {path} (answered by the server)."]


async def test_a_note_says_whose_it_is(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        identity = await kept(talk)
        await talk.settle()
        (note,) = process.memory.notes.values()
        told = note["frontmatter"]
        (begun,) = talk.events(CaptureBegun)
        assert (told["capture_id"], told["source_tip"]) == (identity, begun.source_tip)
        assert (told["session_id"], told["agent"], told["status"]) == ("session", "tau", "open")
