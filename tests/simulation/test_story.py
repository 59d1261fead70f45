"""Whatever breaks, and in whatever order, the journal is never wrong about what is known; a seed tells the same story twice."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import get_args

import pytest

from journal.events.writes import Outcome, Verdict
from tests.simulation.__main__ import again, report
from tests.simulation.story import play
from tests.simulation.world import Mixture

ROOT = Path(__file__).parents[2]
SEEDS = range(6)
MORE = range(6, 24)
ROUGH: Mixture = {"refused": 0.15, "unsent": 0.1, "lost": 0.3, "late": 0.4, "failed_landed": 0.1, "crash": 0.005}
"""Everything that can become of a write, often."""


@pytest.fixture(scope="module")
def counts() -> Counter[str]:
    """What happened in `SEEDS`, and again with a rough server; the invariants held in each."""
    seen: Counter[str] = Counter()
    for seed, mixture in [*((seed, None) for seed in SEEDS), *((seed, ROUGH) for seed in SEEDS[:3])]:
        played = play(seed, mixture)
        assert played.broken is None, report(played)
        seen.update(played.counts)
    return seen


def test_no_invariant_breaks_in_any_seed(counts: Counter[str]) -> None:
    assert counts["killed"] > len(SEEDS)


@pytest.mark.long
@pytest.mark.parametrize("seed", MORE)
def test_no_invariant_breaks_in_more_seeds(seed: int) -> None:
    played = play(seed)
    assert played.broken is None, report(played)


def test_the_seeds_bring_about_every_outcome_and_nearly_every_verdict(counts: Counter[str]) -> None:
    outcomes = set(get_args(Outcome.__value__))
    assert outcomes <= {name.removeprefix("outcome ") for name in counts}
    drawn = {name.split()[1] for name in counts if name.startswith("verdict ")}
    assert set(get_args(Verdict.__value__)) - drawn <= {"present_twin", "present_edited", "conflicted"}


def test_a_seed_tells_the_same_story_in_another_process() -> None:
    told = "from tests.simulation.story import play; print(play(7, acts=15).trace)"
    traces = {
        subprocess.run(
            [sys.executable, "-c", told],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hashing, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for hashing in ("1", "2")
    }
    assert traces == {play(7, acts=15).trace}
    assert len(traces.pop()) == len(hashlib.sha256().hexdigest())


def test_a_failure_names_the_command_that_repeats_it() -> None:
    assert again(41) == "make simulate SEEDS=41:+1"
