"""What setup knows before it asks: plain values, gathered elsewhere. Nothing here judges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple

from continuity.cli import guides
from continuity.cli.installing.plan import NoTau
from continuity.cli.installing.plan import Plan as Installation
from continuity.cli.setup.document import Document
from continuity.cli.setup.naming import Approved, Checkout
from continuity.memory.notes import ProjectInfo
from continuity.places import Places
from continuity.shell.settings import Settings

type Cadence = Literal["gather", "every"]
"""How the command line spells the cadence: as work gathers, or after every turn."""


class Here(NamedTuple):
    """Who runs it, and from where."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path
    """With symbolic links followed."""
    places: Places


class Kept(NamedTuple):
    """The settings as they are, in one file or in none."""

    path: Path
    """Of our own file, there or not."""
    text: str | None
    """What is in it; null when it is not there."""
    document: Document
    settings: Settings
    beside: Path | None = None
    """The compatible file that applies as long as ours is not there."""


class Work(NamedTuple):
    """What the folder we are in belongs to."""

    checkout: Checkout | None
    """The innermost one around it."""
    root: Path | None
    """The root that is asked about: of the checkout, or of an approval where there is none any more; null without both."""
    at: int | None
    """Where an approval of that very root stands in the settings."""
    around: Approved | None
    """Another approved folder that we are in, whose name counts as long as this root has none."""


class Flags(NamedTuple):
    """What was said on the command line; null is what was not."""

    yes: bool = False
    dry_run: bool = False
    offline: bool = False
    project: str | None = None
    repository: str | None = None
    root: Path | None = None
    general: bool = False
    schemas: bool | None = None
    verify: bool | None = None
    cadence: Cadence | None = None
    transcripts: bool | None = None
    skill: bool | None = None


class Served(NamedTuple):
    """What the memory server said of itself."""

    server: str
    tools: int
    projects: tuple[ProjectInfo, ...] | None
    """Null when it did not say which it has."""


class Before(NamedTuple):
    """Everything that is known before the first question."""

    here: Here
    kept: Kept
    work: Work
    extension: Installation | NoTau
    """What installing the extension would do, or why it cannot be done."""
    guides: tuple[guides.Step, ...]
    """The skill and the prompts, each with what is there in its place."""
    first: bool
    """There is no file of ours yet: then what makes sense is suggested; later what is so is kept."""
