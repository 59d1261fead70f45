"""Puts the models in the place of what is not ours: threads, the clock of the loop, the kernel, the server, randomness.

Nothing of ours is replaced but `connect`, behind which a child process would be
started; what it returns keeps the promises of `MemoryConnection`.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import aiosqlite
import anyio.to_thread

from continuity.memory import connection, liveness
from tests.simulation.machine import Disk, InLine, Kernel
from tests.simulation.process import TauProcess
from tests.simulation.server import Connection, Memory, connect
from tests.simulation.world import ACTOR, World, turn


@contextmanager
def staged(world: World, kernel: Kernel, memory: Memory, disk: Disk) -> Generator[None]:
    """Let everything inside run in `world`."""

    async def in_line(function: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
        """A worker thread's job, done in one go: nobody else acts while it runs."""
        await turn(world, ACTOR.get(), "thread")
        return function(*arguments)

    def open_file(where: str, **_: Any) -> InLine:
        actor = ACTOR.get()
        assert isinstance(actor, TauProcess)
        actor.files.append(InLine(actor, disk, where))
        return actor.files[-1]

    def connected(*_: Any, **__: Any) -> AbstractAsyncContextManager[Connection]:
        return connect(memory, ACTOR.get())

    with ExitStack() as stack:
        for target, name, stand_in in (
            (aiosqlite, "connect", open_file),
            (anyio.to_thread, "run_sync", in_line),
            (connection, "connect", connected),
            (liveness, "here", lambda: kernel.place),
            (liveness, "look", kernel.look),
            (secrets, "token_hex", world.token_hex),
            (tempfile, "tempdir", str(world.folder)),
        ):
            stack.enter_context(patch.object(target, name, stand_in))
        yield


def fast_folder() -> Path | None:
    """Where files cost least: memory, if the system offers some."""
    shared = Path("/dev/shm")  # noqa: S108 -- a fresh folder is made inside
    return shared if shared.is_dir() else None
