"""Asks `gh` for the pull request of a branch, if it is there and answers soon. Whatever goes wrong costs its fields alone.

It is told repository and branch and runs outside the checkout, so it asks no
git, and nothing that a repository configures decides what it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import anyio
import msgspec

from continuity.checkout import Remote, lookup
from continuity.profile import Profile, PullRequest
from continuity.shell.programs import program

PULL_SECONDS = 3.0
"""A checkpoint waits no longer for it."""

_FIELDS = "number,title,url,state,baseRefName,headRefName"
_QUIET = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_NO_EXTENSION_UPDATE_NOTIFIER": "1",
    "GH_TELEMETRY": "false",
    "NO_COLOR": "1",
}
_NOT_INHERITED = ("GH_REPO", "GH_FORCE_TTY", "GH_DEBUG", "DEBUG", "CLICOLOR_FORCE")
"""They would name another repository, colour what is to be read, or write about the call."""
_STATES: Mapping[str, Literal["open", "closed", "merged"]] = {"OPEN": "open", "CLOSED": "closed", "MERGED": "merged"}


class _Told(msgspec.Struct, frozen=True):
    """What `gh` tells of a pull request; what else it tells is passed over."""

    number: int
    headRefName: str  # noqa: N815 -- its spelling
    title: str = ""
    url: str = ""
    state: str = ""
    baseRefName: str = ""  # noqa: N815 -- its spelling


async def pull_request(
    profile: Profile, branch: str, remotes: Sequence[Remote], environ: Mapping[str, str], seconds: float = PULL_SECONDS
) -> PullRequest | None:
    """Return the pull request of `branch`, or None. It is never told why there is none: it is an extra."""
    hosts = [host.lower()] if (host := environ.get("GH_HOST", "")) else []
    at = lookup(profile.repository or "", branch, remotes, hosts)
    inherited = {name: value for name, value in environ.items() if name not in _NOT_INHERITED}
    gh = program("gh", inherited, Path(profile.root or "/"), **_QUIET) if at is not None else None
    if at is None or gh is None:
        return None
    with anyio.move_on_after(seconds):
        said = await gh.answer("pr", "view", "--repo", at.repository, "--json", _FIELDS, "--", at.head)
        return judged(said, branch) if said is not None else None
    return None


def judged(said: bytes, branch: str) -> PullRequest | None:
    """Return the pull request that `said` describes, if it is one of `branch`. Pure."""
    try:
        told = msgspec.json.decode(said, type=_Told)
    except (msgspec.MsgspecError, ValueError):
        return None
    if told.number < 1 or told.headRefName != branch:
        return None
    return PullRequest(
        number=str(told.number),
        title=told.title,
        url=told.url,
        state=_STATES.get(told.state, ""),
        base=told.baseRefName,
        head=told.headRefName,
    )
