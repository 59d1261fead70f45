"""Kept texts stay as long as the person said or the machine needs them; what then misses one gets on without it."""

import os
import shutil
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from continuity.commands import Observe
from continuity.shell.desk import Desk, kept
from continuity.shell.erasing import DAY_MS, MOST_ERASED, MOST_READ, Erasure, Rule, tidy
from continuity.shell.sweeping import NEWEST, Visits
from journal.events import BasisTaken, BodiesErased, SessionOpened, ToolCalled
from journal.ids import CallId, ConnectionId, SessionId, Sha256
from journal.lock import JournalLock
from journal.reader import open_reader
from tests.facts import WRITER
from tests.fakes.host import HANDOFF, Conversation, failing
from tests.journal.kit import raw
from tests.replay.kit import findings
from tests.shell.left_behind import SWALLOWED, killed, visitor
from tests.shell.rig import Rig, Talk, names, recorded, replayed, rig

WORDS = "Oil, because there is no wind."
"""They stand in every handoff of the scripted model."""


def texts(path: Path) -> list[str]:
    """The kept texts of a journal."""
    with open_reader(path) as reader:
        return [text for _, text in reader.bodies()]


def handoffs(path: Path) -> int:
    return sum(WORDS in text for text in texts(path))


async def erase(root: Path, *, here: str = "", **settings: Any) -> int:
    """Let another process erase what may go in journals that nobody has open; it has the session `here` itself."""
    async with rig(root, **settings) as process:
        return await _erasure(process, here).run()


def _erasure(process: Rig, here: str = "") -> Erasure:
    rule = Rule.of(process.settings, process.clock.now_ms())
    return Erasure(process.places.state, rule, visitor(process, "sweep"), Visits(lambda name: name == SessionId(here)))


async def session(root: Path, *turns: str, age_days: int = 0, **settings: Any) -> Path:
    """The journal of a session whose turns were saved so many days ago."""
    async with rig(root, **settings) as process:
        process.clock.advance(-age_days * DAY_MS)
        number_handoffs(process)
        talk = await process.open()
        for turn in turns:
            await talk.saved(turn)
        return talk.path


def number_handoffs(process: Rig) -> None:
    """Make each handoff differ from the one before it."""
    process.mind.answer = lambda _: HANDOFF.format(next=f"Step {len(process.mind.asked)}.")


async def test_texts_are_kept_unless_told_otherwise(tmp_path: Path) -> None:
    path = await session(tmp_path, "one", "two")
    assert handoffs(path) == 2
    assert await erase(tmp_path) == 0
    assert recorded(path, BodiesErased) == []


async def test_with_texts_not_kept_only_what_the_next_checkpoint_starts_from_stays(tmp_path: Path) -> None:
    async with rig(tmp_path, keep_bodies=False) as process:
        number_handoffs(process)
        talk = await process.open()
        await talk.saved("the first thing")
        await talk.saved("two")
        basis = talk.state.handoff
        assert basis is not None
        with open_reader(talk.path) as reader:
            assert reader.digests() == (basis.sha256,)
        assert {erased.reason for erased in talk.events(BodiesErased)} == {"not-kept"}
        assert "the first thing" not in process.mind.asked[-1]
        assert "Step 1." in process.mind.asked[-1]


async def test_with_texts_not_kept_a_session_that_is_saved_leaves_none_behind(tmp_path: Path) -> None:
    path = await session(tmp_path, "one", "two", keep_bodies=False)
    assert texts(path) == []
    assert names(path)[-2:] == ["bodies-erased", "session-closed"]
    for file in path.parent.glob(f"{path.name}*"):
        assert WORDS.encode() not in file.read_bytes()
    assert not {rule for rule, severity, _, _ in findings(path) if severity == "broken"}


async def test_with_texts_not_kept_the_next_session_goes_on_from_the_note(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, keep_bodies=False) as process:
        await (await process.open(conversation)).saved("the first thing")
    async with rig(tmp_path, keep_bodies=False) as process:
        talk = await process.open(conversation)
        await talk.saved("the second thing")
        assert len(talk.events(BasisTaken)) == 1
        assert "the first thing" not in process.mind.asked[-1]
        assert WORDS in process.mind.asked[-1]


