"""Real git checkouts in temporary folders, and small programs that stand where git or gh would be found."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from continuity.profile import Profile

GIT = shutil.which("git") or "git"
SYSTEM = "/usr/bin:/bin"
"""Where the programs lie that a small script needs."""


def git(checkout: Path, *arguments: str, check: bool = True) -> str:
    """Return what git prints there, with a name and no configuration of a person's; without `check` it may fail."""
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run([GIT, *who, "-C", str(checkout), *arguments], check=check, capture_output=True, text=True)
    return done.stdout.strip()


def made(checkout: Path, *, commits: int = 1, remote: str | None = None) -> Path:
    """Make a checkout on branch `peg`."""
    checkout.mkdir(parents=True)
    git(checkout, "init", "--quiet", "--initial-branch", "peg")
    for _ in range(commits):
        git(checkout, "commit", "--quiet", "--allow-empty", "-m", "one")
    if remote is not None:
        git(checkout, "remote", "add", "origin", remote)
    return checkout


def profile(checkout: Path, repository: str = "ada/one", cwd: Path | None = None) -> Profile:
    """Return the profile of work in a checkout that is approved."""
    return Profile(
        kind="coding",
        project="main",
        read_projects=(),
        repository=repository,
        root=str(checkout),
        scope=repository,
        cwd=str(cwd or checkout),
        checkpoint_folder="tau/one",
    )


def executable(path: Path, text: str) -> Path:
    """Write a program."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path
