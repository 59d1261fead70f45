"""A command erases texts together with the row that says so, or neither; the chain verifies and no file holds them."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from journal import chain
from journal.erasure import erase, sweep
from journal.errors import EventRejected, JournalBusy, NotAJournal, StorageFailed
from journal.events import BodiesErased
from journal.row import Row
from tests.facts import settled
from tests.fakes.journals import Recording
from tests.journal import kit

SECRET = "erase me " * 50
DIGEST = chain.body_digest(SECRET)
GONE = BodiesErased(digests=(DIGEST,), reason="rescan")


@pytest.fixture
def last(path: Path) -> Row:
    story = Recording().append(*(settled(number) for number in range(3)), bodies=(SECRET, kit.OTHER_BODY))
    story.write(path)
    return story.rows[-1]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.journal"


def held(path: Path) -> bool:
    return b"erase me" in b"".join(kit.snapshot(path.parent).values())


def test_the_text_is_in_no_file_and_the_chain_says_that_it_went(path: Path, last: Row) -> None:
    assert erase(path, last, [kit.record(GONE)], [DIGEST])
    row = kit.read(path)[-1]
    assert (row.event, row.position) == (GONE, 4)
    assert not held(path)
    assert kit.found(path) == []


def test_what_somebody_reads_is_erased_and_said_to_be_in_the_files_until_a_later_sweep(
    path: Path, last: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journal.disk.BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchall()
        assert not erase(path, last, [kit.record(GONE)], [DIGEST])
        assert not sweep(path)
        assert kit.read(path)[-1].event == GONE
        assert held(path)
        reader.execute("ROLLBACK")
        assert sweep(path)
        assert not held(path)


def test_behind_a_row_that_is_not_the_newest_nothing_is_erased(path: Path, last: Row) -> None:
    before = kit.snapshot(path.parent)
    with pytest.raises(StorageFailed):
        erase(path, kit.read(path)[0], [kit.record(GONE)], [DIGEST])
    assert held(path)
    assert kit.snapshot(path.parent)[path.name] == before[path.name]


def test_what_cannot_be_recorded_is_not_erased(path: Path, last: Row) -> None:
    with pytest.raises(EventRejected):
        erase(path, last, [kit.record(GONE, at_ms=-1)], [DIGEST])
    assert held(path)


def test_a_file_that_is_no_journal_is_left_as_it_is(path: Path, last: Row) -> None:
    path.write_bytes(b"something else")
    with pytest.raises(NotAJournal):
        erase(path, last, [kit.record(GONE)], [DIGEST])
    assert path.read_bytes() == b"something else"


def test_another_programs_write_lock_is_told_of(path: Path, last: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("journal.disk.BUSY_SECONDS", 0.01)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(JournalBusy):
            erase(path, last, [kit.record(GONE)], [DIGEST])
    assert kit.read(path)[-1] == last
