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
from continuity.cli.installing.folders import LOG_HEAD, is_our_log
from continuity.memory.errors import CommandRefused
from continuity.memory.server import child_environment, resolve_command

SECONDS = 900.0
"""Most that one installer may take: some 20 MB are to be fetched."""

_WAYS = ("--require-hashes", "--no-deps", "--only-binary", ":all:")
"""The list is complete, each file is what was locked, and no code runs that would build one."""

_PLAIN = {
    "PIP_USER": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_NO_INPUT": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "UV_LINK_MODE": "copy",
}
"""What a person set for their own environments says nothing about a folder of ours, which needs no cache to be there."""

_UNLOCKED = r"hash mismatch|do not match the hashes|hashes do not match|hash-checking failed"
_NO_ROOM = r"no space left on device|disk quota exceeded|file too large|os error (28|122)\b"
_UNREACHED = (
    r"\bdns error|failed to lookup|error sending request|connect(ion)? ?(error|refused|reset|timeout)|timed out"
    r"|network (is unreachable|connectivity)|max retries|NewConnectionError|name (or service|resolution)"
)
_KNOWN = (
    (_UNLOCKED, "a library that came is not the one that was locked", "see which index is asked"),
    (_NO_ROOM, "there is no room for the libraries", "make room"),
    (_UNREACHED, "the libraries could not be fetched: no package index was reached", "get online"),
)
"""What installers print of the failures that have a remedy of their own, in any letters; what we say, and the remedy."""

_NO_PIP = "No module named pip"
_PRIVATE_UVS = (".local/bin/uv", ".cargo/bin/uv")
_OUR_UVS = (".bootstrap/uv/bin/uv", ".bootstrap/uv-target/bin/uv")


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
    own: Path
    """Where this program lies."""


def fetch(wanted: Wanted, around: Surroundings, seconds: float = SECONDS) -> None:
    """Put the libraries of `wanted.locked` into `wanted.target`; the log stays only if that failed.

    Raises:
        NotFetched: No installer could do it.
        OSError: The target or the log cannot be written.
    """
    env = child_environment({"UV_SYSTEM_CERTS": "1", **around.environ}, _PLAIN)
    _begin(wanted.log)
    said: list[str] = []
    for command in _commands(wanted, around):
        shutil.rmtree(wanted.target, ignore_errors=True)
        wanted.target.mkdir(mode=0o700)
        before = wanted.log.stat().st_size
        if _succeeded(command, env, wanted.log, seconds):
            wanted.log.unlink()
            return
        said.append(wanted.log.read_bytes()[before:].decode("utf-8", "replace"))
    raise _failed(said, wanted)


def _begin(log: Path) -> None:
    if is_our_log(log):
        log.unlink()
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
        file.write(LOG_HEAD)


def _failed(said: list[str], wanted: Wanted) -> NotFetched:
    """Tell the failure of the installer that was there; only if none was, that there is none."""
    able = [each for each in said if _NO_PIP not in each]
    if not able:
        wanted.log.unlink()
        what = f"there is neither uv, nor pip in {wanted.python}, to fetch the libraries with"
        return NotFetched(what, "install uv, and try again: https://docs.astral.sh/uv/")
    for pattern, what, remedy in _KNOWN:
        if re.search(pattern, able[0], re.IGNORECASE):
            return NotFetched(what, _hint(remedy, wanted))
    return NotFetched("the libraries could not be installed", _hint("mend what it tells", wanted))


def _hint(first: str, wanted: Wanted) -> str:
    return f"{first}, and try again; {wanted.log} holds what the installer said"


def _commands(wanted: Wanted, around: Surroundings) -> Iterator[list[str]]:
    """Name uv first, which most have who have Tau; pip if there is none or it fails."""
    into = ["--target", str(wanted.target), *_WAYS, "-r", str(wanted.locked)]
    uv = find_uv(around, wanted.own)
    if uv is not None:
        yield [uv, "pip", "install", "--no-progress", "--python", wanted.python, *into]
    yield [wanted.python, "-I", "-m", "pip", "install", "--no-warn-script-location", "--progress-bar", "off", *into]


def find_uv(around: Surroundings, own: Path) -> str | None:
    """Return the uv on the search path, where its own installers put it, or where `make setup` did; None without one.

    None of the checkout we stand in is taken, but what lies beside the very program that runs: that runs already.
    """
    home, path = Path(around.environ.get("HOME", "/nonexistent")), around.environ.get("PATH", "")
    theirs = (("uv", around.checkout), *((str(home / each), around.checkout) for each in _PRIVATE_UVS))
    for command, checkout in (*theirs, *((str(own / each), None) for each in _OUR_UVS)):
        with suppress(CommandRefused):
            return resolve_command(command, path, checkout)
    return None


def installer(around: Surroundings, python: str, own: Path, seconds: float = 20.0) -> str | None:
    """Return what would fetch the libraries, in words; None if nothing can. Pip is asked for, where there is no uv."""
    uv = find_uv(around, own)
    if uv is not None:
        return uv
    asked = [python, "-I", "-m", "pip", "--version"]
    try:
        env = child_environment(around.environ, _PLAIN)
        done = subprocess.run(
            asked, cwd="/", env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return f"{python} -m pip" if done.returncode == 0 else None


def _succeeded(command: list[str], env: Mapping[str, str], log: Path, seconds: float) -> bool:
    """Run one installer to its end, away from any project whose settings it would read; none of it outlives this."""
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600), "ab") as file:
        try:
            child = subprocess.Popen(
                command, cwd="/", env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
            )
        except OSError as error:
            file.write(f"{command[0]}: {error.strerror}\n".encode())
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
