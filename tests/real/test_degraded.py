"""When memory is away or ill-configured, Tau goes on, the person is told once, and nothing of ours outlives it.

A server that dies, never starts or is not installed is in `test_boundaries` and `test_offering`; a second process on
one session in `test_second_process`.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest
from tau_coding.extensions import ExtensionAPI

from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import lived
from tests.fakes.relay import HOLD_INITIALIZE
from tests.fakes.scenario import until
from tests.fakes.scripted_model import Json, ScriptedModel
from tests.fakes.tau_process import TauProcess, tau_print
from tests.fakes.tau_session import live_session
from tests.fakes.tool_user import ToolUser

CANARY = "canary-9f2c"
NOTE: dict[str, Json] = {"project": "main", "directory": "d", "title": "asked-for", "content": "by the agent"}


@pytest.fixture(scope="module")
def agent() -> ToolUser:
    return ToolUser()


@pytest.fixture(scope="module")
def model(agent: ToolUser) -> Generator[ScriptedModel]:
    with ScriptedModel(agent) as scripted:
        yield scripted


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a person is shown, oldest first."""
    shown: list[str] = []

    def notify(_: ExtensionAPI, message: str, level: str = "info") -> None:
        shown.append(message)

    monkeypatch.setattr(ExtensionAPI, "notify", notify)
    return shown


def times(part: str, notices: list[str]) -> int:
    return "\n".join(notices).count(part)


def test_quitting_while_the_server_is_silent_is_bounded_and_leaves_no_process(scene: FakeScenario) -> None:
    scene.set(exit_timeout_seconds=1)
    (scene.switches / HOLD_INITIALIZE).touch()
    with scene.tau() as tau:
        tau.prompt("one")
        until(lambda: scene.log("answer-held") or None, "a held greeting")
        assert quits_within(tau, 8)
    assert until(lambda: True if not scene.processes() else None, "the servers' end", seconds=5)


def quits_within(tau: TauProcess, seconds: float) -> bool:
    began = time.monotonic()
    assert tau.quit() == 0
    return time.monotonic() - began < seconds


async def test_a_server_that_ignores_every_request_to_end_does_not_outlive_tau(scene: FakeScenario) -> None:
    scene.memory.faults(stubborn=True)
    with anyio.fail_after(30):
        async with lived(scene) as one:
            await one.saved("one")
    assert scene.processes() == []


async def test_without_a_project_there_are_tools_and_nothing_else_no_prompt_waits_and_it_is_said_once(
    scene: FakeScenario, model: ScriptedModel, agent: ToolUser, told: list[str]
) -> None:
    scene.set(project=None, recall_wait_seconds=30)
    asked = len(model.requests_for("synthesis"))
    async with live_session(scene.home) as live:
        await agent.use(live, ("bm_write_note", NOTE))
        with anyio.fail_after(20):
            await live.prompt("x" * 10_000)
    assert list(scene.memory.notes) == ["d/asked-for.md"]
    assert times("no project is configured", told) == 1
    assert len(model.requests_for("synthesis")) == asked
    assert scene.memory.calls()["write_note"] == 1


async def test_a_checkout_that_is_not_approved_is_told_once_with_what_approves_it(
    scene: FakeScenario, tmp_path: Path, told: list[str]
) -> None:
    other: Json = {"root": str(tmp_path / "other"), "repository": "ada/one", "project": "main"}
    scene.set(repositories=[other])
    (scene.home.cwd / ".git").write_text("gitdir: elsewhere\n")
    async with lived(scene) as one:
        for text in ("one", "two"):
            await one.saved(text)
    assert times(f"the checkout {scene.home.cwd.resolve()} is not approved", told) == 1
    assert times("`continuity setup` approves it", told) == 1


def test_a_bad_settings_file_is_named_with_its_key_and_a_remedy_and_never_its_value(scene: FakeScenario) -> None:
    scene.home.settings_path.write_text(f'{{"project": "main", "comand": "{CANARY}"}}')
    printed = tau_print(scene.home, "/bm-status")
    assert printed.returncode == 0
    assert str(scene.home.settings_path) in printed.stdout
    assert "comand" in printed.stdout
    assert CANARY not in printed.stdout + printed.stderr
    assert "Continuity is off" in printed.stderr
    assert not scene.memory.calls()


async def test_a_session_goes_on_with_bad_settings(scene: FakeScenario, told: list[str]) -> None:
    scene.home.settings_path.write_text("{")
    async with live_session(scene.home) as live:
        await live.prompt("one")
    assert times("Continuity is off", told) == 1
    assert not scene.home.journals()
