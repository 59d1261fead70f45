"""A person's note goes the way of every write: on disk first, sent once, settled by reading. It moves no checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from continuity.commands import CommandRejected, Resolve
from continuity.due import PROBE_SPACING_MS, SYNTHESIS_BACKOFF_MS
from continuity.shell import noting
from continuity.shell.desk import Desk
from continuity.shell.noting import Kept, Note
from journal.errors import JournalError
from journal.events import (
    CaptureBegun,
    CaptureProbed,
    SessionClosed,
    SynthesisFailed,
    SynthesisFinished,
    WriteAnswered,
    WriteIntended,
)
from journal.ids import CaptureId, Sha256
from journal.row import FIRST_BRANCH
from tests.facts import intended
from tests.fakes.host import Conversation, failing
from tests.journal.kit import record
from tests.shell.calls import began
from tests.shell.rig import Rig, Talk, crash, names, recorded, replayed, rig, until, unwritable

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
LAMP = Note(
    title="Oil: why", folder="notes", note_type="note", text="Oil, for there is no wind.", metadata={"status": "open"}
)
DEAF = {"read_note": ["rpc-error"], "search_notes": ["rpc-error"]}
NEVER: dict[str, Any] = {"cadence": {"characters": 100_000, "minutes": 60}}


async def kept_at(desk: Desk, note: Note = LAMP) -> CaptureId:
    came = await noting.keep(desk, note, reason="setup")
    assert isinstance(came, Kept)
    return came.identity


async def kept(talk: Talk, note: Note = LAMP) -> CaptureId:
    came = await noting.keep(talk.session.desk, note, reason="command")
    assert isinstance(came, Kept)
    return came.identity


def sent(process: Rig) -> list[dict[str, Any]]:
    """What the server was asked to write, in order."""
    return [r["params"]["arguments"] for r in process.memory.requests() if r["name"] == "write_note"]


def recorded_last(talk: Talk) -> str:
    """What a person is told of the newest row."""
    return f"Recorded as row 1@{talk.state.position}, {str(talk.state.digest)[:10]}."


# -- the ordinary way --------------------------------------------------------


async def test_a_note_is_on_disk_whole_before_it_is_sent_and_is_then_sent_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        await kept(talk)
        await talk.settle()
        assert names(talk.path)[-4:] == ["capture-begun", "synthesis-finished", "write-intended", "write-answered"]
        (path,) = process.memory.notes
        assert path.startswith("notes/oil-why-")
        assert process.memory.notes[path]["content"] == "# Oil: why\n\nOil, for there is no wind.\n"
        assert process.voice.on("save") == [f"Note saved: {path} (answered by the server). {recorded_last(talk)}"]
        assert replayed(talk.path) == talk.state


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


async def test_a_note_is_on_record_as_made_by_no_model_and_masked(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        await kept(talk, replace(LAMP, text=f"the key is {SECRET}", title=SECRET))
        await talk.settle()
        (made,) = talk.events(SynthesisFinished)
        assert (made.model, made.chunks, made.tokens_in, made.maskings) == (None, 0, 0, 2)
        files = b"".join(path.read_bytes() for path in talk.path.parent.glob(f"{talk.path.name}*"))
        assert SECRET not in str(sent(process))
        assert SECRET.encode() not in files


async def test_what_only_may_be_a_credential_is_masked_in_a_note_too_unless_it_is_let_pass(tmp_path: Path) -> None:
    odd = replace(LAMP, text="the key for the lamp is q7Rk2Vd9Xw4Lm8TzB5nC3hJp")
    for folder, mask_candidates in (("on", True), ("off", False)):
        (tmp_path / folder).mkdir()
        async with rig(tmp_path / folder, mask_candidates=mask_candidates) as process:
            talk = await began(process)
            await kept(talk, odd)
            await talk.settle()
            assert ("q7Rk2Vd9" in str(sent(process))) is not mask_candidates


async def test_the_same_words_are_one_note_while_open_once_sent_and_after_a_restart(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await began(process, conversation)
        process.memory.faults(write_note=["hold", "store"])
        await kept(talk)
        assert await noting.keep(talk.session.desk, LAMP, reason="command") == "open"
        process.memory.release()
        await talk.settle()
        assert await noting.keep(talk.session.desk, replace(LAMP, metadata={}), reason="command") == "stored"
        await kept(talk, replace(LAMP, text="Gas."))
        await talk.settle()
        await process.kill()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert await noting.keep(talk.session.desk, LAMP, reason="command") == "stored"
        assert len(process.memory.notes) == len(sent(process)) == 2


async def test_a_note_never_becomes_a_checkpoint_a_basis_or_a_link(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        first = await talk.saved("light the lamp")
        await kept(talk)
        await talk.settle()
        assert talk.state.checkpoint is not None
        assert (talk.state.checkpoint.source_tip, talk.state.tip) == (first, first)
        await talk.saved("and the foghorn")
        assert talk.events(CaptureBegun)[-1].prior_tip == first
        assert "oil-why" not in sent(process)[-1]["content"]


# -- in nobody's way ---------------------------------------------------------


async def test_a_note_does_not_wait_for_a_model_that_fails(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.mind.answer = failing("timeout")
        talk = await process.open()
        await talk.turn("light the lamp")
        await talk.settle()
        assert len(talk.events(SynthesisFailed)) == 1
        await kept(talk)
        await talk.settle()
        assert [intent.kind for intent in talk.events(WriteIntended)] == ["note"]
        process.mind.answer = type(process.mind)().answer
        process.clock.advance(SYNTHESIS_BACKOFF_MS[1])
        talk.session.runner.wake()
        await talk.settle()
        assert [intent.kind for intent in talk.events(WriteIntended)] == ["note", "checkpoint"]


async def test_no_two_writes_of_ours_are_ever_under_way_at_once(tmp_path: Path) -> None:
    async with rig(tmp_path, capture_transcript=True) as process:
        talk = await process.open()
        for number in range(4):
            await talk.turn(f"turn {number}")
            await kept(talk, replace(LAMP, text=f"note {number}"))
        await talk.settle()
        rows = [name for name in names(talk.path) if name.startswith("write-")]
        assert rows == ["write-intended", "write-answered"] * (len(rows) // 2)
        assert len(process.memory.notes) == len(sent(process)) == len(rows) // 2


async def test_a_note_kept_while_the_server_is_away_is_sent_once_it_is_there(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        await crash(process)
        identity = await kept(talk)
        assert talk.session.unsaved
        assert talk.state.live(identity) is not None
        await process.link.up(10)
        await talk.settle()
        assert (len(process.memory.notes), talk.session.unsaved) == (1, False)


async def test_the_first_note_of_a_session_discloses_nothing_for_it_was_asked_for(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        await kept(talk)
        await talk.settle()
        assert process.voice.on(f"destination:{talk.session.desk.session_id}") == []


# -- when something goes wrong -----------------------------------------------


@pytest.mark.parametrize("fault", ["silent", "exit", "rpc-error", "garbage"])
async def test_a_note_with_a_lost_answer_is_settled_by_reading_and_never_sent_again(tmp_path: Path, fault: str) -> None:
    async with rig(tmp_path, timeout_seconds=1.5, **NEVER) as process:
        talk = await began(process)
        process.memory.faults(write_note=["store", fault])
        await kept(talk)
        await until(lambda: talk.events(WriteAnswered), "an outcome")
        process.memory.faults()
        await process.link.up(10)
        await until(lambda: not talk.state.captures, "the verdict")
        assert [one.outcome for one in talk.events(WriteAnswered)] == ["unknown"]
        assert talk.events(CaptureProbed)[-1].verdict == "present_same"
        assert talk.state.noted is not None
        assert talk.state.noted.evidence == "read"
        assert len(sent(process)) == 1


async def test_a_note_that_cannot_land_any_more_is_lost_though_there_never_was_a_checkpoint(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=1.5, **NEVER) as process:
        talk = await began(process)
        await kept(talk)
        await talk.settle()
        process.memory.faults(write_note=["exit"])
        identity = await kept(talk, replace(LAMP, text="Gas."))
        await until(lambda: len(talk.events(WriteAnswered)) == 2, "an outcome")
        process.memory.faults()
        await process.link.up(10)
        process.clock.advance(PROBE_SPACING_MS[-1])
        talk.session.runner.wake()
        await talk.settle()
        assert talk.events(CaptureProbed)[-1].verdict == "absent_final"
        lost = talk.state.live(identity)
        assert lost is not None
        assert (lost.status, len(sent(process))) == ("lost", 2)


async def test_a_refused_note_is_shown_and_is_written_again_by_a_person_alone(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
        identity = await kept(talk)
        await talk.settle()
        refused = f"The server refused the note (NOTE_LOCKED). See /bm-pending. {recorded_last(talk)}"
        assert process.voice.on("save") == [refused]
        process.memory.faults()
        process.clock.advance(1_000_000)
        talk.session.runner.wake()
        await talk.settle()
        assert len(sent(process)) == 1
        again = Resolve(capture_id=identity, decision="rewrite", reason_sha256=Sha256("0" * 64))
        await talk.session.desk.apply(again)
        talk.session.runner.wake()
        await talk.settle()
        assert [one.attempt for one in talk.events(WriteIntended)] == [1, 2]
        assert len(process.memory.notes) == 1


async def test_a_note_that_meets_another_at_its_address_overwrites_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        process.memory.put("notes/rival.md", "a rival's words", capture_id="f" * 64)
        process.memory.faults(exists_at="notes/rival.md")
        await kept(talk)
        await talk.settle()
        assert talk.events(CaptureProbed)[-1].verdict == "conflicted"
        assert [c.status for c in talk.state.captures] == ["conflicted"]
        assert process.memory.notes["notes/rival.md"]["content"] == "a rival's words"


async def test_a_note_whose_text_was_erased_before_it_was_sent_is_let_go_and_that_is_said(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        await crash(process)
        await kept(talk)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        (made,) = talk.events(SynthesisFinished)
        await ledger.journal.append(FIRST_BRANCH, [], expected=talk.state.position, erase=[made.handoff_sha256])
        await process.link.up(10)
        await talk.settle()
        assert [one.error for one in talk.events(SynthesisFailed)] == ["body-missing"]
        assert (talk.state.captures, sent(process)) == ((), [])
        assert "A note was not sent, and its text was erased" in str(process.voice.notices)


async def test_a_note_that_was_sent_from_another_branch_is_let_go_and_not_sent_again(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        await crash(process)
        identity = await kept(talk)
        ledger, position = talk.session.desk.ledger, talk.state.position
        assert ledger is not None
        await ledger.journal.fork(FIRST_BRANCH, position, [record(intended(identity, kind="note"))])
        await process.link.up(10)
        await talk.settle()
        assert [one.error for one in talk.events(SynthesisFailed)] == ["submitted-elsewhere"]
        assert (talk.state.captures, sent(process)) == ((), [])


async def test_what_is_no_place_for_a_note_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        before = names(talk.path)
        for folder in ("/etc", "../up", "a/../b"):
            with pytest.raises(CommandRejected):
                await noting.keep(talk.session.desk, replace(LAMP, folder=folder), reason="command")
        assert names(talk.path) == before
    async with rig(tmp_path / "none", project=None) as process:
        talk = process.session(Conversation())
        with pytest.raises(CommandRejected):
            await noting.keep(talk.session.desk, LAMP, reason="command")


async def test_a_note_that_cannot_be_recorded_is_not_sent(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            with pytest.raises(JournalError):
                await noting.keep(talk.session.desk, LAMP, reason="command")
        assert sent(process) == []


# -- a process that ends -----------------------------------------------------


async def test_a_note_kept_by_a_killed_process_is_sent_by_the_next_once(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process, conversation)
        await crash(process)
        await kept(talk)
        path = talk.path
        await process.kill()
    assert names(path)[-2:] == ["capture-begun", "synthesis-finished"]
    async with rig(tmp_path, **NEVER) as process:
        talk = await process.open(conversation)
        await talk.settle()
        assert len(sent(process)) == len(process.memory.notes) == 1


@pytest.mark.parametrize("stored", [True, False])
async def test_a_note_whose_sender_was_killed_is_read_for_by_the_next_and_not_sent_again(
    tmp_path: Path, stored: bool
) -> None:
    conversation = Conversation()
    async with rig(tmp_path, timeout_seconds=1.5, **NEVER) as process:
        talk = await began(process, conversation)
        process.memory.faults(write_note=["store", "silent"] if stored else ["silent"], **DEAF)
        await kept(talk)
        await until(lambda: talk.events(WriteIntended), "the intent")
        await until(lambda: sent(process), "the call")
        path = talk.path
        await process.kill()
    async with rig(tmp_path, **NEVER) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        process.clock.advance(PROBE_SPACING_MS[-1])
        talk.session.runner.wake()
        await talk.settle()
        assert len(sent(process)) == len(recorded(path, WriteIntended)) == 1
        assert (talk.events(CaptureProbed)[-1].verdict == "present_same") is stored


async def test_a_quit_waits_for_a_note_as_long_as_it_may(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        process.memory.faults(write_note=["hold", "store"])
        await kept(talk)
        assert not await talk.session.ending(0.2)
        process.memory.release()
        assert await talk.session.ending(10)
        path = talk.path
    assert [one.drained for one in recorded(path, SessionClosed)] == [True]


async def test_the_status_page_names_the_newest_note_and_one_that_waits(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        await kept(talk)
        await talk.settle()
        assert talk.state.noted is not None
        assert f"  last note    {talk.state.noted.path}\n" in talk.page
        await crash(process)
        identity = await kept(talk, replace(LAMP, text="Gas."))
        assert f"  not saved    note {identity[:12]} is ready and waits for memory, for less than a minute" in talk.page


# -- without a session -------------------------------------------------------


async def test_where_no_session_runs_a_note_is_sent_read_once_and_returned_as_known(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await began(process)
        desk = unattended(talk)
        identity = await kept_at(desk)
        known = await noting.settle_now(desk, identity, seconds=10)
        assert (known.capture.status, known.capture.evidence, known.read) == ("confirmed", "read", "present_same")
        assert len(sent(process)) == 1


async def test_a_note_that_reads_as_other_words_than_were_sent_is_returned_with_what_was_read(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        desk = unattended(await began(process))
        process.memory.faults(write_note=[{"store": "Gas."}])
        identity = await kept_at(desk)
        known = await noting.settle_now(desk, identity, seconds=10)
        assert (known.capture.status, known.capture.edited, known.read) == ("confirmed", True, "present_edited")


async def test_what_is_not_settled_in_time_is_returned_open_and_is_not_sent_again(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=1.0, **NEVER) as process:
        talk = await began(process)
        desk = unattended(talk)
        process.memory.faults(write_note=["silent"])
        identity = await kept_at(desk)
        assert (await noting.settle_now(desk, identity, seconds=0.5)).capture.status == "in_doubt"
        process.memory.faults()
        again = await noting.settle_now(desk, identity, seconds=10)
        assert (again.capture.status, again.read) == ("in_doubt", "absent_open")
        assert len(sent(process)) == 1


async def test_a_note_nobody_kept_cannot_be_settled(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        with pytest.raises(CommandRejected):
            await noting.settle_now(talk.session.desk, CaptureId("0" * 64), seconds=1)


def unattended(talk: Talk) -> Any:
    """The session's desk, whose machine does not look again: nobody but the caller performs what is owed."""
    talk.session.runner.closed = True
    talk.session.runner.wake()
    return talk.session.desk
