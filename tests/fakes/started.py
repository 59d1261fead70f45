"""Sees what a piece of code starts in its own thread: processes, threads, connections."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

_STARTS = frozenset(
    {
        "subprocess.Popen",
        "os.posix_spawn",
        "os.fork",
        "os.exec",
        "_thread.start_new_thread",
        "_thread.start_joinable_thread",
        "socket.connect",
        "socket.bind",
    }
)

_seen: dict[int, list[str]] = {}
_hooked = False


@contextmanager
def started() -> Generator[list[str]]:
    """List what is started for the length of the block, by the name of its audit event."""
    global _hooked  # noqa: PLW0603 - an audit hook is the process's own, and stays
    if not _hooked:
        sys.addaudithook(_audit)
        _hooked = True
    found: list[str] = []
    _seen[threading.get_ident()] = found
    try:
        yield found
    finally:
        del _seen[threading.get_ident()]


def _audit(event: str, arguments: tuple[object, ...]) -> None:
    del arguments
    if event in _STARTS and threading.get_ident() in _seen:
        _seen[threading.get_ident()].append(event)
