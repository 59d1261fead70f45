"""Gathers what the doctor knows of this machine without a server. It changes nothing; of programs only Tau's Python is run.

The folder it is run in is looked at for nothing but its path.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from continuity.checkout import around
from continuity.cli import shim
from continuity.cli.doctor import facts
from continuity.cli.doctor.facts import Configured, Fault, Listed, Machine, Python, Shim, State, Unsaved
from continuity.cli.doctor.tau import SECONDS, Surroundings, find_tau
from continuity.cli.installing.marks import is_whole
from continuity.cli.installing.own import NotInstalled, own
from continuity.memory.errors import CommandRefused
from continuity.memory.inventory import InventoryCache, inventory_key
from continuity.memory.server import ServerSpec, fingerprint, inside
from continuity.places import Places, expanded
from continuity.shell.config import Loaded, SettingsError, load_places, load_settings
from continuity.shell.serving import checkout_at, server_spec
from continuity.shell.unattended import left
from continuity.unstored import unstored
from journal import filesystem
from journal.errors import JournalError
from journal.lock import holder

_PACKAGE = re.compile(r"basic_memory-(.+)\.dist-info")
_MANIFEST_BYTES = 65536
_NEWEST = 20
"""Journals looked into for work that is not stored: each is read whole."""
_THEIRS = {"basic-memory", "basic-memory-tau"}
"""How Basic Memory's own extension is named: by its folder, its file or its manifest."""


class Here(NamedTuple):
    """Who asks, and from where."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path


class Gathered(NamedTuple):
    """What was found, and what a server could be started with."""

    machine: Machine
    loaded: Loaded | None = None
    spec: ServerSpec | None = None


def gather(here: Here, packages: Path, seconds: float = SECONDS) -> Gathered:
    """Return everything about this machine; `packages` is the folder of the running command's packages."""
    around = Surroundings(here.environ, checkout_at(here.cwd, here.home))
    python = Python(sys.version_info[:3], sys.executable)
    try:
        places = load_places(here.environ, here.home)
    except SettingsError as error:
        return Gathered(Machine(python, find_tau(around, "", seconds), places=Fault(str(error))))
    tau = find_tau(around, _runnable(places.shim, around), seconds)
    machine = Machine(
        python,
        tau,
        shim=shim_at(places, packages, tau.tag),
        others=tuple(others(places.tau_home / "extensions")),
        state=state_folder(places.state),
        unsaved=unsaved(places.state),
    )
    try:
        loaded = load_settings(here.environ, here.home)
    except (SettingsError, OSError) as error:
        return Gathered(machine._replace(settings=Fault(str(error))))
    spec = server_spec(loaded, places, here.environ, home=here.home, cwd=here.cwd)
    known = machine._replace(
        settings=configured(loaded, here),
        command=command(loaded.settings.command, spec),
        listed=None if isinstance(spec, CommandRefused) else listed(places, spec),
    )
    return Gathered(known, loaded, spec if isinstance(spec, ServerSpec) else None)


def _runnable(path: Path, around: Surroundings) -> str:
    """The file that Tau loads, if it is ours and leads to packages outside the checkout; empty if not."""
    try:
        lead = shim.lead_at(path)
        if lead is None or not _is_somewhere(lead.folder) or inside(lead.folder, around.checkout):
            return ""
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def shim_at(places: Places, packages: Path, tag: str | None) -> Shim:
    """Return what the file that Tau loads is, and where it leads; `tag` is the kind of Python that Tau has."""
    path, now, lead = places.shim, None, shim.Lead(packages)
    try:
        now = shim.lead_at(path)
        lead = _meant(now, places, packages, tag)
        planned = shim.plan(path, lead)
    except OSError as error:
        return Shim(path, lead.folder, "unreadable", trouble=error.strerror)
    if now is None or planned.standing not in ("current", "outdated"):
        return Shim(path, lead.folder, planned.standing, in_the_way=planned.foreign)
    return Shim(
        path,
        lead.folder,
        planned.standing,
        leads_to=now.folder,
        leads_somewhere=_is_somewhere(now.folder),
        changed=now.tag is not None and not is_whole(now.folder),
        python=now.tag if tag is not None and now.tag not in (None, tag) else None,
    )


def _meant(now: shim.Lead | None, places: Places, packages: Path, tag: str | None) -> shim.Lead:
    """Return where this command would lead it; what leads to a checkout is not expected to lead to a copy."""
    if now is None or now.tag is None:
        return shim.Lead(packages) if now is None else now._replace(folder=packages)
    kind = tag or now.tag
    with suppress(NotInstalled):
        return now._replace(folder=places.packages / f"{kind}-{own(packages).digest}", tag=kind)
    return now


def _is_somewhere(folder: Path) -> bool:
    return all((folder / name / "__init__.py").is_file() for name in shim.PACKAGES)


