"""With the real server, the checkpoint is back in context after whatever took it out, on either kind of host."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from functools import partial
from pathlib import Path

import pytest

from journal.events import BriefDelivered, CheckpointReferenced
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
            is_known(walk, after=number)
            assert references(one) >= number
            await more(walk)
        await is_brought_back_after(one.live.tau.reload, walk)
        await more(walk)
        await is_brought_back_after(partial(left_and_resumed, one), walk)


async def more(walk: Walk) -> None:
    """Let there be something to fold again."""
    walk.model.answer = Tale(TURNS)
    compacts_above(walk.one, tokens=None)
    await walk.work("something more", foldable=True)


async def left_and_resumed(one: Lived) -> None:
    first = one.session_id
    await one.live.tau.new_session()
    await one.live.tau.resume(first)


async def is_brought_back_after(crossing: Callable[[], Awaitable[object]], walk: Walk) -> None:
    """A compaction takes the brief out of the context, `crossing` follows, and the next call has one delivered since."""
    one, before = walk.one, len(recorded(walk.one.path(), BriefDelivered))
    await one.live.tau.compact()
    await crossing()
    await one.prompt("go on")
    await one.settle()
    is_known(walk, after=0)
    assert len(recorded(one.path(), BriefDelivered)) > before


def is_known(walk: Walk, *, after: int) -> None:
    """The newest call of the agent has all that was said in the beginning, in a brief."""
    briefs = [text for _, text in walk.model.requests_for("agent")[-1].messages if is_brief(text)]
    assert [fact for fact in KNOWN if not any(fact in text for text in briefs)] == [], f"after compaction {after}"


def references(one: Lived) -> int:
    return len(recorded(one.path(), CheckpointReferenced))
