"""Plays seeds, walks through the protocol, plants the bugs: `make simulate SEEDS=FROM:+N DEPTH=D BUGS=1`.

Prints what was seen and, for every seed that broke an invariant, the command
that plays it again. Ends with 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence

from tests.simulation.bugs import BUGS, noticed
from tests.simulation.protocol import BEGINNINGS, Setting
from tests.simulation.search import search
from tests.simulation.story import Played, play


def seeds(text: str) -> range:
    """Read FROM:+N, or one number."""
    first, _, count = text.partition(":+")
    return range(int(first), int(first) + int(count or 1))


def again(seed: int) -> str:
    """The command that plays `seed` again."""
    return f"make simulate SEEDS={seed}:+1"


def report(played: Played) -> str:
    """What is printed of a seed that broke something."""
    lately = "\n".join(f"    {line}" for line in played.lately)
    return f"{lately}\nseed {played.seed}: {played.broken}\n    {again(played.seed)}"


def simulated(wanted: range, steps: int) -> bool:
    """Play `wanted`, or as many of them as come to `steps`; tell whether all held."""
    began, totals, broken, count = time.monotonic(), Counter[str](), 0, 0
    for seed in wanted:
        played = play(seed)
        count += 1
        totals.update(played.counts)
        totals.update(steps=played.steps, rows=played.rows)
        if played.broken is not None:
            broken += 1
            print(report(played), flush=True)
        if steps and totals["steps"] >= steps:
            break
    seconds = time.monotonic() - began
    for name, times in sorted(totals.items()):
        print(f"{times:>10}  {name}")
    print(f"{totals['steps']} steps in {count} seeds, {totals['rows']} rows, {seconds:.0f} s; {broken} broken")
    return not broken


def searched(depth: int) -> bool:
    """Walk through the protocol to `depth` moves, and from a second write on to fewer; tell whether all held."""
    held = True
    for name, start in BEGINNINGS.items():
        began, found = time.monotonic(), search(depth if start is Setting else max(depth - 6, 1), start())
        how = "everything" if found.exhausted else f"{found.depth} moves"
        seconds = time.monotonic() - began
        print(
            f"from {name}, {how}: {found.worlds} worlds, {found.moves} ways between them, {seconds:.0f} s", flush=True
        )
        if found.broken is not None:
            print(f"{found.broken}:", *found.path, sep="\n    ")
        held = held and found.broken is None
    return held


def planted() -> bool:
    """Plant each bug; tell whether all were noticed."""
    missed = 0
    for bug in BUGS:
        began, played = time.monotonic(), noticed(bug)
        missed += played is None
        what = (
            f"seed {played.seed}: {played.broken}"
            if played
            else f"NOT NOTICED within {bug.within} seeds from {bug.since} on"
        )
        print(f"{bug.name}: {what} ({time.monotonic() - began:.0f} s)", flush=True)
    return not missed


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", type=seeds, nargs="?", default="0:+200", help="FROM:+N")
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps")
    parser.add_argument("--depth", type=int, default=0, help="search the protocol to this depth")
    parser.add_argument("--bugs", action="store_true", help="plant the bugs")
    asked = parser.parse_args(arguments)
    held = simulated(asked.seeds, asked.steps) if len(asked.seeds) else True
    held = (searched(asked.depth) if asked.depth else True) and held
    return 0 if (planted() if asked.bugs else True) and held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
