"""Subscribes to Tau's events so that each handler takes an event once, however often it is delivered. It knows no event."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from weakref import WeakKeyDictionary

from tau_coding.extensions import ExtensionAPI, ExtensionContext

type Handler = Callable[[object, ExtensionContext], Awaitable[None] | None]


class _Hearing:
    """What one generation of the extension heard last.

    An event that equals the one before it, with no other in between, is that
    one again: a run begins before another one settles, and a message has its time.
    """

    def __init__(self) -> None:
        self._latest: tuple[str, object] = ("", None)
        self._number = 0

    def number(self, name: str, event: object) -> int:
        """Return which event this is, counted from 1; a repetition has the number of what it repeats."""
        if (name, event) != self._latest:  # of tuples, what is the very same is not compared further
            self._latest = (name, event)
            self._number += 1
        return self._number


_hearing: WeakKeyDictionary[ExtensionAPI, _Hearing] = WeakKeyDictionary()


def hear(tau: ExtensionAPI, name: str, handler: Handler) -> None:
    """Call `handler` for the events called `name`, for each of them once."""
    hearing = _hearing.setdefault(tau, _Hearing())
    taken = 0

    def once(event: object, context: ExtensionContext) -> Awaitable[None] | None:
        nonlocal taken
        number = hearing.number(name, event)
        if number == taken:
            return None
        taken = number
        return handler(event, context)

    tau.on(name, once)
