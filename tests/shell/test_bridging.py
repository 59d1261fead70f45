"""A call of the agent's that may change something is on disk before it leaves, leaves once, and has one outcome."""

import asyncio
from functools import partial
from pathlib import Path

import anyio
import pytest

from continuity.memory.tools import ToolReply
from continuity.shell.bridging import forward
from journal.events import ToolAnswered, ToolCalled
from tests.fakes.host import Conversation
from tests.shell.calls import began, read, text_of, write
from tests.shell.rig import BOUND, names, recorded, replayed, rig, until, unwritable


def everything(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("**/*") if file.is_file())


async def test_a_mutating_call_is_on_disk_before_it_leaves_and_its_outcome_after(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=["hold", "store"])
        async with anyio.create_task_group() as group:
            group.start_soon(forward, process.link, talk.session.desk, write())
            await until(lambda: process.memory.calls()["write_note"] == 1, "the call")
            assert names(talk.path)[-1] == "tool-called"
            process.memory.release()
        called, answered = talk.events(ToolCalled)[0], talk.events(ToolAnswered)[0]
        assert called.call_id == answered.call_id
        assert (called.name, answered.outcome) == ("write_note", "accepted")
        assert not talk.state.calls


async def test_neither_the_events_nor_the_bodies_hold_what_was_written_or_a_secret(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        await forward(process.link, talk.session.desk, write())
        path = talk.path
    raw = everything(tmp_path / "state")
    assert b"the agent's own words" not in raw
    assert b"ghp_0123456789" not in raw
    assert recorded(path, ToolCalled)


async def test_a_credential_where_what_is_kept_of_a_target_ends_is_not_in_the_journal(tmp_path: Path) -> None:
    secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
    async with rig(tmp_path) as process:
        talk = await began(process)
        for before in range(455, 501, 3):
            title = f"{',' * before}{secret} is it"
            assert not (await forward(process.link, talk.session.desk, write(title=title))).is_error
    raw = everything(tmp_path / "state")
    assert b"masked:github-token" in raw
    assert [at for at in range(len(secret) - 7) if secret[at : at + 8].encode() in raw] == []


async def test_a_read_only_call_leaves_no_trace(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        before = names(talk.path)
        assert not (await forward(process.link, talk.session.desk, read())).is_error
        assert names(talk.path) == before


async def test_without_a_journal_a_mutating_call_is_refused_and_a_reading_one_is_made(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        refused = await forward(process.link, None, write())
        assert refused.is_error
        assert "was not sent" in text_of(refused)
        assert not (await forward(process.link, None, read())).is_error
        assert process.memory.calls()["write_note"] == 0


async def test_a_journal_that_cannot_be_written_refuses_a_mutating_call(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        async with unwritable(ledger.journal):
            refused = await forward(process.link, talk.session.desk, write())
        assert "journal unavailable" in text_of(refused)
        assert process.memory.calls()["write_note"] == 0


@pytest.mark.parametrize("fault", ["silent", "exit", "garbage", "empty"])
async def test_a_lost_answer_is_unknown_and_the_agent_is_told_to_look_before_repeating(
    tmp_path: Path, fault: str
) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=["store", fault])
        reply = await forward(process.link, talk.session.desk, write(2.0))
        assert reply.is_error
        assert "may have been stored" in text_of(reply)
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["unknown"]
        assert [call.unknown for call in talk.state.calls] == [True]
        assert process.memory.calls()["write_note"] == 1


async def test_a_call_the_host_cancels_has_one_unknown_outcome_and_the_next_call_is_answered(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=["store", "hold"])

        async def job() -> ToolReply:
            return await forward(process.link, talk.session.desk, write())

        task = asyncio.ensure_future(process.owner.call("tool", job, together=True))
        await until(lambda: process.memory.notes, "the note")
        task.cancel()
        await asyncio.wait({task})
        await until(lambda: talk.events(ToolAnswered), "its outcome")
        (answered,) = talk.events(ToolAnswered)
        assert (answered.outcome, answered.code) == ("unknown", "interrupted")
        assert not (await forward(process.link, talk.session.desk, read())).is_error


async def test_two_calls_that_the_host_cancels_at_once_have_one_unknown_outcome_each(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=["store", "silent"])

        async def job(title: str) -> ToolReply:
            return await forward(process.link, talk.session.desk, write(title=title))

        calls = [process.owner.call("tool", partial(job, title), together=True) for title in ("left", "right")]
        tasks = {asyncio.ensure_future(call) for call in calls}
        await until(lambda: len(process.memory.notes) == 2, "the notes")
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await until(lambda: [call.unknown for call in talk.state.calls] == [True, True], "their outcomes")
        await until(lambda: process.memory.calls()["notifications/cancelled"] == 2, "the server's notice")
        assert {answer.call_id: answer.outcome for answer in talk.events(ToolAnswered)} == {
            call.call_id: "unknown" for call in talk.events(ToolCalled)
        }
        assert len(talk.events(ToolAnswered)) == 2
        assert not (await forward(process.link, talk.session.desk, read())).is_error


async def test_an_outcome_that_cannot_be_recorded_is_kept_until_it_can(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        process.memory.faults(write_note=["hold", "store"])
        async with anyio.create_task_group() as group:
            group.start_soon(forward, process.link, talk.session.desk, write())
            await until(lambda: process.memory.calls()["write_note"] == 1, "the call")
            async with unwritable(ledger.journal):
                process.memory.release()
                await until(lambda: talk.session.desk.late, "a late outcome")
        assert talk.events(ToolAnswered) == []
        await talk.settle()
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["accepted"]


async def test_a_server_that_is_away_is_started_for_the_call(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        talk = await process.open()
        await talk.prompt("hello")
        assert process.link.status == "idle"
        reply = await forward(process.link, talk.session.desk, write())
        assert not reply.is_error
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["accepted"]


async def test_a_call_waits_for_a_server_no_longer_than_its_own_bound(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="hang")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        with anyio.fail_after(BOUND):
            reply = await forward(process.link, talk.session.desk, read(0.3))
        assert "not reachable" in text_of(reply)


async def test_a_call_left_open_by_an_ended_process_is_unknown_to_the_next(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.prompt("hello")
        process.memory.faults(write_note=["store", "hold"])
        task = asyncio.ensure_future(forward(process.link, talk.session.desk, write()))
        await until(lambda: process.memory.notes, "the note")
        path = talk.path
        await process.kill()
        await asyncio.wait({task})
    assert [call.unknown for call in replayed(path).calls] == [False]
    async with rig(tmp_path) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        assert [call.unknown for call in talk.state.calls] == [True]


async def test_an_outcome_belongs_on_the_branch_of_its_call_wherever_the_session_went(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        kept = talk.conversation.tip
        await talk.saved("two")
        process.memory.faults(write_note=["hold", "store"])
        async with anyio.create_task_group() as group:
            group.start_soon(forward, process.link, talk.session.desk, write())
            await until(lambda: talk.events(ToolCalled), "the call")
            talk.conversation.go_to(kept)
            await talk.prompt("another way")
            assert talk.state.branch == 2
            process.memory.faults()
            process.memory.release()
        (called,) = talk.events(ToolCalled)
        assert [answer.call_id for answer in talk.events(ToolAnswered)] == [called.call_id]
        assert talk.events(ToolAnswered, 2) == []


async def test_a_call_left_open_on_a_branch_that_was_left_is_unknown_to_the_next_process(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        kept = conversation.tip
        await talk.saved("two")
        process.memory.faults(write_note=["store", "hold"])
        task = asyncio.ensure_future(forward(process.link, talk.session.desk, write()))
        await until(lambda: talk.events(ToolCalled), "the call")
        conversation.go_to(kept)
        await talk.prompt("another way")
        path = talk.path
        await process.kill()
        await asyncio.wait({task})
    async with rig(tmp_path) as process:
        process.memory.faults()
        await process.open(conversation)
        assert [call.unknown for call in replayed(path, 1).calls] == [True]


async def test_waiting_for_a_server_and_for_its_answer_are_one_bound(tmp_path: Path) -> None:
    async with rig(tmp_path, project=None) as process:
        process.memory.faults(tools={"pages": [[]]}, list_memory_projects=[{"sleep": 1.0}], read_note=["silent"])
        talk = process.session(Conversation())
        await talk.session.start("startup")
        started = anyio.current_time()
        reply = await forward(process.link, talk.session.desk, read(2.0))
        assert reply.is_error
        assert process.memory.calls()["read_note"] == 1
        assert anyio.current_time() - started < 2.7
