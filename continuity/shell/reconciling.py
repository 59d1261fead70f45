"""Performs a probe: looks who could still land the write, then reads, then records. It writes no note and draws no verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio.to_thread

from continuity.commands import RecordProbe
from continuity.due import Probe
from continuity.memory import probes
from continuity.memory.liveness import group_state
from continuity.shell.desk import Desk
from continuity.state import Capture, State
from journal.events import CaptureProbed
from journal.events.writes import Observation, ServerState
from journal.ids import BranchId

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection  # brings mcp, which a warm start does without

_SAID = {
    "present_same": ("An interrupted save was settled by reading: it is stored at {path}.", "info"),
    "present_edited": (
        "An interrupted save was settled by reading: it is stored at {path} and was edited since.",
        "info",
    ),
    "present_twin": ("An interrupted save was settled by reading: another process saved the same at {path}.", "info"),
    "conflicted": ("A save met another note at {path}; nothing was overwritten. See /bm-status.", "warning"),
    "absent_open": ("An interrupted save was not found yet and may still land; it will be read again.", "warning"),
    "absent_final": ("An interrupted save never landed, and no longer can. Its text is kept.", "warning"),
    "unreachable": ("An interrupted save could not be looked for; it will be read again.", "warning"),
}


async def probe(desk: Desk, effect: Probe, branch: BranchId) -> None:
    """Settle, or try to settle, one doubted write by reading."""
    connection = desk.link.connection
    ledger = desk.ledger
    if connection is None or ledger is None:
        return
    state = ledger.states[branch]
    capture = state.capture(effect.capture_id)
    if capture is None:
        return
    command = await observe(desk, connection, state, capture)
    for row in await desk.apply(command, branch=branch):
        if isinstance(row.event, CaptureProbed):
            _tell(desk, row.event, capture)


async def observe(desk: Desk, connection: MemoryConnection, state: State, capture: Capture) -> RecordProbe:
    """Make the reads. The writing server is looked at before they begin: only later reads can prove an absence."""
    intent = capture.intent
    server = intent.server if intent else None
    writing = await anyio.to_thread.run_sync(group_state, server.process) if server else "unknown"
    found = await _address(desk, connection, capture)
    proven = False
    if not any(o.capture_id == capture.capture_id for o in found):
        found += (
            await probes.by_title(connection, capture.project, intent.event.address, _bound(desk)) if intent else ()
        )
        proven = await _index_proven(desk, connection, state, capture)
        found += await probes.by_id(connection, capture.project, capture.capture_id, _bound(desk))
    return probed(desk, connection, capture, found, writing_server=writing, index_proven=proven)


def probed(
    desk: Desk,
    connection: MemoryConnection,
    capture: Capture,
    found: tuple[Observation, ...],
    *,
    writing_server: ServerState = "unknown",
    index_proven: bool = False,
) -> RecordProbe:
    """Return reads that were made, for the core to judge; without a look at the writing server they prove no absence."""
    return RecordProbe(
        capture_id=capture.capture_id,
        attempt=capture.attempt,
        status=capture.status,
        connection=connection.id,
        observations=found,
        writing_server=writing_server,
        project_source=desk.link.projects.source(capture.project),
        index_proven=index_proven,
    )


async def _address(desk: Desk, connection: MemoryConnection, capture: Capture) -> tuple[Observation, ...]:
    path = capture.path
    return await probes.by_address(connection, capture.project, path, _bound(desk)) if path else ()


async def _index_proven(desk: Desk, connection: MemoryConnection, state: State, capture: Capture) -> bool:
    """The index must find a note known to be there; only then does its silence on another mean anything."""
    known = state.checkpoint
    if known is None or known.project != capture.project or known.capture_id == capture.capture_id:
        return False
    return await probes.index_finds(connection, known.project, known.capture_id, _bound(desk))


def _bound(desk: Desk) -> float:
    return desk.settings.timeout_seconds


def _tell(desk: Desk, settled: CaptureProbed, capture: Capture) -> None:
    text, level = _SAID[settled.verdict]
    path = next((o.file_path for o in settled.observations if o.found == "note"), None) or capture.path
    desk.voice.say("settle", text.format(path=path), "info" if level == "info" else "warning")
