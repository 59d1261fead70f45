"""Asks another program one question, without a shell: bounded, outside any checkout, and nothing of it is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import anyio
from anyio.abc import Process

from continuity.memory.errors import CommandRefused
from continuity.memory.server import inside, resolve_command

MOST_BYTES = 65_536
"""A longer answer is none."""


class Program(NamedTuple):
    """One program as it may be run: found outside the checkout it is asked about."""

    path: str
    env: Mapping[str, str]

    async def answer(self, *arguments: str) -> bytes | None:
        """Return what it printed; None if it did not start, failed, or said too much."""
        return await _answer([self.path, *arguments], self.env)


def program(name: str, environ: Mapping[str, str], checkout: Path, **extra: str) -> Program | None:
    """Return the program `name`, or None where there is none outside `checkout`.

    It inherits nothing that leads git elsewhere, and no entry of the search path
    that depends on the checkout, for what it starts is looked for there. All
    of git's variables are left out rather than a list of them: a trace file or
    a replaced part of git is one.
    """
    path = environ.get("PATH", "")
    try:
        found = resolve_command(name, path, checkout)
    except CommandRefused:
        return None
    kept = {variable: value for variable, value in environ.items() if not variable.startswith("GIT_")}
    return Program(found, kept | {"PATH": _outside(path, checkout), **extra})


def _outside(path: str, checkout: Path) -> str:
    folders = path.split(os.pathsep)
    return os.pathsep.join(each for each in folders if Path(each).is_absolute() and not inside(Path(each), checkout))


async def _answer(command: Sequence[str], env: Mapping[str, str]) -> bytes | None:
    """The child leads a group of its own, so that what it started goes with it, also when we are cancelled."""
    process: Process | None = None
    with suppress(OSError):
        with anyio.CancelScope(shield=True):  # cut off in here, nobody would know the group
            process = await anyio.open_process(
                command,
                stdin=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=env,
                start_new_session=True,
            )
    if process is None:
        return None
    try:
        said = await _read(process)
        return said if said is not None and await process.wait() == 0 else None
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        with anyio.CancelScope(shield=True):
            await process.aclose()


async def _read(process: Process) -> bytes | None:
    said = b""
    if process.stdout is not None:
        async for part in process.stdout:
            said += part
            if len(said) > MOST_BYTES:
                return None
    return said
