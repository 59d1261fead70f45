"""The user's settings: keys, defaults and bounds. It reads no file; a value never appears in what it says of a fault."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Annotated, Literal, Self

from msgspec.structs import replace
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, model_validator
from pydantic_core import PydanticCustomError

from continuity.places import expanded
from continuity.profile import Profile, Repository, folder_fault, route
from continuity.shell.roots import nearest_checkout

_ELSEWHERE = re.compile(r"[A-Za-z]:[\\/]|[\\/]{2}")
"""A drive or a share: Windows' way to name a place, which means another one here, or none."""


def _folder(value: str) -> str:
    fault = folder_fault(value)
    if fault is not None:
        raise PydanticCustomError("folder", "{fault}", {"fault": fault})
    return value.rstrip("/")


def _root(value: str) -> str:
    if _ELSEWHERE.match(value):
        raise PydanticCustomError(
            "root", "must be a path of this system, such as /home/you/code; see `pwd` in the checkout"
        )
    if not PurePath(value).is_absolute() and value != "~" and not value.startswith("~/"):
        raise PydanticCustomError("root", "must be an absolute path")
    return _single_line(value)


def _single_line(value: str) -> str:
    if not value.isprintable() or value != value.strip():
        raise PydanticCustomError("line", "must be one line without space around it")
    return value


def _passable(value: str) -> str:
    """No program can be started with anything else."""
    if "\x00" in value:
        raise PydanticCustomError("zero", "must hold no zero character")
    return value


def _variable(value: str) -> str:
    if "=" in value:
        raise PydanticCustomError("variable", "must hold no equals sign: it is the name of a variable")
    return _single_line(value)


type Argument = Annotated[str, AfterValidator(_passable)]
type Variable = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_variable)]
type Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_single_line)]
type Folder = Annotated[str, AfterValidator(_folder)]
type Conventions = Annotated[str, Field(max_length=20_000)]
type Switch = Annotated[bool, Strict()]
type ReadProjects = Annotated[tuple[Name, ...], Field(max_length=6)]
type Seconds = Annotated[float, Field(gt=0, le=300, allow_inf_nan=False)]
type Wait = Annotated[float, Field(ge=0, le=60, allow_inf_nan=False)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, hide_input_in_errors=True)


class RepositorySettings(_Model):
    """One checkout approved for coding work."""

    kind: Literal["coding"] = "coding"
    root: Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_root)]
    repository: Name
    project: Name | None = None
    read_projects: ReadProjects = ()
    placement_conventions: Conventions | None = None
    checkpoint_folder: Folder | None = None


class Cadence(_Model):
    """How much gathers before a settled turn is captured."""

    characters: Annotated[int, Field(ge=1, le=1_000_000)] = 4000
    minutes: Annotated[float, Field(gt=0, le=1440, allow_inf_nan=False)] = 10


class Settings(_Model):
    """All settings, complete. The first group is shared with Basic Memory's own Tau extension."""

    command: Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_passable)] = "bm"
    args: tuple[Argument, ...] = ("mcp", "--transport", "stdio")
    project: Name | None = None
    read_projects: ReadProjects = ()
    repositories: Annotated[tuple[RepositorySettings, ...], Field(max_length=200)] = ()
    auto_recall: Switch = True
    capture_knowledge: Switch = True
    checkpoint_on_compact: Switch = True
    summarize_on_shutdown: Switch = True
    capture_transcript: Switch = False
    capture_folder: Folder = "tau/transcripts"
    checkpoint_folder: Folder | None = None
    placement_conventions: Conventions | None = None
    timeout_seconds: Seconds = 30
    summary_timeout_seconds: Seconds = 60
    summary_chunk_chars: Annotated[int, Field(ge=1000, le=50000)] = 16000
    recall_chars: Annotated[int, Field(ge=100, le=50000)] = 12000

    cadence: Cadence | Literal["every"] = Cadence()
    recall_wait_seconds: Wait = 3
    discovery_seconds: Wait = 15
    compaction_wait_seconds: Wait = 10
    exit_timeout_seconds: Wait = 10
    scope: Name | None = None
    tools: tuple[Name, ...] | None = None
    env: dict[Variable, Argument] = {}
    summary_model: Annotated[str, Field(pattern=r"^[^/\s]+/\S+$", max_length=200)] | None = None
    keep_bodies: Switch = True
    retention_days: Annotated[int, Field(ge=1, le=36500)] | None = None
    mask_candidates: Switch = True

    @model_validator(mode="after")
    def _roots_differ(self) -> Self:
        roots = [PurePath(one.root) for one in self.repositories]
        if len(set(roots)) < len(roots):
            raise PydanticCustomError("roots", "repositories: each root may be approved once")
        return self

    def profile(self, cwd: Path, home: Path) -> Profile:
        """Return the profile of work in `cwd`. Symbolic links are followed, so a link to a checkout is the checkout."""
        where = resolved(cwd)
        found = route(
            where,
            repositories=tuple(_approved(self.repositories, home)),
            project=self.project,
            read_projects=self.read_projects,
            scope=self.scope,
            checkpoint_folder=self.checkpoint_folder,
            placement_conventions=self.placement_conventions,
        )
        around = nearest_checkout(where, resolved(home)) if self.repositories else None
        return found if around is None or str(around) == found.root else replace(found, unapproved=str(around))


class CompatibleSettings(Settings, strict=False):
    """The same out of the file of Basic Memory's own extension, which takes a number that is written as text."""


def resolved(path: Path) -> Path:
    """Return `path` with symbolic links followed, or as it is where they lead in a circle."""
    try:
        return path.resolve()
    except (OSError, RuntimeError):
        return path


def _approved(repositories: Sequence[RepositorySettings], home: Path) -> list[Repository]:
    return [
        Repository(
            root=str(resolved(expanded(one.root, home))),
            repository=one.repository,
            project=one.project,
            read_projects=one.read_projects,
            placement_conventions=one.placement_conventions,
            checkpoint_folder=one.checkpoint_folder,
        )
        for one in repositories
    ]
