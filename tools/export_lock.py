"""Writes `continuity/cli/locked.txt`: the product's libraries of `uv.lock` with digests, as installers read them.

uv writes it, from the lock alone and without the network. A test compares both, so that neither is changed alone.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "continuity" / "cli" / "locked.txt"
EXPORT = (
    "uv", "export", "--frozen", "--offline", "--no-dev", "--no-emit-project", "--no-annotate", "--no-header",
    "--format", "requirements.txt",
)  # fmt: skip
HEAD = "# Made from uv.lock by `python -m tools.export_lock`; what `continuity install` fetches for Tau's Python.\n"


def main() -> int:
    done = subprocess.run(EXPORT, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return 1
    TARGET.write_text(HEAD + done.stdout, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
