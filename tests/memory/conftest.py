"""A fake memory server for each test, and a way to reach it."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from continuity.memory.calls import Json
from continuity.memory.connection import MemoryConnection, connect
from continuity.memory.server import ServerSpec
from continuity.memory.transport import Grace
from tests.fakes.memory_server import FakeMemory

type Reach = Callable[..., AbstractAsyncContextManager[MemoryConnection]]

QUICK = Grace(eof=1.0, term=0.3, kill=1.0)

_NO_ANSWER = ("silent", "hold", "garbage", "truncated", "wrong-id")


def bound(steps: Sequence[Json]) -> float:
    """Seconds to give a call: short where no answer can come, generous where one must be seen on a busy machine."""
    return 1.0 if any(step in _NO_ANSWER for step in steps) else 20.0


@pytest.fixture
def fake(tmp_path: Path) -> FakeMemory:
    return FakeMemory(tmp_path / "server")


@pytest.fixture
def spec(fake: FakeMemory, tmp_path: Path) -> ServerSpec:
    command, args = fake.command
    return ServerSpec(command=command, args=tuple(args), env={"PATH": "/usr/bin:/bin"}, cwd=str(tmp_path))


@pytest.fixture
def reach(spec: ServerSpec) -> Reach:
    def reaching(seconds: float = 10.0) -> AbstractAsyncContextManager[MemoryConnection]:
        return connect(spec, seconds=seconds, grace=QUICK)

    return reaching
