"""Asks git of the checkout around a folder what its repository may be called. Nothing of it is taken without a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import anyio

from continuity.checkout import remote
from continuity.shell.checkouts import nearest_checkout
from continuity.shell.git import SECONDS, Git
from continuity.shell.programs import program

_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}


class Checkout(NamedTuple):
    """One git checkout. Of where its remote is nothing is kept but the name it suggests."""

    root: Path
    suggestion: str
    """What its repository may be called."""
    because: str
    """Where the suggestion comes from, in words."""
    confirmed: bool = True
    """Whether git says so too: without that no checkpoint is filed as coding work."""


class Approved(NamedTuple):
    """An approved checkout, with symbolic links followed."""

    root: Path
    repository: str


class Told(NamedTuple):
    """What git said; empty is what it did not say."""

    top: str = ""
    common: str = ""
    """Git's own folder, which the worktrees of one repository share."""
    origin: str = ""
    """Where it was cloned from, which may hold credentials."""


def checkout_of(cwd: Path, home: Path, environ: Mapping[str, str], approved: Iterable[Approved]) -> Checkout | None:
    """Return the innermost checkout around `cwd`, which is resolved; None if there is none below the home folder."""
    root = nearest_checkout(cwd, home)
    return named(root, anyio.run(_told, root, environ), tuple(approved)) if root is not None else None


async def _told(root: Path, environ: Mapping[str, str]) -> Told:
    """What git says in time. It is found outside the checkout, and changes nothing."""
    found = program("git", environ, root, **_QUIET)
    if found is None:
        return Told()
    git, told = Git(found, str(root)), Told()
    with anyio.move_on_after(SECONDS):
        told = told._replace(top=await git.told("rev-parse", "--show-toplevel") or "")
        told = told._replace(common=await git.told("rev-parse", "--path-format=absolute", "--git-common-dir") or "")
        return told._replace(origin=await git.told("config", "--get", "remote.origin.url") or "")
    return told


def named(root: Path, told: Told, approved: Iterable[Approved]) -> Checkout:
    """Return the checkout at `root` with the name it should have: that of an approved one it is a part or a copy of."""
    confirmed = bool(told.top) and Path(told.top).resolve() == root
    others = [each for each in approved if each.root != root]
    for each in others:
        if told.common and Path(told.common).parent.resolve() == each.root:
            return Checkout(root, each.repository, f"it is a worktree of {each.root}", confirmed)
        if _is_path(told.origin) and Path(told.origin.removeprefix("file://")).resolve() == each.root:
            return Checkout(root, each.repository, f"it is a clone of {each.root}", confirmed)
    origin = remote("origin", told.origin)
    name = origin.repository
    if name is None or not origin.host:  # a folder says nothing of whose repository it is
        return Checkout(root, root.name, "that of its folder", confirmed)
    known = next((each for each in others if each.repository.lower() == name.lower()), None)
    if known is not None:
        return Checkout(root, known.repository, f"that of {known.root}, for both have the same remote", confirmed)
    return Checkout(root, name, "that of its remote `origin`", confirmed)


def _is_path(origin: str) -> bool:
    return origin.startswith(("/", "file:///"))
