"""What ends without anybody having quit, a loop or our task in it, takes everything of ours with it, and memory begins anew."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator

import pytest
from tau_coding import CodingSession

from continuity.tau.boundaries import ENDED
from continuity.tau.commands import COMMANDS
from journal.ids import SessionId
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.tau_session import live_session


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


async def used(scene: FakeScenario, session_id: str | None = None) -> SessionId:
    async with live_session(scene.home, session_id=session_id) as live:
        one = Lived(live, scene)
        await one.saved("hello")
        return one.session_id


async def _nothing(session: CodingSession) -> None:
    """As an embedder that forgets to close its session."""


async def test_where_a_host_ends_our_one_task_alone_that_is_said_and_a_reload_begins_anew(scene: FakeScenario) -> None:
    before = asyncio.all_tasks()
    async with live_session(scene.home) as live:
        one = Lived(live, scene)
        await one.saved("hello")
        tasks = {task for task in asyncio.all_tasks() - before if "Owner._own" in repr(task)}
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        await one.prompt("nobody hears it")
        assert one.said("ended") == ENDED
        assert {live.tau.handle_command(f"/{each.name}").message for each in COMMANDS} == {ENDED}
        await live.tau.reload()
        again = Lived(live, scene)
        await again.saved("and on")
        assert again.serving is not one.serving
        assert scene.memory.calls()["write_note"] > 1  # what nobody heard has one of its own, if there was time


def test_a_loop_that_ends_leaves_no_process_no_thread_and_no_lock(
    scene: FakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads = set(threading.enumerate())
    with monkeypatch.context() as forgetful:
        forgetful.setattr(CodingSession, "aclose", _nothing)
        session_id = asyncio.run(used(scene))
    for thread in set(threading.enumerate()) - threads:  # one that was told to end may still be about to
        thread.join(timeout=10)
        assert not thread.is_alive()
    assert scene.processes() == []
    assert asyncio.run(used(scene, session_id)) == session_id
    assert scene.memory.calls()["write_note"] == 2
