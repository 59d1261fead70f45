"""On stock Tau, every boundary leaves its timeline, and what was folded unannounced is back once it is saved."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Timeline, lived, sound
from tests.fakes.opened_files import opened_by_us, opened_files
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.walk import FOLDING, OTHERS, PATIENT, TURNS, Walk, crossed, knows_all, worked

pytestmark = pytest.mark.long  # stock Tau's boundaries one by one are in test_boundaries.py


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story(TURNS)) as scripted:
        yield scripted


@pytest.fixture
def scene(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> FakeScenario:
    made = FakeScenario(tmp_path, model, recall_wait_seconds=10, cadence=PATIENT)
    for name, value in made.home.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.home.cwd)
    return made


@pytest.mark.parametrize("boundary", FOLDING)
async def test_what_a_compaction_folds_is_back_once_it_is_saved(
    scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion, boundary: str
) -> None:
    async with lived(scene) as one:
        await worked(one)
        timeline, path, file = Timeline(one, model), one.path(), one.live.file
        walk = Walk(one, model, timeline)
        await FOLDING[boundary](walk)
        await walk.prompt()
        knows_all(model)
    assert timeline.lines == snapshot
    assert sound(path, file)


@pytest.mark.parametrize("boundary", OTHERS)
async def test_a_boundary_leaves_its_timeline_and_asks_the_model_for_nothing_more(
    scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion, boundary: str
) -> None:
    assert await crossed(scene, model, boundary) == snapshot


async def test_our_code_reads_the_session_file(scene: FakeScenario) -> None:
    """So that whoever looks at our openings on an announcing host would see one."""
    with opened_files() as found:
        async with lived(scene) as one:
            await one.prompt("one")
            await one.settle()
            name = one.live.file.name
    assert name in {each.name for each in opened_by_us(found, ".jsonl")}
