"""What was planted in a session is in the text of our brief in the first model call of whoever goes on with the work."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import NamedTuple

import pytest

from continuity.evolve import fold
from journal.events import BriefDelivered
from tests.fakes.scenario import Scenario, until
from tests.fakes.scripted_model import Request, ScriptedModel
from tests.fakes.story import Story, Turn, briefs_in, is_brief
from tests.fakes.tau_process import TauProcess

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]  # four Tau processes are played before the first test

PLANTED = {
    "objective": "keep the lamp of Ar-Men lit through the winter",
    "decision": "burn colza oil, because petroleum cannot be landed in a swell",
    "finding": "the clockwork holds three turns a minute, timed twice",
    "unfinished": "the foghorn's valve still leaks",
    "next": "order a new valve from Brest",
}
FIRST = Turn(f"Objective: {PLANTED['objective']}", f"Decision: {PLANTED['decision']}")
SECOND = Turn(
    "How far are we?",
    f"Verified: {PLANTED['finding']}\nUnfinished: {PLANTED['unfinished']}\nNext: {PLANTED['next']}",
)
PAGES = Turn("Read this: " + "log of the keeper, page by page. " * 1600, "Read.")


class Played(NamedTuple):
    """The first model calls of each way to go on, and the journals' own words."""

    after_compaction: Sequence[Request]
    later: Sequence[Request]
    after_resume: Sequence[Request]
    fresh: Sequence[Request]
    fresh_again: Sequence[Request]
    delivered: Sequence[BriefDelivered]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Generator[Played]:
    root = tmp_path_factory.mktemp("briefs")
    with Scenario(root, Story((FIRST, SECOND, PAGES)), recall_wait_seconds=30, exit_timeout_seconds=30) as scenario:
        yield play(scenario)


def play(scenario: Scenario) -> Played:
    model = scenario.model
    with scenario.tau() as tau:
        for turn in (FIRST, SECOND, PAGES, PAGES):
            tau.prompt(turn.prompt)
        session_id = tau.session_id
        saved(scenario, session_id, tau)
        tau.compact()
        after_compaction = calls(model, tau, "Go on.")
        later = calls(model, tau, "And further.")
        assert tau.quit() == 0
    scenario.set(capture_knowledge=False, summarize_on_shutdown=False)
    lines = len(scenario.log())
    with scenario.tau(session_id) as tau:
        scenario.wait_recalled(after=lines)
        after_resume = calls(model, tau, "Where were we?")
        assert tau.quit() == 0
    fresh: list[Sequence[Request]] = []
    for _ in range(2):
        lines = len(scenario.log())
        with scenario.tau() as tau:
            scenario.wait_recalled(after=lines)
            fresh.append(calls(model, tau, "What is to be done?"))
            assert tau.quit() == 0
    delivered = scenario.events(session_id, BriefDelivered)
    return Played(after_compaction, later, after_resume, fresh[0], fresh[1], delivered)


def saved(scenario: Scenario, session_id: str, tau: TauProcess) -> None:
    """Wait until everything said so far is in a confirmed checkpoint."""

    def look() -> bool | None:
        state = fold(scenario.rows(session_id))
        done = not state.captures and state.gathered.tip is None and state.checkpoint is not None
        return True if done else None

    until(look, f"the last checkpoint; Tau said {tau.notices}")


def calls(model: ScriptedModel, tau: TauProcess, prompt: str) -> Sequence[Request]:
    """Return the model calls that one prompt made, those for names and handoffs apart."""
    before = len(model.requests)
    tau.prompt(prompt)
    return [request for request in model.requests[before:] if request.purpose == "agent"]


@pytest.mark.parametrize("way", ["after_compaction", "after_resume", "fresh"])
@pytest.mark.parametrize("what", sorted(PLANTED))
def test_what_was_planted_is_in_the_brief_of_the_first_model_call(played: Played, way: str, what: str) -> None:
    first = getattr(played, way)[0]
    (brief,) = briefs_in(first)
    assert PLANTED[what] in brief


@pytest.mark.parametrize("way", ["after_compaction", "later", "after_resume", "fresh"])
def test_a_brief_costs_no_model_call(played: Played, way: str) -> None:
    assert len(getattr(played, way)) == 1


def test_the_next_prompt_brings_no_second_brief(played: Played) -> None:
    assert briefs_in(played.later[0]) == ()


def test_no_brief_stands_twice_in_one_context(played: Played) -> None:
    seen = [text for role, text in played.after_resume[0].messages if role == "user" and is_brief(text)]
    assert len(seen) == len(set(seen)) == len(played.delivered)


def test_the_same_state_gives_the_same_bytes(played: Played) -> None:
    assert briefs_in(played.fresh[0]) == briefs_in(played.fresh_again[0])
