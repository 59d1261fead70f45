"""Measures what masking catches, what it takes for a credential by mistake, and how fast; `make bench-privacy` runs it.

What is kept apart is told in numbers only, so that nobody tunes a rule on it by reading on.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from continuity.capture import PublicMessage
from continuity.privacy import PLACEHOLDER, RULE_SET_VERSION, mask, mask_messages, withhold
from continuity.privacy.vendor import FORMS, SOURCE
from journal.ids import EntryId
from tools.bench.corpus import Lookalike, Positive, lookalikes, positives

ROOT = Path(__file__).resolve().parents[2]

LEAST_CAUGHT = 0.97
"""Of samples whose form alone proves a credential."""

MOST_ALARMS = 0.005
"""Of look-alikes changed at all."""

_LEFT = 5
"""Characters of a value that must not be left in a row."""

_SPEED_CHARACTERS = 500_000
_PIECE_CHARACTERS = 20_000
_COPIES = 20


class Caught(NamedTuple):
    """What became of one sample with a credential."""

    sample: Positive
    whole: bool
    withheld: bool
    masked: str


class Alarm(NamedTuple):
    """What became of one look-alike."""

    sample: Lookalike
    changed: bool
    withheld: bool
    masked: str


def caught(sample: Positive) -> Caught:
    masked, withheld = _treated(sample.text)
    return Caught(sample, not left(sample, masked), withheld, masked)


def alarm(sample: Lookalike) -> Alarm:
    masked, withheld = _treated(sample.text)
    return Alarm(sample, masked != sample.text, withheld, masked)


def _treated(text: str) -> tuple[str, bool]:
    masked, _ = mask_messages([PublicMessage(EntryId("e"), "user", text, 0)])
    _, held = withhold(masked)
    return masked[0].text, bool(held)


def left(sample: Positive, masked: str) -> bool:
    """True if a stretch of a secret is still in `masked` and does not stand in the text around it anyway."""
    around, masked = sample.text, PLACEHOLDER.sub("\0", masked)
    for secret in sorted(sample.secrets, key=len, reverse=True):
        around = around.replace(secret, "\0")
    for secret in sample.secrets:
        size = min(_LEFT, len(secret))
        pieces = (secret[at : at + size] for at in range(len(secret) - size + 1))
        if any(piece in masked and piece not in around for piece in pieces):
            return True
    return False


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def rows(found: Sequence[Caught], alarms: Sequence[Alarm]) -> list[tuple[str, ...]]:
    """The table: a line for each part of the corpus, the part kept apart for itself."""
    table: list[tuple[str, ...]] = [("samples", "kinds", "count", "masked whole", "withheld", "missed", "share")]
    for definite, name in ((True, "known by their form"), (False, "known by what stands around them")):
        for apart in (False, True):
            these = [one for one in found if (one.sample.definite, one.sample.held_out) == (definite, apart)]
            whole = sum(one.whole for one in these)
            held = sum(one.withheld and not one.whole for one in these)
            line = (len({one.sample.kind for one in these}), len(these), whole, held, len(these) - whole - held)
            table.append((_part(name, apart=apart), *map(str, line), share(whole, len(these))))
    for apart in (False, True):
        others = [one for one in alarms if one.sample.held_out == apart]
        changed = sum(one.changed for one in others)
        held = sum(one.withheld and not one.changed for one in others)
        counts = (len({one.sample.kind for one in others}), len(others), changed, held)
        table.append((_part("look-alikes", apart=apart), *map(str, counts), "-", share(changed, len(others))))
    return table


def _part(name: str, *, apart: bool) -> str:
    return f"{name}, kept apart" if apart else name


def shown(table: Iterable[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in table]
    return "\n".join([lines[0], "|---|" + "--:|" * (lines[0].count("|") - 2), *lines[1:]])


def told(found: Sequence[Caught], alarms: Sequence[Alarm]) -> list[str]:
    """What went wrong: in full, but of the part kept apart how often in which kind."""
    lines: list[str] = []
    for one in found:
        if not one.whole and not one.sample.held_out:
            how = "withheld" if one.withheld else "missed"
            lines.append(f"{how} {one.sample.kind}: {one.sample.text!r}\n     -> {one.masked!r}")
    lines += [
        f"alarm {one.sample.kind}: {one.sample.text!r}\n     -> {one.masked!r}"
        for one in alarms
        if (one.changed or one.withheld) and not one.sample.held_out
    ]
    missed = Counter(one.sample.kind for one in found if one.sample.held_out and not one.whole)
    wrong = Counter(one.sample.kind for one in alarms if one.sample.held_out and one.changed)
    lines += [f"kept apart: {count} missed of {kind}" for kind, count in missed.items()]
    return lines + [f"kept apart: {count} alarms of {kind}" for kind, count in wrong.items()]


def speed(text: str) -> float:
    """Characters masked in a second of processor time, in pieces as large as are masked at once."""
    long = (text * (_SPEED_CHARACTERS // len(text) + 1))[:_SPEED_CHARACTERS]
    begun = time.process_time()
    for at in range(0, len(long), _PIECE_CHARACTERS):
        mask(long[at : at + _PIECE_CHARACTERS])
    return len(long) / (time.process_time() - begun)


def peer(texts: Sequence[str], ordinary: str) -> tuple[int, float] | None:
    """How many of `texts` Kingfisher reports something in, and its characters of `ordinary` text a second.

    None if it is not installed. Its rate counts its start too, which takes seconds, so it is the least it can do.
    """
    program = shutil.which("kingfisher", path=str(Path(sys.executable).parent))
    if program is None:
        return None
    reported, _ = _scanned(program, texts)
    _, seconds = _scanned(program, [f"{number}\n{ordinary}" for number in range(_COPIES)])
    return reported, _COPIES * len(ordinary) / seconds


def _scanned(program: str, texts: Sequence[str]) -> tuple[int, float]:
    """One run over `texts`, a file each, without any network: how many it reports something in, and its seconds."""
    with tempfile.TemporaryDirectory() as folder:
        samples = Path(folder) / "samples"
        samples.mkdir()
        for number, text in enumerate(texts):
            (samples / f"{number}.txt").write_text(text, encoding="utf-8", newline="")
        command = [
            program,
            "scan",
            str(samples),
            "--no-validate",
            "--no-update-check",
            "--jobs",
            "1",
            "--format",
            "json",
        ]
        command += ["--git-history", "none", "--output", f"{folder}/found.json", "--quiet", "--no-dedup"]
        begun = time.perf_counter()
        subprocess.run(command, check=False, capture_output=True, env={"HOME": folder, "PATH": ""})
        seconds = time.perf_counter() - begun
        report = (Path(folder) / "found.json").read_text(encoding="utf-8")
    return len(set(re.findall(r"/(\d+)\.txt", report))), seconds


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench-privacy", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="the samples' seed (default: 1)")
    parser.add_argument("--quiet", action="store_true", help="the table alone")
    given = parser.parse_args(arguments)
    found = [caught(sample) for sample in positives(given.seed)]
    alarms = [alarm(sample) for sample in lookalikes(given.seed)]
    if not given.quiet:
        print("\n".join(told(found, alarms)))
    print(shown(rows(found, alarms)))
    definite = [one.whole for one in found if one.sample.definite]
    changed = [one.changed for one in alarms]
    print(f"\nseed {given.seed}, rule set {RULE_SET_VERSION}: {len(FORMS)} forms of {SOURCE} and ours")
    ordinary = "".join(path.read_text(encoding="utf-8") for path in sorted(ROOT.glob("continuity/**/*.py")))
    samples = [one.sample.text for one in found]
    rate = speed(ordinary)
    print(f"{rate / 1e6:.1f} million characters of this program's own text a second on one core,")
    print(f"{speed(chr(10).join(samples)) / 1e6:.1f} million of the samples")
    theirs = peer(samples, ordinary)
    if theirs is not None:
        print(f"peer: Kingfisher reports something in {theirs[0]} of the {len(found)} samples with a credential,")
        print(f"and reads that text {theirs[1] / rate:.1f} times as fast, its start counted")
    print(f"definite {share(sum(definite), len(definite))} (goal {LEAST_CAUGHT:.0%} or more)")
    print(f"alarms {share(sum(changed), len(changed))} (goal {MOST_ALARMS:.1%} or less)")
    sound = sum(definite) >= LEAST_CAUGHT * len(definite) and sum(changed) <= MOST_ALARMS * len(changed)
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())
