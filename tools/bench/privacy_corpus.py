"""Shows the privacy corpus of a seed: how much there is of each kind, or all of it as JSON lines. It measures nothing."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence

from tools.bench.corpus import Lookalike, Positive, lookalikes, positives


def tally(samples: Sequence[Positive | Lookalike]) -> str:
    """Return one line a kind and one for all."""
    counts = Counter(sample.kind for sample in samples)
    apart = Counter(sample.kind for sample in samples if sample.held_out)
    lines = [f"  {kind:28} {count:5} {apart[kind]:5} held out" for kind, count in counts.items()]
    return "\n".join((*lines, f"  {len(counts)} kinds, {len(samples)} samples, {apart.total()} held out"))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="privacy_corpus", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="every sample as a line of JSON")
    asked = parser.parse_args(arguments)
    made: dict[str, tuple[Positive, ...] | tuple[Lookalike, ...]] = {
        "positives": positives(asked.seed),
        "lookalikes": lookalikes(asked.seed),
    }
    for name, samples in made.items():
        if asked.json:
            print(*(json.dumps(sample._asdict()) for sample in samples), sep="\n")
        else:
            print(f"{name} of seed {asked.seed}", tally(samples), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
