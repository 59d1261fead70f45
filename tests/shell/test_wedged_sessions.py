"""A call that is never answered costs itself alone: not the next call, not a cancel, not a reload, not the end."""

from __future__ import annotations

import asyncio
from pathlib import Path

import anyio
import pytest

from continuity.memory.tools import ToolReply
from continuity.shell.bridging import Call, forward
from journal.events import ToolAnswered
from tests.shell.calls import began, read, text_of, write
from tests.shell.rig import BOUND, Rig, Talk, rig, until


async def test_reads_a_cancel_a_reload_and_the_end_wait_for_no_call_that_is_never_answered(tmp_path: Path) -> None:
    before = asyncio.all_tasks()
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=["silent"])
        started = anyio.current_time()
        first = asyncio.ensure_future(forward(process.link, talk.session.desk, write(2.0)))
        await until(lambda: process.memory.calls()["write_note"] == 1, "the call")
        assert not (await forward(process.link, talk.session.desk, read())).is_error
        await a_cancel_returns_at_once(process, talk)
        with anyio.fail_after(1):
            await talk.session.start("reload")
        assert not first.done()
        assert "may have been stored" in text_of(await first)
        assert 2.0 <= anyio.current_time() - started < 4.0
        told = {(answer.outcome, answer.code) for answer in talk.events(ToolAnswered)}
        assert told == {("unknown", "timeout"), ("unknown", "interrupted")}
        ending = anyio.current_time()
    assert anyio.current_time() - ending < BOUND / 2
    assert asyncio.all_tasks() == before


async def a_cancel_returns_at_once(process: Rig, talk: Talk) -> None:
    async def job() -> ToolReply:
        return await forward(process.link, talk.session.desk, write(60.0, title="another"))

    second = asyncio.ensure_future(process.owner.call("tool", job, together=True))
    await until(lambda: process.memory.calls()["write_note"] == 2, "the second call")
    started = anyio.current_time()
    second.cancel()
    await asyncio.wait({second})
    assert anyio.current_time() - started < 0.5


@pytest.mark.parametrize("call", [read(8.0), write(8.0, title="another")], ids=["read", "write"])
async def test_a_server_that_answers_nothing_any_more_is_replaced_for_the_next_call(tmp_path: Path, call: Call) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        stuck = process.link.connection
        process.memory.faults(write_note=["store", "wedge"])
        reply = await forward(process.link, talk.session.desk, write(1.0))
        assert "may have been stored" in text_of(reply)
        process.memory.faults()
        assert not (await forward(process.link, talk.session.desk, call)).is_error
        assert process.link.connection is not stuck
        assert process.memory.calls()["ping"] == 1
        assert process.memory.calls()["write_note"] == len(process.memory.notes)


async def test_a_server_that_left_one_call_unanswered_and_lives_keeps_its_session(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        kept = process.link.connection
        process.memory.faults(write_note=["silent"])
        await forward(process.link, talk.session.desk, write(1.0))
        for _ in range(2):
            assert not (await forward(process.link, talk.session.desk, read())).is_error
        assert process.link.connection is kept
        assert process.memory.calls()["ping"] == 1
