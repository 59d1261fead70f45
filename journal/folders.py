"""Finds the journals in folders. It opens none; a folder that cannot be looked into is told with the reason."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Journals(NamedTuple):
    """What lies at some paths."""

    paths: list[Path]
    """Journals, each once, whatever links lead to it."""
    without: list[Path]
    """Folders with no journal in them: nothing found there is nothing looked at."""
    closed: list[OSError]
    """Why a folder could not be looked into; each names it."""


def journals_at(paths: Sequence[Path]) -> Journals:
    """Return the journals at `paths`: a folder stands for those in it and below it, anything else for itself."""
    found: dict[Path, Path] = {}
    without: list[Path] = []
    closed: list[OSError] = []
    for path in paths:
        before = len(closed)
        here = _below(path, closed) if os.path.isdir(path) else [path]  # noqa: PTH112  # Path.is_dir raises where this is False
        if not here and len(closed) == before:
            without.append(path)
        for each in here:
            found.setdefault(Path(os.path.realpath(each)), each)  # resolve() raises over links in a circle
    return Journals(list(found.values()), without, closed)


def _below(folder: Path, closed: list[OSError]) -> list[Path]:
    """Return the journals in `folder` and below it; add to `closed` why a folder could not be looked into."""
    walked = os.walk(folder, onerror=closed.append)
    return sorted(Path(at, name) for at, _, names in walked for name in names if name.endswith(".journal"))
