"""At a real terminal: keys do what they do without us, and whichever way a person leaves, the next start knows all."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import pytest

from journal.events import Event, SessionClosed, WorkSettled, WriteAnswered
from journal.reader import open_reader
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scenario import until
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story, Turn
from tests.fakes.tau_process import tau_executable, tau_print
from tests.fakes.tmux import ENDED, Tmux, tmux_or_skip

PROMPT = "Ask Tau"
TURNS = (
    Turn("Objective: keep the lamp lit", "Decision: oil, because there is no wind"),
    Turn("What next?", "Next: mend the foghorn"),
)
EXIT_SECONDS = 60
"""The most that settings allow: only what a person does ends the wait of an exit here."""


@dataclass(frozen=True)
class Evening:
    """Two sittings at one session, and what was there after each."""

    session: str
    left: Sequence[Event]
    """On record when the first was left with Ctrl-C, while the model was silent."""
    quit_seconds: float
    screen: str
    """What stood on the terminal then."""
    resumed: Sequence[Event]
    """Once the second had begun."""
    hung_up: Sequence[Event]
    """When its terminal was closed."""


class Sitting:
    """Somebody at the terminal."""

    def __init__(self, scene: FakeScenario, model: ScriptedModel, terminal: Tmux) -> None:
        self.scene, self.model, self.terminal = scene, model, terminal

    def evening(self) -> Evening:
        self.terminal.run(tau_executable())
        self.terminal.until(PROMPT)
        self.stops_and_clears()
        seconds, screen = self.leaves_twice()
        left, (path,) = self.events(), self.scene.home.journals()
        self.terminal.run(tau_executable(), "--session", path.stem)
        resumed = until(lambda: found if saves(found := self.events()) == 1 else None, "the save")
        self.terminal.until(PROMPT)
        return Evening(path.stem, left, seconds, screen, resumed, self.closes_the_terminal())

    def stops_and_clears(self) -> None:
        """Escape stops the model, and Ctrl-C clears what was typed."""
        terminal = self.terminal
        with self.model.holding("agent"):
            terminal.enter("This takes too long")
            self.model.wait_for("agent")
            terminal.press("Escape")
            terminal.until("Interrupted")
        terminal.type("half a thought")
        terminal.press("C-c")
        terminal.until_gone("half a thought")

    def leaves_twice(self) -> tuple[float, str]:
        """Ctrl-D while a save waits for the model, and Ctrl-C once it is said what is waited for."""
        terminal = self.terminal
        with self.model.holding("synthesis"):
            self.is_answered(TURNS[0])
            terminal.press("C-d")
            terminal.until("Ctrl-C leaves now")
            began = time.monotonic()
            terminal.press("C-c")
            screen = terminal.until(ENDED)
            seconds = time.monotonic() - began
        self.gone()
        return seconds, screen

    def closes_the_terminal(self) -> Sequence[Event]:
        """Right after an answer the terminal is gone."""
        with self.model.holding("synthesis"):
            self.is_answered(TURNS[1])
            self.terminal.close()
            self.gone()
        return self.events()

    def is_answered(self, turn: Turn) -> None:
        """Give a prompt, see the answer, and wait until its checkpoint has been asked of the model."""
        asked = len(self.model.requests_for("synthesis"))
        self.terminal.enter(turn.prompt)
        self.terminal.until(turn.answer)
        self.model.wait_for("synthesis", asked + 1)

    def gone(self) -> None:
        """Wait for the end of every server there ever was."""
        until(lambda: True if not self.scene.processes() else None, "the servers' end", seconds=10)

    def events(self) -> Sequence[Event]:
        (path,) = self.scene.home.journals()
        with open_reader(path) as reader:
            return tuple(row.event for row in reader.verified(1))


def saves(events: Sequence[Event]) -> int:
    return sum(isinstance(event, WriteAnswered) and event.outcome == "accepted" for event in events)


def settled(events: Sequence[Event]) -> list[bool]:
    """Of each turn that settled, whether it was interrupted."""
    return [event.interrupted for event in events if isinstance(event, WorkSettled)]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[FakeScenario, ScriptedModel]]:
    with ScriptedModel(Story(TURNS)) as model:
        yield FakeScenario(tmp_path_factory.mktemp("terminal"), model, exit_timeout_seconds=EXIT_SECONDS), model


@pytest.fixture(scope="module")
def evening(scene: tuple[FakeScenario, ScriptedModel]) -> Evening:
    tmux_or_skip()
    at_home, model = scene
    with Tmux(at_home.home.environment(), at_home.home.cwd) as terminal:
        return Sitting(at_home, model, terminal).evening()


def test_ctrl_c_ends_the_wait_of_an_exit_and_what_is_not_saved_is_kept_and_told(evening: Evening) -> None:
    assert evening.quit_seconds < EXIT_SECONDS / 2
    assert saves(evening.left) == 0
    closed = evening.left[-1]
    assert isinstance(closed, SessionClosed)
    assert (closed.reason, closed.drained, closed.unsaved_tip is None) == ("quit", False, False)
    told = "".join(evening.screen.split())  # it stands in lines of the terminal's width
    assert f"tau--session{evening.session}" in told


def test_the_next_start_makes_the_checkpoint_that_was_not_waited_for(evening: Evening) -> None:
    assert saves(evening.resumed) == 1


def test_a_closed_terminal_leaves_every_settled_turn_on_record(evening: Evening) -> None:
    assert settled(evening.hung_up) == [True, False, False]
    assert saves(evening.hung_up) == 1


@pytest.mark.long  # headless, a hangup and the start after it are in every run
def test_the_start_after_a_hangup_makes_the_checkpoint(
    evening: Evening, scene: tuple[FakeScenario, ScriptedModel]
) -> None:
    assert tau_print(scene[0].home, "/bm-status", "--session", evening.session).returncode == 0
    (path,) = scene[0].home.journals()
    with open_reader(path) as reader:
        assert saves([row.event for row in reader.verified(1)]) == 2
