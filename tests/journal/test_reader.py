"""Whatever state its writer is in, a journal can be read, is proven before it is believed, and is not changed by a byte."""

# pyright: reportPrivateUsage=false
# ruff: noqa: ASYNC221  # a test may block its loop

import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from journal import chain, reader
from journal.errors import (
    ChainBroken,
    EventDamaged,
    JournalBusy,
    JournalDamaged,
    JournalMissing,
    JournalNewer,
    NoSuchPlace,
    NotAJournal,
    StorageFailed,
    UnknownEvent,
)
from journal.ids import Sha256
from journal.lock import JournalLock
from journal.reader import open_reader
from journal.store import Journal
from tests import facts
from tests.journal import kit
from tests.journal.kit import BODY, HEADER, MAIN, OTHER_BODY, WRITER, record, settled

CHILD = """
import sys
import anyio
from pathlib import Path
from journal.lock import JournalLock
from journal.store import Journal
from tests.journal import kit

async def main(path: Path) -> None:
    if "locked" in sys.argv:
        JournalLock.acquire(path, kit.WRITER)
    journal = await Journal.create(path, kit.HEADER)
    await journal.append(kit.MAIN, kit.settled(300), expected=0)
    print("written", flush=True)
    sys.stdin.read()

anyio.run(main, Path(sys.argv[1]))
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "a.journal"


@pytest.fixture
def all_kinds(path: Path) -> Path:
    anyio.run(kit.write_all_kinds, path)
    return path


@contextmanager
def writing_process(path: Path, *words: str) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CHILD, str(path), *words]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "written\n"
        yield child
        child.kill()


def places(path: Path, branch: int, at: int | None = None) -> list[tuple[int, int]]:
    with open_reader(path) as reader:
        rows = list(reader.verified(branch, at))
        assert [row.digest for row in rows] == [raw.digest.hex() for raw in reader.history(branch, at)]
    return [(row.branch, row.position) for row in rows]


def tampered(path: Path, *statements: str) -> None:
    with kit.raw(path) as connection:
        kit.without_guards(connection)
        for statement in statements:
            connection.execute(statement)


def test_a_history_is_gathered_through_its_ancestors(all_kinds: Path) -> None:
    assert places(all_kinds, 1) == [(1, n) for n in range(1, 7)]
    assert places(all_kinds, 3) == [(1, 1), (1, 2), (1, 3), (2, 4), (2, 5), (3, 6), (3, 7)]
    assert places(all_kinds, 4) == [(4, 1)]


@pytest.mark.parametrize(("at", "count"), [(0, 0), (2, 2), (3, 3), (4, 4), (7, 7), (None, 7)])
def test_a_history_can_be_read_up_to_a_position(all_kinds: Path, at: int | None, count: int) -> None:
    assert [position for _, position in places(all_kinds, 3, at)] == list(range(1, count + 1))


@pytest.mark.parametrize(("branch", "at"), [(3, 8), (3, -1), (9, None), (0, 0)])
def test_a_place_that_is_not_there_is_refused(all_kinds: Path, branch: int, at: int | None) -> None:
    with open_reader(all_kinds) as reader, pytest.raises(NoSuchPlace):
        list(reader.verified(branch, at))


def test_an_empty_journal_has_an_empty_history(path: Path) -> None:
    anyio.run(kit.write, path)
    assert kit.read(path) == []


def test_the_view_holds_header_branches_rows_submissions_and_bodies(all_kinds: Path) -> None:
    with open_reader(all_kinds) as reader:
        assert reader.header == HEADER
        assert [(row.branch, row.parent, row.fork_position) for row in reader.branches] == [
            (1, None, 0),
            (2, 1, 3),
            (3, 2, 5),
            (4, 1, 0),
        ]
        assert [row.tip for row in reader.rows()][:4] == [None, "Entry-1", "abc", "aa01"]
        assert reader.submissions() == {("c" * 64, 1), ("d" * 64, 1)}
        assert {text for _, text in reader.bodies()} == {BODY, OTHER_BODY}
        assert set(reader.digests()) == {chain.body_digest(BODY), chain.body_digest(OTHER_BODY)}
        assert reader.body(chain.body_digest(BODY)) == BODY
        assert reader.body(Sha256("0" * 64)) is None
        assert [reader.head(branch) for branch in (1, 2, 3, 4)] == [6, 6, 7, 1]


def test_rows_come_in_the_order_of_recording(all_kinds: Path) -> None:
    with open_reader(all_kinds) as reader:
        recorded = [(row.branch, row.position) for row in reader.rows()]
    assert recorded == [*((1, n) for n in range(1, 7)), (2, 4), (2, 5), (2, 6), (3, 6), (3, 7), (4, 1)]


def test_the_branch_written_last_is_the_first_until_something_is_written(path: Path) -> None:
    anyio.run(kit.write, path)
    with open_reader(path) as view:
        assert view.last_branch() == MAIN


def test_the_branch_written_last_is_that_of_the_newest_row(all_kinds: Path) -> None:
    with open_reader(all_kinds) as view:
        assert view.last_branch() == 4


def test_the_quick_way_and_the_careful_way_prove_the_same_rows(all_kinds: Path) -> None:
    with open_reader(all_kinds) as view:
        (segment,) = view.segments(1)
        genesis = bytes.fromhex(segment.branch.genesis)
        chunk = view._connection.execute(reader._VERIFY, (1, 0, 6)).fetchall()
        quick = reader._all_at_once(MAIN, 0, genesis, chunk)
        assert quick == list(reader._one_by_one(MAIN, 0, genesis, chunk))


def test_a_reading_left_half_way_ends_quietly_after_its_view(path: Path) -> None:
    anyio.run(kit.write, path, settled(3 * reader.CHUNK))
    with open_reader(path) as view:
        rows = view.verified(1)
        next(rows)
    assert isinstance(rows, Generator)
    rows.close()


def test_a_long_history_is_read_chunk_by_chunk(path: Path) -> None:
    rows = anyio.run(kit.write, path, settled(3 * reader.CHUNK + 1))
    assert kit.read(path) == list(rows)


def test_reading_a_closed_journal_changes_nothing_and_leaves_nothing(
    all_kinds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies = tmp_path / "copies"
    copies.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(copies))
    before = kit.snapshot(all_kinds.parent)
    with open_reader(all_kinds) as reader:
        list(reader.verified(3))
    assert kit.snapshot(all_kinds.parent) == before
    assert list(copies.iterdir()) == []


@pytest.mark.parametrize("words", [(), ("locked",)])
def test_a_killed_writers_log_is_read_and_left_as_it_is(path: Path, words: tuple[str, ...]) -> None:
    with writing_process(path, *words) as child:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert path.with_name("a.journal-wal").stat().st_size
    before = kit.snapshot(path.parent)
    assert len(kit.read(path)) == 300
    assert kit.snapshot(path.parent) == before


def test_a_journal_is_read_beside_its_living_writer(path: Path) -> None:
    with writing_process(path, "locked"):
        before = kit.snapshot(path.parent)
        assert len(kit.read(path)) == 300
        after = kit.snapshot(path.parent)
        # The shared memory is where living processes meet; file and log are not touched.
        assert {name: before[name] for name in before if not name.endswith("-shm")} == {
            name: after[name] for name in after if not name.endswith("-shm")
        }


async def test_a_journal_is_read_beside_a_writer_in_this_process_without_dropping_its_locks(path: Path) -> None:
    async with await Journal.create(path, HEADER) as journal:
        await journal.append(MAIN, settled(), expected=0)
        assert len(kit.read(path)) == 1
        # Were the writer's locks gone, this other process would think itself the last and remove the log.
        code = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('SELECT * FROM events').fetchall(); c.close()"
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        assert path.with_name("a.journal-wal").exists()
        await journal.append(MAIN, settled(), expected=1)
        assert len(kit.read(path)) == 2


async def test_a_view_does_not_see_what_is_written_after_it_was_opened(path: Path) -> None:
    async with await Journal.create(path, HEADER) as journal:
        await journal.append(MAIN, settled(), expected=0)
        with open_reader(path) as reader:
            await journal.append(MAIN, settled(2), expected=1)
            assert len(list(reader.verified(1))) == 1
    assert len(kit.read(path)) == 3


def test_a_read_only_folder_is_no_obstacle(all_kinds: Path) -> None:
    code = """