def others(extensions: Path) -> Iterator[Path]:
    """Yield the extensions of Basic Memory's own in the folder from which Tau loads."""
    try:
        entries = sorted(extensions.iterdir())
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(("_", ".")):  # Tau passes over them too
            continue
        names = {entry.name.removesuffix(".py"), _project_name(entry / "pyproject.toml")}
        if {name.lower().replace("_", "-").replace(" ", "-") for name in names} & _THEIRS:
            yield entry


class _Project(msgspec.Struct, frozen=True):
    name: str = ""


class _Manifest(msgspec.Struct, frozen=True):
    """The one thing that is read of an extension's manifest."""

    project: _Project = _Project()


def _project_name(manifest: Path) -> str:
    try:
        with manifest.open("rb") as file:
            return msgspec.toml.decode(file.read(_MANIFEST_BYTES), type=_Manifest).project.name
    except (OSError, ValueError, msgspec.MsgspecError):
        return ""


def configured(loaded: Loaded, here: Here) -> Configured:
    """Return the settings as they apply to work in the folder we are in."""
    profile = loaded.settings.profile(here.cwd, here.home)
    return Configured(
        path=loaded.path,
        ignored=loaded.ignored_keys,
        cwd=str(here.cwd),
        kind=profile.kind,
        repository=profile.repository,
        project=profile.project,
        read_projects=profile.read_projects,
        folder=profile.checkpoint_folder,
        surroundings=around(profile),
        gone=tuple(_gone(loaded, here.home)),
    )


def _gone(loaded: Loaded, home: Path) -> Iterator[str]:
    for number, entry in enumerate(loaded.settings.repositories):
        if not os.path.isdir(expanded(entry.root, home)):  # noqa: PTH112 -- as below
            yield f"repositories.{number}"


def command(named: str, spec: ServerSpec | CommandRefused) -> facts.Command:
    """Return what the memory server's command is. Its version is read off the names beside it; it is not run."""
    if isinstance(spec, CommandRefused):
        return facts.Command(named, None, refused=spec.reason)
    versions = [found[1] for part in fingerprint(spec.command) if (found := _PACKAGE.fullmatch(part))]
    return facts.Command(named, spec.command, version=versions[0] if len(versions) == 1 else None)


def state_folder(path: Path) -> State:
    """Return whether journals can be kept at `path`, which is not made."""
    nearest = path
    while not os.path.lexists(nearest) and nearest != nearest.parent:
        nearest = nearest.parent
    kind = filesystem.file_system(path)
    own = os.access in os.supports_effective_ids
    return State(
        path=path,
        nearest=nearest,
        is_folder=os.path.isdir(nearest),  # noqa: PTH112 -- says no where looking is denied, and raises nothing
        writable=os.access(nearest, os.W_OK | os.X_OK, effective_ids=own),
        file_system=kind,
        keeps_journals=filesystem.keeps_journals(kind),
        open_to_others=nearest == path and _open_to_others(path),
    )


def _open_to_others(path: Path) -> bool:
    try:
        return bool(path.stat().st_mode & 0o077)
    except OSError:
        return False  # what cannot be looked at is told as what cannot be written to


def unsaved(folder: Path) -> Unsaved | None:
    """Return what the newest journals in `folder` keep and nobody stored; one that cannot be read costs itself."""
    try:
        journals = [folder / name for name in os.listdir(folder) if name.endswith(".journal")]  # noqa: PTH208 -- as above
    except FileNotFoundError:
        return Unsaved()
    except OSError:
        return None  # told as what is no folder of ours
    newest = sorted(journals, key=_written, reverse=True)[:_NEWEST]
    found = [_holds(path) for path in newest]
    return Unsaved(
        sessions=found.count("left") + found.count("running"),
        running=found.count("running"),
        unreadable=found.count("unreadable"),
        newest=len(newest) if len(journals) > len(newest) else None,
    )


def _holds(path: Path) -> Literal["nothing", "left", "running", "unreadable"]:
    """Whether there is work in this journal that is not stored, and a process that has it open."""
    try:
        live = holder(path).live
        kept = unstored(left(path).states.values(), live=live)
    except JournalError:
        return "unreadable"
    if kept is None:
        return "nothing"
    return "running" if live else "left"


def _written(path: Path) -> float:
    """When a row was last written: a killed writer leaves its newest in the log beside the file."""
    times = [0.0]
    for each in (path, path.with_name(f"{path.name}-wal")):
        with suppress(OSError):
            times.append(each.stat().st_mtime)
    return max(times)


def listed(places: Places, spec: ServerSpec) -> Listed:
    """Return what is kept of the server's tools."""
    cache = InventoryCache(places.state)
    found = cache.load(inventory_key(spec))
    if found.damaged:
        return Listed("damaged", folder=places.state)
    if found.inventory is not None:
        return Listed("kept", tools=len(found.inventory.tools))
    try:
        return Listed("stale" if cache.files() else "none")
    except OSError:
        return Listed("none")
