"""A command at a real terminal: what it shows is read, what a person types is typed. Every wait is bounded."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

ROOT = Path(__file__).parents[2]
SECONDS = 90.0
COLUMNS, LINES = 120, 60
_PATIENCE = 20.0
"""Longer than an end takes: a second key would break that off."""
_CALL = """\
import fcntl, os, termios
os.setsid()
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C is a signal
from continuity.cli import main
main()
"""


class Terminal:
    """`continuity` with a terminal on all three streams, and everything that stood on the screen."""

    def __init__(self, *words: str, env: Mapping[str, str], cwd: Path) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (LINES, COLUMNS))
        self.shown = ""
        self._read = 0
        self._child = subprocess.Popen(
            [sys.executable, "-c", _CALL, *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=cwd,
            env=dict(env) | {"PYTHONPATH": str(ROOT), "TERM": "dumb"},
        )
        os.close(theirs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        if self._child.poll() is None:
            self._child.send_signal(signal.SIGKILL)
            self._child.wait()
        os.close(self._ours)

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    def until(self, text: str) -> None:
        """Wait for `text` to be shown after what was waited for before."""
        deadline = time.monotonic() + SECONDS
        while (found := self.shown.find(text, self._read)) < 0:
            assert self._more(deadline), f"no {text!r} on the screen:\n{self.shown}"
        self._read = found + len(text)

    def answer(self, question: str, *keys: str) -> None:
        """Wait for a question and type the answer; without one, Enter alone."""
        self.until(question)
        self.until(": ")
        self.type("".join(keys) + "\n")

    def type(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def ended(self) -> int:
        """Wait for the end; return the exit code."""
        deadline = time.monotonic() + SECONDS
        while self._more(deadline):
            pass
        return self._child.wait(max(deadline - time.monotonic(), 0.1))

    def ended_by(self, key: str, patience: float = _PATIENCE) -> int:
        """Press a key that ends it, again as long as nothing comes of it: a signal just before a read waits for a key.

        With less `patience` than an end takes it is pressed over and over, as somebody does who has none.
        """
        while self.alive:
            self.type(key)
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(patience)
        return self.ended()

    def _more(self, deadline: float) -> bool:
        """Read what is shown next; False once nothing comes any more."""
        ready, _, _ = select.select([self._ours], [], [], max(deadline - time.monotonic(), 0))
        assert ready, f"nothing more in time on the screen:\n{self.shown}"
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # Linux says so at the end
            return False
        self.shown = re.sub("\r\n", "\n", self.shown + data.decode("utf-8", "replace"))
        return bool(data)
