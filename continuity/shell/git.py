"""Asks git what a coding checkpoint must say about its checkout: bounded, without a shell, changing nothing.

What is asked reads neither index nor objects, so no hook, monitor, filter or
pager that a repository's own configuration names is ever run; the few that
could be are switched off besides, and git may speak to no other machine.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
from msgspec.structs import replace

from continuity.checkout import Filed, Remote, Said, Trouble, filed, remote
from continuity.profile import Profile
from continuity.shell.config import environment
from continuity.shell.programs import Program, program
from continuity.shell.pulls import PULL_SECONDS, pull_request
from continuity.shell.roots import nearest_checkout

SECONDS = 5.0
"""The bound of all questions together."""

_QUIET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",  # of a partial clone, which fetches objects through a program that it names
    "GIT_ALLOW_PROTOCOL": "none",  # for a git that does not know the line before
}
_HARMLESS = ("--no-pager", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")


class Git(NamedTuple):
    """Git, asked about one root."""

    program: Program
    root: str

    async def told(self, *arguments: str) -> str | None:
        """Return one answer, or None where git has none."""
        said = await self.program.answer(*_HARMLESS, "-C", self.root, *arguments)
        return said.decode("utf-8", "replace").removesuffix("\n") if said is not None else None

    async def said(self) -> Said:
        """Return everything a checkpoint needs."""
        toplevel = await self.told("rev-parse", "--show-toplevel")
        if toplevel is None or not _same_folder(toplevel, self.root):
            return Said(at_root=None if toplevel is None else False)
        return Said(
            at_root=True,
            head=await self.told("symbolic-ref", "--quiet", "HEAD"),
            sha=await self.told("rev-parse", "--quiet", "--verify", "HEAD"),
            remotes=_remotes(await self.told("config", "--null", "--get-regexp", r"^remote\..*\.url$")),
        )


def about(root: Path, environ: Mapping[str, str]) -> Git | None:
    """Return git for questions about `root`; None where there is none outside it."""
    found = program("git", environ, root, **_QUIET)
    return Git(found, str(root)) if found is not None else None


async def git_facts(profile: Profile, *, seconds: float = SECONDS, pull_seconds: float = PULL_SECONDS) -> Filed:
    """Return how a checkpoint of `profile` is filed now, with its pull request if one can be had.

    All questions to git together take at most `seconds`, the one for the pull request `pull_seconds`.

    A coding checkpoint needs root, branch and commit. Without them it is filed
    as general work of the same scope, so nothing is lost and nothing is claimed.
    """
    if profile.kind != "coding" or profile.root is None:
        return Filed(profile=profile)
    environ, root = environment(), Path(profile.root)
    said = await _said(profile.cwd, root, environ, seconds)
    found = filed(profile, said)
    if found.git is None:
        return found
    known = await pull_request(profile, found.git.branch, said.remotes, environ, pull_seconds)
    return replace(found, git=replace(found.git, pull_request=known))


async def _said(cwd: str, root: Path, environ: Mapping[str, str], seconds: float) -> Said:
    """What git says of `root`, unless it need not be asked."""
    trouble = await anyio.to_thread.run_sync(_trouble, Path(cwd), root)
    if trouble is not None:
        return Said(trouble=trouble)
    git = about(root, environ)
    if git is None:
        return Said(trouble="no-git")
    with anyio.move_on_after(seconds):
        return await git.said()
    return Said(trouble="no-answer")


def _trouble(cwd: Path, root: Path) -> Trouble | None:
    """Whether `root` is gone, or `cwd` is another repository's, into which nobody looks: it is not approved."""
    if not os.path.isdir(root):  # noqa: PTH112 -- says no where looking is denied, and raises nothing
        return "no-folder"
    around = nearest_checkout(cwd)
    return "nested" if around is not None and around != root and around.is_relative_to(root) else None


def _same_folder(one: str, other: str) -> bool:
    """Whatever way of writing it a link, a mount or a file system without capitals allows."""
    try:
        return os.path.samefile(one, other)  # noqa: PTH121 -- as above
    except OSError:
        return False


def _remotes(listed: str | None) -> tuple[Remote, ...]:
    """The remotes of a listing: key and URL on lines of their own, each pair ended by a zero byte."""
    pairs = (entry.partition("\n") for entry in (listed or "").split("\0"))
    return tuple(
        remote(key.removeprefix("remote.").removesuffix(".url"), url) for key, newline, url in pairs if newline
    )
