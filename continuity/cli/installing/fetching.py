"""Fetches the locked libraries into a folder, by uv or by the pip of Tau's Python. Nothing is built, and no checkout is read."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from continuity.cli.doctor.tau import Surroundings
from continuity.memory.errors import CommandRefused
from continuity.memory.server import child_environment, resolve_command

SECONDS = 900.0
"""Most that one installer may take: some 20 MB are to be fetched."""

_WAYS = ("--require-hashes", "--no-deps", "--only-binary", ":all:")
"""The list is complete, each file is what was locked, and no code runs that would build one."""

_PLAIN = {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0", "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
"""What a person set for their own environments says nothing about a folder of ours."""

_UNREACHED = re.compile(r"(?i)\bdns\b|resolv|connect|network|timed out|unreachable|max retries|name or service|offline")
_PRIVATE_UVS = (".local/bin/uv", ".cargo/bin/uv")


class NotFetched(Exception):
    """The libraries could not be had; what lies in the target is to be thrown away."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Wanted(NamedTuple):
    """What is to be fetched, for whom, and where it goes."""

    python: str
    locked: Path
    target: Path
    log: Path
    """Gets what the installers say: they may name a person's index, so it is shown to nobody."""


def fetch(wanted: Wanted, around: Surroundings, seconds: float = SECONDS) -> None:
    """Put the libraries of `wanted.locked` into `wanted.target`; the log stays only if that failed.

    Raises:
        NotFetched: No installer could do it.
        OSError: The target or the log cannot be written.
    """
    env = child_environment({"UV_SYSTEM_CERTS": "1", **around.environ}, _PLAIN)
    wanted.log.unlink(missing_ok=True)
    for command in _commands(wanted, around):
        shutil.rmtree(wanted.target, ignore_errors=True)
        wanted.target.mkdir(mode=0o700)
        if _succeeded(command, env, wanted.log, seconds):
            wanted.log.unlink()
            return
    said = wanted.log.read_text(encoding="utf-8", errors="replace")
    if _UNREACHED.search(said):
        raise NotFetched(
            "the libraries could not be fetched: no package index was reached", _hint("get online", wanted)
        )
    if "No module named pip" in said:
        what = f"there is neither uv, nor pip in {wanted.python}, to fetch the libraries with"
        raise NotFetched(what, "install uv, and try again: https://docs.astral.sh/uv/")
    raise NotFetched("the libraries could not be installed", _hint("mend what it tells", wanted))


def _hint(first: str, wanted: Wanted) -> str:
    return f"{first}, and try again; {wanted.log} holds what the installer said"


def _commands(wanted: Wanted, around: Surroundings) -> Iterator[list[str]]:
    """Name uv first, which most have who have Tau; pip if there is none or it fails."""
    into = ["--target", str(wanted.target), *_WAYS, "-r", str(wanted.locked)]
    uv = installer(around)
    if uv is not None:
        yield [uv, "pip", "install", "--no-progress", "--python", wanted.python, *into]
    yield [wanted.python, "-I", "-m", "pip", "install", "--no-warn-script-location", "--progress-bar", "off", *into]


def installer(around: Surroundings) -> str | None:
    """Return the uv on the search path, or where its own installers put it; None if there is none outside the checkout."""
    home = Path(around.environ.get("HOME", "/nonexistent"))
    for command in ("uv", *(str(home / each) for each in _PRIVATE_UVS)):
        with suppress(CommandRefused):
            return resolve_command(command, around.environ.get("PATH", ""), around.checkout)
    return None


def _succeeded(command: list[str], env: Mapping[str, str], log: Path, seconds: float) -> bool:
    """Run one installer to its end, away from any project whose settings it would read; none of it outlives this."""
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600), "ab") as file:
        try:
            child = subprocess.Popen(
                command, cwd="/", env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
            )
        except OSError:
            return False
        try:
            return child.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            file.write(b"timed out\n")
            return False
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
