"""Each rule about what happened speaks on a journal made to break it, and on no sound one."""

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Literal

import pytest
from msgspec.structs import replace

from journal.events import (
    CaptureResolved,
    CheckpointReferenced,
    Event,
    NoteWithdrawn,
    SessionClosed,
    ToolAnswered,
    WriteAnswered,
)
from journal.ids import CallId, ConnectionId, EntryId, Sha256
from tests.facts import (
    ADDRESS,
    BODY,
    CAPTURE,
    DOUBTED,
    HANDOFF,
    NEXT_WRITER,
    NOWHERE,
    OTHER_CAPTURE,
    SAVED,
    TIP,
    answered,
    begun,
    finished,
    intended,
    opened,
    probed,
    seen,
    settled,
)
from tests.fakes.journals import Recording, recorded
from tests.replay import stories
from tests.replay.kit import findings, run
from tests.replay.stories import BRIEF, CALLED, LEFT, LOST_CALL

READY = SAVED[:5]
"""Opened, connected, settled, begun, synthesised."""


AGAIN = replace(intended(attempt=2, writer=NEXT_WRITER), connection=ConnectionId("connection-2"))


def found(path: Path, story: Recording) -> set[tuple[str, int | None, int | None]]:
    """What is broken, the tails apart."""
    return {(rule, branch, position) for rule, _, branch, position in findings(story.write(path)) if rule != "tail"}


def one(*events: Event) -> Recording:
    return Recording().append(*events)


def resolved(decision: Literal["accept", "abandon", "rewrite"], attempt: int = 1) -> CaptureResolved:
    return CaptureResolved(
        capture_id=CAPTURE, attempt=attempt, decision=decision, reason_sha256=BODY, file_path=ADDRESS.file_path
    )


def reference(evidence: str = "answered") -> CheckpointReferenced:
    return CheckpointReferenced(capture_id=CAPTURE, evidence=evidence, brief_sha256=BRIEF)


def forked(*events: Event, at: int = 5, kept: EntryId = TIP) -> Recording:
    """A fork from READY, which left a synthesised capture behind."""
    story = one(*READY)
    story.fork(1, at, replace(LEFT, kept_tip=kept), *events)
    return story


def _inherited() -> Recording:
    story = one(*SAVED)
    story.fork(1, 7, LEFT, probed("present_same", seen()), reference("read"), NoteWithdrawn(capture_id=CAPTURE))
    return story


def _mute() -> Recording:
    story = one(*READY)
    story.fork(1, 5, settled())
    return story


def _other_cause() -> Recording:
    story = one(*READY, intended())
    branch = story.fork(1, 5)
    return story.append(LEFT, branch=branch, cause=story.at(1, 6).digest)


def _parents_write(event: Event) -> Recording:
    story = one(*READY, intended())
    story.fork(1, 6, LEFT, event)
    return story


