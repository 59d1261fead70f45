"""Reads this machine's clock and environment for the offline commands; nothing else in this package does."""

from __future__ import annotations

import os
import time
from pathlib import Path

from continuity.console import MISUSE, fail


def now_ms() -> int:
    """Return the time in UTC milliseconds."""
    return time.time_ns() // 1_000_000


def plain() -> bool:
    """Tell whether this user wants no colors, or has a terminal that shows none."""
    return bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"


def state_folder() -> Path:
    """Our state folder, as the extension finds it. Nothing is made."""
    from continuity.places import PlaceRefused, places_of

    try:
        return places_of(os.environ, Path.home()).state
    except PlaceRefused as error:
        fail(f"{error.variable}: {error.remedy}", "unset it, or give an absolute path", MISUSE)
