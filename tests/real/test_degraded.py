"""When memory is slow, away or ill-configured, Tau goes on, the person is told once, and nothing of ours outlives it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator
from pathlib import Path

import pytest

from journal.events import SessionOpened, WriteAnswered
from journal.reader import open_reader
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.relay import HOLD_INITIALIZE
from tests.fakes.scenario import until
from tests.fakes.scripted_model import Body, Json, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.story import Story
from tests.fakes.tau_process import TauProcess, tau_print

CANARY = "canary-9f2c"


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


def told(tau: TauProcess, part: str) -> int:
    return sum(part in notice for notice in tau.notices)


def saves(scene: FakeScenario, count: int) -> None:
    until(lambda: scene.memory.calls()["write_note"] >= count or None, f"{count} saves")


def tools_of(model: ScriptedModel) -> list[str]:
    tools = model.requests_for("agent")[-1].body["tools"]
    assert isinstance(tools, list)
    functions = [tool["function"] for tool in tools if isinstance(tool, dict)]
    return [str(function["name"]) for function in functions if isinstance(function, dict)]


def test_a_prompt_does_not_wait_for_a_server_that_is_silent_and_the_person_is_told_once(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = FakeScenario(tmp_path, model)
    scene.warm()
    hold = scene.switches / HOLD_INITIALIZE
    hold.touch()
    with scene.tau() as tau:
        tau.wait_until_ready()
        asked = len(model.requests_for("agent"))
        tau.prompt("one")
        tau.prompt("two")
        assert len(model.requests_for("agent")) == asked + 2
        until(lambda: scene.log("answer-held") or None, "a held greeting")
        assert told(tau, "Memory is not connected yet") == 1
        assert "bm_write_note" in tools_of(model)
        hold.unlink()
        saves(scene, 1)
        assert tau.quit() == 0


def test_quitting_while_the_server_is_silent_is_bounded_and_leaves_no_process(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = FakeScenario(tmp_path, model, exit_timeout_seconds=1)
    scene.warm()
    (scene.switches / HOLD_INITIALIZE).touch()
    with scene.tau() as tau:
        tau.prompt("one")
        until(lambda: scene.log("answer-held") or None, "a held greeting")
        assert quits_within(tau, 8)
    assert gone(scene)


def test_quitting_while_the_model_is_silent_is_bounded_and_leaves_no_process(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = FakeScenario(tmp_path, model, exit_timeout_seconds=1)
    with scene.tau() as tau, model.holding("synthesis"):
        asked = len(model.requests_for("synthesis"))
        tau.prompt("one")
        model.wait_for("synthesis", asked + 1)
        assert quits_within(tau, 8)
    assert gone(scene)


def test_a_server_that_ignores_every_request_to_end_does_not_outlive_tau(tmp_path: Path, model: ScriptedModel) -> None:
    scene = FakeScenario(tmp_path, model, exit_timeout_seconds=5)
    scene.memory.faults(stubborn=True)
    with scene.tau() as tau:
        tau.prompt("one")
        saves(scene, 1)
        assert quits_within(tau, 15)
    assert gone(scene)


def quits_within(tau: TauProcess, seconds: float) -> bool:
    began = time.monotonic()
    assert tau.quit() == 0
    return time.monotonic() - began < seconds


def gone(scene: FakeScenario) -> bool:
    """Whether every server there ever was has ended; the kernel may take a moment."""
    return until(lambda: True if not scene.processes() else None, "the servers' end", seconds=5)


def test_without_a_project_there_are_tools_and_nothing_else_and_it_is_said_once(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = FakeScenario(tmp_path, model, project=None)
    note: dict[str, Json] = {"project": "main", "directory": "d", "title": "asked-for", "content": "by the agent"}

    def agent(body: Body) -> str | Reply:
        said = messages_of(body)
        if purpose_of(body) == "agent" and said[-1] == ("user", "write it"):
            return Reply("", tool=("bm_write_note", note))
        return "Done."

    model.answer, usual = agent, model.answer
    try:
        with scene.tau() as tau:
            asked = len(model.requests_for("synthesis"))
            tau.prompt("write it")
            tau.prompt("x" * 10_000)
            assert list(scene.memory.notes) == ["d/asked-for.md"]
            assert told(tau, "no project is configured") == 1
            assert tau.quit() == 0
    finally:
        model.answer = usual
    assert len(model.requests_for("synthesis")) == asked
    assert scene.memory.calls()["write_note"] == 1


def test_a_checkout_that_is_not_approved_is_told_once_with_what_approves_it(
    tmp_path: Path, model: ScriptedModel
) -> None:
    other: Json = {"root": str(tmp_path / "other"), "repository": "ada/one", "project": "main"}
    scene = FakeScenario(tmp_path, model, repositories=[other])
    (scene.home.cwd / ".git").write_text("gitdir: elsewhere\n")
    with scene.tau() as tau:
        tau.prompt("one")
        tau.prompt("two")
        assert told(tau, f"the checkout {scene.home.cwd.resolve()} is not approved") == 1
        assert told(tau, "`continuity setup` approves it") == 1
        assert tau.quit() == 0


@pytest.mark.parametrize(
    ("content", "key"),
    [('{"project": "main", "comand": "%s"}', "comand"), ('{"timeout_seconds": "%s"}', "timeout_seconds"), ("{%s", "")],
)
def test_a_bad_settings_file_is_named_with_its_key_and_a_remedy_and_never_its_value(
    tmp_path: Path, model: ScriptedModel, content: str, key: str
) -> None:
    scene = FakeScenario(tmp_path, model)
    scene.home.settings_path.write_text(content % CANARY)
    printed = tau_print(scene.home, "/bm-status")
    assert printed.returncode == 0
    assert str(scene.home.settings_path) in printed.stdout
    assert key in printed.stdout
    assert CANARY not in printed.stdout + printed.stderr
    assert "Continuity is off" in printed.stderr
    assert not scene.memory.calls()


def test_a_session_goes_on_with_bad_settings(tmp_path: Path, model: ScriptedModel) -> None:
    scene = FakeScenario(tmp_path, model)
    scene.home.settings_path.write_text("{")
    with scene.tau() as tau:
        tau.prompt("one")
        assert told(tau, "Continuity is off") == 1
        assert tau.quit() == 0
    assert not scene.home.journals()


def test_a_command_that_is_not_there_is_said_once_with_a_remedy(tmp_path: Path, model: ScriptedModel) -> None:
    scene = FakeScenario(tmp_path, model, command="no-such-memory-server", args=[])
    with scene.tau() as tau:
        tau.prompt("one")
        tau.prompt("two")
        tau.wait_notice("was not found; install basic-memory or set `command`")
        assert told(tau, "was not found") == 1
        assert quits_within(tau, 8)


def test_a_server_that_dies_in_mid_session_is_replaced_and_the_next_turn_is_saved(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = FakeScenario(tmp_path, model)
    scene.warm()
    before = len(scene.log("start"))
    with scene.tau() as tau:
        tau.prompt("one")
        saves(scene, 1)
        (start,) = scene.log("start")[before:]
        assert isinstance(start["group"], int)
        os.killpg(start["group"], signal.SIGKILL)
        tau.prompt("two")
        saves(scene, 2)
        assert tau.quit() == 0
    assert len(scene.log("start")) == before + 2
    assert gone(scene)


def test_a_second_process_on_one_session_is_told_and_writes_nothing(tmp_path: Path, model: ScriptedModel) -> None:
    scene = FakeScenario(tmp_path, model)
    with scene.tau() as first:
        first.prompt("one")
        saves(scene, 1)
        with scene.tau(first.session_id) as second:
            second.prompt("two, elsewhere")
            second.wait_notice("another process has this session open")
            second.prompt("three, elsewhere")
            assert told(second, "another process has this session open") == 1
            assert second.quit() == 0
        assert first.quit() == 0
    (path,) = scene.home.journals()
    with open_reader(path) as reader:
        events = [row.event for row in reader.verified(1)]
    assert len({event.writer for event in events if isinstance(event, SessionOpened)}) == 1
    assert sum(isinstance(event, WriteAnswered) for event in events) == scene.memory.calls()["write_note"]