async def test_with_texts_not_kept_and_the_note_gone_the_session_is_read_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, keep_bodies=False) as process:
        await (await process.open(conversation)).saved("the first thing")
        process.memory.delete(*process.memory.notes)
    async with rig(tmp_path, keep_bodies=False) as process:
        talk = await process.open(conversation)
        await talk.saved("the second thing")
        assert "the first thing" in process.mind.asked[-1]


async def test_with_texts_not_kept_what_is_not_stored_keeps_its_text(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, keep_bodies=False) as process:
        process.memory.faults(initialize="reject")
        talk = process.session(conversation)
        await talk.session.start("startup")
        await talk.turn("while the server is away")
        await talk.settle()
        path = talk.path
    assert handoffs(path) == 1
    async with rig(tmp_path, keep_bodies=False) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        await talk.settle()
        assert process.mind.asked == []
        assert talk.state.checkpoint is not None


async def test_with_texts_not_kept_a_handoff_half_made_is_gone_on_with(tmp_path: Path) -> None:
    conversation = Conversation()
    long = "\n".join(f"line {n} of many" for n in range(200))
    async with rig(tmp_path, keep_bodies=False, summary_chunk_chars=1000) as process:
        talk = await process.open(conversation)
        good = process.mind.answer
        process.mind.answer = lambda text: failing("cut")(text) if "part 3:" in text else good(text)
        await talk.turn("tell me all", long)
        await talk.settle()
    async with rig(tmp_path, keep_bodies=False, summary_chunk_chars=1000) as process:
        process.clock.advance(DAY_MS)
        talk = await process.open(conversation)
        await talk.settle()
        assert "line 0 of many" not in "".join(process.mind.asked)
        assert talk.state.checkpoint is not None


async def test_texts_older_than_their_days_go_when_nobody_has_the_journal_open(tmp_path: Path) -> None:
    path = await session(tmp_path, "one", "two", age_days=31)
    assert await erase(tmp_path, retention_days=31) == 0
    before = replayed(path)
    assert await erase(tmp_path, retention_days=30) == 1
    assert texts(path) == []
    assert [erased.reason for erased in recorded(path, BodiesErased)] == ["expired"]
    assert (replayed(path).checkpoint, replayed(path).handoff) == (before.checkpoint, before.handoff)
    assert recorded(path, SessionOpened)[-1].reason == "sweep"
    assert await erase(tmp_path, retention_days=30) == 0


async def test_a_text_that_is_named_again_while_old_ones_are_looked_for_stays(tmp_path: Path) -> None:
    digest, bodies = kept("lamps/one.md")
    async with rig(tmp_path, retention_days=30) as process:
        process.clock.advance(-40 * DAY_MS)
        talk = await process.open()
        await talk.saved("one")
        desk = talk.session.desk
        await desk.apply(Observe(called("1", digest)), bodies=bodies)
        process.clock.advance(40 * DAY_MS)
        await talk.settle()
        with raw(talk.path) as other:
            other.execute("BEGIN IMMEDIATE")
            async with anyio.create_task_group() as group:
                group.start_soon(lambda: desk.apply(Observe(called("2", digest)), bodies=bodies))
                await anyio.wait_all_tasks_blocked()
                group.start_soon(tidy, desk)
                await its_turn_is_awaited(desk)
                other.execute("ROLLBACK")
        assert "lamps/one.md" in texts(talk.path)


def called(number: str, target: Sha256) -> ToolCalled:
    return ToolCalled(
        call_id=CallId(number * 32),
        name="edit_note",
        target_sha256=target,
        writer=WRITER,
        connection=ConnectionId("connection-1"),
    )


async def its_turn_is_awaited(desk: Desk) -> None:
    assert desk.ledger is not None
    turn = desk.ledger._turn  # pyright: ignore[reportPrivateUsage]
    with anyio.fail_after(10):
        while not turn.statistics().tasks_waiting:
            await anyio.lowlevel.checkpoint()


