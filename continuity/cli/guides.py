"""Puts the skill and the prompts where Tau finds them. It never replaces a file that it did not write, or that was edited."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

from continuity.cli.shim import Standing, put_whole
from continuity.guides import guides

_OPEN = "---\n"
_SEAL = "sealed: by `continuity install`, sha256 of all the rest: "


class Step(NamedTuple):
    """What is to be done for one file, if anything."""

    path: Path
    standing: Standing
    source: str

    @property
    def wanted(self) -> bool:
        """There is something to write, and nothing in the way."""
        return self.standing in ("absent", "outdated")


def plan(tau_home: Path) -> tuple[Step, ...]:
    """Return what installing the skill and the prompts into `tau_home` would do; nothing is written.

    Raises:
        OSError: What is there cannot be read.
    """
    return tuple(_step(tau_home.joinpath(*guide.place.parts), sealed(guide.text)) for guide in guides())


def _step(path: Path, source: str) -> Step:
    """A link is somebody's own arrangement, and so is a folder of that name."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return Step(path, "foreign", source)
    if not path.exists():
        return Step(path, "absent", source)
    found = path.read_text(encoding="utf-8", errors="replace")
    if found == source:
        return Step(path, "current", source)
    return Step(path, "outdated" if is_ours(found) else "foreign", source)


def sealed(text: str) -> str:
    """Return `text` with a line in its frontmatter by which it is known again as long as nobody edits it."""
    rest = text.removeprefix(_OPEN)
    return f"{_OPEN}{_SEAL}{_digest(rest)}\n{rest}"


def is_ours(text: str) -> bool:
    """Tell whether we wrote `text`, in whatever version, and nobody edited it since."""
    seal, _, rest = text.removeprefix(_OPEN).partition("\n")
    return text.startswith(_OPEN) and seal == f"{_SEAL}{_digest(rest)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def install(step: Step) -> None:
    """Write one file that was planned: whole or not at all.

    Raises:
        FileExistsError: Something came to be there since; it was left as it is.
        OSError: Nothing was written.
    """
    if step.wanted:
        step.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        put_whole(step.path, step.source, over=is_ours if step.standing == "outdated" else None)
