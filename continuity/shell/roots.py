"""Finds the checkout around a folder without git, by the `.git` that marks its root. It reads nothing in it."""

from __future__ import annotations

import os
from pathlib import Path


def nearest_checkout(folder: Path, home: Path | None = None) -> Path | None:
    """Return the closest root of a checkout at or above `folder`, which is resolved; None if there is none.

    A worktree and a submodule have a file there. `home`, and what is above it,
    count for none: who keeps their whole home under git has no checkout there.
    """
    for root in (folder, *folder.parents):
        if home is not None and home.is_relative_to(root):
            return None
        mark = root / ".git"
        if os.path.isfile(mark) or os.path.lexists(mark / "HEAD"):  # noqa: PTH113 -- false where looking is denied
            return root
    return None
