"""A hundred thousand events cost an append, an opening and a state what a hundred do, and the log ends with its reader.

What is counted is what SQLite does (instructions, pages of its log) and what Python holds, never seconds.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest
from msgspec.structs import replace

from continuity.evolve import fold
from continuity.shell.ledger import replay
from continuity.state import State
from journal import chain, disk
from journal.events import CompactionEnded, Event
from journal.reader import Reader, open_reader
from journal.row import Record
from journal.store import LONGEST_LOG, Journal
from tests import facts
from tests.journal import kit
from tests.journal.kit import HEADER, MAIN, record

EVENTS = 100_000
COMPACTIONS = 300
BATCH = 1_000
PAGE = 4096
OUTPUT = "a tool's output, " * 125_000
"""More than two million bytes."""


def history(count: int, first: int = 0) -> Sequence[Record]:
    """Turns as a long session has them, each with a tip of its own, and every so often a compaction."""

    def event(number: int) -> Event:
        if number % (EVENTS // COMPACTIONS) == 0:
            return CompactionEnded(reason="threshold", aborted=False)
        return facts.settled(number % 4_000)

    return [
        record(event(number), tip=f"{number:032x}", at_ms=1_700_000_000_000 + number)
        for number in range(first, first + count)
    ]


class Cost(NamedTuple):
    """What one append, or one opening, made SQLite do."""

    instructions: int
    pages: int


@asynccontextmanager
async def counting(journal: Journal) -> AsyncGenerator[list[None]]:
    """Yield what grows by one with every instruction of SQLite's."""
    steps: list[None] = []
    await journal._connection.set_progress_handler(lambda: steps.append(None), 1)
    try:
        yield steps
    finally:
        await journal._connection.set_progress_handler(lambda: None, 0)


async def append_cost(journal: Journal, expected: int) -> Cost:
    """Append one event and count."""
    await journal.sweep()
    async with counting(journal) as steps:
        await journal.append(MAIN, history(1, first=expected), expected=expected)
    return Cost(len(steps), journal.log_bytes // PAGE)


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Cost, Cost]:
    """A journal of `EVENTS` events, and what an append cost when it held a hundred and when it held all."""
    path = tmp_path_factory.mktemp("grown") / "a.journal"
    return path, *anyio.run(grow, path)


async def grow(path: Path) -> tuple[Cost, Cost]:
    async with await Journal.create(path, HEADER) as journal:
        await journal.append(MAIN, history(99), expected=0)
        small = await append_cost(journal, 99)
        for start in (100, *range(BATCH, EVENTS - BATCH + 1, BATCH)):
            await journal.append(MAIN, history(BATCH - start % BATCH, first=start), expected=start)
        return small, await append_cost(journal, EVENTS)


def test_an_append_does_the_same_work_whatever_came_before(grown: tuple[Path, Cost, Cost]) -> None:
    _, small, large = grown
    assert small.instructions > 50
    assert large.instructions <= small.instructions * 1.2
    assert large.pages <= small.pages + 4


async def test_opening_reads_no_history(grown: tuple[Path, Cost, Cost], tmp_path: Path) -> None:
    await kit.write(tmp_path / "small.journal", history(100))
    found: list[int] = []
    for path in (tmp_path / "small.journal", grown[0]):
        async with await Journal.open(path) as journal, counting(journal) as steps:
            await journal.refresh()
            found.append(len(steps))
    assert found[0] > 10
    assert found[1] <= found[0] * 1.2


def test_replay_holds_a_chunk_and_not_the_history(grown: tuple[Path, Cost, Cost]) -> None:
    """Measured over a part: what is held after fifteen times as many rows is the same."""
    with open_reader(grown[0]) as reader:
        assert reader.head(MAIN) == EVENTS + 1
        peaks = [_peak(partial(_folded, reader, upto)) for upto in (1_000, 15_000)]
    assert peaks[1] < 2 * 2**20
    assert peaks[1] < peaks[0] * 1.5


def _folded(reader: Reader, upto: int) -> State:
    return fold(reader.verified(MAIN, upto))


async def test_a_start_holds_of_each_row_no_more_than_its_tip(tmp_path: Path) -> None:
    await kit.write(tmp_path / "a.journal", history(10_000))
    assert _peak(partial(replay, tmp_path / "a.journal")) < 10_000 * 400


def _peak(work: Callable[[], object]) -> int:
    """The most memory Python held at once while `work` ran, in bytes."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_state_and_so_what_is_shown_of_it_does_not_grow_with_the_history(grown: tuple[Path, Cost, Cost]) -> None:
    with open_reader(grown[0]) as reader:
        small, large = (fold(reader.verified(MAIN, upto)) for upto in (1_000, EVENTS + 1))
    assert len(repr(large)) < len(repr(small)) * 1.2


def test_a_row_is_stored_once_and_its_place_and_digest_are_all_that_is_added(grown: tuple[Path, Cost, Cost]) -> None:
    with open_reader(grown[0]) as reader:
        stored = sum(len(row.payload) + len(row.type) + 16 + 32 for row in reader.rows())
    assert grown[0].stat().st_size < stored + EVENTS * 60


async def test_a_large_text_that_many_events_name_is_kept_once(tmp_path: Path) -> None:
    path, digest = tmp_path / "a.journal", chain.body_digest(OUTPUT)
    async with await Journal.create(path, HEADER) as journal:
        for number in range(50):
            named = replace(facts.finished(), handoff_sha256=digest)
            await journal.append(MAIN, [record(named)], expected=number, bodies={digest: OUTPUT})
        await journal.sweep()
    assert len(OUTPUT) < path.stat().st_size < len(OUTPUT) * 1.1
    with kit.raw(path) as connection:
        (longest,) = connection.execute("SELECT max(length(payload)) FROM events").fetchone()
    assert longest < 1_000


async def test_a_log_that_a_reader_pinned_is_bounded_again_once_the_reader_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    async with await Journal.create(path, HEADER) as journal:
        with kit.raw(path) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM events").fetchall()
            for number in range(10):
                large = f"{number} {OUTPUT}"
                await journal.append(MAIN, history(1), expected=number, bodies=kit.kept(large))
            assert journal.log_bytes > LONGEST_LOG > LIMIT
            pinned = [journal.log_is_pinned]
        for number in range(10, 15):
            await journal.append(MAIN, history(1), expected=number)
        assert journal.log_bytes <= LIMIT
        assert [*pinned, journal.log_is_pinned] == [True, False]
    assert journal.log_bytes == 0
    assert len(kit.read(path)) == 15


LIMIT = disk.SAFETY["journal_size_limit"]
