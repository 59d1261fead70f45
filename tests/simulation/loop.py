"""An event loop whose time is a number: no thread, no waiting, and the same order on every run.

When nothing is ready the loop goes straight to the next timer, so an hour costs
nothing. Tasks and cancel scopes hash by the order of their making or first use,
because asyncio and anyio keep them in sets. A loop with nothing ready and no timer is a hang, and is reported.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from typing import Any

import pytest
from anyio._backends._asyncio import CancelScope  # there is no public name for what a scope is on this loop


class Stuck(Exception):
    """Nothing can happen any more, and somebody still waits."""


class _NoWaiting(selectors.SelectSelector):
    """Waits for nobody: time goes on by what would have been waited."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise Stuck("nothing is ready and no timer is set")
        self.now += max(timeout, 0.0)
        return []


class _Task(asyncio.Task[Any]):
    """A task whose place in a set does not depend on where it lies in memory."""

    def __init__(
        self, coroutine: Coroutine[Any, Any, Any], number: int, *, loop: asyncio.AbstractEventLoop, **more: Any
    ) -> None:
        self._number = number
        super().__init__(coroutine, loop=loop, **more)

    def __hash__(self) -> int:
        return self._number

    def __eq__(self, other: object) -> bool:
        return self is other


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop on time that only passes when everybody waits."""

    def __init__(self) -> None:
        self._waiting = _NoWaiting()
        super().__init__(self._waiting)
        self.set_task_factory(partial(_make, count(1)))

    def time(self) -> float:
        return self._waiting.now


def _make(
    numbers: Iterator[int],
    loop: asyncio.AbstractEventLoop,
    coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any],
    **more: Any,
) -> asyncio.Task[Any]:
    assert isinstance(coroutine, Coroutine)
    return _Task(coroutine, next(numbers), loop=loop, **more)


@contextmanager
def _ordered_scopes() -> Generator[None]:
    """Scopes within a cancelled one are told in the order of a set: let that not be where they lie in memory."""
    known: dict[int, tuple[int, CancelScope]] = {}  # a scope that is kept has its address to itself

    def number(scope: CancelScope) -> int:
        return known.setdefault(id(scope), (len(known), scope))[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CancelScope, "__hash__", number)
        yield


def run[T](main: Callable[[], Awaitable[T]], unhandled: Callable[[str], None]) -> T:
    """Run `main` to its end on a loop of its own and return what it returns; `unhandled` hears of what nobody caught."""

    async def whole() -> T:
        return await main()

    loop = VirtualLoop()
    loop.set_exception_handler(lambda _, context: unhandled(f"{context['message']}: {context.get('exception')!r}"))
    try:
        with _ordered_scopes():
            return loop.run_until_complete(whole())
    finally:
        loop.close()
