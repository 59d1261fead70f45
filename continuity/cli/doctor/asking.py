"""Starts the memory server once, asks it what it offers and which projects it has, and ends it. It writes nothing there."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from continuity.cli.doctor.facts import Asked
from continuity.memory import notes
from continuity.memory.connection import MemoryConnection, connect
from continuity.memory.errors import CallFailed, ConnectFailed
from continuity.memory.inventory import Inventory, InventoryCache, inventory_key
from continuity.memory.server import ServerSpec
from continuity.notes import ENTITIES, Entity


class Bounds(NamedTuple):
    """Seconds for the server to start and for each of three answers; its end is bounded by itself."""

    start: float = 40.0
    answer: float = 10.0


MOST_NOTES = 50
"""A project with more schemas than these is asked about the newest alone."""


async def ask(spec: ServerSpec, project: str | None, kept_in: Path, bounds: Bounds | None = None) -> Asked:
    """Return what the server says. It runs in an empty folder, so nothing where we are can steer it."""
    within = bounds or Bounds()
    kept = InventoryCache(kept_in).load(inventory_key(spec)).inventory
    with tempfile.TemporaryDirectory(prefix="continuity-doctor-") as nowhere:
        try:
            async with connect(replace(spec, cwd=nowhere), seconds=within.start) as connection:
                return await _asked(connection, project, kept, within.answer)
        except ConnectFailed as error:
            return Asked(trouble=error.reason)
        except CallFailed:
            return Asked(trouble="unlisted")


async def _asked(connection: MemoryConnection, project: str | None, kept: Inventory | None, seconds: float) -> Asked:
    live = await connection.list_tools(seconds)
    projects = await notes.list_memory_projects(connection, seconds)
    known = projects if projects.code is None else None
    there = known is not None and project is not None and bool(known.named(project))
    return Asked(
        server=connection.server,
        version=connection.version,
        tools=len(live.tools),
        as_kept=None if kept is None or not live.complete else kept.digest == live.digest,
        projects=known,
        schemas=await schemas_in(connection, project, seconds) if there and project is not None else None,
    )


async def schemas_in(connection: MemoryConnection, project: str, seconds: float) -> frozenset[Entity] | None:
    """Return the types for which schema notes are found; None if the project cannot be searched.

    They are read one by one: a listing does not tell what a schema is of.
    """
    found: set[Entity] = set()
    with anyio.move_on_after(seconds):
        listed = await notes.search_notes(connection, project, seconds, note_types=["schema"], page_size=MOST_NOTES)
        if listed.outcome == "unreachable" or listed.code is not None:
            return None
        for hit in listed.hits:
            note = await notes.read_note(connection, project, hit.file_path, seconds)
            if note.outcome == "unreachable":
                return None
            found |= {entity for entity in ENTITIES if _plain(entity) == _plain(note.frontmatter.get("entity", ""))}
        return frozenset(found)
    return None


def _plain(spelling: str) -> str:
    """What is left of `coding_session` and of `CodingSession`, which the server takes for the same."""
    return spelling.replace("_", "").replace(" ", "").lower()
