"""Starts the real Tau at a terminal of its own and tells when its prompt was there and when it took the first key."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from tests.fakes.tau_home import TauHome
from tests.fakes.tau_process import tau_executable

KEY = "§"
"""Stands nowhere on Tau's first screen."""

PROMPT = "Ask Tau"
"""What Tau's empty prompt says, in its first frame."""

SECONDS = 90.0
_COLUMNS, _LINES = 120, 40
_GONE_SECONDS = 10.0
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[ -/]*[0-~])")


class Start(NamedTuple):
    """One start, in seconds since the process was asked for."""

    prompt: float
    """The prompt was on the screen."""
    key: float
    """A key that was pressed at that moment was on the screen too."""
    processor: float
    """What Tau's process had used of its processors by then; others on the machine disturb it less."""


def start(home: TauHome) -> Start:
    """Start Tau, press a key once its prompt is there, and end everything again.

    Raises:
        TimeoutError: The prompt or the key did not come; its words hold what was on the screen.
    """
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (_LINES, _COLUMNS))
    environment = home.environment({"TERM": "xterm-256color", "COLORTERM": "truecolor"})
    began = time.perf_counter()
    child = subprocess.Popen(
        [tau_executable()],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=home.cwd,
        env=environment,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        screen = _Screen(ours)
        prompt = screen.until(PROMPT) - began
        os.write(ours, KEY.encode())
        key = screen.until(KEY) - began
        used = psutil.Process(child.pid).cpu_times()
        return Start(prompt, key, used.user + used.system)
    finally:
        end(child)
        os.close(ours)


def end(child: subprocess.Popen[bytes]) -> None:
    """Kill Tau and whatever it started, and wait until all of it is gone: the next start has the machine to itself."""
    process = psutil.Process(child.pid)
    family = [process, *process.children(recursive=True)]
    for one in family:
        with suppress(psutil.NoSuchProcess):
            one.send_signal(signal.SIGKILL)
    psutil.wait_procs(family, timeout=_GONE_SECONDS)
    child.wait(_GONE_SECONDS)


def clear(folder: Path) -> None:
    """Forget the sessions of a home, so that no start finds more of them than another."""
    for path in sorted(folder.glob("sessions/**/*"), reverse=True):
        if path.is_file():
            path.unlink()


class _Screen:
    """What was written to a terminal, without what moves and colours it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._written = b""
        self._deadline = time.monotonic() + SECONDS

    def until(self, text: str) -> float:
        """Return the moment at which `text` was there."""
        while text not in self._shown():
            ready, _, _ = select.select([self._descriptor], [], [], max(self._deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError(f"no {text!r} on the screen: {self._shown()[-2000:]!r}")
            try:
                self._written += os.read(self._descriptor, 65536)
            except OSError as error:  # Linux says so at the end
                raise TimeoutError(f"Tau ended: {self._shown()[-2000:]!r}") from error
        return time.perf_counter()

    def _shown(self) -> str:
        return _ESCAPE.sub("", self._written.decode("utf-8", "replace"))
