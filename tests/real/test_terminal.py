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

    hung_up: Sequence[Event]
    """On record when the terminal of the first was closed."""
    resumed: Sequence[Event]
    """Once the second had begun."""
    left: Sequence[Event]
    """When it was left with Ctrl-C, while the model was silent."""
    quit_seconds: float
    screen: str
    """What stood on the terminal then."""
    settled: Sequence[Event]
    """After the next start."""


class Sitting:
    """Somebody at the terminal."""

    def __init__(self, scene: FakeScenario, model: ScriptedModel, terminal: Tmux) -> None:
        self.scene, self.model, self.terminal = scene, model, terminal

    def evening(self) -> Evening:
        hung_up = self.closes_the_terminal()
        (path,) = self.scene.home.journals()
        self.terminal.run(tau_executable(), "--session", path.stem)
        resumed = self.saved(1)
        seconds, screen = self.leaves_twice()
        left = self.events()
        assert tau_print(self.scene.home, "/bm-status", "--session", path.stem).returncode == 0
        return Evening(hung_up, resumed, left, seconds, screen, self.events())

    def closes_the_terminal(self) -> Sequence[Event]:
        """Escape stops the model, Ctrl-C clears what was typed, and right after an answer the terminal is closed."""
        terminal = self.terminal
        terminal.run(tau_executable())
        terminal.until(PROMPT)
        with self.model.holding("agent"):
            terminal.enter("This takes too long")
            self.model.wait_for("agent")
            terminal.press("Escape")
            terminal.until("Interrupted")
        terminal.type("half a thought")
        terminal.press("C-c")
        terminal.until_gone("half a thought")
        with self.model.holding("synthesis"):
            self.is_answered(TURNS[0])
            terminal.close()
            self.gone()
        return self.events()

    def leaves_twice(self) -> tuple[float, str]:
        """Ctrl-D while a save waits for the model, and Ctrl-C once it is said what is waited for."""
        terminal = self.terminal
        terminal.until(PROMPT)
        with self.model.holding("synthesis"):
            self.is_answered(TURNS[1])
            terminal.press("C-d")
            terminal.until("Ctrl-C leaves now")
            began = time.monotonic()
            terminal.press("C-c")
            screen = terminal.until(ENDED)
            seconds = time.monotonic() - began
        self.gone()
        return seconds, screen

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

    def saved(self, count: int) -> Sequence[Event]:
        """Wait for so many saves on record."""
        return until(lambda: found if saves(found := self.events()) == count else None, f"{count} saves")


def saves(events: Sequence[Event]) -> int:
    return sum(isinstance(event, WriteAnswered) and event.outcome == "accepted" for event in events)


def settled(events: Sequence[Event]) -> list[bool]:
    """Of each turn that settled, whether it was interrupted."""
    return [event.interrupted for event in events if isinstance(event, WorkSettled)]


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Generator[Evening]:
    tmux_or_skip()
    with ScriptedModel(Story(TURNS)) as model:
        scene = FakeScenario(tmp_path_factory.mktemp("terminal"), model, exit_timeout_seconds=EXIT_SECONDS)
        with Tmux(scene.home.environment(), scene.home.cwd) as terminal:
            yield Sitting(scene, model, terminal).evening()


def test_a_closed_terminal_leaves_every_settled_turn_on_record(evening: Evening) -> None:
    assert settled(evening.hung_up) == [True, False]
    assert saves(evening.hung_up) == 0


def test_the_next_start_makes_the_checkpoint_that_a_closed_terminal_prevented(evening: Evening) -> None:
    assert saves(evening.resumed) == 1


def test_ctrl_c_ends_the_wait_of_an_exit_and_what_is_not_saved_is_kept_and_told(evening: Evening) -> None:
    assert evening.quit_seconds < EXIT_SECONDS / 2
    assert saves(evening.left) == 1
    closed = evening.left[-1]
    assert isinstance(closed, SessionClosed)
    assert (closed.reason, closed.drained, closed.unsaved_tip is None) == ("quit", False, False)
    told = evening.screen.replace("\n", "")  # it stands in lines of the terminal's width
    assert "is saved when the session is resumed: tau --session" in told


def test_the_start_after_that_makes_the_checkpoint(evening: Evening) -> None:
    assert saves(evening.settled) == 2
