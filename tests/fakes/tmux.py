"""A terminal that outlives what runs in it: tmux with a socket of its own, so that a person's own sessions are not seen."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import pytest

from tests.fakes.scenario import until
from tests.fakes.tau_process import failures

COLUMNS, LINES = 110, 40
ENDED = "ended with code"
_SECONDS = 60.0


def tmux_or_skip() -> str:
    """Return the tmux of this machine; without one the test is skipped."""
    found = shutil.which("tmux")
    if found is None:
        pytest.skip("tmux is not installed: apt-get install tmux")
    return found


class Tmux:
    """One terminal; use as a context manager. Everything in it ends with it."""

    def __init__(self, env: Mapping[str, str], cwd: Path) -> None:
        self._program = tmux_or_skip()
        self._folder = tempfile.mkdtemp(prefix="tmux-")  # a socket's path must be short
        self._env = {**env, "TERM": "xterm-256color", "SHELL": "/bin/sh"}
        size = ("-x", str(COLUMNS), "-y", str(LINES))
        self._call("new-session", "-d", "-s", "it", *size, "-c", str(cwd), "cat")
        self._cwd = cwd

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._call("kill-server")
        shutil.rmtree(self._folder, ignore_errors=True)

    def run(self, *words: str) -> None:
        """Run a command in a new window and look at that; it says with which code it ended, and stays."""
        script = f'trap : INT; "$@"; echo {ENDED} $?; exec cat'
        self._call("new-window", "-t", "it", "-c", str(self._cwd), "sh", "-c", script, "sh", *words)

    def type(self, text: str) -> None:
        """Type `text` and wait until it stands there."""
        self._call("send-keys", "-t", "it", "-l", text)
        self.until(text)

    def enter(self, text: str) -> None:
        """Type `text` and then Enter."""
        self.type(text)
        self.press("Enter")

    def press(self, key: str) -> None:
        """Press a key by tmux's name of it."""
        self._call("send-keys", "-t", "it", key)

    def close(self) -> None:
        """Close the window, as somebody does who closes the terminal: what runs in it gets a hangup."""
        self._call("kill-window", "-t", "it")

    @property
    def shown(self) -> str:
        return self._call("capture-pane", "-p", "-t", "it")

    def until(self, part: str) -> str:
        """Wait until `part` stands on the screen; returns the screen, on which nothing of ours may have failed."""
        screen = until(lambda: shown if part in (shown := self.shown) else None, f"{part!r}", seconds=_SECONDS)
        assert not (failed := failures(screen)), failed
        return screen

    def until_gone(self, part: str) -> None:
        """Wait until `part` does not stand on the screen any more."""
        until(lambda: part not in self.shown or None, f"the end of {part!r}", seconds=_SECONDS)

    def _call(self, *words: str) -> str:
        words = (self._program, "-S", f"{self._folder}/socket", "-f", "/dev/null", *words)
        return subprocess.run(words, env=self._env, capture_output=True, text=True, check=True).stdout
