"""What killed sessions of the same work left open is settled by the next session: by reading, quietly, and said once."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from continuity.shell import sweeping
from continuity.shell.sweeping import NEWEST, SPACING_MS, Sweep, Visits, work_of
from journal.events import CaptureProbed, SessionOpened
from journal.ids import SessionId
from journal.lock import JournalLock
from tests.fakes.host import Conversation
from tests.shell.left_behind import STORED, SWALLOWED, killed, visitor
from tests.shell.rig import BOUND, Rig, names, recorded, replayed, rig


def nobody(session_id: SessionId) -> bool:
    return False


def sweep_of(process: Rig, occupied: Callable[[SessionId], bool] = nobody) -> Sweep:
    root = process.places.state.parent
    work = work_of(process.settings.profile(root / "work", root))
    assert work is not None
    return Sweep(process.places.state, work, visitor(process, "sweep"), Visits(occupied))


async def swept(root: Path, occupied: Callable[[SessionId], bool] = nobody, **settings: Any) -> list[str]:
    """Let the next session's process sweep; returns what the person was told."""
    async with rig(root, **settings) as process:
        assert await process.link.up(BOUND)
        writes = process.memory.calls()["write_note"]
        await sweep_of(process, occupied).run(process.link, process.voice)
        assert process.memory.calls()["write_note"] == writes, "a sweep only reads"
        return process.voice.on("sweep")


async def test_what_several_sessions_left_open_is_settled_and_said_in_one_notice(tmp_path: Path) -> None:
    first = await killed(tmp_path, STORED, "first")
    second = await killed(tmp_path, STORED, "second")
    (said,) = await swept(tmp_path)
    assert said.startswith(
        "2 interrupted saves of earlier sessions were settled by reading: stored at tau/checkpoints/"
    )
    for path in (first, second):
        assert not replayed(path).pending
        assert recorded(path, SessionOpened)[-1].reason == "sweep"


async def test_a_save_that_never_landed_is_said_with_where_to_decide(tmp_path: Path) -> None:
    path = await killed(tmp_path, SWALLOWED)
    (said,) = await swept(tmp_path)
    assert said.startswith("1 interrupted save of an earlier session was settled by reading: never stored at ")
    assert "`continuity unproven`" in said
    assert [capture.status for capture in replayed(path).captures] == ["lost"]


async def test_nothing_is_said_where_nothing_was_settled(tmp_path: Path) -> None:
    path = await killed(tmp_path, SWALLOWED)
    async with rig(tmp_path) as process:
        process.memory.faults(source="cloud")  # where no absence is ever final
        assert await process.link.up(BOUND)
        await sweep_of(process).run(process.link, process.voice)
        assert process.voice.on("sweep") == []
    assert [probe.verdict for probe in recorded(path, CaptureProbed)] == ["absent_open"]


@pytest.mark.parametrize("settings", [{"project": "elsewhere"}, {"scope": "another"}])
async def test_the_journals_of_other_work_are_left_alone(tmp_path: Path, settings: dict[str, Any]) -> None:
    path = await killed(tmp_path, STORED)
    before = names(path)
    assert await swept(tmp_path, **settings) == []
    assert names(path) == before


async def test_a_session_that_this_process_has_is_left_to_itself(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    before = names(path)
    assert await swept(tmp_path, SessionId("session").__eq__) == []
    assert names(path) == before


async def test_a_journal_with_a_live_writer_is_not_even_read_for(tmp_path: Path) -> None:
    path = await killed(tmp_path, STORED)
    before = names(path)
    async with rig(tmp_path) as process:
        assert await process.link.up(BOUND)
        reads = process.memory.calls()["read_note"]
        with JournalLock.acquire(path, process.writer):
            await sweep_of(process).run(process.link, process.voice)
        assert process.memory.calls()["read_note"] == reads
    assert names(path) == before


async def test_a_journal_that_cannot_be_read_costs_itself_alone(tmp_path: Path) -> None:
    good = await killed(tmp_path, STORED, "good")
    bad = await killed(tmp_path, STORED, "bad")
    bad.write_bytes(bad.read_bytes()[:5000])
    kept = bad.read_bytes()
    assert len(await swept(tmp_path)) == 1
    assert not replayed(good).pending
    assert bad.read_bytes() == kept


async def test_a_doubt_that_was_read_for_lately_is_left_alone_for_longer_each_time(tmp_path: Path) -> None:
    path = await killed(tmp_path, SWALLOWED)
    async with rig(tmp_path) as process:
        process.memory.faults(source="cloud")
        assert await process.link.up(BOUND)
        found: list[int] = []
        for wait_ms in (0, SPACING_MS - 1, 1, 2 * SPACING_MS - 1, 1):
            process.clock.advance(wait_ms)
            await sweep_of(process).run(process.link, process.voice)
            found.append(len(recorded(path, CaptureProbed)))
    assert found == [1, 1, 2, 2, 3]


def aged(old: Path, new: Path) -> None:
    """Let `new` be the one written last, though its newest rows are in the log beside it as a killed writer leaves them."""
    for path, at in ((old, 2_000), (new, 1_000)):
        os.utime(path, (at, at))
    Path(f"{new}-wal").touch()


async def test_only_the_newest_journals_are_looked_into_and_the_log_beside_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert NEWEST == 20
    monkeypatch.setattr(sweeping, "NEWEST", 1)
    old = await killed(tmp_path, STORED, "old")
    new = await killed(tmp_path, STORED, "new")
    aged(old, new)
    await swept(tmp_path)
    assert (bool(replayed(old).pending), bool(replayed(new).pending)) == (True, False)


async def test_a_sweep_ends_with_the_server_and_leaves_the_rest_for_the_next(tmp_path: Path) -> None:
    paths = [await killed(tmp_path, STORED, name) for name in ("first", "second")]
    async with rig(tmp_path) as process:
        assert await process.link.up(BOUND)
        process.memory.faults(read_note=["exit"])
        await sweep_of(process).run(process.link, process.voice)
        assert process.memory.calls()["read_note"] >= 1
        process.memory.faults()
    assert all(replayed(path).pending for path in paths)
    assert len(await swept(tmp_path)) == 1
    assert not any(replayed(path).pending for path in paths)


async def test_a_session_resumed_during_a_visit_waits_for_its_journal_and_is_told_nothing(tmp_path: Path) -> None:
    conversation = Conversation()
    path = await killed(tmp_path, STORED)
    conversation.user("one")  # the same root
    async with rig(tmp_path) as process:
        visits = Visits(nobody)
        with visits.gate(SessionId("session")) as free, JournalLock.acquire(path, process.writer):
            assert free
            talk = process.session(conversation, after=visits.free(SessionId("session")))
            process.owner.spawn("start", lambda: talk.session.start("resume"))
            await anyio.lowlevel.checkpoint()
            assert not talk.session.begun
        await talk.session.prompted(None, characters=3, typed=True)
        assert talk.session.blocked is None
        assert process.voice.on("journal") == []
    assert visits.free(SessionId("session")) is None


async def test_a_visit_gives_way_to_a_session_that_is_here(tmp_path: Path) -> None:
    visits = Visits(SessionId("session").__eq__)
    with visits.gate(SessionId("session")) as free:
        assert not free
        assert visits.free(SessionId("session")) is None
