"""A person settles a note from a shell like a checkpoint: it is sent again as the note it was, once and by decision alone."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from msgspec.structs import replace

from journal.events import CaptureResolved, WriteIntended
from tests.cli.test_probe_and_resolve import Person
from tests.shell.calls import began
from tests.shell.rig import recorded, replayed, rig
from tests.shell.test_noting import LAMP, kept

TIMED = replace(LAMP, metadata={"started": "yesterday", "ended": "never"})


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    made = Person(tmp_path)
    monkeypatch.chdir(tmp_path / "tau")
    return made


async def refused(root: Path) -> None:
    """Leave a session whose note the server refused."""
    async with rig(root, capture_knowledge=False) as process:
        talk = await began(process)
        process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
        await kept(talk, TIMED)
        await talk.settle()
        process.memory.faults()


def test_a_refused_note_is_sent_again_by_decision_with_its_own_words_and_title(person: Person) -> None:
    anyio.run(refused, person.root)
    (capture,) = replayed(person.path).captures
    reference = capture.capture_id[:10]
    ran = person.run("resolve", reference, "--rewrite", "--reason", "it was locked", "--yes")
    assert ran.code == 0, ran
    assert [one.decision for one in recorded(person.path, CaptureResolved)] == ["rewrite"]
    first, second = recorded(person.path, WriteIntended)
    assert (first.address, first.content_sha256, first.attempt) == (second.address, second.content_sha256, 1)
    (note,) = person.memory.notes.values()
    assert (note["content"], note["frontmatter"]["started"]) == (
        "# Oil: why\n\nOil, for there is no wind.\n",
        "yesterday",
    )
    assert replayed(person.path).captures == ()


async def busy(root: Path) -> None:
    """Leave a session with a checkpoint, notes and a transcript, some of it passed by."""
    async with rig(root, capture_transcript=True) as process:
        talk = await began(process)
        await talk.session.settled(talk.conversation.assistant("Hello."), interrupted=False)
        await kept(talk)
        await talk.turn("the key for the lamp is q7Rk2Vd9Xw4Lm8TzB5nC3hJp")
        await talk.settle()


def test_an_audit_finds_nothing_in_a_journal_with_every_kind_and_tells_of_each(person: Person) -> None:
    anyio.run(busy, person.root)
    ran = person.run("audit", str(person.path))
    assert ran.code == 0, ran
    kinds = {event.kind for event in recorded(person.path, WriteIntended)}
    assert kinds == {"checkpoint", "note", "transcript"}
    told = person.run("log", str(person.path)).out
    assert "note to main, notes/oil-why-" in told
    assert "1 message without a note, 1 withheld" in told
