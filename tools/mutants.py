"""Changes the pure core in every way mutmut knows and says which changes no test of `tests/continuity` notices.

`make mutants`, or `python -m tools.mutants [--keep] [--jobs N] [PATTERN...]`. It judges by mutmut's results alone. A
survivor passes only if `tools/mutants.toml` says why nobody could tell the difference; an explanation that fits no
survivor any more is a finding too. Exit: 0 sound, 1 findings, 3 mutmut did not come to its end.
"""

from __future__ import annotations

import argparse
import fnmatch
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EXPLAINED = Path(__file__).with_suffix(".toml")

WANTED = 95.0
"""Per cent of the mutants that the tests must notice, explained ones not counted."""

NOTICED = frozenset({"killed", "timeout", "segfault"})
"""What mutmut calls a mutant that a test failed on, or that never came to an end."""


class Change(NamedTuple):
    """What one mutant does: where, and the lines it takes and gives, without their indentation."""

    function: str
    was: str
    now: str

    def __str__(self) -> str:
        return f"{self.function}\n    - {self.was}\n    + {self.now}"


class Tally(NamedTuple):
    """The mutants of one module."""

    module: str
    mutants: int
    killed: int

    @property
    def survived(self) -> int:
        return self.mutants - self.killed

    @property
    def share(self) -> float:
        return 100 * self.killed / self.mutants if self.mutants else 100.0

    def __str__(self) -> str:
        return f"{self.module:<28}{self.mutants:8}{self.killed:8}{self.survived:10}{self.share:9.1f} %"


def results(printed: str) -> dict[str, str]:
    """Return the status of each mutant from what `mutmut results` printed."""
    return dict(line.strip().split(": ", 1) for line in printed.splitlines() if "__mutmut_" in line)


def module_of(mutant: str) -> str:
    return mutant.rpartition(".")[0]


def function_of(mutant: str) -> str:
    """Return the plain name of the function that a mutant changes."""
    mangled = mutant.rpartition(".")[2].rpartition("__mutmut_")[0]
    plain = mangled.removeprefix("x_") if mangled.startswith("x_") else mangled.removeprefix("xǁ").replace("ǁ", ".")
    return f"{module_of(mutant)}.{plain}"


def change(mutant: str, diff: str) -> Change:
    """Return what `diff`, as `mutmut show` prints it, takes and gives."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++", "#"))]
    taken, given = ([line[1:].strip() for line in lines if line.startswith(sign)] for sign in "-+")
    return Change(function_of(mutant), " ".join(taken), " ".join(given))


def tallies(found: Mapping[str, str]) -> list[Tally]:
    """Return one tally a module, and one of all of them."""
    modules = sorted({module_of(name) for name in found})
    by_module = [(module, [s for name, s in found.items() if module_of(name) == module]) for module in modules]
    return [
        Tally(module, len(statuses), sum(status in NOTICED for status in statuses))
        for module, statuses in (*by_module, ("all", list(found.values())))
    ]


def explanations(path: Path) -> dict[Change, str]:
    """Return why each change in the file at `path` makes no difference."""
    groups = tomllib.loads(path.read_text(encoding="utf-8")).get("survivors", [])
    return {Change(*each): " ".join(group["because"].split()) for group in groups for each in group["changes"]}


def judged(table: Sequence[Tally], survivors: Iterable[Change], explained: Mapping[Change, str]) -> list[str]:
    """Return the findings: too few killed, a survivor that nobody explained, an explanation that fits none."""
    alive = set(survivors)
    few = [f"{t.module}: {t.share:.1f} % killed, {WANTED:.0f} % are wanted" for t in table if t.share < WANTED]
    unexplained = [f"survived, unexplained: {each}" for each in sorted(alive - explained.keys())]
    stale = [f"explained, but does not survive: {each}" for each in sorted(explained.keys() - alive)]
    return [*few, *unexplained, *stale]


def mutmut(*arguments: str) -> str:
    """Run mutmut in the checkout and return what it printed."""
    command = [str(Path(sys.executable).parent / "mutmut"), *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout


def run(jobs: int | None, patterns: Sequence[str], *, keep: bool) -> None:
    """Make the mutants and try them. Results of an earlier run count only if `keep` says so."""
    if not keep:
        shutil.rmtree(ROOT / "mutants", ignore_errors=True)
    limit = [] if jobs is None else ["--max-children", str(jobs)]
    command = [str(Path(sys.executable).parent / "mutmut"), "run", *limit, *patterns]
    subprocess.run(command, cwd=ROOT, stdout=sys.stderr, check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="such as 'continuity.due.*' (default: all)")
    parser.add_argument("--jobs", type=int, help="how many at a time (default: one a core)")
    parser.add_argument(
        "--keep", action="store_true", help="keep earlier results; only what PATTERN names is tried again"
    )
    parser.add_argument("--read", action="store_true", help="try nothing, read the results there are")
    given = parser.parse_args(arguments)
    try:
        if not given.read:
            run(given.jobs, given.patterns, keep=given.keep)
        return report(given.patterns)
    except subprocess.CalledProcessError as error:
        print(f"error: {' '.join(error.cmd[1:])} ended with {error.returncode}; nothing was judged", file=sys.stderr)
        return 3


def report(patterns: Sequence[str]) -> int:
    """Print the table and the findings about the mutants that `patterns` name."""
    wanted = patterns or ["*"]
    every = results(mutmut("results", "--all", "true"))
    found = {name: status for name, status in every.items() if any(fnmatch.fnmatch(name, one) for one in wanted)}
    if not found:
        print(f"error: no mutant is named {' or '.join(wanted)}", file=sys.stderr)
        return 3
    alive = [change(name, mutmut("show", name)) for name, status in found.items() if status not in NOTICED]
    untried = {function_of(name) for name in every} - {function_of(name) for name in found}
    explained = {each: why for each, why in explanations(EXPLAINED).items() if each.function not in untried}
    table = tallies(found)
    print(f"{'module':<28}{'mutants':>8}{'killed':>8}{'survived':>10}{'share':>11}")
    for tally in table:
        print(tally)
    findings = judged(table, alive, explained)
    print(f"\n{len(set(alive) & explained.keys())} of the survivors are explained in tools/{EXPLAINED.name}")
    for finding in findings:
        print(f"\n{finding}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
