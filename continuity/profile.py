"""Which work a folder belongs to and where its notes go; only approved settings decide, nothing inside a repository."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Literal

import msgspec

from journal.events import lifecycle

type ProfileKind = Literal["general", "coding"]

GENERAL_FOLDER = "tau/checkpoints"

_FOLDER = re.compile(r"[^\x00-\x1f\x7f\\:*?\"<>|]+")


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """One checkout the user approved for coding work."""

    root: str
    """Absolute, with symbolic links resolved."""
    repository: str
    project: str | None = None
    read_projects: tuple[str, ...] = ()
    placement_conventions: str | None = None
    checkpoint_folder: str | None = None


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """How work in one folder is filed and recalled."""

    kind: ProfileKind
    project: str | None
    """Where notes are written; without one nothing is."""
    read_projects: tuple[str, ...]
    repository: str | None
    """The identity of coding work: it travels with the code, not with the path."""
    root: str | None
    scope: str
    """The identity of general work: a name, or the folder."""
    cwd: str
    checkpoint_folder: str
    placement_conventions: str | None = None
    unapproved: str | None = None
    """The checkout around the folder, when checkouts are approved and this one is not."""

    @property
    def note_type(self) -> Literal["session", "coding_session"]:
        """The type in a checkpoint's frontmatter."""
        return "coding_session" if self.kind == "coding" else "session"

    def recorded(self) -> lifecycle.Profile:
        """This profile as events keep it."""
        return lifecycle.Profile(
            kind=self.kind, scope=self.scope[:1024], repository=self.repository, folder=self.checkpoint_folder
        )


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A pull request as a host of repositories described it; a field it did not give is empty."""

    number: str
    title: str = ""
    url: str = ""
    state: Literal["open", "closed", "merged", ""] = ""
    base: str = ""
    head: str = ""


class GitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What git said about the checkout when a coding checkpoint was made."""

    root: str
    branch: str
    sha: str
    pull_request: PullRequest | None = None


def route(
    cwd: PurePath,
    *,
    repositories: Sequence[Repository],
    project: str | None,
    read_projects: Sequence[str] = (),
    scope: str | None = None,
    checkpoint_folder: str | None = None,
    placement_conventions: str | None = None,
) -> Profile:
    """Return the profile for work in `cwd`, which is absolute with symbolic links resolved.

    The approved root closest to `cwd` wins; without one the work is general.
    """
    around = [one for one in repositories if cwd.is_relative_to(one.root)]
    if not around:
        return Profile(
            kind="general",
            project=project,
            read_projects=_readable(read_projects, project),
            repository=None,
            root=None,
            scope=scope or str(cwd),
            cwd=str(cwd),
            checkpoint_folder=checkpoint_folder or GENERAL_FOLDER,
            placement_conventions=placement_conventions,
        )
    closest = max(around, key=lambda one: len(PurePath(one.root).parts))
    return Profile(
        kind="coding",
        project=closest.project,
        read_projects=_readable(closest.read_projects, closest.project),
        repository=closest.repository,
        root=closest.root,
        scope=closest.repository,
        cwd=str(cwd),
        checkpoint_folder=closest.checkpoint_folder or coding_folder(closest.repository),
        placement_conventions=closest.placement_conventions,
    )


def coding_folder(repository: str) -> str:
    """Return the default folder for checkpoints of `repository`: `tau/` and its last part."""
    last = repository.rstrip("/").rpartition("/")[2].removesuffix(".git")
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-.")[:80]
    return f"tau/{name}" if name else GENERAL_FOLDER


def folder_fault(folder: str) -> str | None:
    """Say what keeps `folder` from being a folder inside a project, or return None if nothing does."""
    if not 0 < len(folder) <= 200:
        return "must have 1 to 200 characters"
    if not _FOLDER.fullmatch(folder):
        return 'must not contain control characters or any of \\ : * ? " < > |'
    if folder.startswith(("/", "~")):
        return "must be relative to the project"
    parts = folder.rstrip("/").split("/")
    if any(part.strip(" ") in {"", ".", ".."} or part != part.strip() or part.endswith(".") for part in parts):
        return "must have ordinary names between its slashes"
    return None


def _readable(read_projects: Sequence[str], project: str | None) -> tuple[str, ...]:
    """Each project once, and not the one that is written to anyway."""
    return tuple(dict.fromkeys(name for name in read_projects if name != project))
