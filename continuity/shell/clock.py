"""Reads the clock, for everybody. Nothing else in the machine knows what time it is."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time."""

    def now_ms(self) -> int:
        """Return the time in UTC milliseconds."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now_ms(self) -> int:
        """Return the time in UTC milliseconds. It can jump; order in a journal never depends on it."""
        return time.time_ns() // 1_000_000
