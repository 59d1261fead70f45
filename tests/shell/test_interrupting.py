"""Ctrl-C ends a wait of ours at once, though the host shields it, and the host's own handler hears of it as before."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import anyio
import pytest

from continuity.shell.interrupting import interruptible
from tests.shell.rig import BOUND


@pytest.fixture(autouse=True)
def handler_as_before() -> Generator[None]:
    """What a test gives this process as its host's handler ends with it."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


async def test_an_interrupt_ends_the_wait_and_the_host_hears_of_it() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    host = signal.getsignal(signal.SIGINT)
    with anyio.fail_after(BOUND), anyio.CancelScope() as wait, interruptible(wait.cancel):
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is host
        await anyio.sleep_forever()
    assert wait.cancelled_caught
    assert heard == [signal.SIGINT]


async def test_a_host_whose_handler_raises_is_not_kept_from_it() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    ended: list[bool] = []
    with pytest.raises(KeyboardInterrupt), interruptible(lambda: ended.append(True)):
        os.kill(os.getpid(), signal.SIGINT)
    await anyio.lowlevel.checkpoint()
    assert (ended, signal.getsignal(signal.SIGINT)) == ([True], signal.default_int_handler)


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN])
async def test_a_wait_that_nobody_interrupts_leaves_the_handler_as_it_was(handler: signal.Handlers) -> None:
    signal.signal(signal.SIGINT, handler)
    with interruptible(lambda: None):
        inside = signal.getsignal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == handler
    assert (inside == handler) == (handler == signal.SIG_IGN)


async def test_waits_that_overlap_are_all_ended_and_leave_the_handler_as_it_was_in_any_order() -> None:
    host = signal.getsignal(signal.SIGINT)
    first, second = interruptible(lambda: None), interruptible(lambda: None)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert signal.getsignal(signal.SIGINT) is not host
    second.__exit__(None, None, None)
    assert signal.getsignal(signal.SIGINT) is host
    heard: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    with interruptible(lambda: heard.append(-1)), interruptible(lambda: heard.append(-2)):
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.lowlevel.checkpoint()
    assert heard == [signal.SIGINT, -1, -2]


async def test_off_the_main_thread_nothing_is_touched() -> None:
    before = signal.getsignal(signal.SIGINT)

    async def wait() -> object:
        with interruptible(lambda: None):
            return signal.getsignal(signal.SIGINT)

    assert await anyio.to_thread.run_sync(lambda: anyio.run(wait)) is before
