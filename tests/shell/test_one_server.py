"""A process has one memory server, whatever becomes of it, and none once it ends: no child, no task, no host cut short."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import psutil
import pytest

from continuity.memory.inventory import Inventory
from continuity.memory.liveness import group_state
from continuity.memory.server import ServerSpec
from continuity.shell.link import MemoryLink
from continuity.shell.owner import Owner
from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import BOUND, until


class Served(NamedTuple):
    """A link to the fake server, and the owner it runs under."""

    link: MemoryLink
    owner: Owner
    memory: FakeMemory
    inventories: list[Inventory]


def served(folder: Path, script: str | None = None, *, seconds: float = 10.0) -> Served:
    """Begin to serve the fake server of `folder`, by way of `script` if one is given."""
    memory = FakeMemory(folder / "server")
    command, args = memory.command
    args = args if script is None else ["-c", script, command, *args]
    spec = ServerSpec(command=command, args=tuple(args), env={"PATH": "/usr/bin:/bin"}, cwd=str(folder))
    inventories: list[Inventory] = []
    link, owner = MemoryLink(spec, seconds, inventories.append), Owner(lambda _, __: None)
    owner.spawn("memory", link.run, daemon=True)
    return Served(link, owner, memory, inventories)


@asynccontextmanager
async def serving(folder: Path, script: str | None = None, *, seconds: float = 10.0) -> AsyncGenerator[Served]:
    """Serve until the end of the block; afterwards nothing may be left, however it was ended."""
    before = asyncio.all_tasks()
    made = served(folder, script, seconds=seconds)
    with anyio.fail_after(60):
        try:
            yield made
        finally:
            await made.owner.close()
    assert children() == []
    assert asyncio.all_tasks() == before


_before: set[psutil.Process] = set()


@pytest.fixture(autouse=True)
def others_children() -> None:
    """What was there before a test is not its business."""
    _before.clear()
    _before.update(psutil.Process().children(recursive=True))


def children() -> list[psutil.Process]:
    """Every process below this one that came since the test began, dead ones that nobody reaped included."""
    return [child for child in psutil.Process().children(recursive=True) if child not in _before]


STATES: Mapping[str, Mapping[str, Any]] = {
    "starting": {},
    "greeting": {"initialize": "hang"},
    "listing": {"tools": {"silent": True}},
    "idle": {},
    "calling": {"read_note": ["silent"]},
    "dying": {},
    "dead": {},
}


@pytest.mark.parametrize("state", STATES)
async def test_a_close_is_bounded_in_every_state(tmp_path: Path, state: str) -> None:
    async with serving(tmp_path) as one:
        one.memory.faults(**STATES[state])
        await brought_to(state, one)
        with anyio.fail_after(8):
            await one.owner.close()
    assert one.link.status != "up"


async def brought_to(state: str, one: Served) -> None:
    one.link.want(at_once=True)
    match state:
        case "starting":
            await until(lambda: one.link.status == "connecting")
        case "greeting":
            await until(lambda: one.memory.calls()["initialize"])
        case "listing":
            await until(lambda: one.memory.calls()["tools/list"])
        case _:
            connection = await one.link.up(BOUND)
            assert connection is not None
            if state == "calling":
                one.owner.spawn("call", lambda: ignored(one), daemon=True)
                await until(lambda: one.memory.calls()["read_note"])
            if state == "dying":
                connection._server.give_up()  # pyright: ignore[reportPrivateUsage] # as when its output ended
            if state == "dead":
                os.killpg(connection.process.process_group, signal.SIGKILL)
                await connection.wait_lost()


async def ignored(one: Served) -> None:
    """A call whose answer nobody waits for any more when the end comes."""
    connection = one.link.connection
    assert connection is not None
    await connection.call_tool("read_note", {"identifier": "x"}, 60)


@pytest.mark.parametrize(("fault", "reason", "seconds"), [("exit", "exited", BOUND), ("hang", "timeout", 0.1)])
async def test_five_starts_in_vain_leave_no_process_and_the_sixth_is_the_only_one(
    tmp_path: Path, fault: str, reason: str, seconds: float
) -> None:
    async with serving(tmp_path, seconds=seconds) as one:
        one.memory.faults(initialize=fault)
        for _ in range(5):
            assert await one.link.up(BOUND) is None
            assert (one.link.status, one.link.error) == ("down", reason)
            assert children() == []
        one.memory.faults()
        one.link.timeout_seconds = 10.0
        assert await one.link.up(BOUND) is not None
        assert len(children()) == 1
        assert one.memory.calls()["initialize"] <= 6


@pytest.mark.parametrize(
    "dies", [{"list_memory_projects": ["exit"]}, {"tools": {"exit": True}}], ids=["asked", "listing"]
)
async def test_a_server_that_dies_while_it_is_asked_what_it_has_did_not_start_and_the_next_use_starts_another(
    tmp_path: Path, dies: Mapping[str, Any]
) -> None:
    async with serving(tmp_path) as one:
        one.memory.faults(**dies)
        assert await one.link.up(BOUND) is None
        assert (one.link.status, one.link.error) == ("down", "exited")
        one.memory.faults()
        assert await one.link.up(BOUND) is not None
        assert len(children()) == 1


KEEPS_STDIN = """
import subprocess, sys, time
subprocess.Popen(sys.argv[1:]).wait()
time.sleep(60)
"""
ENDS_FIRST = "import subprocess, sys; subprocess.Popen(sys.argv[1:])"
LEAVES_A_CHILD = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
os.execv(sys.argv[1], sys.argv[1:])
"""


