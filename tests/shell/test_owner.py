"""The host's tasks hand jobs over and are never run by them: whoever is cancelled, a job ends as its owner says."""

import asyncio
from collections.abc import AsyncGenerator

import anyio
import pytest

from continuity.shell.owner import Owner

FAILURES: list[tuple[str, Exception]] = []


def told(name: str, error: Exception) -> None:
    FAILURES.append((name, error))


@pytest.fixture
async def owner() -> AsyncGenerator[Owner]:
    FAILURES.clear()
    made = Owner(told)
    with anyio.fail_after(10):
        yield made
        await made.close()


async def test_a_failing_job_is_told_and_ends_no_other(owner: Owner) -> None:
    ended = anyio.Event()

    async def fails() -> None:
        raise ValueError("no")

    async def goes_on() -> None:
        await anyio.lowlevel.checkpoint()
        ended.set()

    owner.spawn("bad", fails)
    owner.spawn("good", goes_on)
    await ended.wait()
    assert [name for name, _ in FAILURES] == ["bad"]
    assert owner.alive


async def test_jobs_begin_in_the_order_in_which_they_were_handed_over(owner: Owner) -> None:
    seen: list[int] = []

    def job(number: int) -> None:
        async def run() -> None:
            seen.append(number)

        owner.spawn(str(number), run)

    for number in range(3):
        job(number)  # before the owner's own task has begun
    assert await owner.drain(5)
    for number in range(3, 6):
        job(number)
    assert await owner.drain(5)
    assert seen == [0, 1, 2, 3, 4, 5]


async def test_a_call_returns_what_its_job_returns(owner: Owner) -> None:
    async def answer() -> int:
        await anyio.lowlevel.checkpoint()
        return 42

    assert await owner.call("ask", answer) == 42


async def test_a_caller_cancelled_by_the_host_does_not_cut_its_job(owner: Owner) -> None:
    begun, gate, ended = anyio.Event(), anyio.Event(), anyio.Event()

    async def job() -> None:
        begun.set()
        await gate.wait()
        ended.set()

    task = asyncio.ensure_future(owner.call("ask", job))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.set()
    await ended.wait()


async def test_a_caller_cancelled_together_with_its_job_cuts_it(owner: Owner) -> None:
    begun, cut = anyio.Event(), anyio.Event()

    async def job() -> None:
        begun.set()
        try:
            await anyio.sleep_forever()
        finally:
            cut.set()

    task = asyncio.ensure_future(owner.call("ask", job, together=True))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await cut.wait()
    assert owner.alive


async def test_a_failed_call_returns_nothing_and_is_told(owner: Owner) -> None:
    async def fails() -> int:
        raise ValueError("no")

    assert await owner.call("ask", fails) is None
    assert [name for name, _ in FAILURES] == ["ask"]


async def test_a_call_that_the_end_overtakes_returns(owner: Owner) -> None:
    async def never() -> int:
        await anyio.sleep_forever()
        return 1

    assert await owner.drain(5)
    waiting = asyncio.ensure_future(owner.call("ask", never))
    await anyio.lowlevel.checkpoint()
    await owner.close()
    assert await waiting is None
    assert await owner.call("ask", never) is None


async def test_draining_waits_for_jobs_and_not_for_daemons(owner: Owner) -> None:
    gate = anyio.Event()
    owner.spawn("daemon", anyio.sleep_forever, daemon=True)
    assert await owner.drain(5)
    owner.spawn("job", gate.wait)
    assert not await owner.drain(0.05)
    gate.set()
    assert await owner.drain(5)


async def test_closing_leaves_no_task_behind() -> None:
    before = asyncio.all_tasks()
    owner = Owner(told)
    owner.spawn("job", anyio.sleep_forever)
    owner.spawn("daemon", anyio.sleep_forever, daemon=True)
    await anyio.lowlevel.checkpoint()
    await owner.close()
    await owner.close()
    assert not owner.alive
    assert asyncio.all_tasks() == before


async def test_a_caller_that_waits_no_longer_gets_nothing_and_the_job_goes_on(owner: Owner) -> None:
    gate, ended = anyio.Event(), anyio.Event()

    async def job() -> str:
        await gate.wait()
        ended.set()
        return "done"

    assert await owner.call("slow", job, within=0.01) is None
    assert not ended.is_set()
    gate.set()
    await ended.wait()
    assert await owner.call("quick", job, within=5) == "done"


async def test_whoever_ends_its_task_from_outside_lets_it_finish_what_it_must() -> None:
    begun, finished, before = anyio.Event(), list[str](), asyncio.all_tasks()

    async def job() -> None:
        begun.set()
        await anyio.sleep_forever()

    async def let_go() -> None:
        await anyio.lowlevel.checkpoint()
        finished.append("let go")
        raise ValueError("no")

    FAILURES.clear()
    owner = Owner(told, let_go)
    owner.spawn("job", job)
    await begun.wait()
    tasks = asyncio.all_tasks() - before
    for task in tasks:  # as asyncio does at the end of a loop
        task.cancel()
    await asyncio.wait(tasks)
    assert (finished, [name for name, _ in FAILURES]) == (["let go"], ["end"])
    assert all(task.cancelled() for task in tasks)
    assert not owner.alive
    owner.spawn("late", let_go)  # goes nowhere, and fails nobody
    assert await owner.drain(1)
