"""A write whose answer was lost is called unknown, is sent once, is settled by reading alone, and holds back nothing else."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from pathlib import Path

import anyio
import pytest

from continuity.commands import Resolve
from continuity.due import PROBE_SPACING_MS
from continuity.shell.bridging import forward
from journal.events import CaptureProbed, CaptureResolved, ToolAnswered, WriteAnswered
from journal.ids import Sha256
from tests.fakes.host import Conversation
from tests.fakes.memory_server import FakeMemory
from tests.shell.calls import began, read, text_of, write
from tests.shell.rig import Rig, Talk, crash, recorded, rig, until

READING = {"read_note", "search_notes", "build_context", "recent_activity", "list_memory_projects"}
DEAF = {"read_note": ["rpc-error"], "search_notes": ["rpc-error"]}
ANOTHER_TRY = re.compile(r"retry|try|again", re.IGNORECASE)


def methods(memory: FakeMemory) -> Counter[str]:
    return Counter(request["method"] for request in memory.requests())


@pytest.mark.parametrize("fault", ["hold", "exit", "rpc-error"])
async def test_after_a_restart_a_write_with_a_lost_answer_is_read_for_and_never_sent_again(
    tmp_path: Path, fault: str
) -> None:
    conversation = Conversation()
    async with rig(tmp_path, timeout_seconds=1.5) as process:
        talk = await process.open(conversation)
        process.memory.faults(write_note=["store", fault], **DEAF)
        await talk.turn("light the lamp")
        await until(lambda: talk.events(WriteAnswered), "an outcome")
        path = talk.path
        await process.kill()
    assert [answered.outcome for answered in recorded(path, WriteAnswered)] == ["unknown"]
    before = len(process.memory.requests())
    async with rig(tmp_path) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        process.clock.advance(PROBE_SPACING_MS[-1])
        await talk.settle()
        assert talk.events(CaptureProbed)[-1].verdict == "present_same"
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "read"
        since = process.memory.requests()[before:]
        assert {r["name"] for r in since if r["method"] == "tools/call"} <= READING
        assert process.memory.calls()["write_note"] == len(process.memory.notes) == 1


async def test_a_reconnect_repeats_the_greeting_and_the_listing_and_never_the_call(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        before = methods(process.memory)
        calls = process.memory.calls()
        process.memory.faults(write_note=["store", "exit"])
        assert "may have been stored" in text_of(await forward(process.link, talk.session.desk, write()))
        process.memory.faults()
        assert not (await forward(process.link, talk.session.desk, read())).is_error
        again = methods(process.memory) - before
        assert (again["initialize"], again["tools/list"]) == (1, 1)
        made = process.memory.calls() - calls
        assert {name: made[name] for name in ("write_note", "read_note")} == {"write_note": 1, "read_note": 1}
        assert len(process.memory.notes) == 1


async def test_an_answer_that_comes_after_the_bound_is_no_reason_to_send_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=["store", "hold"])
        await forward(process.link, talk.session.desk, write(1.0))
        process.memory.release()
        for _ in range(3):
            assert not (await forward(process.link, talk.session.desk, read())).is_error
        assert methods(process.memory)["initialize"] == 1
        assert process.memory.calls()["write_note"] == 1
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["unknown"]


async def test_a_write_that_nobody_can_settle_holds_back_none_of_the_next_twenty(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        talk = await process.open()
        process.memory.faults(write_note=["silent"])
        await talk.turn("light the lamp")
        await until(lambda: talk.events(WriteAnswered), "an outcome")
        process.memory.faults()
        for number in range(20):
            tip = await talk.saved(f"turn {number}")
            assert tip == talk.conversation.tip
            process.clock.advance(60_000)
        outcomes = [answered.outcome for answered in talk.events(WriteAnswered)]
        assert outcomes == ["unknown", *["accepted"] * 20]
        assert process.memory.calls()["write_note"] == 21
        assert len(process.memory.notes) == 20
        await stays_listed_until_a_person_settles_it(process, talk)


async def stays_listed_until_a_person_settles_it(process: Rig, talk: Talk) -> None:
    (stuck,) = talk.state.pending
    listed = f"{stuck.path} is in doubt (timeout), for 20 minutes, read {stuck.probes} times"
    assert listed in talk.page
    abandon = Resolve(capture_id=stuck.capture_id, decision="abandon", reason_sha256=Sha256("0" * 64))
    await talk.session.desk.apply(abandon)
    assert [resolved.decision for resolved in talk.events(CaptureResolved)] == ["abandon"]
    assert talk.state.pending == ()
    assert str(stuck.path) not in talk.page


@pytest.mark.parametrize(
    "steps", [["store", "silent"], ["store", "exit"], ["store", "rpc-error"], ["store", {"error": "disk full"}]]
)
async def test_an_unknown_outcome_says_to_look_first_and_never_advises_another_try(
    tmp_path: Path, steps: list[object]
) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=steps)
        reply = await forward(process.link, talk.session.desk, write(2.0))
        assert "may have been stored" in text_of(reply)
        assert "Read the note before repeating" in text_of(reply)
        assert not ANOTHER_TRY.search(text_of(reply))
        assert [answer.outcome for answer in talk.events(ToolAnswered)] == ["unknown"]


async def test_refused_not_sent_and_unknown_are_told_apart_on_record_and_in_words(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await began(process)
        process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
        refused = text_of(await forward(process.link, talk.session.desk, write()))
        process.memory.faults(write_note=["rpc-error"])
        unknown = text_of(await forward(process.link, talk.session.desk, write()))
        unsent = await cut_off_before_it_left(process, talk)
        assert [a.outcome for a in talk.events(ToolAnswered)] == ["refused", "unknown", "not-sent"]
        assert ("NOTE_LOCKED" in refused, "may have been stored" in refused) == (True, False)
        assert ("may have been stored" in unknown, "Nothing was changed" in unknown) == (True, False)
        assert ("Nothing was changed" in unsent, "may have been stored" in unsent) == (True, False)
        assert [call.unknown for call in talk.state.calls] == [True]


async def cut_off_before_it_left(process: Rig, talk: Talk) -> str:
    """Let a call's server die while the call is being put on disk; returns what the agent is told."""
    told: list[str] = []

    async def calling() -> None:
        told.append(text_of(await forward(process.link, talk.session.desk, write())))

    foreign = sqlite3.connect(talk.path, isolation_level=None)
    foreign.execute("BEGIN IMMEDIATE")
    async with anyio.create_task_group() as group:
        group.start_soon(calling)
        await anyio.wait_all_tasks_blocked()
        await crash(process)
        foreign.execute("ROLLBACK")
        foreign.close()
    return told[0]
