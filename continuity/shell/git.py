"""Asks git what a coding checkpoint must say about its checkout: bounded, without a shell, changing nothing."""

from __future__ import annotations

import subprocess

import anyio
from msgspec.structs import replace

from continuity.profile import GitFacts, Profile

SECONDS = 5.0
"""The bound of all questions together."""

_QUESTIONS = {
    "root": ("rev-parse", "--show-toplevel"),
    "branch": ("symbolic-ref", "--short", "HEAD"),
    "sha": ("rev-parse", "--verify", "HEAD"),
}


async def git_facts(profile: Profile) -> tuple[Profile, GitFacts | None]:
    """Return the profile a checkpoint is filed under now, and what git said.

    A coding checkpoint needs root, branch and commit. Without them (no git, an
    unborn or detached head, no answer in time) it is filed as general work of
    the same scope, so nothing is lost and nothing is claimed.
    """
    if profile.kind != "coding" or profile.root is None:
        return profile, None
    told: dict[str, str] = {}
    with anyio.move_on_after(SECONDS):
        for name, arguments in _QUESTIONS.items():
            told[name] = await _asked(profile.root, arguments)
    if len(told) < len(_QUESTIONS) or not all(told.values()):
        return replace(profile, kind="general"), None
    return profile, GitFacts(root=told["root"], branch=told["branch"], sha=told["sha"])


async def _asked(root: str, arguments: tuple[str, ...]) -> str:
    """One answer, or nothing. The child is gone when this returns, also when it was cancelled."""
    command = ["git", "--no-optional-locks", "-C", root, *arguments]
    try:
        done = await anyio.run_process(command, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
