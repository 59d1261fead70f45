"""However a person wanders through a session, every compaction and every move that a prompt follows is noticed, all once.

What there was is read from the session's file by Tau's own reader, and told by `tests/fakes/tree.py`:

* A prompt's path is what its message goes on from. A compaction is *noticed* when each prompt with it on its path has it
  in its branch's history exactly once; one that nobody prompted after folded nothing for anybody. A host that announces
  compactions has each of them announced, prompted after or not, and each that began has its end.
* A move followed by a prompt is *noticed* when that prompt is recorded on the branch it belongs to, as its first or next
  tip. *The forks of the recorded tips* are those of the tree of public messages: the first that goes on from a message
  goes on with its branch, each later one begins a branch that shares with its parent all up to that message and nothing
  more. The journal has exactly these branches with exactly these tips; one on which nothing was said may stand beside
  them where a compaction came, or the session was taken up, at a place that was only looked at.
* No capture is begun and no write is intended twice, and no brief is put in whose like the model still sees.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from itertools import chain, dropwhile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from journal.reader import open_reader
from replay.fold import folded
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, lived, sound
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tau687 import announce
from tests.fakes.tree import Recorded, Tree, complaints
from tests.fakes.walk import PATIENT
from tests.fakes.wander import Step, Wanderer, answer, small_contexts

STEPS = 200
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example)
LANDMARK = 25
"""After so many steps it is looked at what came of them: what went wrong early fails early, and shrinks to little."""
TIMES = {
    "rest": 1,
    "prompt": 5,
    "tool": 1,
    "long": 2,
    "grown": 2,
    "refused": 1,
    "stopped": 1,
    "compact": 3,
    "detailed": 1,
    "compact in vain": 1,
    "move": 20,
    "summarised": 2,
    "back": 8,
    "reload": 2,
    "new": 1,
    "resume": 1,
}
"""How often each step comes, among the others."""
A_STEP = st.builds(
    Step,
    what=st.sampled_from([what for what, times in TIMES.items() for _ in range(times)]),
    where=st.integers(0, 63),
    hurried=st.booleans(),
)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("level", ["A", "B"])
def test_a_long_walk_through_the_tree_leaves_no_compaction_and_no_branch_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, level: str
) -> None:
    """The first example rests all the way. A walk that fails is told whole; the many walks below begin with it and shrink it."""
    seen = wandered(tmp_path_factory, level, 2, Phase.generate)
    assert seen >= Counter(compactions=5, moves=10, forks=5)


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("level", ["A", "B"])
def test_many_long_walks_leave_no_compaction_and_no_branch_unnoticed(
    tmp_path_factory: pytest.TempPathFactory, level: str
) -> None:
    seen = wandered(tmp_path_factory, level, 12, Phase.generate, Phase.shrink)
    assert seen >= Counter(compactions=50, moves=100, forks=50)


def wandered(folders: pytest.TempPathFactory, level: str, examples: int, *phases: Phase) -> Counter[str]:
    """Wander as often as there are `examples`; return how much there was to notice."""
    seen: Counter[str] = Counter()

    @settings(max_examples=examples, suppress_health_check=SLOW, phases=phases)
    @given(data=st.data())
    def walk(data: st.DataObject) -> None:
        def draw(number: int) -> Step:
            return data.draw(A_STEP, label=f"step {number}")

        with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
            runner.run(_walked(folders.mktemp("walk"), patch, level, draw, seen))

    walk()
    return seen


async def _walked(
    root: Path, patch: pytest.MonkeyPatch, level: str, draw: Callable[[int], Step], seen: Counter[str]
) -> None:
    steps = dropwhile(lambda step: step.what == "rest", map(draw, range(1, STEPS + 1)))
    first = next(steps, None)
    if first is None:
        return
    small_contexts(patch)
    if level == "A":
        announce(patch)
    with ScriptedModel(answer) as model:
        scene = FakeScenario(root, model, recall_wait_seconds=10, compaction_wait_seconds=20, cadence=PATIENT)
        for name, value in scene.home.environment().items():
            patch.setenv(name, value)
        patch.chdir(scene.home.cwd)
        (scene.home.cwd / "notes.txt").write_text("Oil the lamp.\n", encoding="utf-8")
        async with lived(scene, within=600) as one:
            wanderer = Wanderer(one, model)
            for number, step in enumerate(chain([first], steps), start=1):
                await wanderer.go(step)
                if number % LANDMARK == 0:
                    await _as_it_was(wanderer, level, Counter())
            await one.alone()
        assert asyncio.all_tasks() == {asyncio.current_task()}
    assert scene.processes() == []
    for session_id in wanderer.begun:
        await _as_it_was(wanderer, level, seen, session_id)
        assert sound(scene.journal(session_id), wanderer.file(session_id))
    assert {path.stem for path in scene.home.journals()} == set(wanderer.begun)


async def _as_it_was(wanderer: Wanderer, level: str, seen: Counter[str], session_id: str | None = None) -> None:
    """Compare the session that is open, or the one named, with its journal."""
    if session_id is None:
        await wanderer.one.settle()
        _replays(wanderer.one)
        session_id = str(wanderer.one.session_id)
    if session_id in wanderer.begun:
        tree, recorded = await Tree.read(wanderer.file(session_id)), Recorded.read(wanderer.one.path(session_id))
        assert complaints(tree, recorded, announced=level == "A") == []
        seen.update(compactions=len(tree.compactions), moves=tree.moves(), forks=len(tree.chains()) - 1)


def _replays(one: Lived) -> None:
    """The live states are what replay gives."""
    ledger = one.ours.desk.ledger
    if ledger is not None:
        with open_reader(ledger.path) as reader:
            for branch, state in ledger.states.items():
                assert folded(reader, branch, state.position).state == state
