"""One process writes a journal, the kernel ends its turn, and looking at who it is never gets in its way."""

# pyright: reportPrivateUsage=false

import errno
import fcntl
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from journal import lock
from journal.errors import JournalLocked, StorageFailed
from journal.ids import WriterId
from journal.lock import JournalLock, holder, lock_path
from journal.row import WriterRecord
from tests.journal.kit import WRITER

NEXT = msgspec.structs.replace(WRITER, writer=WriterId("writer-2"))
CHILD = """
import sys
from pathlib import Path
from journal.lock import JournalLock
from tests.journal.kit import WRITER

held = JournalLock.acquire(Path(sys.argv[1]), WRITER)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "a.journal"


@contextmanager
def another_process(path: Path) -> Generator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", CHILD, str(path)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        yield child
        child.kill()


def test_a_second_process_is_told_who_holds_it(path: Path) -> None:
    with another_process(path):
        with pytest.raises(JournalLocked) as caught:
            JournalLock.acquire(path, NEXT)
        assert caught.value.holder == WRITER
        assert holder(path) == (True, WRITER)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_ends_with_its_process(path: Path, number: signal.Signals) -> None:
    with another_process(path) as child:
        child.send_signal(number)
        child.wait()
        assert holder(path) == (False, WRITER)
        with JournalLock.acquire(path, NEXT) as held:
            assert held.previous == WRITER
            assert holder(path) == (True, NEXT)


def test_a_second_lock_of_the_same_process_is_refused(path: Path) -> None:
    with JournalLock.acquire(path, WRITER), pytest.raises(JournalLocked):
        JournalLock.acquire(path, NEXT)


def test_the_first_writer_follows_nobody(path: Path) -> None:
    with JournalLock.acquire(path, WRITER) as held:
        assert held.previous is None
        assert (held.path, path.exists()) == (lock_path(path), False)


def test_a_released_lock_is_free_and_remembers_who_held_it(path: Path) -> None:
    held = JournalLock.acquire(path, WRITER)
    held.release()
    held.release()
    assert holder(path) == (False, WRITER)
    JournalLock.acquire(path, NEXT).release()
    assert holder(path) == (False, NEXT)


def test_nobody_holds_what_was_never_locked(path: Path) -> None:
    assert holder(path) == (False, None)
    assert not path.parent.exists()


def test_a_forked_child_does_not_keep_a_released_lock(path: Path) -> None:
    held = JournalLock.acquire(path, WRITER)
    handle = held._handle
    assert handle is not None
    inherited = os.dup(handle)
    held.release()
    assert not holder(path).live
    os.close(inherited)


def test_looking_does_not_stop_the_next_writer(path: Path) -> None:
    JournalLock.acquire(path, WRITER).release()
    looking = os.open(lock_path(path), os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    threading.Timer(0.02, lambda: os.close(looking)).start()
    JournalLock.acquire(path, NEXT).release()


def test_one_who_never_stops_looking_is_reported_as_a_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    JournalLock.acquire(path, WRITER).release()
    monkeypatch.setattr(lock, "_PROBE_PATIENCE", 2)
    looking = os.open(lock_path(path), os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    with pytest.raises(JournalLocked) as caught:
        JournalLock.acquire(path, NEXT)
    assert caught.value.holder is None
    os.close(looking)


@pytest.mark.parametrize("replaced", [True, False])
def test_a_lock_file_that_was_removed_is_not_mistaken_for_the_one_in_place(
    path: Path, monkeypatch: pytest.MonkeyPatch, replaced: bool
) -> None:
    JournalLock.acquire(path, WRITER).release()
    flock = fcntl.flock
    kinds: list[int] = []

    def removed_meanwhile(handle: int, kind: int) -> None:
        if not kinds:
            lock_path(path).unlink()
            if replaced:
                lock_path(path).touch()
        kinds.append(kind)
        flock(handle, kind)

    monkeypatch.setattr(fcntl, "flock", removed_meanwhile)
    with JournalLock.acquire(path, NEXT):
        assert holder(path) == (True, NEXT)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"writer":1}'])
def test_words_that_cannot_be_read_are_no_words(path: Path, content: bytes) -> None:
    with JournalLock.acquire(path, WRITER):
        lock_path(path).write_bytes(content)
        assert holder(path) == (True, None)
        with pytest.raises(JournalLocked) as caught:
            JournalLock.acquire(path, NEXT)
        assert caught.value.holder is None


def test_the_words_are_as_long_as_the_record(path: Path) -> None:
    JournalLock.acquire(path, msgspec.structs.replace(WRITER, writer=WriterId("w" * 80))).release()
    JournalLock.acquire(path, WRITER).release()
    assert msgspec.json.decode(lock_path(path).read_bytes(), type=WriterRecord) == WRITER


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_the_lock_file_is_private_under_any_umask(path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        JournalLock.acquire(path, WRITER).release()
    finally:
        os.umask(before)
    assert stat.S_IMODE(lock_path(path).stat().st_mode) == 0o600


def test_a_link_in_the_locks_place_is_a_storage_failure(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    lock_path(path).symlink_to(tmp_path / "elsewhere")
    for attempt in (lambda: JournalLock.acquire(path, WRITER), lambda: holder(path)):
        with pytest.raises(StorageFailed):
            attempt()
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_system_without_locks_is_a_storage_failure(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: int) -> None:
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with pytest.raises(StorageFailed):
        JournalLock.acquire(path, WRITER)


def test_words_that_cannot_be_written_leave_the_lock_free(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(StorageFailed):
        JournalLock.acquire(path, WRITER)
    assert not holder(path).live
