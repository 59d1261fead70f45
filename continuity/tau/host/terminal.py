"""What is said to a person once the host's screen is gone: on the terminal it gave back, or when the process ends."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Sequence
from contextlib import suppress

from continuity.privacy.quoting import printable


def say_after_exit(lines: Sequence[str]) -> None:
    """Write `lines` to stderr once this process ends: a screen has given the terminal back by then."""
    if lines:
        atexit.register(_write, "".join(f"{printable(line)}\n" for line in lines))


def say_while_leaving(line: str) -> None:
    """Write `line` to the terminal at once if the screen has given it back; nothing otherwise."""
    if _reads_lines():
        _write(f"{printable(line)}\n")


def _reads_lines() -> bool:
    """Whether stderr is a terminal that works line by line, as none does while a screen holds it."""
    try:
        import termios
    except ImportError:  # on Windows
        return False
    stderr = sys.__stderr__
    try:
        return stderr is not None and bool(termios.tcgetattr(stderr.fileno())[3] & termios.ICANON)
    except (OSError, ValueError, termios.error):
        return False


def _write(text: str) -> None:
    stderr = sys.__stderr__
    with suppress(OSError, ValueError):  # nobody is there to read it
        if stderr is not None:
            stderr.write(text)
            stderr.flush()
