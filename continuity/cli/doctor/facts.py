"""What the doctor knows of one machine: plain values, gathered elsewhere. Nothing here judges."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from continuity.cli.shim import Standing
from continuity.memory.errors import CommandReason, ConnectReason
from continuity.memory.notes import Projects
from continuity.notes import Entity
from continuity.profile import ProfileKind

type Version = tuple[int, int, int]
type Trouble = ConnectReason | Literal["unlisted"]
type Silence = Literal["unnamed", "inside-checkout", "unstartable", "timeout", "garbled"]


class Python(NamedTuple):
    """One interpreter."""

    version: Version
    path: str


class Tau(NamedTuple):
    """What the `tau` on the search path is; fields are null as far as it could not be asked."""

    script: str | None
    refused: CommandReason | None = None
    """Why no script is named."""
    python: Python | None = None
    interpreter: str | None = None
    """What its first line names."""
    silence: Silence | None = None
    """Why the interpreter said nothing: nothing was run for the first two."""
    version: str | None = None
    level: Literal["A", "B"] | None = None
    loading: str | None = None
    """Why our packages cannot be loaded there; empty when they can, null when that was not tried."""
    tag: str | None = None
    """The kind of Python, as the extension's file names it."""
    instead: tuple[str, ...] = ()
    """Libraries that Tau brings in another version than we do; Tau's are used."""
    has: str | None = None
    """The folder whence that Python would import a package of our name by itself, with nothing added to its path."""


class Shim(NamedTuple):
    """The one file Tau loads."""

    path: Path
    packages: Path
    """Where this command would lead it: to its own checkout, or to what it would install."""
    standing: Standing | Literal["unreadable"]
    in_the_way: Path | None = None
    leads_to: Path | None = None
    leads_somewhere: bool = True
    """Whether all packages are there."""
    changed: bool = False
    """Files of the installation it leads to are gone, or are not as they were put there."""
    python: str | None = None
    """The kind of Python it is for, if Tau has another."""
    trouble: str | None = None
    """The system's words, when it is unreadable."""


class Fault(NamedTuple):
    """Why settings or places cannot be used: it names no value."""

    what: str


class Configured(NamedTuple):
    """The settings as they apply to work in one folder."""

    path: Path | None
    ignored: tuple[str, ...]
    cwd: str
    kind: ProfileKind
    repository: str | None
    project: str | None
    read_projects: tuple[str, ...]
    folder: str
    surroundings: str | None = None
    """What is to be said of the checkout around the folder, when that one is not approved."""
    gone: tuple[str, ...] = ()
    """The entries of `repositories` whose root is no folder now."""


class Command(NamedTuple):
    """The memory server's command, as it is configured and as it was found."""

    configured: str
    path: str | None
    refused: CommandReason | None = None
    version: str | None = None
    """Of the package beside it; null when there is none to be seen."""


class State(NamedTuple):
    """The folder of the journals, which need not be there yet."""

    path: Path
    nearest: Path
    """It, or the closest above it that is there."""
    is_folder: bool
    writable: bool
    file_system: str | None
    keeps_journals: bool
    open_to_others: bool = False
    """Others on this machine may look into it, or write there."""


class Unsaved(NamedTuple):
    """What the newest journals say of work that was kept and not stored yet."""

    sessions: int = 0
    """How many hold such work."""
    running: int = 0
    """Those of them that a running process has open."""
    unreadable: int = 0
    """Journals of which nothing can be said."""
    newest: int | None = None
    """How many were looked into, when there are older ones that were not."""


class Listed(NamedTuple):
    """The kept list of the server's tools."""

    standing: Literal["kept", "stale", "none", "damaged"]
    tools: int = 0
    folder: Path | None = None


class Asked(NamedTuple):
    """What a server said that was started for the question; null where it could not be learnt."""

    trouble: Trouble | None = None
    server: str = ""
    version: str = ""
    tools: int = 0
    as_kept: bool | None = None
    """Whether its tools are those that are kept; null when none are kept for it."""
    projects: Projects | None = None
    schemas: frozenset[Entity] | None = None
    """The types for which the project has a schema note."""


class Machine(NamedTuple):
    """Everything that is known. A part is null when what it depends on cannot be used."""

    python: Python
    tau: Tau
    places: Fault | None = None
    shim: Shim | None = None
    others: tuple[Path, ...] = ()
    """Other extensions of Tau that bring Basic Memory."""
    settings: Configured | Fault | None = None
    command: Command | None = None
    state: State | None = None
    unsaved: Unsaved | None = None
    """Null when that folder cannot be looked into."""
    listed: Listed | None = None
    asked: Asked | None = None
    """Null when no server was to be asked."""
