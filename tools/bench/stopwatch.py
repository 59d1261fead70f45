"""Times our handlers as a Tau in this process calls them, and how long work of ours holds its loop meanwhile."""

from __future__ import annotations

import inspect
import time
from asyncio import Task
from asyncio.events import Handle
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from tau_coding.extensions import ExtensionAPI


@dataclass
class Spent:
    """What one turn cost, in seconds."""

    handlers: float = 0.0
    """In our handlers, without what Tau itself needs for an entry."""
    appended: float = 0.0
    """In Tau's `append_entry`, which reads the whole file."""
    appends: int = 0
    background: float = 0.0
    """On the loop in our own tasks, while the turn went on."""
    longest: float = 0.0
    """The longest that a task of ours held the loop at a stretch."""
    by_event: dict[str, float] = field(default_factory=dict[str, float])
    turn: float = 0.0
    """From the prompt to the rest after it, all of it."""


class Stopwatch:
    """Counts into `spent`, which whoever measures replaces between turns."""

    def __init__(self) -> None:
        self.spent = Spent()

    def handler(self, event: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        """Return `handler`, timed; what Tau appends meanwhile is taken out."""

        async def timed(*arguments: object) -> object:
            spent, before, began = self.spent, self.spent.appended, time.perf_counter()
            try:
                result = handler(*arguments)
                return await result if inspect.isawaitable(result) else result
            finally:
                took = time.perf_counter() - began - (spent.appended - before)
                spent.handlers += took
                spent.by_event[event] = spent.by_event.get(event, 0.0) + took

        return timed

    async def append(self, append: Callable[..., Any], *arguments: object) -> None:
        """Do what Tau's `append_entry` does, timed."""
        began = time.perf_counter()
        try:
            await append(*arguments)
        finally:
            self.spent.appended += time.perf_counter() - began
            self.spent.appends += 1

    def step(self, run: Callable[[Handle], None], handle: Handle) -> None:
        """Run what the loop runs next, timed if it is a task of ours."""
        if not _ours(handle):
            run(handle)
            return
        appended, began = self.spent.appended, time.perf_counter()
        run(handle)
        took = time.perf_counter() - began - (self.spent.appended - appended)
        self.spent.background += took
        self.spent.longest = max(self.spent.longest, took)


def _ours(handle: Handle) -> bool:
    """Whether the loop is about to go on with a task under our owner. Our handlers run in tasks of Tau's."""
    callback: object = getattr(handle, "_callback", None)
    task: object = getattr(callback, "__self__", None)
    if not isinstance(task, Task):
        return False
    return cast("Task[object]", task).get_name().startswith("continuity.")


@contextmanager
def timed() -> Generator[Stopwatch]:
    """Time every extension that is set up in this block."""
    watch = Stopwatch()
    subscribe, append = ExtensionAPI.on, ExtensionAPI.append_entry
    run = cast("Callable[[Handle], None]", vars(Handle)["_run"])

    def on(tau: ExtensionAPI, event: str, handler: Callable[..., Any]) -> object:
        return subscribe(tau, event, watch.handler(event, handler))

    async def append_entry(tau: ExtensionAPI, *arguments: object) -> None:
        await watch.append(append, tau, *arguments)

    def step(handle: Handle) -> None:
        watch.step(run, handle)

    _put(on, append_entry, step)
    try:
        yield watch
    finally:
        _put(subscribe, append, run)


def _put(on: object, append_entry: object, run: object) -> None:
    setattr(ExtensionAPI, "on", on)  # noqa: B010 - an assignment would have to have Tau's types
    setattr(ExtensionAPI, "append_entry", append_entry)  # noqa: B010 - same
    setattr(Handle, "_run", run)  # noqa: B010 - same
