"""A journal that a later version wrote, or that is damaged anywhere, stays as it is to the byte, and the session goes on.

What is live says where the journal stops being good, and that nothing is saved or recalled; what is offline lists every
row there is, and no state that was built on a bad one.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest

from continuity.memory.calls import Ticket
from continuity.shell.bridging import Call, forward
from journal import chain
from journal.disk import FORMAT
from journal.reader import open_reader
from tests.fakes.host import Conversation
from tests.journal.kit import snapshot, without_guards
from tests.replay.kit import Ran, run
from tests.shell.calls import READ, WRITE
from tests.shell.rig import names, rig


async def left_behind(root: Path, conversation: Conversation) -> Path:
    """The journal of a process that saved two turns and died, with its log beside it."""
    async with rig(root) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        await talk.saved("two")
        path, crashed = talk.path, root / "crashed"
        crashed.mkdir()
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", crashed / f"j{suffix}")
    for suffix in ("", "-wal"):
        shutil.move(crashed / f"j{suffix}", f"{path}{suffix}")
    return path


def edit(path: Path, statement: str, *, guarded: bool = False) -> None:
    """Change the file as a stranger would, and leave its log beside it, as a crash does."""
    beside = path.parent / "edited"
    beside.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        if not guarded:
            without_guards(connection)
        connection.execute(statement)
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{path}{suffix}", beside / f"j{suffix}")
    for suffix in ("", "-wal"):
        shutil.move(beside / f"j{suffix}", f"{path}{suffix}")
    beside.rmdir()


def newer(path: Path) -> str:
    edit(path, f"PRAGMA user_version = {FORMAT + 1}", guarded=True)
    return f"it has format {FORMAT + 1}, and this version reads up to {FORMAT}"


def unknown_event(path: Path) -> str:
    """Append a sound row with a tag of a later version."""
    with closing(sqlite3.connect(path)) as connection:
        position, previous = connection.execute(
            "SELECT position, digest FROM events WHERE branch = 1 ORDER BY position DESC LIMIT 1"
        ).fetchone()
    payload = '{"type":"telepathy.v1"}'
    digest = chain.link(previous, (1, position + 1, 5, None, None, "telepathy.v1"), payload.encode())
    columns = "branch, position, at_ms, type, payload, digest"
    edit(
        path,
        f"INSERT INTO events ({columns}) VALUES (1, {position + 1}, 5, 'telepathy.v1', '{payload}', x'{digest.hex()}')",  # noqa: S608 - no input of anybody's
        guarded=True,
    )
    return f"a later version of tau-continuity wrote in it at 1@{position + 1}"


def damaged_middle(path: Path) -> str:
    edit(path, "UPDATE events SET payload = replace(payload, '\"', '!') WHERE branch = 1 AND position = 5")
    return "its chain is broken at 1@5"


def damaged_last(path: Path) -> str:
    last = len(names(path))
    edit(path, f"UPDATE events SET payload = x'00' || payload WHERE branch = 1 AND position = {last}")  # noqa: S608 - see above
    return f"its chain is broken at 1@{last}"


FAULTS: dict[str, tuple[Callable[[Path], str], str]] = {
    "a later format": (newer, "update tau-continuity"),
    "a later event": (unknown_event, "update tau-continuity"),
    "a damaged middle": (damaged_middle, "see `continuity audit`"),
    "a damaged end": (damaged_last, "see `continuity audit`"),
}


def journals(folder: Path) -> dict[str, bytes]:
    """The journal and everything beside it, but the lock: it is free or held, and holds no history."""
    return {name: content for name, content in snapshot(folder).items() if not name.endswith(".lock")}


@pytest.mark.parametrize("name", FAULTS)
async def test_the_session_goes_on_without_memory_and_is_told_where_and_what_to_do(tmp_path: Path, name: str) -> None:
    fault, remedy = FAULTS[name]
    conversation = Conversation()
    path = await left_behind(tmp_path, conversation)
    where = fault(path)
    before = journals(path.parent)
    assert set(before) == {path.name, f"{path.name}-wal"}
    async with rig(tmp_path) as process:
        saved = process.memory.calls()["write_note"]
        talk = await process.open(conversation)
        with anyio.fail_after(5):
            prompted = [await talk.turn(text) for text in ("three", "four")]
        (said,) = process.voice.on("journal")
        for words in (where, remedy, "nothing is saved or recalled", "it was left as it is"):
            assert words in said
        assert where in talk.page
        assert all(each.brief is None and each.receipt is None for each in prompted)
        refused = await forward(process.link, talk.session.desk, Call(WRITE, {"title": "t"}, Ticket(), 5.0))
        read = await forward(process.link, talk.session.desk, Call(READ, {"identifier": "t"}, Ticket(), 5.0))
        assert (refused.is_error, read.is_error) == (True, False)
        assert await talk.session.ending(5)
        assert process.memory.calls()["write_note"] == saved
    assert journals(path.parent) == before


def offline(path: Path) -> dict[str, Ran]:
    return {name: run(name, path, "--json") for name in ("log", "state", "audit", "branches", "unproven")}


async def test_a_later_format_is_read_by_no_command_and_named_with_ours_and_the_remedy(tmp_path: Path) -> None:
    path = await left_behind(tmp_path, Conversation())
    newer(path)
    before = journals(path.parent)
    for name, ran in offline(path).items():
        assert ran.code == 3, name
        assert f"the journal has format {FORMAT + 1}, this version reads up to {FORMAT}" in ran.err
        assert "update tau-continuity" in ran.err
    assert journals(path.parent) == before


@pytest.mark.parametrize("fault", [unknown_event, damaged_middle, damaged_last])
async def test_every_row_is_listed_and_the_state_ends_before_the_bad_one(
    tmp_path: Path, fault: Callable[[Path], str]
) -> None:
    path = await left_behind(tmp_path, Conversation())
    where = int(fault(path).rpartition("@")[2])
    with open_reader(path) as reader:
        rows = len(list(reader.rows()))
    before = journals(path.parent)
    told = offline(path)
    assert [line["position"] for line in told["log"].lines] == list(range(1, rows + 1))
    assert told["state"].json["position"] == where - 1
    assert told["audit"].json["proved_to"]["1"]["position"] == where - 1
    assert (told["log"].code, told["state"].code, told["unproven"].code) == (1, 1, 1)
    assert told["audit"].code == (0 if fault is unknown_event else 1)
    assert run("audit", path, "--strict").code == 1
    for name in ("log", "state", "unproven"):
        assert f"1@{where}: " in told[name].err
    assert where in {finding["position"] for finding in told["audit"].json["findings"]}
    assert journals(path.parent) == before
