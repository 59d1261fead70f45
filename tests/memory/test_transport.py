"""No server outlives its session: every close is bounded and takes the whole process group with it."""

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import psutil
import pytest

from continuity.memory.calls import Ticket
from continuity.memory.connection import connect
from continuity.memory.errors import CallFailed, ConnectFailed
from continuity.memory.liveness import group_state
from continuity.memory.server import ServerSpec
from continuity.memory.transport import Grace, Lines, stdio_server
from tests.fakes.memory_server import FakeMemory
from tests.memory.conftest import QUICK, Reach

STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


async def test_a_server_that_heeds_the_end_of_input_is_asked_no_further(spec: ServerSpec) -> None:
    async with stdio_server(spec, QUICK) as (server, _inbox):
        assert group_state(server.process) == "alive"
    assert server.returncode == 0
    assert group_state(server.process) == "gone"


async def test_a_server_that_ignores_end_of_input_and_term_is_killed(spec: ServerSpec, fake: FakeMemory) -> None:
    fake.faults(stubborn=True)
    async with connect(spec, seconds=10, grace=Grace(0.1, 0.1, 2)) as connection:
        process = connection.process
        started = anyio.current_time()
    assert anyio.current_time() - started < 4
    assert group_state(process) == "gone"


async def test_a_wrapper_takes_its_grandchild_along(tmp_path: Path) -> None:
    script = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {STUBBORN!r}], stdout=subprocess.DEVNULL)"
    )
    spec = ServerSpec(command=sys.executable, args=("-c", script), env={}, cwd=str(tmp_path))
    async with stdio_server(spec, Grace(0.5, 0.1, 2)) as (server, _inbox):
        await server.lost.wait()
        await anyio.sleep(0.1)
        assert server.returncode == 0
        assert group_state(server.process) == "alive"
    assert group_state(server.process) == "gone"


async def test_a_grandchild_that_left_the_group_is_found_in_the_session(tmp_path: Path) -> None:
    script = f"import os; os.setpgid(0, 0) if os.fork() == 0 else None; {STUBBORN}"
    spec = ServerSpec(command=sys.executable, args=("-c", script), env={}, cwd=str(tmp_path))
    async with stdio_server(spec, Grace(0.3, 0.1, 2)) as (server, _inbox):
        await anyio.sleep(0.1)
    assert group_state(server.process) == "gone"


@pytest.mark.parametrize(
    ("fault", "reason"), [("hang", "timeout"), ("garbage", "garbage"), ("exit", "exited"), ("reject", "protocol")]
)
async def test_a_server_that_does_not_greet_is_named_by_its_fault(
    fake: FakeMemory, reach: Reach, fault: str, reason: str
) -> None:
    fake.faults(initialize=fault)
    with pytest.raises(ConnectFailed) as failed:
        async with reach(0.5):
            pytest.fail("no session can come about")
    assert failed.value.reason == reason
    assert not children()


async def test_a_command_that_is_not_there_leaves_no_child(tmp_path: Path) -> None:
    spec = ServerSpec(command=str(tmp_path / "none"), args=(), env={}, cwd=str(tmp_path))
    with pytest.raises(ConnectFailed, match="unstartable"):
        async with connect(spec, seconds=1):
            pytest.fail("no session can come about")


async def test_the_loop_runs_on_while_a_server_spews_garbage(tmp_path: Path) -> None:
    script = "import sys\nwhile True: sys.stdout.write('nonsense\\n' * 1000)"
    spec = ServerSpec(command=sys.executable, args=("-c", script), env={}, cwd=str(tmp_path))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as group:
        group.start_soon(tick)
        with pytest.raises(ConnectFailed, match="garbage"):
            async with connect(spec, seconds=0.5, grace=QUICK):
                pytest.fail("no session can come about")
        group.cancel_scope.cancel()
    assert ticks > 10


