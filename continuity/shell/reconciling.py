"""Performs a probe: looks who could still land the write, then reads, then records. It writes no note and draws no verdict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import anyio.to_thread

from continuity.commands import RecordProbe
from continuity.due import Probe
from continuity.memory import probes
from continuity.memory.liveness import group_state
from continuity.memory.notes import Projects
from continuity.shell.desk import Desk
from continuity.state import Capture, State, is_ours
from journal.events import CaptureProbed, WriteAnswered, WriteIntended
from journal.events.lifecycle import ProjectSource
from journal.events.writes import Observation, ServerState
from journal.ids import BranchId, CaptureId
from journal.reader import open_reader

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection  # brings mcp, which a warm start does without

_SAID = {
    "present_same": ("An interrupted save was settled by reading: it is stored at {path}.", "info"),
    "present_edited": (
        "An interrupted save was settled by reading: it is stored at {path} and was edited since.",
        "info",
    ),
    "present_twin": ("An interrupted save was settled by reading: another process saved the same at {path}.", "info"),
    "conflicted": ("A save met another note at {path}; nothing was overwritten. See /bm-pending.", "warning"),
    "absent_open": ("An interrupted save was not found yet and may still land; it will be read again.", "warning"),
    "absent_final": (
        "An interrupted save never landed, and no longer can. Its text is kept; see /bm-pending.",
        "warning",
    ),
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


class Questions(NamedTuple):
    """Who is asked, how long each answer may take, and which journal it is about."""

    connection: MemoryConnection
    projects: Projects
    seconds: float
    journal: Path | None


def questions(desk: Desk, connection: MemoryConnection) -> Questions:
    """Return what a session asks through `connection`."""
    path = desk.ledger.path if desk.ledger is not None else None
    return Questions(connection, desk.link.projects, desk.settings.timeout_seconds, path)


async def observe(desk: Desk, connection: MemoryConnection, state: State, capture: Capture) -> RecordProbe:
    """Make the reads of a session that is open."""
    return await look(questions(desk, connection), state, capture)


async def look(ask: Questions, state: State, capture: Capture) -> RecordProbe:
    """Make the reads. The writing server is looked at before they begin: only later reads can prove an absence."""
    intent = capture.intent
    server = intent.server if intent else None
    writing = await anyio.to_thread.run_sync(group_state, server.process) if server else "unknown"
    found = await _address(ask, capture)
    proven = False
    if not any(is_ours(capture, seen) for seen in found):
        if intent is not None:
            found += await probes.by_title(ask.connection, capture.project, intent.event.address, ask.seconds)
        proven = await _index_proven(ask, state, capture)
        found += await probes.by_id(ask.connection, capture.project, capture.capture_id, ask.seconds)
    return _command(ask, capture, found, writing_server=writing, index_proven=proven)


def probed(desk: Desk, connection: MemoryConnection, capture: Capture, found: tuple[Observation, ...]) -> RecordProbe:
    """Return reads that were made, for the core to judge; without a look at the writing server they prove no absence."""
    return _command(questions(desk, connection), capture, found)


def _command(
    ask: Questions,
    capture: Capture,
    found: tuple[Observation, ...],
    *,
    writing_server: ServerState = "unknown",
    index_proven: bool = False,
) -> RecordProbe:
    return RecordProbe(
        capture_id=capture.capture_id,
        attempt=capture.attempt,
        status=capture.status,
        connection=ask.connection.id,
        observations=found,
        writing_server=writing_server,
        project_source=_source(ask, capture),
        index_proven=index_proven,
    )


def _source(ask: Questions, capture: Capture) -> ProjectSource:
    """Where the project lives that was asked; unknown if it may be another of the same name than the one written to."""
    server = capture.intent.server if capture.intent is not None else None
    here = ask.projects.sha256(capture.project)
    if server is None or here is None or server.project_sha256 != here:
        return "unknown"
    return ask.projects.source(capture.project)


async def _address(ask: Questions, capture: Capture) -> tuple[Observation, ...]:
    """Where it was last known to be, or where the server says that it exists; and where it was asked to be."""
    asked = capture.intent.event.address.file_path if capture.intent is not None else None
    found: tuple[Observation, ...] = ()
    for path in dict.fromkeys(path for path in (capture.path, asked) if path):
        found += await probes.by_address(ask.connection, capture.project, path, ask.seconds)
        if any(is_ours(capture, seen) for seen in found):
            break
    return found


async def _index_proven(ask: Questions, state: State, capture: Capture) -> bool:
    """The index must find a note known to be there; only then does its silence on another mean anything."""
    current = state.checkpoint
    if current is not None and current.capture_id != capture.capture_id and current.project == capture.project:
        known: CaptureId | None = current.capture_id
    elif ask.journal is not None:
        known = await anyio.to_thread.run_sync(confirmed_before, ask.journal, state.branch, capture)
    else:
        return False
    return known is not None and await probes.index_finds(ask.connection, capture.project, known, ask.seconds)


def confirmed_before(path: Path, branch: BranchId, capture: Capture) -> CaptureId | None:
    """Return the newest other capture of this project that the branch's history knows as stored. Blocking."""
    sent: set[CaptureId] = set()
    known: CaptureId | None = None
    with open_reader(path) as reader:
        for row in reader.verified(branch):
            match row.event:
                case WriteIntended(project=capture.project):
                    sent.add(row.event.capture_id)
                case WriteAnswered(outcome="accepted") | CaptureProbed(verdict="present_same"):
                    other = row.event.capture_id != capture.capture_id
                    known = row.event.capture_id if other and row.event.capture_id in sent else known
                case _:
                    pass
    return known


def looked_for(desk: Desk, checkpoint: Capture, outcome: str) -> None:
    """A note that is gone costs itself: it is said once, and the next is made from what is kept here."""
    if outcome == "found":
        desk.unfound.discard(checkpoint.capture_id)
    elif outcome == "missing" and checkpoint.capture_id not in desk.unfound:
        desk.unfound.add(checkpoint.capture_id)
        desk.voice.say(
            f"gone:{checkpoint.capture_id}",
            f"The last checkpoint's note was not found at {checkpoint.path}. "
            "The next checkpoint is made from what is kept here and does not link it.",
            "warning",
        )


def seen_at(settled: CaptureProbed) -> str | None:
    """Return where the first note was that a read found, whosever it is."""
    return next((o.file_path for o in settled.observations if o.found == "note" and o.file_path), None)


def _tell(desk: Desk, settled: CaptureProbed, capture: Capture) -> None:
    text, level = _SAID[settled.verdict]
    desk.voice.say(
        "settle", text.format(path=seen_at(settled) or capture.path), "info" if level == "info" else "warning"
    )
