"""Tau waits for nothing at its start and after a turn: nothing is started by `setup`, and two handlers never give up the loop."""

from __future__ import annotations

import inspect
import shutil
import threading
import time
import types
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from anyio import to_thread
from tau_coding.extensions import ExtensionAPI

from continuity.tau.extension import setup
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.started import started
from tests.fakes.tau_process import tau_print
from tests.fakes.tau_session import live_session

STRETCH_SECONDS = 0.25
"""Of its own processor time no handler keeps the loop that long, however many rows there are."""


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


async def started_by_setup(scene: FakeScenario) -> list[str]:
    """Open a session whose only extension is ours; return what `setup` started."""
    shutil.rmtree(scene.home.home / "extensions" / "continuity")
    seen: list[str] = []

    def watched(tau: ExtensionAPI) -> None:
        with started() as found:
            setup(tau)
        seen.extend(found)

    async with live_session(scene.home, watched):
        return seen


async def test_a_warm_setup_starts_no_process_no_thread_and_no_connection(scene: FakeScenario) -> None:
    assert await started_by_setup(scene) == []


async def test_a_warm_setup_loads_nothing_of_the_memory_protocol(scene: FakeScenario) -> None:
    """In a process of its own: here a test before has loaded it."""
    shutil.rmtree(scene.home.home / "extensions" / "continuity")
    told = "import sys\nfrom continuity.tau.extension import setup as ours\n"
    told += "def setup(tau):\n    ours(tau)\n    print('loaded:', 'mcp' in sys.modules, file=sys.stderr)\n"
    scene.home.write_extension("probe", told)
    assert "loaded: False\n" in (await to_thread.run_sync(tau_print, scene.home, "/bm-status")).stderr


async def test_a_first_setup_asks_the_server_in_a_thread(scene: FakeScenario) -> None:
    for inventory in scene.home.state.glob("inventory-*.json"):
        inventory.unlink()
    assert await started_by_setup(scene) != []


@contextmanager
def slept(found: list[str]) -> Generator[None]:
    """List also the sleeps of this thread, for which not every Python has an audit event."""
    here, stock = threading.get_ident(), time.sleep

    def sleep(seconds: float) -> None:
        if threading.get_ident() == here:
            found.append("time.sleep")
        stock(seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "sleep", sleep)
        yield


class Suspensions:
    """Counts how often each handler of ours gives up the loop before it returns, and for how long it never does."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.called: Counter[str] = Counter()
        self.blocked: list[tuple[str, str]] = []
        """What each did in the loop's own thread that may block it."""
        self.worked: dict[str, float] = {}
        """The longest that each worked at a stretch, in the seconds of its thread: a busy machine adds nothing."""

    def watched(self, event: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        async def run(*arguments: object) -> object:
            self.called[event] += 1
            result = self._step(event, partial(handler, *arguments))
            return await self._counted(event, result) if inspect.isawaitable(result) else result

        return run

    def _step[R](self, event: str, step: Callable[[], R]) -> R:
        began = time.thread_time()
        with started() as found, slept(found):
            try:
                return step()
            finally:
                self.blocked += [(event, each) for each in found]
                self.worked[event] = max(self.worked.get(event, 0.0), time.thread_time() - began)

    @types.coroutine
    def _counted(self, event: str, awaited: Awaitable[object]) -> Generator[Any, Any, object]:
        steps = awaited.__await__()
        go_on: Callable[[], object] = partial(next, steps)
        while True:
            try:
                waits_for = self._step(event, go_on)
            except StopIteration as end:
                return end.value
            self.count[event] += 1
            go_on = partial(next, steps)
            try:
                yield waits_for
            except BaseException as thrown:  # noqa: BLE001 - handed on: a cancellation is the handler's
                go_on = partial(steps.throw, thrown)


async def test_a_start_and_a_rest_return_at_once_while_memory_never_answers(
    scene: FakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.memory.faults(initialize="hang")
    scene.set(exit_timeout_seconds=0.1)
    seen, subscribe = Suspensions(), ExtensionAPI.on

    def on(tau: ExtensionAPI, name: str, handler: Callable[..., Any]) -> object:
        return subscribe(tau, name, seen.watched(name, handler))

    monkeypatch.setattr(ExtensionAPI, "on", on)
    async with live_session(scene.home) as live:
        await live.prompt("one")
        await live.prompt("two")
        assert (seen.called["session_start"] > 0, seen.called["agent_settled"] > 1) == (True, True)
        assert (seen.count["session_start"], seen.count["agent_settled"]) == (0, 0)
        assert seen.count["message_end"] > 0  # its answer is what the prompt goes on with
    assert seen.blocked == []
    assert {event: seconds for event, seconds in seen.worked.items() if seconds > STRETCH_SECONDS} == {}
