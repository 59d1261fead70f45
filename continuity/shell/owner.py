"""The one asyncio task that holds everything asynchronous of ours in this process. It knows no session and no rule."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import TaskGroup

type Job = Callable[[], Awaitable[None]]
type OnError = Callable[[str, Exception], None]


class Owner:
    """Runs jobs under one task group, entered and left in one task.

    The host starts and stops us from tasks of its own choosing, and a task
    group must be left where it was entered. So the host's tasks only hand jobs
    over; what they need back they await through events.
    """

    def __init__(self, on_error: OnError, on_cut: Job | None = None) -> None:
        """`on_cut` is run, to its end, when the host ends this task instead of `close`, as the end of an event loop does."""
        self._on_error = on_error
        self._on_cut = on_cut
        self._early: list[tuple[str, Job]] = []
        self._group: TaskGroup | None = None
        self._awaited: set[anyio.Event] = set()
        self._running = 0
        self._idle = anyio.Event()
        self._stop = anyio.Event()
        self._task: asyncio.Task[None] = asyncio.get_running_loop().create_task(self._own())

    @property
    def alive(self) -> bool:
        """Whether jobs can still be handed over."""
        return not self._task.done() and not self._stop.is_set()

    def spawn(self, name: str, job: Job, *, daemon: bool = False) -> None:
        """Run `job` under the owner; returns at once, and does nothing once the owner ends. `drain` waits for no daemon."""
        if not self.alive:
            return
        if not daemon:
            self._running += 1
            self._idle = anyio.Event() if self._running == 1 else self._idle
        wrapped = job if daemon else self._counted(job)
        if self._group is None:
            self._early.append((name, wrapped))
        else:
            self._group.start_soon(self._guarded, name, wrapped)

    async def call[T](
        self, name: str, job: Callable[[], Awaitable[T]], *, together: bool = False, within: float | None = None
    ) -> T | None:
        """Run `job` under the owner and return what it returns; None when it failed or the owner ended first.

        The wait lasts at most `within` seconds; then None is returned and the
        job goes on to its end. The host may cancel the waiting task at any moment, by means that no
        cancel scope of ours withstands. The job then goes on to its end, or,
        with `together`, is cancelled too and records what is known.
        """
        if not self.alive:
            return None
        done = anyio.Event()
        scope = anyio.CancelScope()
        returned: list[T] = []

        async def run() -> None:
            try:
                with scope:
                    returned.append(await job())
            finally:
                done.set()

        self.spawn(name, run)
        self._awaited.add(done)
        try:
            with anyio.move_on_after(within):
                await done.wait()
        except BaseException:
            if together:
                scope.cancel()
            raise
        finally:
            self._awaited.discard(done)
        return returned[0] if returned else None

    async def drain(self, seconds: float) -> bool:
        """Wait until no job runs, at most `seconds`; tell whether it came to that."""
        with anyio.move_on_after(seconds):
            while self._running:
                await self._idle.wait()
        return self._running == 0

    async def close(self) -> None:
        """Cancel what still runs and wait until it is gone. Interruptible only after everything was told to end."""
        self._stop.set()
        await asyncio.wait({self._task})

    async def _own(self) -> None:
        try:
            async with anyio.create_task_group() as group:
                self._group = group
                for name, job in self._early:
                    group.start_soon(self._guarded, name, job)
                self._early.clear()
                await self._stop.wait()
                group.cancel_scope.cancel()
        except BaseException:
            self._stop.set()
            if self._on_cut is not None:
                with anyio.CancelScope(shield=True):
                    await self._guarded("end", self._on_cut)
            raise
        finally:
            self._group = None
            for done in self._awaited:
                done.set()  # a job that was cancelled before its first step says nothing itself

    def _counted(self, job: Job) -> Job:
        async def counted() -> None:
            try:
                await job()
            finally:
                self._running -= 1
                if self._running == 0:
                    self._idle.set()

        return counted

    async def _guarded(self, name: str, job: Job) -> None:
        """One failing job must not end the others; it is reported, not hidden."""
        try:
            await job()
        except Exception as error:  # noqa: BLE001 - becomes an event and a notice
            self._on_error(name, error)
