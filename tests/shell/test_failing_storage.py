"""While the journal cannot be written the session goes on, says why and sends nothing; later one `gap` tells what is missing."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
import pytest

from continuity.commands import Observe
from continuity.shell.bridging import forward
from continuity.shell.ledger import Ledger
from journal import disk, filesystem
from journal.errors import JournalFull
from journal.events import CompactionStarted, Gap, SessionOpened, WorkBegun, WriteAnswered
from journal.ids import SessionId
from tests.fakes.host import Conversation
from tests.journal import kit
from tests.journal.test_store_races import beginning
from tests.shell.calls import text_of, write
from tests.shell.rig import BOUND, Rig, Talk, names, recorded, replayed, rig, until, unwritable

HOLDER = """
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None)
held.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""

type Fault = Callable[[Ledger], AbstractAsyncContextManager[None]]


@asynccontextmanager
async def full(ledger: Ledger) -> AsyncGenerator[None]:
    """A disk without room for another page, after what room there was is used up."""
    query = ledger.journal._query  # pyright: ignore[reportPrivateUsage] # a disk of this size is not to be had
    ((pages,),) = await query("PRAGMA page_count")
    await query(f"PRAGMA max_page_count = {pages}")
    with suppress(JournalFull):
        while True:
            await ledger.apply(Observe(WorkBegun(how="custom", characters=0)), tip=None)
    try:
        yield
    finally:
        await query("PRAGMA max_page_count = 1000000")


@asynccontextmanager
async def read_only(ledger: Ledger) -> AsyncGenerator[None]:
    async with unwritable(ledger.journal):
        yield


@asynccontextmanager
async def failing(ledger: Ledger) -> AsyncGenerator[None]:
    """A kernel that refuses every write to a file: SQLite sees an I/O error."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def holding(path: Path) -> Generator[Callable[[], None]]:
    """Another process that holds the write lock until its end, or until it is told to let go."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        yield child.kill
        child.kill()


@asynccontextmanager
async def locked(ledger: Ledger) -> AsyncGenerator[None]:
    with holding(ledger.path):
        yield


@asynccontextmanager
async def vanished(ledger: Ledger) -> AsyncGenerator[None]:
    """A folder that is not where it was, as after an unmounting."""
    folder = ledger.path.parent
    away = folder.rename(folder.with_name("away"))
    try:
        yield
    finally:
        away.rename(folder)


FAULTS: dict[str, tuple[Fault, str]] = {
    "no room": (full, "there is no room on its disk"),
    "an I/O error": (failing, "its disk fails or its folder cannot be written to"),
    "read-only": (read_only, "its disk fails or its folder cannot be written to"),
    "locked": (locked, "another program holds its write lock"),
    "vanished": (vanished, "its file was moved, deleted or unmounted"),
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "BUSY_SECONDS", 0.3)
    monkeypatch.setattr(disk, "BUSY_AGAIN_SECONDS", 0.01)


def ledger_of(talk: Talk) -> Ledger:
    ledger = talk.session.desk.ledger
    assert ledger is not None
    return ledger


async def bridged(process: Rig, talk: Talk) -> str:
    return text_of(await forward(process.link, talk.session.desk, write()))


@pytest.mark.parametrize("fault", FAULTS)
async def test_twenty_turns_go_on_unrecorded_and_unsent_and_become_one_gap(tmp_path: Path, fault: str) -> None:
    breaks, why = FAULTS[fault]
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("before")
        ledger = ledger_of(talk)
        async with breaks(ledger):
            last = talk.state.position
            for number in range(20):
                await talk.turn(f"into the void {number}")
                assert f"recording    stopped: {why}\n" in talk.page
            await talk.settle()
            assert "was not sent: journal unavailable" in await bridged(process, talk)
            assert process.memory.calls()["write_note"] == 1
            missing = ledger.missing
            assert f"not recorded {missing} notification(s)\n" in talk.page
            assert f"branch 1 at {last}" in talk.page
        assert missing >= 40  # a prompt and a rest, twenty times
        process.clock.advance(60_000)
        await talk.saved("after")
        (gap,) = talk.events(Gap)
        assert gap.count == missing
        assert "stopped" not in talk.page
        assert "not recorded" not in talk.page
        assert process.memory.calls()["write_note"] == 2
        stopped, again = process.voice.on("journal")
        assert why in stopped
        assert again == "Continuity records again."
        assert talk.state == replayed(talk.path)
        assert kit.found(talk.path) == []


@pytest.mark.parametrize("fault", sorted(FAULTS.keys() - {"an I/O error"}))  # it would befall the new server as well
async def test_a_capture_that_is_ready_is_not_sent_before_its_intent_is_on_disk(tmp_path: Path, fault: str) -> None:
    breaks, _ = FAULTS[fault]
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.turn("light the lamp")
        await talk.settle()
        assert [capture.status for capture in talk.state.captures] == ["ready"]
        async with breaks(ledger_of(talk)):
            process.memory.faults()
            assert await process.link.up(BOUND)
            for _ in range(5):
                await talk.settle()
                process.clock.advance(60_000)
            assert process.memory.calls()["write_note"] == 0
        process.clock.advance(600_000)
        await talk.settle()
        assert process.memory.calls()["write_note"] == 1
        assert talk.state.checkpoint is not None


