"""A journal file exists whole or not at all, is nobody else's to read, and is recognised before it is touched."""

# ruff: noqa: ASYNC240  # a test may block its loop

import os
import sqlite3
import stat
from collections.abc import Callable, Generator
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec
import pytest

from journal import disk
from journal.errors import (
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalExists,
    JournalFull,
    JournalMissing,
    JournalNewer,
    NotAJournal,
    StorageFailed,
)
from journal.store import Journal
from tests.journal import kit
from tests.journal.kit import HEADER, MAIN, settled


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journals" / "a.journal"


@pytest.fixture(params=[0o000, 0o022, 0o777], ids=oct)
def umask(request: pytest.FixtureRequest) -> Generator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("umask")
async def test_folder_and_files_are_private_from_creation_under_any_umask(path: Path) -> None:
    async with await Journal.create(path, HEADER) as journal:
        await journal.append(MAIN, settled(), expected=0)
        assert {file.suffix: oct(mode(file)) for file in path.parent.iterdir()} == {
            ".journal": "0o600",
            ".journal-wal": "0o600",
            ".journal-shm": "0o600",
        }
    assert [mode(folder) for folder in (path.parent, path.parent.parent)] == [0o700, 0o700]


def test_the_new_file_is_whole_without_a_log(path: Path) -> None:
    disk.create(path, HEADER)
    assert [file.name for file in path.parent.iterdir()] == ["a.journal"]
    with kit.raw(path) as connection:
        assert connection.execute("SELECT count(*) FROM branches").fetchone() == (1,)


def test_a_folder_that_exists_keeps_its_permissions(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    disk.create(tmp_path / "a.journal", HEADER)
    assert mode(tmp_path) == 0o755


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\x00", b"notes"])
def test_what_exists_is_never_overwritten(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(JournalExists):
        disk.create(path, HEADER)
    assert kit.snapshot(path.parent) == {"a.journal": content}


def test_a_link_to_nowhere_is_not_followed_to_make_a_file(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to(path.parent / "elsewhere")
    with pytest.raises(JournalExists):
        disk.create(path, HEADER)
    assert [file.name for file in path.parent.iterdir()] == ["a.journal"]


def test_a_file_that_appears_meanwhile_wins(path: Path) -> None:
    def theirs(_: sqlite3.Connection) -> None:
        path.write_bytes(b"theirs")

    with pytest.raises(JournalExists):
        disk.create(path, HEADER, theirs)
    assert kit.snapshot(path.parent) == {"a.journal": b"theirs"}


def test_a_failed_build_leaves_nothing(path: Path) -> None:
    with pytest.raises(JournalDamaged):
        disk.create(path, HEADER, lambda connection: connection.execute("nonsense").close())
    assert kit.snapshot(path.parent) == {}


def test_a_folder_that_cannot_be_made_is_a_storage_failure(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageFailed):
        disk.create(tmp_path / "file" / "a.journal", HEADER)


def test_only_todays_format_is_made(path: Path) -> None:
    with pytest.raises(ValueError, match="format 1, not 2"):
        disk.create(path, msgspec.structs.replace(HEADER, format=2))


async def test_a_loose_file_is_tightened_when_it_is_opened_for_writing(path: Path) -> None:
    await kit.write(path, settled())
    path.chmod(0o644)
    async with await Journal.open(path):
        assert mode(path) == 0o600


async def test_a_link_is_refused_for_writing(path: Path) -> None:
    await kit.write(path, settled())
    link = path.with_name("link.journal")
    link.symlink_to(path)
    with pytest.raises(NotAJournal, match="symbolic link"):
        await Journal.open(link)


def sql(path: Path, *statements: str) -> None:
    with kit.raw(path) as connection:
        for statement in statements:
            connection.execute(statement)


def make_newer(path: Path) -> None:
    anyio.run(kit.write_all_kinds, path)
    sql(path, "PRAGMA user_version = 2")


UNREADABLE: dict[str, tuple[Callable[[Path], object], type[JournalError]]] = {
    "nothing": (lambda _: None, JournalMissing),
    "an empty file": (lambda path: path.write_bytes(b""), NotAJournal),
    "a folder": (lambda path: path.mkdir(), NotAJournal),
    "a text": (lambda path: path.write_bytes(b"notes " * 100), NotAJournal),
    "another database": (lambda path: sql(path, "CREATE TABLE t (a)"), NotAJournal),
    "another database with our format": (lambda path: sql(path, "PRAGMA user_version = 1"), NotAJournal),
    "no format": (lambda path: sql(path, f"PRAGMA application_id = {disk.APPLICATION_ID}"), NotAJournal),
    "a later format": (make_newer, JournalNewer),
}


@pytest.mark.parametrize(("make", "error"), UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_what_is_no_journal_of_ours_is_left_as_it_is(
    path: Path, make: Callable[[Path], object], error: type[JournalError]
) -> None:
    path.parent.mkdir(parents=True)
    await anyio.to_thread.run_sync(make, path)
    before = kit.snapshot(path.parent) if not path.is_dir() else {}
    with pytest.raises(error):
        await Journal.open(path)
    assert (kit.snapshot(path.parent) if not path.is_dir() else {}) == before


async def test_a_later_format_is_named_with_ours_and_the_remedy(path: Path) -> None:
    await anyio.to_thread.run_sync(make_newer, path)
    with pytest.raises(JournalNewer, match=r"format 2, this version reads up to 1.*update") as caught:
        await Journal.open(path)
    assert (caught.value.found, caught.value.known) == (2, 1)


def test_a_damaged_first_page_is_damage(path: Path) -> None:
    disk.create(path, HEADER)
    content = bytearray(path.read_bytes())
    content[16:18] = b"\x00\x01"
    path.write_bytes(content)
    with pytest.raises((JournalDamaged, NotAJournal)):
        disk.recognise(path)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, JournalBusy),
        (sqlite3.SQLITE_LOCKED, JournalBusy),
        (sqlite3.SQLITE_FULL, JournalFull),
        (sqlite3.SQLITE_CORRUPT, JournalDamaged),
        (sqlite3.SQLITE_NOTADB, JournalDamaged),
        (sqlite3.SQLITE_IOERR_FSYNC, StorageFailed),
        (sqlite3.SQLITE_READONLY, StorageFailed),
        (sqlite3.SQLITE_CANTOPEN, StorageFailed),
        (None, StorageFailed),
    ],
)
def test_a_drivers_code_becomes_an_error_of_ours(path: Path, code: int | None, error: type[JournalError]) -> None:
    raised = sqlite3.OperationalError("words of the driver")
    if code is not None:
        raised.sqlite_errorcode = code
    assert type(disk.explain(raised, path)) is error
    assert "words of the driver" not in str(disk.explain(raised, path))


def test_no_word_of_the_driver_reaches_a_message_and_all_of_them_stay_with_its_cause(path: Path) -> None:
    with pytest.raises(JournalDamaged) as caught:
        disk.create(path, HEADER, lambda connection: connection.execute("SELECT 'a secret' FROM nowhere").close())
    assert str(caught.value) == f"{path}: it cannot be read as a journal"
    assert "no such table: nowhere" in str(caught.value.__cause__)


def test_the_file_systems_reason_is_said(path: Path) -> None:
    assert str(disk.explain(PermissionError(13, "Permission denied", "x"), path)) == f"{path}: Permission denied"
    assert str(disk.explain(OSError("odd"), path)) == f"{path}: the file system failed"