SOUND: dict[str, Callable[[], Recording]] = {
    "killed and settled": stories.killed,
    "forked": stories.forked,
    "sent again after nothing was sent": lambda: one(
        *READY, intended(), answered("not-sent"), intended(attempt=2), answered("accepted", attempt=2)
    ),
    "lost, and written again by a person": lambda: one(
        *DOUBTED, probed("absent_final", *NOWHERE), resolved("rewrite", 2), AGAIN
    ),
    "accepted by a person after a read": lambda: one(
        *DOUBTED, probed("conflicted", seen(capture=None)), resolved("accept")
    ),
    "abandoned": lambda: one(*DOUBTED, resolved("abandon")),
    "a fork checks what it inherited": _inherited,
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_journal_breaks_no_rule(tmp_path: Path, name: str) -> None:
    assert found(tmp_path / "a.journal", SOUND[name]()) == set()


BROKEN: dict[str, tuple[Callable[[], Recording], set[tuple[str, int, int]]]] = {
    "an answer without its intent": (lambda: one(*READY, answered()), {("intents", 1, 6)}),
    "an answer to another attempt": (lambda: one(*READY, intended(), answered(attempt=2)), {("intents", 1, 7)}),
    "two answers to one intent": (lambda: one(*SAVED, answered("unknown")), {("intents", 1, 8)}),
    "a tool's result without its call": (lambda: one(*SAVED, LOST_CALL), {("intents", 1, 8)}),
    "a call forwarded twice": (lambda: one(*SAVED, CALLED, CALLED), {("intents", 1, 9)}),
    "a write repeated after an ambiguous outcome": (
        lambda: one(*READY, intended(), answered("unknown"), intended(attempt=2)),
        {("attempts", 1, 8), ("refold", 1, 8)},
    ),
    "a write repeated without an answer": (
        lambda: one(*READY, intended(), intended(attempt=2)),
        {("attempts", 1, 7), ("refold", 1, 7)},
    ),
    "an attempt left out": (
        lambda: one(*READY, intended(), answered("not-sent"), intended(attempt=3)),
        {("attempts", 1, 8), ("refold", 1, 8)},
    ),
    "a confirmed capture written again": (
        lambda: one(*SAVED, intended(attempt=2)),
        {("attempts", 1, 8), ("refold", 1, 8)},
    ),
    "a confirmation without a path": (
        lambda: one(*READY, intended(), _without_path()),
        {("confirmations", 1, 7)},
    ),
    "a person's word without a read": (lambda: one(*DOUBTED, resolved("accept")), {("confirmations", 1, 9)}),
    "a brief that names what was never confirmed": (lambda: one(*DOUBTED, reference()), {("references", 1, 9)}),
    "a brief that names what is gone": (
        lambda: one(*SAVED, NoteWithdrawn(capture_id=CAPTURE), reference()),
        {("references", 1, 9)},
    ),
    "a brief that claims more than is proven": (lambda: one(*SAVED, reference("indexed")), {("references", 1, 8)}),
    "a verdict that the reads do not prove": (
        lambda: one(*DOUBTED, probed("absent_final", *NOWHERE, server="alive")),
        {("verdicts", 1, 9)},
    ),
    "a verdict on another body": (
        lambda: one(*DOUBTED, probed("present_same", seen(body=HANDOFF))),
        {("verdicts", 1, 9)},
    ),
    "a note found for a capture that nobody began": (
        lambda: one(*SAVED, probed("present_same", seen(), capture=OTHER_CAPTURE)),
        {("verdicts", 1, 8), ("inheritance", 1, 8)},
    ),
    "a fork that sends what its parent owed": (
        lambda: forked(intended()),
        {("inheritance", 2, 7), ("refold", 2, 7)},
    ),
    "a fork that reads for its parent's write": (
        lambda: _parents_write(probed("absent_open", *NOWHERE)),
        {("inheritance", 2, 8)},
    ),
    "an intent for what was never begun": (
        lambda: one(*SAVED[:3], intended()),
        {("inheritance", 1, 4), ("refold", 1, 4)},
    ),
    "an intent for another tip than its capture's": (
        lambda: one(*READY, intended(tip=EntryId("bb02"))),
        {("refold", 1, 6)},
    ),
    "an intent before its handoff is made": (lambda: one(*READY[:4], intended()), {("refold", 1, 5)}),
    "an intent for a server that was not connected": (
        lambda: one(*READY, replace(intended(), connection=ConnectionId("connection-2"))),
        {("refold", 1, 6)},
    ),
    "a branch that does not say why it began": (_mute, {("inheritance", 2, 6)}),
    "a fork in the middle of a branch": (lambda: one(*READY, LEFT), {("inheritance", 1, 6)}),
    "a cause that is no earlier row": (
        lambda: one(*READY).append(intended(), cause=Sha256("7" * 64)),
        {("causes", 1, 6)},
    ),
    "a cause on a branch that was left before it": (_other_cause, {("causes", 2, 6)}),
    "a close that forgets what is owed": (
        lambda: one(*READY, SessionClosed(reason="quit", unsaved_tip=None, drained=True)),
        {("refold", 1, 6)},
    ),
    "a close of what is closed": (lambda: one(*SAVED, stories.CLOSED, stories.CLOSED), {("refold", 1, 9)}),
    "a capture on another basis than the branch's": (
        lambda: one(*SAVED, settled(), begun(OTHER_CAPTURE, EntryId("bb02"))),
        {("refold", 1, 9)},
    ),
    "a capture begun while another is": (
        lambda: one(*SAVED[:4], begun(OTHER_CAPTURE, EntryId("bb02"))),
        {("refold", 1, 5)},
    ),
    "a writer called ended that owed nothing": (
        lambda: one(opened("resume", ended=(NEXT_WRITER,))),
        {("refold", 1, 1)},
    ),
    "a fork that keeps another tip": (lambda: forked(kept=EntryId("ee05")), {("refold", 2, 6)}),
}


def _without_path() -> WriteAnswered:
    return replace(answered(), file_path=None)


@pytest.mark.parametrize("name", BROKEN)
def test_a_rule_speaks_where_it_is_broken(tmp_path: Path, name: str) -> None:
    story, expected = BROKEN[name]
    assert found(tmp_path / "a.journal", story()) == expected
    assert run("audit", tmp_path / "a.journal").code == 1


def test_a_note_that_no_model_made_breaks_no_rule(tmp_path: Path) -> None:
    note = (begun(OTHER_CAPTURE, kind="note"), replace(finished(), capture_id=OTHER_CAPTURE))
    assert found(tmp_path / "a.journal", one(*SAVED, *note)) == set()


def test_notes_are_compared_with_what_was_confirmed(tmp_path: Path) -> None:
    note = tmp_path / "notes" / ADDRESS.file_path
    note.parent.mkdir(parents=True)
    note.write_text("as it was sent")
    told = replace(answered(), file_path=ADDRESS.file_path, checksum=sha256(note.read_bytes()).hexdigest())
    path = recorded(tmp_path / "a.journal", *SAVED[:6], told)
    options = ("--notes", tmp_path / "notes")
    assert findings(path, *options) == {("tail", "unproven", 1, 1)}
    note.write_text("as somebody edited it")
    assert ("notes", "unproven", 1, 7) in findings(path, *options)
    note.unlink()
    assert ("notes", "unproven", 1, 7) in findings(path, *options)
    assert run("audit", path, "--notes", note).code == 3


def test_a_note_is_never_looked_for_outside_the_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "secret").write_text("not a note")
    told = replace(answered(), file_path="../secret", checksum=sha256(b"not a note").hexdigest())
    path = recorded(tmp_path / "a.journal", *SAVED[:6], told)
    ran = run("audit", path, "--notes", tmp_path / "notes")
    assert "leads out of the folder" in ran.out


