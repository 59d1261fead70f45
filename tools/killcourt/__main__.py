"""`make killcourt KILLS=N [SEED=S]`: kills, judges, and ends with 0 only if the journal was right every time.

Results go to FOLDER as they come, and the same command again goes on where the
last one stopped. Exit: 0 sound, 1 something false, double or unaccounted for,
3 fewer kills than wanted.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from tools.killcourt.docket import Evidence
from tools.killcourt.plan import Sitting, sittings
from tools.killcourt.table import tabulate, text
from tools.killcourt.trial import Trial


class Court:
    """All sittings of one run, some at a time."""

    def __init__(self, folder: Path, seed: int, planned: Sequence[Sitting]) -> None:
        self._folder = folder
        self._seed = seed
        self._planned = planned
        self._results = folder / "results.jsonl"
        self._turn = threading.Lock()
        self._began = time.monotonic()
        self.stopped = threading.Event()

    def stop(self, number: int, _: object) -> None:
        """Let every sitting end after the kill it is at; what is missing is done by the next run."""
        print(f"{signal.Signals(number).name}: stopping after the kills under way", file=sys.stderr, flush=True)
        self.stopped.set()

    def heard(self) -> dict[int, Evidence]:
        """Return the newest evidence of each sitting there is."""
        lines = self._results.read_bytes().split(b"\n")[:-1] if self._results.exists() else []
        return {one.sitting: one for one in (msgspec.json.decode(line, type=Evidence) for line in lines)}

    def sit(self, parallel: int) -> None:
        """Hear every planned sitting that was not heard to its end."""
        heard = self.heard()
        left = [each for each in self._planned if not _complete(each, heard.get(each.number))]
        with ThreadPoolExecutor(parallel) as pool:
            list(pool.map(self._hear, left))

    def _hear(self, sitting: Sitting) -> None:
        if self.stopped.is_set():
            return
        folder = self._folder / f"sitting-{sitting.number:04}"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            trial = Trial(folder, sitting, self._seed, lambda what: self._tell(sitting, what))
            evidence = trial.hear(self.stopped.is_set)
        except Exception as error:  # noqa: BLE001 - the harness failed; what it has stays on disk, and is said
            (folder / "failure.txt").write_text(traceback.format_exc(), encoding="utf-8")
            self._tell(sitting, f"the harness failed ({type(error).__name__}), see {folder / 'failure.txt'}")
            return
        if evidence is not None:
            with self._turn, self._results.open("ab") as file:
                file.write(msgspec.json.encode(evidence) + b"\n")

    def _tell(self, sitting: Sitting, what: str) -> None:
        with self._turn:
            seconds = time.monotonic() - self._began
            print(f"{seconds:7.0f} s  sitting {sitting.number} ({sitting.stage}): {what}", file=sys.stderr, flush=True)


def _complete(planned: Sitting, heard: Evidence | None) -> bool:
    return heard is not None and len(heard.kills) + len(heard.mistrials) >= len(planned.kills)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="killcourt", description="Kill real servers and writers; judge the journal.")
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where everything is kept (default: one a seed, temporary)")
    parser.add_argument("--sitting", type=int, default=24, help="kills of one session (default: 24)")
    parser.add_argument("--parallel", type=int, default=2, help="sittings at a time (default: 2)")
    parser.add_argument("--no-tau", action="store_true", help="headless writers only")
    parser.add_argument("--judge-only", action="store_true", help="kill nobody, judge what there is")
    parser.add_argument("--json", action="store_true", help="the table as JSON")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the court and print its table."""
    told = _parse(arguments)
    folder: Path = (told.folder or Path(tempfile.gettempdir()) / f"killcourt-{told.seed}").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    court = Court(folder, told.seed, list(sittings(told.seed, told.kills, told.sitting, tau=not told.no_tau)))
    if not told.judge_only:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, court.stop)
        court.sit(told.parallel)
    table = tabulate(court.heard().values(), wanted=told.kills)
    sys.stdout.write(
        msgspec.json.format(msgspec.json.encode(table), indent=2).decode() + "\n" if told.json else text(table)
    )
    if not table.sound:
        return 1
    return 3 if table.missing else 0


if __name__ == "__main__":
    sys.exit(main())
