"""Compares things measured side by side: each round has one of each, and what counts is the ratio within a round."""

from __future__ import annotations

import os
import platform
import random
import statistics
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

type Round = Mapping[str, float]
"""What each variant took in one round."""

_RESAMPLED = 2000


class Ratio(NamedTuple):
    """How much longer one variant takes than another, and how sure that is."""

    median: float
    low: float
    high: float
    """Between `low` and `high` lies the median in 95 of 100 such series."""
    pairs: int


def ratio(rounds: Sequence[Round], of: str, to: str) -> Ratio | None:
    """Return the median of the ratios of `of` to `to` over the rounds that have both; None if there is none."""
    found = [one[of] / one[to] for one in rounds if of in one and to in one]
    if not found:
        return None
    low, high = interval(found)
    return Ratio(statistics.median(found), low, high, len(found))


def interval(values: Sequence[float], seed: int = 1) -> tuple[float, float]:
    """Return where the median of `values` lies, by drawing from them with replacement; the same for the same values."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(_RESAMPLED))
    return medians[round(0.025 * (_RESAMPLED - 1))], medians[round(0.975 * (_RESAMPLED - 1))]


def order(variants: Sequence[str], draw: random.Random) -> list[str]:
    """Return the variants in the order of one round: by chance, so that none always comes after another."""
    return draw.sample(variants, len(variants))


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Return the quartiles of `values`."""
    if len(values) < 2:
        return values[0], values[0]
    first, _, third = statistics.quantiles(values, n=4, method="inclusive")
    return first, third


def machine() -> str:
    """Say on what was measured."""
    programs = ", ".join(f"{name} {version(name)}" for name in ("tau-ai", "basic-memory", "tau-continuity"))
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    return (
        f"{platform.system()} {platform.machine()}, {_model()}, {os.cpu_count()} cores, "
        f"CPython {platform.python_version()}; {programs}; load average {load}"
    )


def _model() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown processor"
