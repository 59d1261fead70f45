"""Many calls of the agent's at once, a restart among them and a refused append cost no position, no call and no outcome."""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

import anyio
import pytest

from continuity.commands import Observe
from continuity.memory.calls import Ticket
from continuity.memory.tools import ToolReply
from continuity.shell.bridging import Call, forward
from continuity.shell.ledger import Ledger
from continuity.state import State
from journal.errors import StorageFailed, VersionConflict
from journal.events import CompactionNoticed, ToolAnswered, ToolCalled, WorkBegun
from journal.ids import EntryId
from journal.reader import open_reader
from journal.row import FIRST_BRANCH, Record
from journal.store import Journal
from replay.fold import steps
from tests.fakes.host import Conversation
from tests.journal import kit
from tests.replay.kit import run
from tests.shell.calls import WRITE, began, text_of
from tests.shell.rig import Rig, Talk, recorded, replayed, rig, until


def write(title: str) -> Call:
    arguments = {"project": "main", "directory": "agent", "title": title, "content": f"words of {title}"}
    return Call(WRITE, dict(arguments), Ticket(), 20.0)


def titles(count: int, first: int = 0) -> list[str]:
    return [f"note-{number:02}" for number in range(first, first + count)]


async def forwarded(process: Rig, talk: Talk, wanted: Iterable[str]) -> list[ToolReply]:
    """Make one call for each title, all at once."""
    replies: list[ToolReply] = []

    async def one(title: str) -> None:
        replies.append(await forward(process.link, talk.session.desk, write(title)))

    async with anyio.create_task_group() as group:
        for title in wanted:
            group.start_soon(one, title)
    return replies


def positions(path: Path) -> list[int]:
    with open_reader(path) as reader:
        return [row.position for row in reader.rows()]


def answers_by_call(path: Path) -> dict[str, list[str]]:
    """The outcomes of each call on disk, by the call's id."""
    found: dict[str, list[str]] = {str(called.call_id): [] for called in recorded(path, ToolCalled)}
    for answered in recorded(path, ToolAnswered):
        found[str(answered.call_id)].append(answered.outcome)
    return found


