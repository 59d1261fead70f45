"""Asks git of the checkout around a folder what its repository may be called. Nothing of it is taken without a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio

from continuity.checkout import Said, Unconfirmed, confirmed, remote
from continuity.profile import GitFacts
from continuity.shell.git import SECONDS, about
from continuity.shell.roots import nearest_checkout


class Checkout(NamedTuple):
    """One git checkout. Of where its remote is nothing is kept but the name it suggests."""

    root: Path
    suggestion: str
    """What its repository may be called."""
    because: str
    """Where the suggestion comes from, in words."""
    why: Unconfirmed | None = None
    """Why work in it would be filed as general work now, although it were approved."""


class Approved(NamedTuple):
    """An approved checkout, with symbolic links followed."""

    root: Path
    repository: str


class Told(NamedTuple):
    """What git said; empty is what it did not say."""

    said: Said = Said()
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
    git = about(root, environ)
    if git is None:
        return Told(Said(trouble="no-git"))
    with anyio.move_on_after(SECONDS):
        said = await git.said()
        common = await git.told("rev-parse", "--path-format=absolute", "--git-common-dir")
        return Told(said, common or "", await git.told("config", "--get", "remote.origin.url") or "")
    return Told(Said(trouble="no-answer"))


def named(root: Path, told: Told, approved: Iterable[Approved]) -> Checkout:
    """Return the checkout at `root` with the name it should have: that of an approved one it is a part or a copy of."""
    found = confirmed(str(root), told.said)
    suggestion, because = _suggested(root, told, [each for each in approved if each.root != root])
    return Checkout(root, suggestion, because, None if isinstance(found, GitFacts) else found)


def _suggested(root: Path, told: Told, others: Sequence[Approved]) -> tuple[str, str]:
    """A name, and where it comes from."""
    for each in others:
        if told.common and Path(told.common).parent.resolve() == each.root:
            return each.repository, f"it is a worktree of {each.root}"
        if _is_path(told.origin) and Path(told.origin.removeprefix("file://")).resolve() == each.root:
            return each.repository, f"it is a clone of {each.root}"
    origin = remote("origin", told.origin)
    name = origin.repository
    if name is None or not origin.host:  # a folder says nothing of whose repository it is
        return root.name, "that of its folder"
    known = next((each for each in others if each.repository.lower() == name.lower()), None)
    if known is not None:
        return known.repository, f"that of {known.root}, for both have the same remote"
    return name, "that of its remote `origin`"


def _is_path(origin: str) -> bool:
    return origin.startswith(("/", "file:///"))
