"""With the real server, the checkpoint is back in context after whatever took it out, on either kind of host."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from journal.events import CheckpointReferenced
from tests.fakes.basic_memory import START_SECONDS
from tests.fakes.lived import Lived, lived
from tests.fakes.scenario import Scenario
from tests.fakes.story import is_brief
from tests.fakes.tau687 import announce
from tests.fakes.walk import FOLDING, KNOWN, TURNS, Tale, Walk, compacts_above, worked
from tests.shell.rig import recorded

WITHIN = 220.0

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]  # one server, and a session that is compacted five times


@pytest.fixture(params=["stock", "announcing"])
def scene(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Scenario]:
    if request.param == "announcing":
        announce(monkeypatch)
    with Scenario(tmp_path, Tale(TURNS), recall_wait_seconds=20, compaction_wait_seconds=30) as made:
        for name, value in made.home.environment().items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(made.home.cwd)
        yield made


async def test_the_checkpoint_is_in_the_next_call_after_every_compaction_a_reload_and_a_resume(scene: Scenario) -> None:
    async with lived(scene, start=START_SECONDS, within=WITHIN) as one:
        await worked(one)
        walk = Walk(one, scene.model)
        for number, boundary in enumerate(FOLDING.values(), start=1):
            await boundary(walk)
            await walk.prompt()
            is_known(scene, after=number)
            assert references(one) >= number
            await more(walk)
        await one.live.tau.reload()
        await is_known_at_the_next_prompt(one, scene)
        first = one.session_id
        await one.live.tau.new_session()
        await one.live.tau.resume(first)
        await is_known_at_the_next_prompt(one, scene)


async def more(walk: Walk) -> None:
    """Let there be something to fold again."""
    walk.model.answer = Tale(TURNS)
    compacts_above(walk.one, tokens=None)
    await walk.work("something more", foldable=True)


async def is_known_at_the_next_prompt(one: Lived, scene: Scenario) -> None:
    await one.prompt("go on")
    await one.settle()
    is_known(scene, after=0)


def is_known(scene: Scenario, *, after: int) -> None:
    """The newest call of the agent has all that was said in the beginning, in a brief."""
    briefs = [text for _, text in scene.model.requests_for("agent")[-1].messages if is_brief(text)]
    assert [fact for fact in KNOWN if not any(fact in text for text in briefs)] == [], f"after compaction {after}"


def references(one: Lived) -> int:
    return len(recorded(one.path(), CheckpointReferenced))