async def test_the_newest_handoff_of_a_session_in_use_outlives_its_days(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.clock.advance(-40 * DAY_MS)
        number_handoffs(process)
        talk = await process.open(conversation)
        await talk.saved("one")
        await talk.saved("two")
    async with rig(tmp_path, retention_days=30) as process:
        talk = await process.open(conversation)
        await tidy(talk.session.desk)
        assert handoffs(talk.path) == 1
        await talk.saved("three")
        assert WORDS in process.mind.asked[-1]


async def test_a_write_that_is_not_settled_keeps_its_text_however_old(tmp_path: Path) -> None:
    path = await killed(tmp_path, SWALLOWED)
    async with rig(tmp_path, retention_days=1) as process:
        process.clock.advance(400 * DAY_MS)
        await _erasure(process).run()
    (capture,) = replayed(path).captures
    with open_reader(path) as reader:
        assert capture.handoff_sha256 in reader.digests()


async def test_a_journal_that_somebody_has_open_is_left_as_it_is(tmp_path: Path) -> None:
    path = await session(tmp_path, "one", age_days=31)
    before = path.read_bytes()
    assert await erase(tmp_path, retention_days=30, here="session") == 0
    async with rig(tmp_path, retention_days=30) as process:
        with JournalLock.acquire(path, process.writer):
            assert await _erasure(process).run() == 0
    assert path.read_bytes() == before


async def test_one_pass_changes_so_many_journals_and_the_next_goes_on(tmp_path: Path) -> None:
    path = await session(tmp_path, "one", age_days=31)
    for number in range(MOST_ERASED):
        shutil.copy(path, path.with_name(f"copy-{number}.journal"))
    assert MOST_ERASED < NEWEST
    assert await erase(tmp_path, retention_days=30) == MOST_ERASED
    assert sum(bool(texts(each)) for each in path.parent.glob("*.journal")) == 1
    assert await erase(tmp_path, retention_days=30) == 1


async def test_one_pass_reads_so_many_journals_and_the_next_day_goes_on(tmp_path: Path) -> None:
    needed = await killed(tmp_path, SWALLOWED, "needed")
    assert await erase(tmp_path, keep_bodies=False) == 1
    for number in range(2 * MOST_READ - 3):
        shutil.copy(needed, needed.with_name(f"copy-{number}.journal"))
    oldest = await session(tmp_path, "one")
    newest = Path(shutil.copy(oldest, oldest.with_name("newest.journal")))
    os.utime(oldest, (1, 1))
    async with rig(tmp_path, keep_bodies=False) as process:
        assert await _erasure(process).run() == 1
        process.clock.advance(DAY_MS)
        assert await _erasure(process).run() == 1
    assert [texts(oldest), texts(newest)] == [[], []]


@pytest.mark.parametrize("harm", ["garbage", "unreadable"])
async def test_a_journal_that_cannot_be_read_keeps_no_other_from_being_looked_at(tmp_path: Path, harm: str) -> None:
    path = await session(tmp_path, "one", age_days=31)
    other = path.with_name("other.journal")
    if harm == "garbage":
        other.write_bytes(b"no journal")
    else:
        other.mkdir()
    os.utime(other, (1, 1))
    assert await erase(tmp_path, retention_days=30) == 1
    assert texts(path) == []


async def test_texts_of_sessions_that_ended_go_once_they_are_not_kept_any_more(tmp_path: Path) -> None:
    path = await session(tmp_path, "one")
    assert await erase(tmp_path, keep_bodies=False) == 1
    assert texts(path) == []


async def test_a_brief_without_its_kept_text_waits_for_the_server(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, keep_bodies=False) as process:
        await (await process.open(conversation)).saved("one")
    async with rig(tmp_path, keep_bodies=False) as process:
        talk: Talk = await process.open(conversation)
        conversation.compact()
        prompted = await talk.prompt("what now?")
        assert prompted.brief is not None
        assert WORDS in prompted.brief.brief.text
