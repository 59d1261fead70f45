"""Two processes that begin one journal make one; a disk that is really full costs the append and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from journal import disk
from journal.errors import JournalExists, JournalLocked, JournalMissing
from journal.lock import JournalLock
from journal.reader import open_reader
from journal.store import Journal
from tests.journal import kit
from tests.journal.kit import HEADER, MAIN, WRITER, settled

ROOT = Path(__file__).parents[2]

BEGINNER = """
import sqlite3, sys
from pathlib import Path
from journal import chain, disk, statements
from journal.errors import JournalExists
from journal.lock import JournalLock
from tests.journal.kit import HEADER, MAIN, WRITER

def fill(connection: sqlite3.Connection) -> None:
    print("half", flush=True)
    sys.stdin.readline()
    connection.execute(statements.INSERT_BRANCH, (MAIN, None, 0, chain.genesis(HEADER, MAIN)))

lock = JournalLock.acquire(Path(sys.argv[1]), WRITER)
try:
    disk.create(Path(sys.argv[1]), HEADER, fill)
    print("made", flush=True)
except JournalExists:
    print("exists", flush=True)
sys.stdin.readline()
"""

FILLER = """
import sys
from pathlib import Path
import anyio
from journal.errors import JournalFull
from journal.store import Journal
from tests.journal import kit

async def main(folder: Path) -> None:
    ballast = folder / "ballast"
    ballast.write_bytes(b"x" * 300_000)
    async with await Journal.create(folder / "a.journal", kit.HEADER) as journal:
        refused, landed = 0, 0
        while refused < 3:
            try:
                await journal.append(kit.MAIN, kit.settled(20), expected=landed, bodies=kit.kept("y" * 9000 + str(landed)))
                landed += 20
            except JournalFull:
                refused += 1
        ballast.unlink()
        await journal.append(kit.MAIN, kit.settled(1), expected=landed)
    assert landed and len(kit.read(folder / "a.journal")) == landed + 1
    assert kit.found(folder / "a.journal") == []
    print("sound")

anyio.run(main, Path(sys.argv[1]))
"""


class Beginner:
    """A process that is in the middle of making the journal, and holds its lock."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child

    def says(self) -> str:
        assert self._child.stdout is not None
        return self._child.stdout.readline().strip()

    def go_on(self) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write("\n")
        self._child.stdin.flush()

    def die(self) -> None:
        self._child.kill()
        self._child.wait()


@contextmanager
def beginning(path: Path) -> Generator[Beginner]:
    with subprocess.Popen(
        [sys.executable, "-c", BEGINNER, str(path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        beginner = Beginner(child)
        assert beginner.says() == "half"
        yield beginner
        beginner.die()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.journal"


def journals(path: Path) -> list[str]:
    return [file.name for file in path.parent.glob("*.journal")]


async def test_a_second_process_sees_nothing_of_a_half_made_journal_and_makes_no_other(path: Path) -> None:
    with beginning(path) as first:
        assert journals(path) == []
        with pytest.raises(JournalMissing), open_reader(path):
            pass
        with pytest.raises(JournalMissing):
            await Journal.open(path)
        with pytest.raises(JournalLocked):
            JournalLock.acquire(path, WRITER)
        first.go_on()
        assert first.says() == "made"
        assert journals(path) == ["a.journal"]
        with pytest.raises(JournalLocked):
            JournalLock.acquire(path, WRITER)
    with JournalLock.acquire(path, WRITER):
        await takes_an_append(path)


async def test_of_two_that_make_it_at_once_one_does_and_the_other_is_told(path: Path) -> None:
    """The lock forbids it; the file does not rely on the lock."""
    with beginning(path) as first:
        disk.create(path, HEADER)
        first.go_on()
        assert first.says() == "exists"
    assert journals(path) == ["a.journal"]
    with pytest.raises(JournalExists):
        disk.create(path, HEADER)
    await takes_an_append(path)


async def test_one_that_died_in_the_middle_of_making_it_stands_in_nobodys_way(path: Path) -> None:
    with beginning(path) as first:
        first.die()
        with JournalLock.acquire(path, WRITER):
            await kit.write(path, settled())
    assert journals(path) == ["a.journal"]
    assert kit.found(path) == []


async def takes_an_append(path: Path) -> None:
    async with await Journal.open(path) as journal:
        await journal.append(MAIN, settled(), expected=0)
    assert kit.found(path) == []


def test_a_really_full_disk_refuses_and_keeps_what_it_had(tmp_path: Path) -> None:
    unshare = shutil.which("unshare")
    script = 'mount -t tmpfs -o size=1m none "$1" && exec "$2" -c "$3" "$1"'
    alone = [unshare or "", "--user", "--map-root-user", "--mount", "sh", "-c"]
    if unshare is None or subprocess.run([*alone, 'mount -t tmpfs none "$1"', "sh", tmp_path], check=False).returncode:
        pytest.skip("a disk of a chosen size needs a mount of its own, which this machine does not give")
    done = subprocess.run(
        [*alone, script, "sh", tmp_path, sys.executable, FILLER], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("sound\n", 0), done.stderr
