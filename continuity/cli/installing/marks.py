"""Tells what an installation made from what only looks like it, and one that is whole from one that was changed since."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

MARK = ".continuity.json"
"""In every folder of packages: whose it is, and what was put there."""

HALF_MARK = ".continuity-half"
"""In every folder that is gone again when all goes well."""

_NAME = re.compile(r"[A-Za-z0-9_.-]+-[0-9a-f]{12}")


class _Mark(msgspec.Struct, frozen=True):
    """What was installed."""

    installation: str
    """The name that its folder has."""
    files: Mapping[str, str]
    """The digest of each file, by its name below the folder."""


def mark(folder: Path, name: str) -> None:
    """Write down in `folder` what it holds, as the installation called `name`.

    Raises:
        OSError: It was not written.
    """
    digests = {path: _digest(folder / path) for path in sorted(_files(folder))}
    (folder / MARK).write_bytes(msgspec.json.format(msgspec.json.encode(_Mark(name, digests)), indent=1))


def is_installation(folder: Path) -> bool:
    """Tell whether an installation made `folder` under the name it has: a name alone proves nothing."""
    return _NAME.fullmatch(folder.name) is not None and not folder.is_symlink() and _read(folder) is not None


def is_whole(folder: Path) -> bool:
    """Tell whether `folder` is an installation, and each file of it as it was put there."""
    found = _read(folder) if is_installation(folder) else None
    try:
        return found is not None and all(_digest(folder / name) == is_so for name, is_so in found.files.items())
    except OSError:
        return False


def _read(folder: Path) -> _Mark | None:
    try:
        found = msgspec.json.decode((folder / MARK).read_bytes(), type=_Mark)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return found if found.installation == folder.name else None


def _files(folder: Path) -> Iterator[str]:
    """What Python caches is its own: it comes and goes."""
    for at, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(".pyc"):
                yield (Path(at) / name).relative_to(folder).as_posix()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
