"""Sees which files are opened in this process, and whether it was our code that opened them or Tau's."""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple

_OURS = ("continuity", "journal", "replay")
_TAUS = ("tau_agent", "tau_coding")


class Opened(NamedTuple):
    """One opening of a file."""

    name: str
    """As it was given, without its folder."""
    by: str
    """The module that wanted it: the nearest of ours or of Tau's, from the call outwards."""
    on_the_loop: bool
    """In the main thread, where everything else waits meanwhile."""

    @property
    def by_us(self) -> bool:
        return self.by.split(".")[0] in _OURS


_seen: list[Opened] | None = None
_hooked = False


@contextmanager
def opened_files() -> Generator[list[Opened]]:
    """List what is opened for the length of the block, in whatever thread."""
    global _seen, _hooked  # noqa: PLW0603 - an audit hook is the process's own, and stays
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked = True
    found: list[Opened] = []
    _seen = found
    try:
        yield found
    finally:
        _seen = None


def opened_by_us(found: list[Opened], suffix: str) -> list[Opened]:
    """Return the openings by our code of files whose name ends with `suffix`."""
    return [each for each in found if each.name.endswith(suffix) and each.by_us]


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    if event in ("open", "sqlite3.connect") and _seen is not None and isinstance(arguments[0], str):
        by = _nearest(inspect.currentframe())
        if by is not None:
            main = threading.current_thread() is threading.main_thread()
            _seen.append(Opened(arguments[0].rpartition("/")[2], by, main))


def _nearest(frame: FrameType | None) -> str | None:
    while frame is not None:
        name = str(frame.f_globals.get("__name__"))
        if name.split(".", maxsplit=1)[0] in (*_OURS, *_TAUS):
            return name
        frame = frame.f_back
    return None
