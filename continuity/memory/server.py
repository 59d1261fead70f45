"""What to start and how: the command found once, outside the checkout, and the environment its child gets."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from continuity.memory.errors import CommandRefused

NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
"""They describe our interpreter; in the server's they would load the wrong packages."""

_SELECTS_CONFIG = re.compile(r"BASIC_MEMORY_\w+|HOME|XDG_(CONFIG|DATA)_HOME")


class ServerSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One memory server to be started; `command` is absolute and `cwd` is our state folder, never a checkout."""

    command: str
    args: tuple[str, ...]
    env: dict[str, str]
    cwd: str


def resolve_command(command: str, search_path: str, checkout: Path | None) -> str:
    """Return the absolute path of `command`, looked for in `search_path` unless it is absolute already.

    Nothing in a repository may choose what we run. So entries of the search
    path inside `checkout` are passed over, and an absolute command inside it,
    directly or through a link, is refused.

    Raises:
        CommandRefused: Nothing suitable was found.
    """
    if Path(command).is_absolute():
        found = shutil.which(command)
        if found is None:
            raise CommandRefused(command, "not-found")
        if inside(Path(found), checkout):
            raise CommandRefused(command, "inside-checkout")
        return found
    if "/" in command or "\\" in command:
        raise CommandRefused(command, "relative")
    return _search(command, search_path, checkout)


def _search(command: str, search_path: str, checkout: Path | None) -> str:
    passed_over = False
    for folder in search_path.split(":"):
        found = shutil.which(command, path=folder) if Path(folder).is_absolute() else None
        if found is None:
            continue
        if not inside(Path(found), checkout):
            return found
        passed_over = True
    raise CommandRefused(command, "inside-checkout" if passed_over else "not-found")


def inside(found: Path, checkout: Path | None) -> bool:
    """Tell whether `found` lies in `checkout`, directly or through a link."""
    if checkout is None:
        return False
    root = checkout.resolve()
    ways = (found, found.resolve(), found.parent.resolve())  # a link of the checkout's that is reached through another
    return any(path.is_relative_to(folder) for path in ways for folder in (checkout, root))


def child_environment(environ: Mapping[str, str], extra: Mapping[str, str]) -> dict[str, str]:
    """Return what a server inherits: `environ` without what describes our interpreter, and the user's `extra`."""
    kept = {name: value for name, value in environ.items() if name not in NOT_INHERITED}
    return kept | dict(extra)


def selects_config(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that decide which configuration, and so which tools, a server offers."""
    return {name: value for name, value in sorted(env.items()) if _SELECTS_CONFIG.fullmatch(name)}


def fingerprint(command: str) -> tuple[str, ...]:
    """Return what changes when the server is upgraded: the file behind `command` and the package beside it.

    Reading the package's version from the names in its environment costs a
    folder listing; asking the command would cost seconds.
    """
    target = Path(command).resolve()
    try:
        stat = target.stat()
    except OSError:
        return (str(target), "missing")
    beside = target.parent.parent.glob("lib/python*/site-packages/basic_memory-*.dist-info")
    packages = sorted(path.name for path in beside)
    return (str(target), str(stat.st_size), str(stat.st_mtime_ns), *packages)
