"""`/bm-pending` answers at once, reads and decides behind it, and says with proof what came of it. No model is asked."""

from __future__ import annotations

import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.capture import address, capture_id, content_digest
from continuity.due import PROBE_SPACING_MS
from continuity.shell.adhoc import AdHoc
from continuity.shell.bridging import forward
from continuity.tau.pending_command import pending
from journal.events import CaptureProbed, CaptureResolved, ToolResolved, WriteAnswered, WriteIntended
from journal.ids import EntryId, SessionId
from journal.reader import open_reader
from journal.row import FIRST_BRANCH
from tests.fakes.host import Conversation
from tests.shell.calls import began, write
from tests.shell.rig import BOUND, Rig, Talk, names, rig, until, unwritable
from tests.shell.test_adoption import foreign
from tests.shell.test_doubts import replace_server

FOLDER = "tau/checkpoints"
REF = capture_id("main", SessionId("session"), "checkpoint", EntryId("s2"))
PATH = address(REF, FOLDER, "checkpoint").file_path
SHORT = REF[:10]
MINUTE = 60_000


def ask(process: Rig, talk: Talk, words: str = "") -> str:
    answer = pending(talk.session, None, process.owner, process.clock.now_ms(), words)
    assert answer is not None, "it follows"
    return answer


async def told(process: Rig, talk: Talk, words: str) -> str:
    """Type the command, and return what is said after it was acknowledged."""
    acknowledged = ask(process, talk, words)
    assert acknowledged.startswith(("Reading now", "Recording")), acknowledged
    before = len(process.voice.answers)
    await until(lambda: len(process.voice.answers) > before, "what came of it")
    return process.voice.answers[-1]


async def turned(process: Rig, *steps: object) -> Talk:
    """One turn whose write meets `steps`."""
    talk = await process.open()
    if steps:
        process.memory.faults(write_note=list(steps))
    await talk.turn("light the lamp")
    await until(lambda: talk.events(WriteAnswered), "an outcome")
    await talk.settle()
    process.memory.faults()
    return talk


async def doubted(process: Rig) -> Talk:
    return await turned(process, {"error": "disk full"})


async def refused(process: Rig) -> Talk:
    return await turned(process, {"code": "NOTE_LOCKED"})


async def conflicted(process: Rig) -> Talk:
    process.memory.put(PATH, "Somebody's own note.")
    return await turned(process)


async def lost(process: Rig) -> tuple[Talk, str]:
    """A write that was proven lost, and how it is named."""
    talk = await process.open()
    await talk.saved("the index is known to work")
    process.memory.faults(write_note=[{"error": "disk full"}])
    await talk.turn("light the lamp")
    await until(lambda: len(talk.events(WriteAnswered)) == 2, "an outcome")
    await talk.settle()
    await replace_server(process, talk)
    process.clock.advance(PROBE_SPACING_MS[1])
    await talk.settle()
    assert statuses(talk) == ["lost"]
    return talk, talk.state.captures[0].capture_id


async def cut_off(process: Rig) -> None:
    """End the server, and let no other come up."""
    process.memory.faults(initialize="exit")
    connection = process.link.connection
    assert connection is not None
    os.killpg(connection.process.process_group, signal.SIGKILL)
    await connection.wait_lost()


def statuses(talk: Talk) -> list[str]:
    return [capture.status for capture in talk.state.captures]


def reasons(talk: Talk, event: CaptureResolved | ToolResolved) -> str | None:
    with open_reader(talk.path) as reader:
        return reader.body(event.reason_sha256)


# -- the list ----------------------------------------------------------------


