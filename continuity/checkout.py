"""How a checkpoint is filed by what git said of its checkout, and in which words a person is told. It asks nobody."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from continuity.privacy import mask
from continuity.profile import GitFacts, Profile

type Trouble = Literal["no-folder", "nested", "no-git", "no-answer"]
"""Why git was not asked, or did not answer."""
type Unconfirmed = Trouble | Literal["no-repository", "other-root", "no-branch", "no-commit"]
"""Why a checkpoint of coding work is filed as general work; said once, and shown in the status."""

REASONS: Mapping[Unconfirmed, str] = MappingProxyType(
    {
        "no-folder": "the approved checkout is not there any more",
        "nested": "this folder is in a repository of its own inside the approved checkout; "
        "`continuity setup` approves that one",
        "no-git": "no git is found outside the checkout",
        "no-answer": "git did not answer in time",
        "no-repository": "git finds no checkout there, or does not trust its owner",
        "other-root": "the approved root is a folder inside a checkout; approve the root of the checkout",
        "no-branch": "no branch is checked out",
        "no-commit": "no commit yet",
    }
)

_HEADS = "refs/heads/"
_SHA = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_PART = re.compile(r"[A-Za-z0-9._-]{1,100}")
_NUMBER = re.compile(r"#?[0-9]+")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_GITHUB = "github.com"


class Remote(NamedTuple):
    """What is kept of a remote's URL, which may hold credentials: where it is, and its last two path parts."""

    name: str
    host: str
    """Empty for a folder of this machine, which says nothing of whose repository it is."""
    repository: str | None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What git answered about one approved root; null is what it did not answer."""

    trouble: Trouble | None = None
    at_root: bool | None = None
    """Whether the root of the checkout is the approved root; null when git finds no checkout."""
    head: str | None = None
    """The full name of what is checked out, such as `refs/heads/main`."""
    sha: str | None = None
    remotes: tuple[Remote, ...] = ()


class Filed(msgspec.Struct, frozen=True, kw_only=True):
    """How one checkpoint is filed, and what of that is to be explained."""

    profile: Profile
    git: GitFacts | None = None
    why: Unconfirmed | None = None
    """Why it is not filed as the coding work it is."""
    elsewhere: str | None = None
    """What the remote names, when none names the repository that the settings do."""


class Lookup(NamedTuple):
    """Where the pull request of a branch would be."""

    repository: str
    """HOST/OWNER/NAME."""
    head: str


def filed(profile: Profile, said: Said) -> Filed:
    """Return how a checkpoint of the coding work `profile` is filed.

    It says root, branch and commit of a checkout whose root was approved, or
    claims none of them and is general work under the repository's name: same
    project, same folder, recalled with the rest of it.
    """
    found = confirmed(profile.root or "", said)
    elsewhere = _elsewhere(profile.repository or "", said.remotes)
    if isinstance(found, GitFacts):
        return Filed(profile=profile, git=found, elsewhere=elsewhere)
    return Filed(profile=replace(profile, kind="general"), why=found, elsewhere=elsewhere)


def confirmed(root: str, said: Said) -> GitFacts | Unconfirmed:
    """Return root, branch and commit as `said` confirms them, or why it does not."""
    if said.trouble is not None:
        return said.trouble
    if said.at_root is None:
        return "no-repository"
    if not said.at_root:
        return "other-root"
    if said.head is None or not said.head.startswith(_HEADS):
        return "no-branch"
    if said.sha is None or not _SHA.fullmatch(said.sha):
        return "no-commit"
    return GitFacts(root=root, branch=said.head.removeprefix(_HEADS), sha=said.sha)


def remote(name: str, url: str) -> Remote:
    """Return what may be kept of a remote: never its user, password, port or query."""
    scheme = _SCHEME.match(url)
    if scheme is not None:
        authority, _, path = url[scheme.end() :].partition("/")
        return Remote(name, _host(authority.rpartition("@")[2].partition(":")[0]), _named(path))
    authority, colon, path = url.partition(":")
    if not colon or "/" in authority:
        return Remote(name, "", _named(url))
    return Remote(name, _host(authority.rpartition("@")[2]), _named(path))


def _host(told: str) -> str:
    host = told.lower()
    return _GITHUB if host == f"ssh.{_GITHUB}" else host


def _named(path: str) -> str | None:
    """The last two parts of a path, if they are plain names: owner and repository."""
    parts = re.split(r"[?#]", path, maxsplit=1)[0].rstrip("/").removesuffix(".git").split("/")[-2:]
    return "/".join(parts) if len(parts) == 2 and all(map(_PART.fullmatch, parts)) else None


def _elsewhere(repository: str, remotes: Sequence[Remote]) -> str | None:
    """What the remotes name instead of `repository`. A name of one part claims nothing that could be compared."""
    wanted = _named(repository)
    hosted = [one for one in sorted(remotes, key=_origin_first) if one.host and one.repository is not None]
    if wanted is None or not hosted or any(_same(one.repository, wanted) for one in hosted):
        return None
    return hosted[0].repository


def _origin_first(one: Remote) -> bool:
    return one.name != "origin"


def _same(told: str | None, wanted: str) -> bool:
    return told is not None and told.lower() == wanted.lower()


def lookup(repository: str, branch: str, remotes: Sequence[Remote], hosts: Collection[str]) -> Lookup | None:
    """Return where the pull request of `branch` would be, if anywhere that may be asked.

    A remote must name the repository of the settings, on GitHub or on a host
    that the settings or the user's environment (`hosts`) name: a repository's
    own configuration must not choose who gets a token. A branch of a fork goes
    with its owner. A branch that reads as a number would be taken for one.
    """
    wanted, trusted = _named(repository), {_GITHUB, *hosts, *_host_named(repository)}
    at = [one for one in remotes if wanted is not None and _same(one.repository, wanted) and one.host in trusted]
    if not at or _NUMBER.fullmatch(branch):
        return None
    forks = [one.repository for one in remotes if one.name == "origin" and one.host == at[0].host]
    owner = (forks[0] or "").partition("/")[0] if forks and not _same(forks[0], wanted or "") else ""
    return Lookup(f"{at[0].host}/{wanted}", f"{owner}:{branch}" if owner else branch)


def _host_named(repository: str) -> tuple[str, ...]:
    """The host that a `repository` of the settings names before owner and name, if it does."""
    scheme = _SCHEME.match(repository)
    first, slash, rest = repository[scheme.end() if scheme else 0 :].partition("/")
    return (first.lower(),) if slash and "." in first and "/" in rest else ()


def explained(found: Filed) -> tuple[str, ...]:
    """Return what a person should know of how work is filed, one sentence each; nothing when all is as approved."""
    repository = found.profile.repository
    said: list[str] = []
    if found.why is not None:
        said.append(f"filed as general work of {repository}: {REASONS[found.why]}")
    if found.elsewhere is not None:
        said.append(
            f"git's remote names {mask(found.elsewhere).text}; work is filed as {repository}, as the settings say"
        )
    return tuple(said)


def around(profile: Profile) -> str | None:
    """Return what a person should know of the checkout a folder lies in, if that one is not approved."""
    if profile.unapproved is None:
        return None
    if profile.root is None:
        return (
            f"the checkout {profile.unapproved} is not approved, so its work is general; `continuity setup` approves it"
        )
    if PurePath(profile.unapproved).is_relative_to(profile.root):
        return (
            f"{profile.unapproved} is a repository of its own inside the approved checkout of {profile.repository}: "
            "general work of that one, until `continuity setup` approves it"
        )
    return (
        f"what is approved as {profile.repository} is a folder inside the checkout {profile.unapproved}: general work of "
        "that name, until `continuity setup` approves the checkout"
    )
