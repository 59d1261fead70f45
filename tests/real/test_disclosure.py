"""Where there is no screen a person is told all the same: in print and RPC mode the notice comes before the save."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.tau_process import tau_print

pytestmark = pytest.mark.real

SAVES = "Continuity saves masked summaries of this conversation after every turn to project main (local)"
STOPS = "/bm-pause stops it in this session"
SAVED = "Checkpoint saved: "


@pytest.fixture
def scene(tmp_path: Path) -> Generator[FakeScenario]:
    with ScriptedModel(Story()) as model:
        yield FakeScenario(tmp_path, model, exit_timeout_seconds=60)


def told_in_order(notices: str) -> bool:
    """Whether it was said once, with the way to stop it, and before anything was said to be saved."""
    return notices.count(SAVES) == 1 and -1 < notices.find(SAVES) < notices.find(STOPS) < notices.find(SAVED)


def test_over_rpc_it_is_said_before_the_save_and_once(scene: FakeScenario) -> None:
    with scene.tau() as tau:
        tau.wait_until_ready()
        for prompt in ("Objective: keep the lamp lit", "Decision: oil"):
            tau.prompt(prompt)
            tau.wait_notice(SAVES)
        assert tau.quit() == 0
        assert told_in_order("\n".join(tau.notices))


def test_in_print_mode_it_is_said_before_the_save_of_the_exit(scene: FakeScenario) -> None:
    ran = tau_print(scene.home, "Objective: keep the lamp lit", timeout=120)
    assert ran.returncode == 0
    assert told_in_order(ran.stderr)
    assert SAVES not in ran.stdout