async def test_cancelling_a_hanging_greeting_closes_within_the_bound(fake: FakeMemory, reach: Reach) -> None:
    fake.faults(initialize="hang")
    started = anyio.current_time()
    with anyio.move_on_after(0.3):
        async with reach(60):
            pytest.fail("no session can come about")
    assert anyio.current_time() - started < 2 + sum(QUICK)
    assert not children()


async def test_twenty_sessions_leave_nothing_behind(reach: Reach) -> None:
    before = psutil.Process().num_fds()
    for _ in range(20):
        async with reach():
            assert len(children()) == 1
    assert not children()
    assert psutil.Process().num_fds() == before


async def test_two_sessions_close_in_any_order(reach: Reach) -> None:
    async def own(ready: anyio.Event, stop: anyio.Event, done: Callable[[], None]) -> None:
        async with reach():
            ready.set()
            await stop.wait()
        done()

    closed: list[str] = []
    events = [anyio.Event() for _ in range(4)]
    async with anyio.create_task_group() as group:
        group.start_soon(own, events[0], events[1], lambda: closed.append("first"))
        await events[0].wait()
        group.start_soon(own, events[2], events[3], lambda: closed.append("second"))
        await events[2].wait()
        events[1].set()
        await anyio.sleep(0.05)
        events[3].set()
    assert sorted(closed) == ["first", "second"]
    assert not children()


def test_a_loop_that_closes_over_a_pending_call_leaves_nothing_unretrieved(
    fake: FakeMemory, spec: ServerSpec, capfd: pytest.CaptureFixture[str]
) -> None:
    fake.faults(read_note=["silent"])

    async def own(ready: asyncio.Event) -> None:
        async with connect(spec, seconds=10, grace=QUICK) as connection:
            ready.set()
            await connection.call_tool("read_note", {"identifier": "x"}, 60)

    kept: list[asyncio.Task[None]] = []

    async def main() -> None:
        ready = asyncio.Event()
        kept.append(asyncio.create_task(own(ready)))
        await ready.wait()
        await asyncio.sleep(0.1)

    asyncio.run(main(), debug=True)
    assert not children()
    assert "never retrieved" not in capfd.readouterr().err


async def test_a_request_a_deaf_server_never_took_is_not_sent_after_all(tmp_path: Path) -> None:
    """The pipe is full, so the second request waits in our process; giving up on it takes it back."""
    greeting = (
        '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},'
        '"serverInfo":{"name":"deaf","version":"1"}}}'
    )
    script = f"import sys, time; sys.stdin.readline(); print({greeting!r}, flush=True); time.sleep(60)"
    spec = ServerSpec(command=sys.executable, args=("-c", script), env={}, cwd=str(tmp_path))
    async with connect(spec, seconds=10, grace=QUICK) as connection:
        big, small = Ticket(), Ticket()
        started = anyio.current_time()
        with pytest.raises(CallFailed) as first:
            await connection.call_tool("write_note", {"content": "x" * 2_000_000}, 0.2, ticket=big)
        with pytest.raises(CallFailed) as second:
            await connection.call_tool("write_note", {"content": "x"}, 0.2, ticket=small)
        assert anyio.current_time() - started < 4
    assert (first.value.sent, second.value.sent) == (True, False)
    assert small.withdrawn


def test_only_a_newline_ends_a_line() -> None:
    lines = Lines()
    assert lines.feed("a\u2028b\r".encode()) == []
    assert lines.feed(b"c\nd") == ["a\u2028b\rc".encode()]
    assert lines.feed(b"\n\n") == [b"d", b""]


def test_a_long_line_costs_no_more_than_its_length() -> None:
    lines = Lines()
    started = time.perf_counter()
    for _ in range(2000):
        lines.feed(b"x" * 16_384)
    assert len(lines.feed(b"\n")[0]) == 2000 * 16_384
    assert time.perf_counter() - started < 2


def test_a_line_without_end_is_refused() -> None:
    lines = Lines()
    with pytest.raises(OverflowError):
        _ = [lines.feed(b"x" * 1024 * 1024) for _ in range(70)]
