"""A page that a person asked for: returned at once where it is quickly made, for a host keeps that on the screen.

A notice vanishes after some seconds, which is no way to show a whole note. What takes longer follows as one all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread

AT_ONCE_SECONDS = 0.3
"""How long a command may hold the host, which is less than a person notices."""


def begun[Page](work: Callable[[], Page], seconds: float = AT_ONCE_SECONDS) -> Future[Page]:
    """Begin `work` in a thread of its own and wait for it at most `seconds`; it goes on if it takes longer.

    `work` must touch nothing but files: everything else belongs to the loop that waits here.
    """
    page: Future[Page] = Future()
    Thread(target=_made, args=(page, work), name="continuity-page", daemon=True).start()
    with suppress(TimeoutError):
        page.exception(seconds)
    return page


def _made[Page](page: Future[Page], work: Callable[[], Page]) -> None:
    try:
        page.set_result(work())
    except BaseException as error:  # noqa: BLE001 - handed over whole to whoever asks for the result
        page.set_exception(error)
