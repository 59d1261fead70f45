"""Without a screen: over RPC everything a person does is on record, and no signal leaves a server or loses a settled turn."""

from __future__ import annotations

import signal
from collections.abc import Generator, Sequence
from pathlib import Path

import pytest

from journal.events import CompactionNoticed, Event, SessionClosed, WorkSettled, WriteAnswered
from journal.reader import open_reader
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scenario import until
from tests.fakes.scripted_model import Body, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.story import Story
from tests.fakes.tau_process import disclosed_in_order, start_print

LONG = "x" * 50_000
SLEEPS = "sleep in a tool"
END_SECONDS = 60.0


def answer(body: Body) -> str | Reply:
    """Tell no story, but for the one who asks for a tool that takes long."""
    if purpose_of(body) == "agent" and messages_of(body)[-1] == ("user", SLEEPS):
        return Reply("", tool=("bash", {"command": "sleep 60"}))
    return Story()(body)


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(answer) as scripted:
        yield scripted


def history(scene: FakeScenario, branch: int = 1) -> Sequence[Event]:
    (path,) = scene.home.journals()
    with open_reader(path) as reader:
        return tuple(row.event for row in reader.verified(branch))


def interrupted(events: Sequence[Event]) -> list[bool]:
    return [event.interrupted for event in events if isinstance(event, WorkSettled)]


def saves(events: Sequence[Event]) -> int:
    return sum(isinstance(event, WriteAnswered) and event.outcome == "accepted" for event in events)


def gone(scene: FakeScenario) -> bool:
    """Whether every server there ever was has ended; the kernel may take a moment."""
    return until(lambda: True if not scene.processes() else None, "the servers' end", seconds=10)


def test_what_is_done_over_rpc_is_on_record_and_the_end_of_input_saves(tmp_path: Path, model: ScriptedModel) -> None:
    scene = FakeScenario(tmp_path, model, exit_timeout_seconds=END_SECONDS, summary_chunk_chars=50_000)
    with scene.tau() as tau:
        with model.holding("agent"):
            asked = len(model.requests_for("agent"))
            mark = tau.begin_unanswered("This takes too long")
            model.wait_for("agent", asked + 1)
            tau.abort()  # which Tau heeds once the model says something
        tau.wait_settled(mark)
        mark = tau.begin(SLEEPS)
        tau.wait_event(lambda event: event.get("type") == "tool_execution_start", "the tool", mark)
        tau.abort()
        tau.wait_settled(mark)
        for text in ("a", LONG, LONG):
            tau.prompt(text)
        tau.compact()
        tau.prompt("after the compaction")
        tau.fork(tau.fork_messages()[-1][0])
        tau.prompt("instead")
        assert tau.quit() == 0
        assert disclosed_in_order("\n".join(tau.notices))
    last = history(scene, 2)
    assert interrupted(last) == [True, True, False, False, False, False]
    assert sum(isinstance(event, CompactionNoticed) for event in last) == 1
    closed = last[-1]
    assert isinstance(closed, SessionClosed)
    assert (closed.drained, closed.unsaved_tip) == (True, None)
    assert gone(scene)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (signal.SIGTERM, signal.SIGHUP),
        pytest.param(signal.SIGHUP, signal.SIGTERM, marks=pytest.mark.long),
    ],
)
def test_after_a_signal_every_settled_turn_is_on_record_no_server_is_left_and_a_later_start_saves(
    tmp_path: Path, model: ScriptedModel, first: signal.Signals, second: signal.Signals
) -> None:
    scene = FakeScenario(tmp_path, model, exit_timeout_seconds=END_SECONDS)
    asked = len(model.requests_for("synthesis"))
    with model.holding("synthesis"):
        with scene.tau() as tau:
            tau.prompt("over RPC")
            session = tau.session_id
            model.wait_for("synthesis", asked + 1)
            assert tau.signalled(first) == -first
        assert gone(scene)
        assert (interrupted(history(scene)), saves(history(scene))) == ([False], 0)
        printing = start_print(scene.home, "in print mode", "--session", session)
        until(lambda: interrupted(history(scene)).count(False) == 2 or None, "the second turn")
        printing.send_signal(second)
        printing.communicate(timeout=END_SECONDS)
        assert printing.returncode == -second
        assert gone(scene)
    asked = len(model.requests_for("agent"))
    with model.holding("agent"):
        printing = start_print(scene.home, "This takes too long", "--session", session)
        model.wait_for("agent", asked + 1)
        until(lambda: saves(history(scene)) == 1 or None, "the save that was owed")
        printing.send_signal(signal.SIGINT)
        printing.communicate(timeout=END_SECONDS)
    assert printing.returncode == 130
    assert interrupted(history(scene))[-1]
    assert isinstance(history(scene)[-1], SessionClosed)
    assert gone(scene)
