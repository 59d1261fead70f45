"""Memory's heavy start waits for a host that draws its screen, within a bound, and never keeps anybody waiting who needs it."""

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from continuity.memory.server import ServerSpec
from continuity.shell import rest
from continuity.shell.link import MemoryLink
from continuity.shell.owner import Owner
from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import BOUND

SDK = "continuity.memory.connection"


@asynccontextmanager
async def linked(root: Path, at_rest: Callable[[], Awaitable[None]]) -> AsyncGenerator[MemoryLink]:
    """A link to a fake server, of a host that is drawing its screen."""
    command, args = FakeMemory(root / "server").command
    spec = ServerSpec(command=command, args=tuple(args), env={"PATH": "/usr/bin:/bin"}, cwd=str(root))
    link, owner = MemoryLink(spec, BOUND, lambda _: None, at_rest), Owner(lambda _, __: None)
    owner.spawn("memory", link.run, daemon=True)
    try:
        yield link
    finally:
        await owner.close()


@pytest.fixture(autouse=True)
def _new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has imported the SDK yet."""
    monkeypatch.delitem(sys.modules, SDK, raising=False)


async def test_the_sdk_is_imported_once_the_host_has_drawn_its_screen(tmp_path: Path) -> None:
    drawn = anyio.Event()
    async with linked(tmp_path, drawn.wait) as link:
        link.want(at_once=True)
        await anyio.wait_all_tasks_blocked()
        assert (link.status, SDK in sys.modules) == ("connecting", False)
        drawn.set()
        with anyio.fail_after(BOUND):
            await link.first_up()


async def test_whoever_waits_for_memory_does_not_wait_for_the_screen(tmp_path: Path) -> None:
    async with linked(tmp_path, anyio.Event().wait) as link:
        link.want(at_once=True)
        await anyio.wait_all_tasks_blocked()
        assert await link.up(BOUND)


async def test_a_loop_without_other_work_is_at_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "DRAWN_WITHIN_SECONDS", 3600.0)
    monkeypatch.setattr(rest, "LATE_SECONDS", BOUND)
    with anyio.fail_after(BOUND):
        await rest.at_rest()


async def test_a_loop_that_never_rests_is_waited_for_within_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "DRAWN_WITHIN_SECONDS", 0.1)
    monkeypatch.setattr(rest, "LATE_SECONDS", -1.0)
    with anyio.fail_after(BOUND):
        await rest.at_rest()


async def test_the_rules_are_loaded_once_the_host_is_at_rest_whether_or_not_a_server_can_be_started(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rules_of_a_test.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(rest, "_RULES", ("rules_of_a_test",))
    drawn = anyio.Event()
    monkeypatch.setattr(rest, "at_rest", drawn.wait)
    async with anyio.create_task_group() as group:
        group.start_soon(rest.load_rules)
        await anyio.wait_all_tasks_blocked()
        assert "rules_of_a_test" not in sys.modules
        drawn.set()
    assert sys.modules.pop("rules_of_a_test") is not None