import os, sys
from pathlib import Path
from tests.journal import kit
if os.geteuid() == 0:
    os.setgid(65534); os.setuid(65534)
assert not os.access(sys.argv[1], os.W_OK), "the folder is not read-only"
print(len(kit.read(Path(sys.argv[1]) / "a.journal")))
"""
    all_kinds.chmod(0o444)
    for folder in [all_kinds.parent, *all_kinds.parent.parents[:-2]]:
        folder.chmod(0o555)
    try:
        done = subprocess.run(
            [sys.executable, "-c", code, str(all_kinds.parent)],
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for folder in [all_kinds.parent, *all_kinds.parent.parents[:-2]]:
            folder.chmod(0o700)
    assert (done.stdout, done.returncode) == ("6\n", 0), done.stderr


def test_a_link_is_followed_for_reading(all_kinds: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(all_kinds)
    assert len(kit.read(tmp_path / "link")) == 6


def test_what_is_no_journal_is_refused(path: Path, all_kinds: Path) -> None:
    with pytest.raises(JournalMissing), open_reader(path.with_name("none")):
        pass
    path.with_name("notes").write_bytes(b"notes " * 1000)
    with pytest.raises(NotAJournal), open_reader(path.with_name("notes")):
        pass
    path.with_name("circle").symlink_to("circle")
    with pytest.raises(NotAJournal), open_reader(path.with_name("circle")):
        pass
    with kit.raw(all_kinds) as connection:
        connection.execute("PRAGMA user_version = 2")
    with pytest.raises(JournalNewer), open_reader(all_kinds):
        pass


def test_a_later_format_that_is_only_in_the_log_is_seen(all_kinds: Path) -> None:
    with kit.raw(all_kinds) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("PRAGMA user_version = 2")
        with pytest.raises(JournalNewer), open_reader(all_kinds):
            pass


def test_a_file_that_keeps_changing_is_busy(all_kinds: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = iter(range(100))

    def stamp(_: Path) -> int:
        return next(counter)

    monkeypatch.setattr(reader, "_stamp", stamp)
    with pytest.raises(JournalBusy), open_reader(all_kinds):
        pass


def test_a_live_file_that_may_not_be_opened_beside_its_writer_is_copied(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = reader._view

    def refused(file: Path, mode: str) -> sqlite3.Connection:
        if mode == "mode=ro":
            raise sqlite3.OperationalError("unable to open database file")
        return view(file, mode)

    monkeypatch.setattr(reader, "_view", refused)
    with writing_process(path, "locked"):
        assert len(kit.read(path)) == 300


async def test_a_file_this_process_writes_is_never_copied_past_sqlite(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> sqlite3.Connection:
        raise sqlite3.OperationalError("unable to open database file")

    async with await Journal.create(path, HEADER):
        monkeypatch.setattr(reader, "_view", refused)
        with pytest.raises(StorageFailed), open_reader(path):
            pass


def test_a_lock_without_a_log_is_no_writer_to_read_beside(all_kinds: Path) -> None:
    with JournalLock.acquire(all_kinds, WRITER):
        before = kit.snapshot(all_kinds.parent)
        assert len(kit.read(all_kinds)) == 6
        assert kit.snapshot(all_kinds.parent) == before


BROKEN = {
    "a changed payload": ("UPDATE events SET payload = replace(payload, '2', '3') WHERE id = 5", ChainBroken),
    "a changed time": ("UPDATE events SET at_ms = at_ms + 1 WHERE id = 5", ChainBroken),
    "a missing row": ("DELETE FROM events WHERE id = 5", ChainBroken),
    "a tip that is no text": ("UPDATE events SET tip = CAST(x'ff' AS TEXT) WHERE id = 5", ChainBroken),
    "a type that is no text": ("UPDATE events SET type = CAST(x'ff' AS TEXT) WHERE id = 5", ChainBroken),
}


@pytest.mark.parametrize(("sql", "error"), BROKEN.values(), ids=BROKEN.keys())
def test_the_rows_before_a_bad_one_are_good_and_it_is_located(
    all_kinds: Path, sql: str, error: type[ChainBroken]
) -> None:
    tampered(all_kinds, sql)
    with open_reader(all_kinds) as reader:
        rows = reader.verified(1)
        assert [next(rows).position for _ in range(4)] == [1, 2, 3, 4]
        with pytest.raises(error) as caught:
            next(rows)
        assert (caught.value.branch, caught.value.position) == (1, 5)


def test_a_row_missing_at_a_fork_is_located(all_kinds: Path) -> None:
    tampered(all_kinds, "DELETE FROM events WHERE branch = 2 AND position = 5")
    with open_reader(all_kinds) as reader, pytest.raises(ChainBroken) as caught:
        list(reader.verified(3))
    assert (caught.value.branch, caught.value.position) == (2, 5)


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE header SET session_id = 'other'",
        "UPDATE branches SET genesis = zeroblob(32) WHERE branch = 1",
        "UPDATE branches SET fork_position = 2 WHERE branch = 2",
        "UPDATE branches SET parent = 3 WHERE branch = 2",
    ],
)
def test_a_branch_that_does_not_begin_as_it_says_is_broken(all_kinds: Path, sql: str) -> None:
    tampered(all_kinds, sql)
    with open_reader(all_kinds) as reader, pytest.raises(ChainBroken):
        list(reader.verified(2))


def forged(path: Path, type_: str, payload: str) -> None:
    """Append a row by hand whose digest is right."""
    with kit.raw(path) as connection:
        (previous,) = connection.execute("SELECT digest FROM events WHERE branch = 1 AND position = 6").fetchone()
        digest = chain.link(previous, (1, 7, 0, None, None, type_), payload.encode())
        row = (1, 7, 0, type_, payload, digest)
        sql = "INSERT INTO events (branch, position, at_ms, type, payload, digest) VALUES (?, ?, ?, ?, ?, ?)"
        connection.execute(sql, row)


@pytest.mark.parametrize(
    ("type_", "payload", "error"),
    [
        ("telepathy.v1", '{"type":"telepathy.v1"}', UnknownEvent),
        ("paused.v1", '{"type":"resumed.v1"}', EventDamaged),
        ("paused.v1", "not json", EventDamaged),
    ],
)
def test_a_sound_row_that_cannot_be_understood_is_located_and_listed(
    all_kinds: Path, type_: str, payload: str, error: type[Exception]
) -> None:
    forged(all_kinds, type_, payload)
    with open_reader(all_kinds) as reader:
        with pytest.raises(error) as caught:
            list(reader.verified(1))
        assert (getattr(caught.value, "branch", 0), getattr(caught.value, "position", 0)) == (1, 7)
        assert len(list(reader.verified(1, 6))) == 6
        assert [row.payload for row in reader.history(1)][-1] == payload


def test_a_payload_that_is_no_utf8_can_still_be_listed(all_kinds: Path) -> None:
    tampered(all_kinds, "UPDATE events SET payload = CAST(x'7bff7d' AS TEXT) WHERE id = 2")
    with open_reader(all_kinds) as reader:
        assert [row.payload for row in reader.rows()][1] == "{\udcff}"


@pytest.mark.parametrize("sql", ["DELETE FROM header", "UPDATE header SET id = 2"])
def test_a_journal_without_its_one_header_is_damaged(all_kinds: Path, sql: str) -> None:
    tampered(all_kinds, sql)
    with open_reader(all_kinds) as reader:
        assert len(list(reader.rows())) == 12
        with pytest.raises(JournalDamaged):
            list(reader.verified(1))


def test_a_journal_without_its_tables_is_damaged(all_kinds: Path) -> None:
    tampered(all_kinds, "DROP TABLE header")
    with pytest.raises(JournalDamaged), open_reader(all_kinds):
        pass


def test_pages_that_are_lost_are_damage_and_not_an_error_of_the_driver(path: Path) -> None:
    anyio.run(kit.write, path, [record(facts.settled(), tip="x" * 200) for _ in range(500)])
    content = bytearray(path.read_bytes())
    content[-8 * 4096 :] = b"\xa5" * 8 * 4096
    path.write_bytes(content)
    with open_reader(path) as view:
        for read in (lambda: list(view.verified(1)), lambda: list(view.rows())):
            with pytest.raises(JournalDamaged):
                read()
