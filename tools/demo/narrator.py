"""Says what happens and what was proven: with a spinner on a terminal, in plain lines elsewhere. It proves nothing."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.text import Text


class NotProven(Exception):
    """A step did not show what it must show; the play stops there."""

    def __init__(self, what: str, where: Path) -> None:
        super().__init__(what)
        self.where = where
        """The file or folder to look at."""


class Narrator:
    """The voice of one play of `total` steps."""

    def __init__(self, total: int, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)
        self._total = total
        self._number = 0
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """How long the play has taken so far."""
        return time.monotonic() - self._began

    @contextmanager
    def step(self, title: str) -> Generator[None]:
        """Announce one step and say at its end how long it took."""
        self._number += 1
        began = time.monotonic()
        self._line(f"[{self._number:>2}/{self._total}] {title}", "bold")
        if self._console.is_terminal:
            with self._console.status(f"{title} ..."):
                yield
        else:
            yield
        self._line(f"        {time.monotonic() - began:.1f} s", "dim")

    def says(self, text: str) -> None:
        """Tell what happens."""
        self._line(f"        {text}")

    def proved(self, text: str) -> None:
        """Tell what was just verified."""
        line = Text("     ok ", style="green")
        line.append(text, style="default")
        self._console.print(line)

    def failed(self, what: str, where: Path) -> None:
        """Tell at which step the play stopped, why, and where to look."""
        self._line(f"FAILED at step {self._number}: {what}", "bold red")
        self._line(f"look at: {where}")

    def shows(self, title: str, text: str) -> None:
        """Print a document."""
        self._console.print()
        self._line(f"--- {title} ---", "bold cyan")
        self._console.print(Text(text.rstrip("\n")))

    def ends(self, text: str) -> None:
        """Say the last word."""
        self._console.print()
        self._line(text, "bold green")

    def _line(self, text: str, style: str = "") -> None:
        self._console.print(Text(text, style=style))
