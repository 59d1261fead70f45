"""Runs every static check and says how long each took; it changes no file.

The two type checkers take most of the time and run side by side. Every check runs even if an earlier one
failed, so that one run shows all there is to mend. Output of a check that passed is not shown.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

CHECKS: dict[str, tuple[str, ...]] = {
    "pyright": ("pyright",),
    "mypy": ("mypy",),
    "format": ("ruff", "format", "--check", "--quiet", "."),
    "lint": ("ruff", "check", "--quiet", "."),
    "tidy": ("python", "-m", "tools.tidy"),
    "vendors": ("python", "-m", "tools.vendor_rules", "--check"),
    "golden": ("python", "-m", "tools.golden_guard"),
    "directions": ("lint-imports", "--no-cache", "--no-logo"),
}
"""Name and command, the slowest first."""


class Outcome(NamedTuple):
    """What became of one check."""

    name: str
    failed: bool
    output: str
    seconds: float


def run(name: str, command: Sequence[str]) -> Outcome:
    """Run one check in the checkout, with the tools of this environment and none from PATH."""
    program, *arguments = command
    began = time.perf_counter()
    done = subprocess.run(
        [str(Path(sys.executable).parent / program), *arguments],
        cwd=ROOT,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Outcome(name, done.returncode != 0, done.stdout, time.perf_counter() - began)


def _environment() -> dict[str, str]:
    """Ours, but pyright is the one in the lock and asks nobody whether there is a newer one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYRIGHT_PYTHON_")}
    return kept | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1", "PYRIGHT_PYTHON_USE_BUNDLED_PYRIGHT": "1"}


def run_all(checks: Mapping[str, Sequence[str]]) -> int:
    """Run `checks` two at a time and print what failed, then the time of each; return 1 if any failed."""
    began = time.perf_counter()
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        for outcome in pool.map(run, checks.keys(), checks.values()):
            outcomes.append(outcome)
            if outcome.failed:
                print(f"--- {outcome.name} ---\n{outcome.output.rstrip()}\n")
    for outcome in outcomes:
        print(f"{outcome.name:<12}{'FAILED' if outcome.failed else 'ok':<8}{outcome.seconds:6.1f} s")
    print(f"{'checks':<20}{time.perf_counter() - began:6.1f} s")
    return 1 if any(outcome.failed for outcome in outcomes) else 0


def _parse(arguments: Sequence[str] | None) -> list[str]:
    parser = argparse.ArgumentParser(prog="check", description="Run all static checks, or only those named.")
    parser.add_argument("names", nargs="*", metavar="CHECK", help=f"one of {', '.join(CHECKS)} (default: all)")
    names: list[str] = parser.parse_args(arguments).names
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        parser.error(f"no such check: {', '.join(unknown)}; there are {', '.join(CHECKS)}")
    return names or list(CHECKS)


def main(arguments: Sequence[str] | None = None) -> int:
    return run_all({name: CHECKS[name] for name in _parse(arguments)})


if __name__ == "__main__":
    sys.exit(main())
