"""Boundaries come one at a time and in order, wait for no model and no server, and leave nothing to the end of a process."""

import asyncio
from pathlib import Path

import anyio
import pytest

from continuity.capture import RECEIPT_NAMESPACE, parse_receipts
from journal.events import (
    BriefDelivered,
    CompactionNoticed,
    Gap,
    ReceiptAdopted,
    SessionClosed,
    SessionOpened,
    WorkSettled,
    WriteAnswered,
)
from journal.ids import SessionId
from journal.lock import JournalLock
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, names, recorded, replayed, rig, until, unwritable


async def test_nothing_is_on_disk_before_the_first_prompt(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert talk.session.desk.ledger is None
        assert not process.places.journal(SessionId("session")).exists()
        await talk.prompt("hello")
        assert names(talk.path)[0] == "session-opened"
        assert "work-begun" in names(talk.path)


async def test_a_prompt_does_not_wait_for_a_server_that_is_still_coming(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="hang")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        with anyio.fail_after(2):
            for number in range(3):
                await talk.turn(f"hello {number}")
        assert len(process.voice.on("recall")) == 1


async def test_a_prompt_does_not_wait_for_a_model(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.mind.gate = anyio.Event()
        talk = await process.open()
        await talk.turn("one")
        with anyio.fail_after(BOUND):
            await process.mind.arrived.wait()
        with anyio.fail_after(2):
            await talk.turn("two")


async def test_a_slow_recall_is_waited_for_once_and_within_its_bound(tmp_path: Path) -> None:
    async with rig(tmp_path, recall_wait_seconds=0.2) as process:
        process.memory.faults(search_notes=["hold"])
        talk = process.session(Conversation())
        await talk.session.start("startup")
        assert await process.link.up(BOUND)
        started = anyio.current_time()
        await talk.turn("one")
        waited = anyio.current_time() - started
        await talk.turn("two")
        again = anyio.current_time() - started - waited
        assert 0.2 <= waited < 2.0
        assert again < 0.2
        process.memory.release()


async def test_boundaries_handed_over_together_are_recorded_in_their_order(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        one = talk.conversation.user("one")
        two = talk.conversation.assistant("two")
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: talk.session.prompted(one, characters=3, typed=True))
            group.start_soon(lambda: talk.session.settled(two, interrupted=False))
            group.start_soon(lambda: talk.session.note(CompactionNoticed(entry=two)))
        told = [name for name in names(talk.path) if name in ("work-begun", "work-settled", "compaction-noticed")]
        assert told == ["work-begun", "work-settled", "compaction-noticed"]


async def test_a_settled_turn_that_came_before_the_start_was_done_waits_for_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = process.session(Conversation())
        async with anyio.create_task_group() as group:
            group.start_soon(talk.turn, "hello")
            await anyio.lowlevel.checkpoint()
            await talk.session.start("startup")
        assert len(talk.events(WorkSettled)) == 1


async def test_a_session_file_that_cannot_be_read_costs_that_boundary_alone(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        talk.conversation.unreadable = True
        with pytest.raises(PermissionError):
            await talk.prompt("one")
        talk.conversation.unreadable = False
        await talk.saved("two")


async def test_five_reloads_leave_one_brief_and_one_open_journal(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        talk = await process.open()
        prompted = await talk.prompt("hello")
        assert prompted.brief is not None
        talk.conversation.brief(prompted.brief.brief.sha256)
        await talk.session.delivered(prompted.brief)
        for _ in range(5):
            await talk.session.start("reload")
            assert (await talk.turn("go on")).brief is None
        assert len(talk.events(BriefDelivered)) == 1
        assert [event.reason for event in talk.events(SessionOpened)] == ["startup", *["reload"] * 5]


async def test_what_is_still_in_context_is_not_put_in_again_after_a_resume(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, capture_knowledge=False, summarize_on_shutdown=False) as process:
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        talk = await process.open(conversation)
        prompted = await talk.prompt("hello")
        assert prompted.brief is not None
        conversation.brief(prompted.brief.brief.sha256)
        await talk.session.delivered(prompted.brief)
    async with rig(tmp_path, capture_knowledge=False, checkpoint_on_compact=False) as process:
        talk = await process.open(conversation)
        assert (await talk.prompt("go on")).brief is None
        conversation.compact()
        await talk.settle()
        again = (await talk.prompt("and on")).brief
        assert again is not None
        assert again.brief.sha256 == prompted.brief.brief.sha256


async def test_a_second_process_is_told_and_writes_nothing_until_the_first_is_gone(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        talk = await first.open(conversation)
        await talk.saved("one")
        before = names(talk.path)
        async with rig(tmp_path) as second:
            other = await second.open(conversation)
            await other.turn("two")
            await other.settle()
            blocked = [other.session.blocked]
            assert len(second.voice.on("journal")) == 1
            assert names(talk.path) == before
            await first.end()
            await other.saved("three")
            blocked.append(other.session.blocked)
            assert blocked == ["another process has this session open; memory is read-only here", None]
            assert recorded(other.path, SessionOpened)[-1].writer == second.writer.writer


async def test_a_journal_that_cannot_be_read_is_left_as_it_is(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        path = process.places.journal(SessionId("session"))
        path.parent.mkdir(parents=True)
        path.write_bytes(b"not a journal at all" * 100)
        talk = await process.open()
        await talk.turn("one")
        await talk.turn("two")
        assert path.read_bytes() == b"not a journal at all" * 100
        assert len(process.voice.on("journal")) == 1
        assert not process.memory.calls()["write_note"]


async def test_a_journal_that_could_not_be_opened_at_the_start_is_opened_by_the_next_prompt(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        path = talk.path
    async with rig(tmp_path) as process:
        talk = process.session(conversation)
        conversation.unreadable = True
        with pytest.raises(PermissionError):
            await talk.session.start("startup")
        conversation.unreadable = False
        await talk.saved("two")
        assert talk.path == path
        assert len(talk.events(SessionOpened)) == 2


async def test_receipts_are_adopted_after_the_journal_was_lost(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        tip = await talk.saved("one")
        receipt = (await talk.prompt("two")).receipt
        assert receipt is not None
        conversation.receipt(receipt)
        assert (await talk.turn("three")).receipt is None
        path = talk.path
    path.unlink()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.prompt("four")
        (adopted,) = talk.events(ReceiptAdopted)
        assert (adopted.source_tip, adopted.origin) == (tip, "session")
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "adopted"


async def test_a_mirrored_receipt_is_an_anchor_and_reads_in_the_shared_form(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        receipt = (await talk.prompt("two")).receipt
        assert receipt is not None
        ((read,), skipped) = parse_receipts([receipt])
        assert skipped == 0
        assert (read.project, read.status, read.kind) == ("main", "confirmed", "checkpoint")
        assert RECEIPT_NAMESPACE == "basic-memory.continuity.v1"
        anchor = (receipt["branch"], receipt["position"], receipt["digest"])
        assert anchor == (talk.state.branch, talk.state.position, talk.state.digest)


async def test_an_unreadable_receipt_is_passed_over_and_counted(tmp_path: Path) -> None:
    conversation = Conversation()
    conversation.receipt({"v": 2})
    conversation.receipt({"project": "main", "capture_id": 5})
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        assert process.voice.on("receipts") == ["2 unreadable receipt(s) in this session were passed over."]


async def test_a_session_that_is_left_finishes_its_capture_and_lets_go(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.mind.gate = anyio.Event()
        old = await process.open(name="old")
        await old.turn("the old one's work")
        path = old.path
        old.session.left()
        await old.session.leave(lambda: process.owner.spawn("left", old.session.end_when_idle, daemon=True))
        new = await process.open(Conversation("n"), name="new")
        process.mind.gate.set()
        await new.saved("the new one's work")
        with anyio.fail_after(BOUND):
            await old.session.gone.wait()
        assert replayed(path).checkpoint is not None
        assert recorded(path, SessionClosed)[-1].drained
        assert "the new one's work" not in process.mind.asked[0]
        JournalLock.acquire(path, process.writer).release()


async def test_a_session_that_the_host_comes_back_to_goes_on(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.mind.gate = anyio.Event()
        talk = await process.open(conversation)
        await talk.turn("one")
        talk.session.left()
        await talk.session.leave(lambda: process.owner.spawn("left", talk.session.end_when_idle, daemon=True))
        talk.session.returned()
        await talk.session.start("resume")
        process.mind.gate.set()
        await talk.saved("two")
        assert not talk.session.gone.is_set()
        assert not talk.events(SessionClosed)


@pytest.mark.parametrize("comes_back", [True, False])
async def test_a_session_that_was_left_lets_go_unless_the_host_says_that_it_came_back(
    tmp_path: Path, *, comes_back: bool
) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        left = anyio.Event()
        async with anyio.create_task_group() as group:
            talk.session.left()
            if comes_back:
                talk.session.returned()  # before the job of leaving has begun
            group.start_soon(talk.session.leave, left.set)
            group.start_soon(talk.session.start, "resume")
        assert left.is_set()
        await talk.session.end_when_idle()
        assert talk.session.gone.is_set() is not comes_back


async def test_a_successor_waits_until_the_journal_is_free(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        first = await process.open(conversation)
        await first.saved("one")
        second = process.session(conversation, after=first)
        async with anyio.create_task_group() as group:
            group.start_soon(second.session.start, "resume")
            await anyio.lowlevel.checkpoint()
            await first.session.close("left-session")
        assert second.session.blocked is None
        await second.saved("two")


async def test_quitting_waits_for_what_is_owed_and_says_whether_it_drained(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence={"characters": 100_000, "minutes": 60}) as process:
        talk = await process.open()
        await talk.turn("too little to be captured yet")
        assert await talk.session.ending(BOUND)
        path = talk.path
        await talk.session.close("quit")
        assert recorded(path, WriteAnswered)[0].outcome == "accepted"
        assert recorded(path, SessionClosed)[0].drained


async def test_quitting_is_bounded_and_what_is_left_is_owed_by_the_next_start(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.mind.gate = anyio.Event()
        talk = await process.open(conversation)
        await talk.turn("one")
        started = anyio.current_time()
        assert not await talk.session.ending(0.3)
        assert anyio.current_time() - started < 2
        path = talk.path
    closed = recorded(path, SessionClosed)[0]
    assert (closed.drained, closed.unsaved_tip) == (False, "s2")
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.settle()
        assert talk.state.checkpoint is not None


async def test_quitting_with_nothing_to_save_starts_no_server(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.prompt("hello")
        await until(lambda: process.link.status == "down", "a failure")
        tried = process.memory.calls()["initialize"]
        assert await talk.session.ending(BOUND)
        assert process.memory.calls()["initialize"] == tried


async def test_the_switch_of_the_settings_governs_what_a_quit_saves(tmp_path: Path) -> None:
    async with rig(tmp_path, summarize_on_shutdown=False, cadence={"characters": 100_000, "minutes": 60}) as process:
        talk = await process.open()
        await talk.turn("too little to be captured yet")
        assert await talk.session.ending(BOUND)
        assert process.memory.calls()["write_note"] == 0


async def test_a_quit_waits_for_a_server_that_is_coming_and_for_none_that_is_not(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.turn("at once, and gone")
        assert await talk.session.ending(BOUND)
        assert process.memory.calls()["write_note"] == 1
    async with rig(tmp_path / "other") as process:
        process.memory.faults(initialize="reject")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.turn("there is no server")
        with anyio.fail_after(10):
            assert await talk.session.ending(60)


async def test_what_could_not_be_recorded_is_said_and_counted_and_later_told_as_a_gap(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            await talk.turn("two")
            await talk.settle()
            assert ledger.missing > 0
            assert process.memory.calls()["write_note"] == 1
        await talk.turn("three")
        assert ledger.missing == 0
        (gap,) = talk.events(Gap)
        assert gap.reason == "StorageFailed"
        assert process.voice.on("journal")[1:] == ["Continuity records again."]


async def test_two_sessions_in_one_process_share_a_server_and_nothing_else(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        one = await process.open(Conversation("a"), name="one")
        two = await process.open(Conversation("b"), name="two")
        async with anyio.create_task_group() as group:
            group.start_soon(one.saved, "only the first")
            group.start_soon(two.saved, "only the second")
        assert process.memory.calls()["initialize"] == 1
        assert process.memory.calls()["write_note"] == 2
        assert one.path != two.path
        for talk, other in ((one, "b"), (two, "a")):
            assert len(talk.events(WriteAnswered)) == 1
            assert talk.state.checkpoint is not None
            assert not talk.state.checkpoint.source_tip.startswith(other)


async def test_without_a_project_nothing_is_written_or_asked(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        await talk.turn("x" * 10_000)
        await talk.session.request("command")
        await talk.settle()
        assert not process.memory.calls()
        assert not process.mind.asked


async def test_no_task_is_left_when_a_process_ends(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with rig(tmp_path) as process:
        process.mind.gate = anyio.Event()
        talk = await process.open()
        await talk.turn("one")
        await until(lambda: process.mind.asked, "a question to the model")
    assert asyncio.all_tasks() == before


async def test_the_same_session_id_with_another_root_is_another_journal(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open(Conversation("a"))
        await talk.saved("one")
        first = talk.path
    async with rig(tmp_path) as process:
        talk = await process.open(Conversation("b"))
        await talk.saved("another world")
        assert talk.path != first
        assert recorded(talk.path, ReceiptAdopted) == []
