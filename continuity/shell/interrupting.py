"""A person's Ctrl-C during our exit ends our wait at once; what else the process does about it, it does as before."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any


class _Interrupts:
    """The one handler of ours, before the host's for as long as somebody waits: waits may overlap, and end in any order."""

    def __init__(self) -> None:
        self._waits: dict[object, Callable[[], object]] = {}
        self._before: Callable[[int, FrameType | None], Any] = signal.default_int_handler
        self._ours = self._interrupted

    def add(self, wait: object, tell: Callable[[], object]) -> bool:
        """Call `tell` at the next interrupt; False where interrupts are ignored."""
        before = signal.getsignal(signal.SIGINT)
        if not callable(before):
            return False
        self._waits[wait] = tell
        if before is not self._ours:
            self._before = before
            signal.signal(signal.SIGINT, self._ours)
        return True

    def remove(self, wait: object) -> None:
        """Give the host its handler back with the last wait, unless somebody has set another."""
        self._waits.pop(wait, None)
        if not self._waits and signal.getsignal(signal.SIGINT) is self._ours:
            signal.signal(signal.SIGINT, self._before)

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        for tell in self._waits.values():
            tell()
        self._waits.clear()
        signal.signal(signal.SIGINT, self._before)
        self._before(number, frame)


_interrupts = _Interrupts()


@contextmanager
def interruptible(end: Callable[[], None]) -> Generator[None]:
    """Within the block the first interrupt also calls `end` on this thread's loop.

    A host may shield its own end from being cancelled and remember the
    interrupt until then, which is after our wait. Its handler is called all the
    same, and stands again from then on. A process that ignores interrupts goes
    on ignoring them, and off the main thread there is no handler to be set.
    """
    wait, tell = object(), partial(asyncio.get_running_loop().call_soon_threadsafe, end)
    if threading.current_thread() is not threading.main_thread() or not _interrupts.add(wait, tell):
        yield
        return
    try:
        yield
    finally:
        _interrupts.remove(wait)
