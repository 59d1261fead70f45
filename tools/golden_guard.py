"""Holds the golden lines to history: a line that a release published stays, byte for byte. It writes nothing.

A published event never changes; new meaning is a new tag and a new line. Releases are git tags `v*`; before the first
one every line may still be improved.
"""

import subprocess
import sys
from pathlib import Path

GOLDEN = "tests/golden/events.jsonl"
ROOT = Path(__file__).resolve().parent.parent


def missing(root: Path) -> list[tuple[str, str]]:
    """Return (release, line) for every released golden line that is not in the working tree any more."""
    now = set((root / GOLDEN).read_text(encoding="utf-8").split("\n"))
    return [(tag, line) for tag in _git(root, "tag", "--list", "v*").split() for line in _lines(root, tag) - now]


def _lines(root: Path, tag: str) -> set[str]:
    held = _git(root, "ls-tree", "--name-only", tag, "--", GOLDEN)
    return set(_git(root, "show", f"{tag}:{GOLDEN}").split("\n")) if held.strip() else set()


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Print what is missing; return 1 if anything is."""
    gone = missing(ROOT)
    for tag, line in gone:
        print(f"{GOLDEN}: published in {tag} and changed or gone since: {line[:200]}")
    return 1 if gone else 0


if __name__ == "__main__":
    sys.exit(main())
