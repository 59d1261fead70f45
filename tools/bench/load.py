"""Measures how long Tau takes from its start to the first key it accepts, with us and without; `make bench-load` runs it.

Each round starts the real Tau once in every way, in an order left to chance, at a terminal of its own. The result is
the ratio within the rounds: seconds depend on the machine, and Tau alone is started twice a round to tell how much a
ratio says at all.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, cast

from tests.fakes.basic_memory import ARGS, COMMAND, BasicMemoryHome
from tests.fakes.memory_server import FakeMemory
from tests.fakes.scripted_model import Json
from tests.fakes.tau_home import TauHome, make_tau_home
from tests.fakes.tau_process import TauProcess
from tools.bench import tui
from tools.bench.pairs import Round, machine, order, ratio, spread

GOAL = 1.1
"""Most of what Tau alone takes."""

ALONE, AGAIN, MEMORY, MUTE, COLD = (
    "Tau alone",
    "Tau alone, again",
    "memory answers",
    "memory never answers",
    "memory answers, first start ever",
)
_NOBODY = "http://127.0.0.1:9/v1"
"""Where the model would be: nothing is asked of it."""

_WARM_SECONDS = 240.0


class Homes:
    """A home of Tau for each way of starting it, under one folder."""

    def __init__(self, root: Path) -> None:
        real: dict[str, Json] = {
            "command": COMMAND,
            "args": list(ARGS),
            "env": cast("Json", BasicMemoryHome(root / "memory").environment({})),
            "project": "main",
            "timeout_seconds": 120,  # the first start of a server on a busy machine
        }
        self.mute = FakeMemory(root / "mute")
        command, args = self.mute.command
        silent: dict[str, Json] = {"command": command, "args": cast("Json", args), "project": "main"}
        self._of: dict[str, TauHome] = {
            ALONE: make_tau_home(root / "alone", _NOBODY, shim=False),
            MEMORY: make_tau_home(root / "real", _NOBODY, settings=real),
            MUTE: make_tau_home(root / "silent", _NOBODY, settings=silent),
            COLD: make_tau_home(root / "cold", _NOBODY, settings=real),
        }
        self._of[AGAIN] = self._of[ALONE]

    def warm(self) -> None:
        """Start each once, so that everything is compiled and the tools of both servers are known; then one falls silent."""
        for name in (ALONE, MEMORY, MUTE):
            with TauProcess(self._of[name]) as tau:
                tau.wait_until_ready()
                if name != ALONE:
                    _wait_inventory(self._of[name])
                tau.quit()
        self.mute.faults(initialize="hang")

    def start(self, name: str) -> tui.Start:
        """Start Tau in the way `name`, as if no session had been before."""
        home = self._of[name]
        tui.clear(home.home)
        if name == COLD:
            for path in _inventories(home):
                path.unlink()
        return tui.start(home)


def _inventories(home: TauHome) -> list[Path]:
    return list(home.state.glob("inventory-*.json"))


def _wait_inventory(home: TauHome) -> None:
    deadline = time.monotonic() + _WARM_SECONDS
    while not _inventories(home):
        if time.monotonic() > deadline:
            raise TimeoutError(f"no tools were listed in {home.state}")
        time.sleep(0.05)


class Series(NamedTuple):
    """The rounds of one run, each up to the first accepted key, up to the prompt on the screen, and in processor time."""

    keys: list[Round]
    prompts: list[Round]
    processor: list[Round]


def measure(homes: Homes, pairs: int, cold: int, seed: int) -> Series:
    """Start Tau in every way, round by round."""
    draw = random.Random(seed)  # noqa: S311 - no secret
    series = Series([], [], [])
    for number in range(pairs):
        wanted = [ALONE, AGAIN, MEMORY, MUTE, *([COLD] if number < cold else [])]
        found = {name: homes.start(name) for name in order(wanted, draw)}
        series.keys.append({name: one.key for name, one in found.items()})
        series.prompts.append({name: one.prompt for name, one in found.items()})
        series.processor.append({name: one.processor for name, one in found.items()})
        told = ", ".join(f"{name} {found[name].key:.2f}" for name in wanted)
        print(f"{number + 1}/{pairs}: {told}", file=sys.stderr, flush=True)
    return series


def table(series: Series) -> list[str]:
    """The result, a line for each way of starting."""
    lines = [
        "| start | prompt shown, s | first key, s (quartiles) | times Tau alone (95 %) | of processor time | pairs |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in (ALONE, AGAIN, MEMORY, MUTE, COLD):
        took = [one[name] for one in series.keys if name in one]
        if not took:
            continue
        shown = statistics.median(one[name] for one in series.prompts if name in one)
        first, third = spread(took)
        seconds = f"{statistics.median(took):.2f} ({first:.2f}-{third:.2f})"
        times, used = (_times(rounds, name) for rounds in (series.keys, series.processor))
        lines.append(f"| {name} | {shown:.2f} | {seconds} | {times} | {used} | {len(took)} |")
    return lines


def _times(rounds: Sequence[Round], name: str) -> str:
    found = ratio(rounds, name, ALONE) if name != ALONE else None
    return f"{found.median:.3f} ({found.low:.3f}-{found.high:.3f})" if found else "1"


def met(keys: Sequence[Round]) -> bool:
    """Whether a start with us is as quick as it is to be, whatever memory does."""
    found = [ratio(keys, name, ALONE) for name in (MEMORY, MUTE)]
    return all(one is not None and one.median <= GOAL for one in found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench-load", description=__doc__)
    parser.add_argument("--pairs", type=int, default=31, help="rounds (default: 31)")
    parser.add_argument("--cold", type=int, default=3, help="rounds with a first start ever too (default: 3)")
    parser.add_argument("--seed", type=int, default=1, help="of the order in each round (default: 1)")
    given = parser.parse_args(arguments)
    print(machine())
    with tempfile.TemporaryDirectory(prefix="bench-load-", ignore_cleanup_errors=True) as folder:
        homes = Homes(Path(folder))
        homes.warm()
        series = measure(homes, given.pairs, given.cold, given.seed)
    print("\n".join(table(series)))
    print(f"goal: at most {GOAL} times Tau alone, {'met' if met(series.keys) else 'not met'}")
    return 0 if met(series.keys) else 1


if __name__ == "__main__":
    sys.exit(main())
