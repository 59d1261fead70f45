"""Says which memory server the settings name, and runs it for one question. A session's own server is the link's."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from itertools import takewhile
from pathlib import Path

import anyio

from continuity.memory.errors import CommandRefused
from continuity.memory.inventory import Inventory, InventoryCache, inventory_key
from continuity.memory.server import ServerSpec, child_environment, resolve_command
from continuity.places import Places
from continuity.shell.config import Loaded
from continuity.shell.link import MemoryLink
from continuity.shell.owner import Owner


def server_spec(
    loaded: Loaded, places: Places, environ: Mapping[str, str], *, home: Path, cwd: Path
) -> ServerSpec | CommandRefused:
    """Return what to start, or why it may not be started. Nothing inside the checkout is."""
    settings = loaded.settings
    try:
        command = resolve_command(settings.command, environ.get("PATH", ""), checkout_at(cwd, home))
    except CommandRefused as refused:
        return refused
    return ServerSpec(
        command=command,
        args=settings.args,
        env=child_environment(environ, settings.env),
        cwd=str(places.state),
    )


def checkout_at(cwd: Path, home: Path) -> Path | None:
    """Return the folder inside which nothing is run: the outermost repository around `cwd`, or else `cwd` itself.

    The home folder and those above are none, where commands live; a home that is a repository makes nothing foreign.
    Git is not asked: there is a `.git`, be it a folder or a file.
    """
    homes = (home, home.resolve())
    if any(each.is_relative_to(folder) for each in homes for folder in (cwd, cwd.resolve())):
        return None
    for way in (cwd, cwd.resolve()):
        foreign = takewhile(lambda folder: not any(each.is_relative_to(folder) for each in homes), way.parents[:-1])
        repositories = [folder for folder in (way, *foreign) if os.path.lexists(folder / ".git")]
        if repositories:
            return repositories[-1]
    return cwd


def keep_inventory(places: Places, spec: ServerSpec | CommandRefused, inventory: Inventory) -> None:
    """Keep what the server offers for the next start."""
    if isinstance(spec, ServerSpec):
        InventoryCache(places.state).save(inventory_key(spec), inventory)


@asynccontextmanager
async def serving(spec: ServerSpec, seconds: float) -> AsyncGenerator[MemoryLink]:
    """Have the one memory server for the length of the block; nothing of it is left afterwards."""
    link = MemoryLink(spec, seconds, lambda _: None)
    owner = Owner(lambda _, __: None)  # the link says itself why it is down
    owner.spawn("memory", link.run, daemon=True)
    try:
        yield link
    finally:
        with anyio.CancelScope(shield=True):
            await owner.close()