async def test_what_is_open_is_listed_with_age_reason_and_choices(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with rig(tmp_path) as process:
        talk = await doubted(process)
        process.clock.advance(3 * MINUTE)
        assert ask(process, talk) == snapshot


async def test_what_was_refused_is_not_called_unproven(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    async with rig(tmp_path) as process:
        talk = await refused(process)
        assert ask(process, talk) == snapshot


async def test_what_is_open_on_a_branch_that_was_left_is_listed_and_decided_there(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        process.memory.faults(write_note=[{"error": "disk full"}])
        await talk.turn("a wrong turn")
        await until(lambda: statuses(talk) == ["in_doubt"], "a doubt")
        talk.conversation.go_to(kept)
        await talk.prompt("a better turn")
        (item,) = talk.session.settling.items
        assert (item.branch, talk.state.branch) == (1, 2)
        assert f"  {item.short}  in doubt" in ask(process, talk)
        await told(process, talk, f"abandon {item.short} the wrong turn")
        assert talk.session.settling.items == ()
        assert talk.events(CaptureResolved, branch=1)


async def test_where_nothing_is_open_it_says_so(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert ask(process, talk) == "Nothing is pending: this session's journal begins with the first prompt."
        await talk.saved("one")
        assert ask(process, talk) == "Nothing is pending on any branch of this session."
        assert ask(process, talk, "probe") == (
            "No write is open on any branch of this session: there is nothing to read."
        )
        assert "has no file" in str(pending(None, None, process.owner, 0, "probe"))


async def test_asked_before_the_start_it_answers_once_the_journal_is_open(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
        talk = await process.open(conversation)
        await talk.turn("light the lamp")
        await until(lambda: talk.events(WriteAnswered), "an outcome")
    async with rig(tmp_path) as process:
        talk = process.session(conversation)
        assert pending(talk.session, None, process.owner, process.clock.now_ms(), "") is None
        await talk.session.start("resume")
        await until(lambda: process.voice.answers, "the list")
        assert "the server refused it (NOTE_LOCKED)" in process.voice.answers[0]


async def test_what_waits_for_memory_is_listed_and_said_once_when_it_is_taken_up_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await cut_off(process)
        await talk.turn("light the lamp")
        await until(lambda: statuses(talk) == ["ready"], "a checkpoint")
        process.clock.advance(3 * MINUTE)
        listed = ask(process, talk).splitlines()
        assert listed[0] == "Nothing is pending on any branch of this session."
        assert listed[1].startswith(
            "Not stored yet: 1 text for 3 minutes; sent as soon as memory answers; memory is not connected"
        )
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="exit")
        await process.session(conversation).session.start("resume")
        said = process.voice.on("kept")
        assert said == ["1 text of this session is kept and not stored yet: sent as soon as memory answers."]


async def test_while_the_journal_is_blocked_nothing_is_made_up(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        conversation = Conversation()
        holding = await process.open(conversation)
        await holding.prompt("hello")
        second = process.session(conversation)
        await second.session.start("startup")
        assert "another process has this session open" in ask(process, second, "probe")


# -- reading -----------------------------------------------------------------


async def test_a_read_is_made_now_and_says_what_each_way_found(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await doubted(process)
        before = len(talk.events(CaptureProbed))
        asked = list(process.mind.asked)
        notice = await told(process, talk, "probe")
        assert len(talk.events(CaptureProbed)) == before + 1
        assert f"{SHORT} (checkpoint to main: {PATH}) was read now:" in notice
        for way in ("at its address", "by its title", "by search for its identity"):
            assert f"  {way}: nothing\n" in notice
        assert "the server it was sent through: alive" in notice
        assert "not proven yet: the server it was sent through is not proven to be gone" in notice
        assert "not proven yet: search was not seen to find any note" in notice
        assert "Verdict absent_open: it was not found, and it may still land. It is in doubt" in notice
        position = talk.state.position
        assert f"Recorded as row 1@{position}, {(talk.state.digest or '')[:10]}." in notice
        assert process.memory.calls()["write_note"] == 1
        assert process.mind.asked == asked


async def test_who_asks_twice_is_told_twice(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await doubted(process)
        await told(process, talk, f"probe {SHORT}")
        await told(process, talk, f"probe {SHORT.upper()}")
        assert len(process.voice.answers) == 2


@pytest.mark.parametrize("start", [refused, conflicted], ids=["refused", "conflicted"])
async def test_a_note_that_is_there_now_settles_what_was_refused_or_in_conflict(
    tmp_path: Path, start: Callable[[Rig], Awaitable[Talk]]
) -> None:
    async with rig(tmp_path) as process:
        talk = await start(process)
        body = "## Objective\n\nThe same, in a rival's words."
        process.memory.put(PATH, body, capture_id=REF, source_tip="s2", content_digest=content_digest(body))
        notice = await told(process, talk, f"probe {SHORT}")
        assert "its note as another process or tool wrote it" in notice
        assert "Verdict present_twin: it is stored: another process or tool saved the same. It is settled." in notice
        assert talk.state.captures == ()
        assert talk.state.checkpoint is not None


async def test_a_lost_write_that_turns_up_after_all_is_settled(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk, reference = await lost(process)
        intent = talk.events(WriteIntended)[-1]
        body = "Something in its name."
        process.memory.put(
            intent.address.file_path,
            body,
            capture_id=reference,
            source_tip=intent.source_tip,
            content_digest=content_digest(body),
        )
        assert "It is settled." in await told(process, talk, f"probe {reference}")
        assert talk.state.captures == ()


async def test_a_stranger_in_its_place_is_said_and_not_overwritten(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await refused(process)
        process.memory.put(PATH, "Somebody's own note.")
        notice = await told(process, talk, "probe")
        assert f"at its address: another note ({PATH})" in notice
        assert f"`/bm-pending accept {SHORT}`" in notice
        assert statuses(talk) == ["conflicted"]
        assert process.memory.notes[PATH]["content"] == "Somebody's own note."


async def test_without_a_server_nothing_is_read_and_that_is_said(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        talk = await doubted(process)
        before = len(talk.events(CaptureProbed))
        await cut_off(process)
        assert "nothing was read" in await told(process, talk, "probe")
        assert "nothing was read" in await told(process, talk, "probe")
        assert len(talk.events(CaptureProbed)) == before


# -- deciding ----------------------------------------------------------------


async def test_a_doubt_that_is_given_up_is_read_no_more_and_its_reason_is_kept_masked(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await doubted(process)
        reads = len(talk.events(CaptureProbed))
        secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
        notice = await told(process, talk, f"abandon {SHORT} it held {secret} by mistake")
        assert "is given up, by your decision" in notice
        (event,) = talk.events(CaptureResolved)
        assert event.decision == "abandon"
        reason = reasons(talk, event)
        assert reason is not None
        assert reason.startswith("it held [masked:")
        assert secret.encode() not in talk.path.read_bytes()
        process.clock.advance(PROBE_SPACING_MS[-1])
        await talk.settle()
        assert len(talk.events(CaptureProbed)) == reads
        assert ask(process, talk) == "Nothing is pending on any branch of this session."


async def test_a_conflict_that_is_accepted_counts_as_stored(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await conflicted(process)
        notice = await told(process, talk, f"accept {SHORT}")
        assert "counts as done, by your decision" in notice
        assert talk.state.captures == ()
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "read"
        assert "proof: a person accepted it\n" in talk.page
        assert "read back" not in talk.page
        assert process.memory.notes[PATH]["content"] == "Somebody's own note."


async def test_a_refused_write_that_is_wanted_again_is_sent_once_more_and_creates(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await refused(process)
        asked = list(process.mind.asked)
        notice = await told(process, talk, f"rewrite {SHORT} unlocked it")
        assert "sent once, create-only" in notice
        await talk.settle()
        assert [(each.attempt, each.mode) for each in talk.events(WriteIntended)] == [(1, "create"), (2, "create")]
        assert [each.outcome for each in talk.events(WriteAnswered)] == ["refused", "accepted"]
        assert process.memory.calls()["write_note"] == 2
        assert process.mind.asked == asked
        assert any("Checkpoint saved" in text for text in process.voice.on("save"))


async def test_a_lost_write_that_is_wanted_again_continues_nothing_that_came_after_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk, reference = await lost(process)
        process.memory.faults()
        newest = talk.conversation.user("what another machine went on with")
        talk.conversation.receipt(foreign(newest))
        await talk.prompt("go on")
        await told(process, talk, f"rewrite {reference}")
        await talk.settle()
        assert talk.state.captures == ()
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == newest
        place = str(talk.events(WriteAnswered)[-1].file_path)
        assert process.memory.notes[place]["frontmatter"]["capture_id"] == reference
        assert "continues" not in process.memory.notes[place]["content"]


async def test_a_lost_write_that_is_wanted_again_never_overwrites(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk, reference = await lost(process)
        place = talk.events(WriteIntended)[-1].address.file_path
        process.memory.put(place, "Somebody's own note.")
        await told(process, talk, f"rewrite {reference}")
        await talk.settle()
        assert process.memory.notes[place]["content"] == "Somebody's own note."
        assert statuses(talk) == ["conflicted"]


async def test_what_was_erased_cannot_be_written_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await refused(process)
        ledger, digest = talk.session.desk.ledger, talk.state.captures[0].handoff_sha256
        assert ledger is not None
        assert digest is not None
        await ledger.journal.append(FIRST_BRANCH, [], expected=talk.state.position, erase=[digest])
        assert "was erased, so it cannot be written again" in await told(process, talk, f"rewrite {SHORT}")
        assert talk.events(CaptureResolved) == []


async def test_what_is_wanted_again_and_not_sent_yet_is_listed_and_can_be_let_go_of(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        talk = await refused(process)
        await cut_off(process)
        await told(process, talk, f"rewrite {SHORT} unlocked it")
        shown = ask(process, talk)
        assert shown.startswith("Pending: 1 decided and not sent yet\n")
        assert f"`/bm-pending abandon {SHORT}` lets go of it" in shown
        assert "there is nothing to read" in ask(process, talk, f"probe {SHORT}")
        assert ask(process, talk, "probe").startswith("No write is open")
        assert "it is to be sent again already" in ask(process, talk, f"rewrite {SHORT}")
        assert "is given up" in await told(process, talk, f"abandon {SHORT}")
        assert statuses(talk) == []


async def test_a_call_of_unknown_outcome_is_settled_by_a_person_alone(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=["garbage"])
        await forward(process.link, talk.session.desk, write(1.0))
        (item,) = talk.session.settling.items
        assert "what     call of write_note, on branch 1" in ask(process, talk)
        assert "no read tells what became of it" in ask(process, talk, f"probe {item.short}")
        assert "a call is never made again" in ask(process, talk, f"rewrite {item.short}")
        assert ask(process, talk, "probe").startswith("No write is open")
        await told(process, talk, f"accept {item.short} I see the note")
        assert talk.state.calls == ()
        (event,) = talk.events(ToolResolved)
        assert (event.decision, reasons(talk, event)) == ("accept", "I see the note")


async def test_a_call_in_the_journal_of_the_process_is_settled_from_any_of_its_sessions(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        adhoc = AdHoc(process.writer, process.clock, process.voice, host="host 1", version="0.1.0")
        profile = process.settings.profile(tmp_path, tmp_path)
        process.memory.faults(write_note=["garbage"])
        recorder = partial(adhoc.desk, process.link, process.places, profile, process.settings)
        assert await process.link.up(BOUND)
        await forward(process.link, None, write(1.0), elsewhere=recorder)
        assert adhoc.settling is not None
        (item,) = adhoc.settling.items
        shown = str(pending(None, adhoc.settling, process.owner, 0, ""))
        assert f"  {item.short}  in doubt" in shown
        assert "what     call of write_note" in shown
        unstarted = process.session(Conversation())
        assert "journal is being opened" in str(pending(unstarted.session, adhoc.settling, process.owner, 0, ""))
        assert item.short in str(pending(unstarted.session, adhoc.settling, process.owner, 0, ""))
        pending(None, adhoc.settling, process.owner, 0, f"abandon {item.short}")
        await until(lambda: process.voice.answers, "what came of it")
        assert "is given up" in process.voice.answers[-1]
        assert adhoc.settling.items == ()
        await adhoc.close("quit")
        assert adhoc.path is None
        assert "no call that changes memory" in str(pending(None, adhoc.settling, process.owner, 0, ""))


async def test_a_decision_that_cannot_be_recorded_is_said_and_changes_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await refused(process)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            assert "Nothing was recorded" in await told(process, talk, f"abandon {SHORT}")
            assert statuses(talk) == ["refused"]


# -- what is not taken -------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        ("settle", "'settle' is none of its words: /bm-pending [probe [REF]"),
        ("probe one two", "probe takes one reference at most"),
        ("accept", "accept needs the reference of what it is about"),
        (f"accept {SHORT}", "cannot be settled by accept: no read found a note that could be accepted"),
        (f"rewrite {SHORT}", "cannot be settled by rewrite: it may be stored, or may still land"),
        ("abandon abc", "a reference is the beginning of an identity, 4 characters at least"),
        ("x" * 1_000_000, "' and 999,936 characters more is none of its words: /bm-pending"),
        (f"abandon {SHORT} {'r' * 2_001}", "a reason has at most 2,000 characters, and this one has 2,001"),
        ("probe ffff0000", f"nothing open is named 'ffff0000'; open are {SHORT}"),
    ],
    ids=lambda text: text[:30],
)
async def test_wrong_words_are_answered_with_what_would_be_right(tmp_path: Path, words: str, answer: str) -> None:
    async with rig(tmp_path) as process:
        talk = await doubted(process)
        before = names(talk.path)
        assert answer in ask(process, talk, words)
        assert await process.owner.drain(BOUND)
        assert process.voice.answers == []
        assert names(talk.path) == before