@pytest.mark.parametrize("where", ["circle", "not\0a path"])
def test_a_note_at_a_path_that_leads_nowhere_is_unproven(tmp_path: Path, where: str) -> None:
    (tmp_path / "circle").symlink_to("circle")
    told = replace(answered(), file_path=where)
    path = recorded(tmp_path / "a.journal", *SAVED[:6], told)
    assert ("notes", "unproven", 1, 7) in findings(path, "--notes", tmp_path)


def test_a_note_that_is_known_to_be_gone_is_not_looked_for(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.journal", *SAVED, NoteWithdrawn(capture_id=CAPTURE))
    assert findings(path, "--notes", tmp_path) == {("tail", "unproven", 1, 1)}


def test_a_note_without_a_checksum_is_unproven(tmp_path: Path) -> None:
    (tmp_path / "n.md").write_text("text")
    told = replace(answered(), file_path="n.md", checksum=None)
    path = recorded(tmp_path / "a.journal", *SAVED[:6], told)
    assert ("notes", "unproven", 1, 7) in findings(path, "--notes", tmp_path)


def test_what_is_broken_is_named_in_words(tmp_path: Path) -> None:
    result = ToolAnswered(call_id=CallId("call-9"), outcome="accepted", code=None)
    path = recorded(tmp_path / "a.journal", *READY, result)
    text = run("audit", path).out
    assert "broken    intents  1@6  the call call-9 was answered and never forwarded" in text
    assert text.splitlines()[-1].startswith("broken: 1 finding broken, 1 unproven; ")