async def test_fifty_calls_at_once_have_each_one_row_before_and_one_after_and_no_position_is_left_out(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await began(process)
        replies = await forwarded(process, talk, titles(50))
        path, live = talk.path, talk.state
        assert not any(reply.is_error for reply in replies)
        assert answers_by_call(path) == {call: ["accepted"] for call in answers_by_call(path)}
        assert len(answers_by_call(path)) == 50
        assert positions(path) == list(range(1, len(positions(path)) + 1))
        assert process.memory.calls()["write_note"] == len(process.memory.notes) == 50
        assert live == replayed(path)
    assert kit.found(path) == []


async def test_after_a_restart_in_the_middle_of_fifty_calls_the_next_row_takes_the_next_position(
    tmp_path: Path,
) -> None:
    conversation, dead = Conversation(), tmp_path / "dead.journal"
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await began(process, conversation)
        await forwarded(process, talk, titles(25))
        process.memory.faults(write_note=["store", "hold"])
        async with anyio.create_task_group() as group:
            group.start_soon(forwarded, process, talk, titles(25, first=25))
            await until(lambda: len(process.memory.notes) == 50, "the calls")
            _copy_as_a_crash_leaves_it(talk.path, dead)
            process.memory.release()
        path = talk.path
    _put_in_place_of(path, dead)
    before = len(positions(path))
    async with rig(tmp_path, capture_knowledge=False) as process:
        process.memory.faults()
        talk = await began(process, conversation)
        assert Counter(call.unknown for call in talk.state.calls) == {True: 25}
        await forwarded(process, talk, titles(5, first=50))
        assert positions(path)[before] == before + 1
        assert positions(path) == list(range(1, len(positions(path)) + 1))
        assert process.memory.calls()["write_note"] == 55
        assert talk.state == replayed(path)
    outcomes = Counter(tuple(answers) for answers in answers_by_call(path).values())
    assert outcomes == {("accepted",): 30, (): 25}
    assert kit.found(path) == []


def _copy_as_a_crash_leaves_it(path: Path, to: Path) -> None:
    """Keep what is on disk at this moment, its log included: what a process that dies now leaves behind."""
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{to}{suffix}")


def _put_in_place_of(path: Path, crashed: Path) -> None:
    for suffix in ("", "-wal"):
        shutil.move(f"{crashed}{suffix}", f"{path}{suffix}")


async def _a_row_of_a_rivals(ledger: Ledger) -> Callable[[], None]:
    """Let somebody who holds no lock take the next position: the writer's insert then breaks a guard of the file."""
    event = Record(event=WorkBegun(how="prompt", characters=3), at_ms=5, tip=None, cause=None)
    async with await Journal.open(ledger.path) as rival:
        await rival.append(FIRST_BRANCH, [event], expected=rival.head(FIRST_BRANCH).position)
    return lambda: None


async def _a_guard_of_a_strangers(ledger: Ledger) -> Callable[[], None]:
    """Let the file refuse every row, by a constraint that is none of ours."""

    def run(sql: str) -> None:
        with closing(sqlite3.connect(ledger.path, isolation_level=None)) as other:
            other.execute(sql)

    run("CREATE TRIGGER stranger BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'no'); END")
    return lambda: run("DROP TRIGGER stranger")


@pytest.mark.parametrize(
    ("fault", "raised"),
    [(_a_row_of_a_rivals, VersionConflict), (_a_guard_of_a_strangers, StorageFailed)],
    ids=["the position is taken", "a constraint fails"],
)
async def test_an_append_that_the_file_refuses_is_said_and_sends_nothing_and_the_next_one_lands(
    tmp_path: Path, fault: Callable[[Ledger], Awaitable[Callable[[], None]]], raised: type[Exception]
) -> None:
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await began(process)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        undo = await fault(ledger)
        with pytest.raises(raised) as surfaced:
            await ledger.apply(Observe(CompactionNoticed(entry=EntryId("k1"))), tip=None)
        undo()
        assert isinstance(surfaced.value.__cause__, sqlite3.IntegrityError)
        assert not (await forward(process.link, talk.session.desk, write("one"))).is_error
        undo = await fault(ledger)
        refused = await forward(process.link, talk.session.desk, write("refused"))
        undo()
        assert refused.is_error
        assert "was not sent: journal unavailable" in text_of(refused)
        assert process.memory.calls()["write_note"] == 1
        assert not (await forward(process.link, talk.session.desk, write("two"))).is_error
        assert list(process.memory.notes) == ["agent/one.md", "agent/two.md"]
        assert list(answers_by_call(talk.path).values()) == [["accepted"], ["accepted"]]
        assert positions(talk.path) == list(range(1, len(positions(talk.path)) + 1))
        assert talk.state == replayed(talk.path)


@pytest.mark.parametrize("seed", range(3))
async def test_ten_answers_in_any_order_fold_to_the_state_that_was_lived(tmp_path: Path, seed: int) -> None:
    order, lived = titles(10), list[State]()
    random.Random(seed).shuffle(order)  # noqa: S311 - the same order every time
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await began(process)
        process.memory.faults(write_note=["turn", "store"])
        async with anyio.create_task_group() as group:
            group.start_soon(forwarded, process, talk, titles(10))
            await until(lambda: process.memory.calls()["write_note"] == 10, "the calls")
            lived.append(talk.state)
            for count, title in enumerate(order, 1):
                process.memory.release(title)
                await until(partial(_has_answers, talk, count), f"the answer to {title}")
                lived.append(talk.state)
        assert [process.memory.notes[path]["title"] for path in process.memory.notes] == order
        answered = [answer.call_id for answer in talk.events(ToolAnswered)]
        called = [call.call_id for call in talk.events(ToolCalled)]
        assert sorted(answered) == sorted(called)
        assert answered != called
        with open_reader(talk.path) as reader:
            states = [step.after for step in steps(reader, 1)]
        assert states[-11:] == lived
        path = talk.path
    assert run("unproven", path, "--json").json == []


def _has_answers(talk: Talk, count: int) -> bool:
    return len(talk.events(ToolAnswered)) == count and len(talk.state.calls) == 10 - count
