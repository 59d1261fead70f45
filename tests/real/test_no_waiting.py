"""Tau waits for nothing at its start and after a turn: nothing is started by `setup`, and two handlers never give up the loop."""

from __future__ import annotations

import inspect
import shutil
import types
from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any

import pytest
from tau_coding.extensions import ExtensionAPI

from continuity.tau.extension import setup
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.started import started
from tests.fakes.tau_session import live_session


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


async def test_a_first_setup_asks_the_server_in_a_thread(scene: FakeScenario) -> None:
    for inventory in scene.home.state.glob("inventory-*.json"):
        inventory.unlink()
    assert await started_by_setup(scene) != []


class Suspensions:
    """Counts how often each handler of ours gives up the loop before it returns."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.called: Counter[str] = Counter()

    def watched(self, event: str, handler: Callable[..., Any]) -> Callable[..., Any]:
        async def run(*arguments: object) -> None:
            self.called[event] += 1
            result = handler(*arguments)
            if inspect.isawaitable(result):
                await self._counted(event, result)

        return run

    @types.coroutine
    def _counted(self, event: str, awaited: Awaitable[None]) -> Generator[Any, Any, None]:
        steps = awaited.__await__()
        go_on: Callable[[], object] = partial(next, steps)
        while True:
            try:
                waits_for = go_on()
            except StopIteration:
                return
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