async def test_a_wrapper_that_outlives_its_server_is_ended_with_it(tmp_path: Path) -> None:
    async with serving(tmp_path, KEEPS_STDIN) as one:
        connection = await one.link.up(BOUND)
        assert connection is not None
        assert len(children()) == 2
    assert group_state(connection.process) == "gone"


async def test_a_server_whose_wrapper_ended_is_talked_to_as_long_as_it_answers(tmp_path: Path) -> None:
    async with serving(tmp_path, ENDS_FIRST) as one:
        connection = await one.link.up(BOUND)
        assert connection is not None
        await until(lambda: one.memory.calls()["ping"], "the question whether somebody is there")
        assert not (await connection.call_tool("read_note", {"identifier": "x"}, BOUND)).is_error
        assert one.link.connection is connection
    assert group_state(connection.process) == "gone"


async def test_a_dead_server_is_noticed_though_a_child_of_its_own_holds_the_line(tmp_path: Path) -> None:
    async with serving(tmp_path, LEAVES_A_CHILD) as one:
        connection = await one.link.up(BOUND)
        assert connection is not None
        os.kill(connection.process.pid, signal.SIGKILL)
        await until(lambda: one.link.status != "up", "the truth")
        assert await one.link.up(BOUND) not in (None, connection)
        assert group_state(connection.process) == "gone"


HOST = """
import sys, anyio
from pathlib import Path
from tests.shell.test_one_server import served
async def main():
    one = served(Path(sys.argv[1]))
    connection = await one.link.up(20)
    print(connection.process.pid, flush=True)
    await anyio.sleep(60)
anyio.run(main)
"""


def test_the_server_of_a_host_that_is_killed_ends_by_itself(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOST, str(tmp_path)], stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        server = psutil.Process(int(host.stdout.readline()))
        host.kill()
        host.wait()
        assert psutil.wait_procs([server], timeout=BOUND)[1] == []


# -- whoever asks for it ------------------------------------------------------


async def test_whoever_gave_up_waiting_for_a_greeting_cancels_nobody_else(tmp_path: Path) -> None:
    async with serving(tmp_path, seconds=0.5) as one:
        one.memory.faults(initialize="hang")
        opener = asyncio.ensure_future(one.link.up(60))
        await until(lambda: one.link.status == "connecting", "the greeting")
        opener.cancel()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(one.link.up(60), 0.1)
        host = asyncio.current_task()
        assert opener.cancelled()
        assert host is not None
        assert host.cancelling() == 0
        await until(lambda: one.link.status == "down", "its end")
        one.memory.faults()
        one.link.timeout_seconds = 10.0
        assert await one.link.up(BOUND) is not None


async def test_what_one_task_opened_another_closes_in_whatever_order(tmp_path: Path) -> None:
    first, second = served(tmp_path / "1"), served(tmp_path / "2")
    for one in (first, second):
        assert await asyncio.ensure_future(one.link.up(BOUND)) is not None
    for one in (first, second):
        await asyncio.ensure_future(one.owner.close())
    assert children() == []


@pytest.mark.parametrize("dropped", [False, True], ids=["a call pending", "nobody left to close it"])
def test_a_loop_that_ends_first_leaves_nothing_behind(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, *, dropped: bool
) -> None:
    async def begun() -> None:
        one = served(tmp_path)
        one.memory.faults(read_note=["silent"])
        assert await one.link.up(BOUND) is not None
        if not dropped:
            one.owner.spawn("call", lambda: ignored(one))
            await until(lambda: one.memory.calls()["read_note"])

    async def main() -> None:
        await begun()
        gc.collect()
        await anyio.sleep(0.1)
        assert len(children()) == 1

    with caplog.at_level(logging.WARNING):
        asyncio.run(main())
        gc.collect()
    assert children() == []
    assert caplog.records == []


# -- what it offers -----------------------------------------------------------


async def test_tools_that_change_while_it_runs_are_listed_again_and_kept(tmp_path: Path) -> None:
    async with serving(tmp_path) as one:
        connection = await one.link.up(BOUND)
        assert connection is not None
        tools = [{"name": "new", "inputSchema": {"type": "object"}}]
        one.memory.faults(tools={"pages": [tools]}, read_note=["changed", "store"])
        assert not (await connection.call_tool("read_note", {"identifier": "x"}, BOUND)).is_error
        await until(lambda: len(one.inventories) == 2, "another listing")
        assert [tool.name for tool in one.inventories[1].tools] == ["new"]
        assert one.link.inventory == one.inventories[1]


async def test_a_listing_that_fails_later_takes_nothing_away_from_what_is_known(tmp_path: Path) -> None:
    async with serving(tmp_path) as one:
        connection = await one.link.up(BOUND)
        assert connection is not None
        one.memory.faults(tools={"broken_after": 0}, read_note=["changed", "store"])
        await connection.call_tool("read_note", {"identifier": "x"}, BOUND)
        await until(lambda: one.memory.calls()["tools/list"] == 2, "another listing")
        assert not (await connection.call_tool("read_note", {"identifier": "x"}, BOUND)).is_error
        assert one.link.inventory == one.inventories[0]


async def test_a_listing_without_an_answer_keeps_no_server_from_being_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("continuity.shell.link.LISTING_SECONDS", 0.3)
    async with serving(tmp_path) as one:
        one.memory.faults(tools={"silent": True})
        connection = await one.link.up(BOUND)
        assert connection is not None
        assert one.link.inventory is None
        assert not (await connection.call_tool("read_note", {"identifier": "x"}, BOUND)).is_error
