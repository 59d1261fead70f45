"""What several files of real sessions begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scripted_model import ScriptedModel


@pytest.fixture
def scene(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> FakeScenario:
    """A Tau to be run in this process, with a fake server; the file that uses it says which `model` answers.

    Its tools are known from an earlier start.
    """
    made = FakeScenario(tmp_path, model, recall_wait_seconds=10)
    for name, value in made.home.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.home.cwd)
    made.lists_its_tools()
    return made