async def test_an_answer_that_could_not_be_recorded_is_on_record_when_the_disk_is_back(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        process.memory.faults(write_note=["hold", "store"])
        await talk.turn("light the lamp")
        await until(lambda: process.memory.calls()["write_note"] == 1, "the call")
        async with vanished(ledger_of(talk)):
            process.memory.release()
            await until(lambda: talk.session.desk.late, "the answer")
        process.memory.faults()
        process.clock.advance(60_000)
        await talk.turn("and the foghorn")
        await talk.settle()
        accepted = [answer.outcome for answer in talk.events(WriteAnswered)]
        assert accepted == ["accepted", "accepted"]
        assert process.memory.calls()["write_note"] == 2


async def test_the_loop_turns_while_a_lock_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk, "BUSY_SECONDS", 1.5)
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        gaps, over = [0.0], False

        async def turning() -> None:
            before = anyio.current_time()
            while not over:
                await anyio.sleep(0.001)
                now = anyio.current_time()
                gaps.append(now - before)
                before = now

        with holding(talk.path):
            async with anyio.create_task_group() as group:
                group.start_soon(turning)
                await talk.prompt("two")
                over = True
        assert sum(gaps) > 1.5
        assert max(gaps) < 0.75


async def test_a_lock_held_for_a_second_loses_nothing_and_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "BUSY_SECONDS", 10.0)
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        with holding(talk.path) as let_go:
            async with anyio.create_task_group() as group:
                group.start_soon(talk.prompt, "two")
                before = anyio.current_time()
                await until(lambda: anyio.current_time() - before > 1, "a second")
                assert len(talk.events(WorkBegun)) == 1
                let_go()
        assert len(talk.events(WorkBegun)) == 2
        assert talk.events(Gap) == []
        assert process.voice.on("journal") == []


async def test_a_journal_that_cannot_be_made_is_said_and_made_when_it_can_and_tells_what_is_missing(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as process:
        in_the_way = process.places.journal(SessionId("session")).parent
        in_the_way.parent.mkdir(parents=True, exist_ok=True)
        in_the_way.write_text("no folder")
        talk = await process.open()
        for number in range(20):
            assert (await talk.turn(f"into the void {number}")).brief is None
            assert "recording    stopped: its disk fails" in talk.page
        assert "not recorded 40 notification(s)\n" in talk.page
        assert "was not sent: journal unavailable" in await bridged(process, talk)
        in_the_way.unlink()
        await talk.saved("on record")
        (gap,) = talk.events(Gap)
        assert gap.count == 40
        assert process.voice.on("journal")[1:] == ["Continuity records again."]
        assert "stopped" not in talk.page


async def test_an_opening_that_found_no_room_is_recorded_later_with_all_that_waited_for_it(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        path = talk.path
    async with rig(tmp_path) as process:
        talk = process.session(conversation)
        assert not await talk.session.desk.note(CompactionStarted(reason="threshold"))
        with holding(path):
            await talk.session.start("resume")
            assert len(recorded(path, SessionOpened)) == 1
            assert "recording    stopped: another program holds its write lock" in talk.page
        await talk.saved("two")
        assert names(path).count("session-opened") == 2
        assert names(path).count("compaction-started") == 1
        assert len(talk.events(Gap)) == 1
        assert talk.state == replayed(path)


async def test_where_no_journal_is_safe_none_is_made_and_the_person_is_told_the_remedy_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {tmp_path}/state rw - fuse.sshfs far rw\n")
    monkeypatch.setattr(filesystem, "TABLE", table)
    async with rig(tmp_path) as process:
        talk = await process.open()
        for number in range(3):
            await talk.turn(f"go on {number}")
        (said,) = process.voice.on("journal")
        folder = process.places.journal(SessionId("session")).parent
        for word in (str(folder), "fuse.sshfs", "CONTINUITY_HOME", "local disk"):
            assert word in said
            assert word in talk.page
        assert not folder.exists()
        assert "was not sent: journal unavailable" in await bridged(process, talk)
        assert process.memory.calls()["write_note"] == 0
        assert await talk.session.request("command") == "nothing"
        assert await talk.session.ending(BOUND)


async def test_a_session_that_begins_while_another_process_makes_its_journal_makes_no_other(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        path = process.places.journal(SessionId("session"))
        with beginning(path) as first:
            await talk.turn("one")
            assert "another process has this session open" in talk.page
            assert list(path.parent.glob("*.journal")) == []
            first.die()
            await talk.saved("two")
        assert list(path.parent.glob("*.journal")) == [path]
        assert talk.state == replayed(path)


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_person_who_asks_for_a_checkpoint_meanwhile_is_told_that_none_is_made(
    tmp_path: Path, fault: str
) -> None:
    breaks, why = FAULTS[fault]
    async with rig(tmp_path, cadence={"characters": 100_000, "minutes": 60}) as process:
        talk = await process.open()
        await talk.turn("one")
        async with breaks(ledger_of(talk)):
            assert await talk.session.request("command") == "unrecorded"
            assert talk.session.desk.trouble == why
            await talk.session.ending(BOUND)
            assert process.memory.calls()["write_note"] == 0
        assert await talk.session.request("command") == "due"
        await talk.settle()
        assert process.memory.calls()["write_note"] == 1
