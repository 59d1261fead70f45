"""Asks git what a coding checkpoint must say about its checkout: bounded, without a shell, changing nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import anyio
from msgspec.structs import replace

from continuity.memory.errors import CommandRefused
from continuity.memory.server import resolve_command
from continuity.profile import GitFacts, Profile
from continuity.shell.config import environment

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
    told = await _told(profile.root)
    if len(told) < len(_QUESTIONS) or not all(told.values()):
        return replace(profile, kind="general"), None
    return profile, GitFacts(root=told["root"], branch=told["branch"], sha=told["sha"])


async def _told(root: str) -> Mapping[str, str]:
    """Every answer that came in time. The git asked is found outside the checkout, once for all questions."""
    environ = environment()
    told: dict[str, str] = {}
    try:
        git = resolve_command("git", environ.get("PATH", ""), Path(root))
    except CommandRefused:
        return told
    env = _child_environment(environ)
    with anyio.move_on_after(SECONDS):
        for name, arguments in _QUESTIONS.items():
            told[name] = await _asked([git, "-C", root, *arguments], env)
    return told


def _child_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What git inherits: nothing that names another repository or configuration, asks anybody or writes an index.

    All of git's own variables are left out rather than a list of them: a trace file or a replaced part of git is one.
    """
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return kept | {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


async def _asked(command: list[str], env: Mapping[str, str]) -> str:
    """One answer, or nothing. The child is gone when this returns, also when it was cancelled."""
    try:
        done = await anyio.run_process(
            command, check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env
        )
    except OSError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""
