"""Where there is no screen a person is told all the same: in print mode the notice comes before the save.

Over RPC it is in `test_headless`.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.tau_process import DISCLOSED, disclosed_in_order, tau_print

pytestmark = pytest.mark.real


@pytest.fixture
def scene(tmp_path: Path) -> Generator[FakeScenario]:
    with ScriptedModel(Story()) as model:
        yield FakeScenario(tmp_path, model, exit_timeout_seconds=60)


def test_in_print_mode_it_is_said_before_the_save_of_the_exit(scene: FakeScenario) -> None:
    ran = tau_print(scene.home, "Objective: keep the lamp lit", timeout=120)
    assert ran.returncode == 0
    assert disclosed_in_order(ran.stderr)
    assert DISCLOSED not in ran.stdout
