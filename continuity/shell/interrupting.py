"""A person's Ctrl-C during our exit ends our wait at once; what else the process does about it, it does as before."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible(end: Callable[[], None]) -> Generator[None]:
    """Within the block the first interrupt also calls `end` on this thread's loop.

    A host may shield its own end from being cancelled and remember the
    interrupt until then, which is after our wait. Its handler is called all the
    same, and stands again from then on. A process that ignores interrupts goes
    on ignoring them, and off the main thread there is no handler to be set.
    """
    loop, before = asyncio.get_running_loop(), signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(end)
        signal.signal(signal.SIGINT, before)
        before(number, frame)

    signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is interrupted:
            signal.signal(signal.SIGINT, before)
