"""Small, valid facts for core tests; each builder takes only what a test is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from journal.events import (
    CaptureBegun,
    CaptureProbed,
    Event,
    MemoryConnected,
    SessionOpened,
    SynthesisFinished,
    WorkSettled,
    WriteAnswered,
    WriteIntended,
)
from journal.events.capture import CaptureKind
from journal.events.lifecycle import OpenReason, PolicyValues, Process, Profile, ProjectSource
from journal.events.writes import NoteAddress, Observation, Outcome, ServerState, Verdict, Way
from journal.ids import CaptureId, ConnectionId, EntryId, ProjectName, Sha256, WriterId

CAPTURE = CaptureId("c" * 64)
OTHER_CAPTURE = CaptureId("d" * 64)
BODY = Sha256("b" * 64)
OTHER_BODY = Sha256("e" * 64)
HANDOFF = Sha256("a" * 64)
METADATA = Sha256("f" * 64)
PROJECT = ProjectName("main")
WRITER = WriterId("writer-1")
NEXT_WRITER = WriterId("writer-2")
CONNECTION = ConnectionId("connection-1")
ADDRESS = NoteAddress(folder="tau/checkpoints", title="tau-checkpoint-cccc")
TIP = EntryId("aa01")

PROCESS = Process(machine="machine-1", boot="boot-1", pid_namespace="1", pid=10, process_group=10, started=100)
POLICY = PolicyValues(
    capture=True,
    recall=True,
    on_compact=True,
    on_shutdown=True,
    cadence_characters=4_000,
    cadence_ms=600_000,
    chunk_chars=16_000,
    recall_chars=12_000,
)

COMPATIBLE_DEFAULTS: Mapping[str, object] = {
    "command": "bm",
    "args": ["mcp", "--transport", "stdio"],
    "project": None,
    "read_projects": [],
    "repositories": [],
    "auto_recall": True,
    "capture_knowledge": True,
    "checkpoint_on_compact": True,
    "summarize_on_shutdown": True,
    "capture_transcript": False,
    "capture_folder": "tau/transcripts",
    "checkpoint_folder": None,
    "placement_conventions": None,
    "timeout_seconds": 30,
    "summary_timeout_seconds": 60,
    "summary_chunk_chars": 16000,
    "recall_chars": 12000,
}
"""What the settings are that Basic Memory's own extension has too, where nobody set them."""


def opened(
    reason: OpenReason = "startup",
    *,
    writer: WriterId = WRITER,
    ended: tuple[WriterId, ...] = (),
    destination: ProjectName | None = PROJECT,
    policy: PolicyValues = POLICY,
) -> SessionOpened:
    """A session opened by `writer`."""
    return SessionOpened(
        reason=reason,
        host="tau 0.4.8",
        version="0.1.0",
        level="B",
        profile=Profile(kind="general", scope="work", repository=None, folder="tau/checkpoints"),
        destination=destination,
        policy=policy,
        writer=writer,
        process=PROCESS,
        writers_ended=ended,
    )


def connected(connection: ConnectionId = CONNECTION) -> MemoryConnected:
    """A local memory server is up, with the project it always had."""
    return MemoryConnected(
        connection=connection,
        server="basic-memory",
        server_version="0.24.1",
        inventory_sha256=None,
        project_source="local",
        project_sha256=Sha256("d" * 64),
        process=PROCESS,
    )


def settled(characters: int = 5_000, *, messages: int = 2, interrupted: bool = False) -> WorkSettled:
    """The agent came to rest."""
    return WorkSettled(messages=messages, characters=characters, interrupted=interrupted)


def begun(
    capture: CaptureId = CAPTURE,
    tip: EntryId = TIP,
    *,
    kind: CaptureKind = "checkpoint",
    prior: tuple[Sha256, EntryId] | None = None,
    reason: str = "cadence",
) -> CaptureBegun:
    """A capture began."""
    return CaptureBegun(
        capture_id=capture,
        attempt=1,
        kind=kind,
        project=PROJECT,
        source_tip=tip,
        reason=reason,
        prior_sha256=prior[0] if prior else None,
        prior_tip=prior[1] if prior else None,
        focus_sha256=None,
    )


def finished(capture: CaptureId = CAPTURE, handoff: Sha256 = HANDOFF) -> SynthesisFinished:
    """Its handoff is complete."""
    return SynthesisFinished(
        capture_id=capture,
        handoff_sha256=handoff,
        characters=900,
        chunks=1,
        maskings=0,
        rule_set=1,
        model="scripted",
        tokens_in=10,
        tokens_out=5,
    )


def intended(
    capture: CaptureId = CAPTURE,
    tip: EntryId = TIP,
    *,
    attempt: int = 1,
    kind: CaptureKind = "checkpoint",
    writer: WriterId = WRITER,
) -> WriteIntended:
    """Its write is about to be sent."""
    return WriteIntended(
        capture_id=capture,
        attempt=attempt,
        mode="create",
        kind=kind,
        project=PROJECT,
        source_tip=tip,
        address=ADDRESS,
        content_sha256=BODY,
        note_type="session",
        metadata_sha256=METADATA,
        writer=writer,
        connection=CONNECTION,
    )


def answered(
    outcome: Outcome = "accepted",
    capture: CaptureId = CAPTURE,
    *,
    attempt: int = 1,
    code: str | None = None,
    path: str | None = ADDRESS.file_path,
) -> WriteAnswered:
    """The call came to an end."""
    accepted = outcome == "accepted"
    return WriteAnswered(
        capture_id=capture,
        attempt=attempt,
        outcome=outcome,
        code=code,
        file_path=path if accepted else None,
        permalink="main/tau/checkpoints/tau-checkpoint-cccc" if accepted else None,
        checksum="sum-1" if accepted else None,
    )


def seen(
    by: Way = "address",
    *,
    capture: CaptureId | None = CAPTURE,
    tip: EntryId | None = TIP,
    body: Sha256 | None = BODY,
    declared: Sha256 | None = BODY,
    path: str = ADDRESS.file_path,
) -> Observation:
    """A read found a note."""
    return Observation(
        by=by,
        found="note",
        capture_id=capture,
        source_tip=tip,
        declared_sha256=declared,
        content_sha256=body,
        file_path=path,
        checksum="sum-1",
    )


def missed(
    by: Way = "address",
    found: Literal["nothing", "unreachable"] = "nothing",
) -> Observation:
    """A read found nothing, or could not be made."""
    return Observation(
        by=by,
        found=found,
        capture_id=None,
        source_tip=None,
        declared_sha256=None,
        content_sha256=None,
        file_path=None,
        checksum=None,
    )


NOWHERE = (missed("address"), missed("title"), missed("id_search"))


def probed(
    verdict: Verdict,
    *observations: Observation,
    capture: CaptureId = CAPTURE,
    server: ServerState = "gone",
    source: ProjectSource = "local",
    index: bool = True,
) -> CaptureProbed:
    """Reads were made and judged."""
    return CaptureProbed(
        capture_id=capture,
        attempt=1,
        connection=CONNECTION,
        observations=observations,
        writing_server=server,
        project_source=source,
        index_proven=index,
        verdict=verdict,
    )


SAVED: tuple[Event, ...] = (opened(), connected(), settled(), begun(), finished(), intended(), answered())
"""One checkpoint, confirmed by the server's answer."""

DOUBTED: tuple[Event, ...] = (
    *SAVED[:-1],
    opened("resume", writer=NEXT_WRITER, ended=(WRITER,)),
    connected(ConnectionId("connection-2")),
)
"""The writer died between its intent and the answer; a new one is connected."""
