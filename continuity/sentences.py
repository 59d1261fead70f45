"""Says in one line what a recorded event means to a person, wherever it is listed; exact values are the JSON's business."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from datetime import UTC, datetime
from typing import cast

import msgspec

from journal import codec
from journal.errors import RowUnreadable
from journal.events import (
    BasisTaken,
    BodiesErased,
    BranchForked,
    BriefDelivered,
    CaptureBegun,
    CaptureProbed,
    CaptureResolved,
    CheckpointReferenced,
    CompactionEnded,
    Event,
    MemoryConnected,
    NoteMoved,
    OperationFailed,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    ReceiptAdopted,
    SessionClosed,
    SessionOpened,
    SynthesisFailed,
    SynthesisFinished,
    ToolAnswered,
    ToolCalled,
    ToolResolved,
    TranscriptPassed,
    WorkSettled,
    WriteAnswered,
    WriteIntended,
)
from journal.row import RawRow

_SHORT = 10
_LONGEST = 200


def told(event: Event) -> str:
    """Return what happened; not yet escaped. An event without a sentence of its own is told by its fields."""
    return _life(event) or _capture(event) or _write(event) or _recall(event) or ", ".join(_fields(event))


def sentence(row: RawRow) -> str:
    """Return what happened, in one line; not yet escaped. A row that cannot be decoded is told as it is."""
    try:
        return _cut(told(codec.decode(row.type, row.payload)))
    except RowUnreadable:
        return _cut(row.payload)


def named(row: RawRow) -> str:
    """Return what kind of event it is, without the version of its shape; not yet escaped."""
    return row.type.rpartition(".v")[0] or row.type


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def utc(at_ms: int) -> str:
    """Return UTC milliseconds as a date and a time."""
    try:
        second = datetime.fromtimestamp(at_ms // 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms"
    return f"{second:%Y-%m-%d %H:%M:%S}.{at_ms % 1000:03}Z"


def short(digest: str) -> str:
    """Return the beginning of a digest, enough to recognise it."""
    return digest[:_SHORT]


def _fields(event: Event) -> Iterator[str]:
    """Name and value of every field that says something; a list is told by its length."""
    for name, value in cast("dict[str, object]", msgspec.to_builtins(event)).items():
        if name == "type" or value is None:
            continue
        shown = str(len(cast("Sized", value))) if isinstance(value, list | tuple) else str(value)
        yield f"{name.removesuffix('_sha256').replace('_', ' ')} {short(shown) if len(shown) == 64 else shown}"


def counted(number: int, thing: str) -> str:
    """Return how many there are, in words that fit one of them too."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _joined(*parts: str | None) -> str:
    return ", ".join(part for part in parts if part)


def _life(event: Event) -> str | None:
    match event:
        case SessionOpened():
            return _opened(event)
        case SessionClosed():
            unsaved = event.unsaved_tip and f"unsaved {event.unsaved_tip}"
            return _joined(event.reason, "drained" if event.drained else "work left", unsaved)
        case BranchForked():
            left, kept = event.left_tip and f"left {event.left_tip}", event.kept_tip and f"kept {event.kept_tip}"
            return _joined(event.reason, left, kept)
        case WorkSettled():
            interrupted = "interrupted" if event.interrupted else None
            return _joined(counted(event.messages, "message"), counted(event.characters, "character"), interrupted)
        case CompactionEnded():
            return _joined(event.reason, "aborted" if event.aborted else None)
        case MemoryConnected():
            return f"{event.server} {event.server_version}, project {event.project_source}, process {event.process.pid}"
        case OperationFailed():
            return f"{event.operation}: {event.error}; {event.remedy}"
        case BodiesErased():
            return f"{counted(len(event.digests), 'kept text')}, {event.reason}"
        case _:
            return None


def _opened(event: SessionOpened) -> str:
    return _joined(
        event.reason,
        event.host,
        f"level {event.level}",
        f"{event.profile.kind} {event.profile.scope}",
        f"to {event.destination}" if event.destination else "no destination",
        f"{counted(len(event.writers_ended), 'earlier writer')} ended" if event.writers_ended else None,
    )


def _capture(event: Event) -> str | None:
    match event:
        case CaptureBegun():
            return f"{short(event.capture_id)}: {event.kind} of {event.source_tip} to {event.project}, {event.reason}"
        case SynthesisFinished():
            masked = f"{event.maskings} masked" if event.maskings else None
            chunks = counted(event.chunks, "chunk") if event.chunks else None
            size = _joined(counted(event.characters, "character"), chunks, masked, event.model)
            return f"{short(event.capture_id)}: {size}"
        case SynthesisFailed():
            return f"{short(event.capture_id)}: {event.error}"
        case ReceiptAdopted():
            return f"{short(event.capture_id)}: from {event.origin}, {event.file_path}"
        case BasisTaken():
            since = ", edited since," if event.edited else ""
            return f"{short(event.capture_id)}: its note{since} is what the next synthesis starts from"
        case TranscriptPassed():
            withheld = f"{event.withheld} withheld" if event.withheld else None
            return _joined(f"through {event.through}", f"{counted(event.messages, 'message')} without a note", withheld)
        case NoteMoved():
            return f"{short(event.capture_id)}: {event.file_path}"
        case _:
            return None


def _write(event: Event) -> str | None:
    match event:
        case WriteIntended():
            return f"{_attempt(event)}: {event.kind} to {event.project}, {event.address.file_path}"
        case WriteAnswered():
            return f"{_attempt(event)}: {_joined(event.outcome, event.code, event.file_path)}"
        case CaptureProbed():
            seen = _joined(*(f"{each.by} {each.found}" for each in event.observations)) or "nothing asked"
            return f"{_attempt(event)}: {event.verdict} ({seen}; writing server {event.writing_server})"
        case CaptureResolved():
            return f"{_attempt(event)}: {event.decision} by a person"
        case ToolCalled():
            return f"{event.name} ({event.call_id})"
        case ToolResolved():
            return f"{event.call_id}: {event.decision} by a person"
        case ToolAnswered():
            return f"{event.call_id}: {_joined(event.outcome, event.code)}"
        case _:
            return None


def _attempt(event: WriteIntended | WriteAnswered | CaptureProbed | CaptureResolved) -> str:
    return short(event.capture_id) + (f" attempt {event.attempt}" if event.attempt > 1 else "")


def _recall(event: Event) -> str | None:
    match event:
        case RecallPlanned():
            return f"{event.reason}: {_joined(*(query.name for query in event.queries))}"
        case RecallAnswered():
            authority = None if event.authoritative else "not authoritative"
            return f"{event.name}: {_joined(counted(len(event.hits), 'hit'), authority)}"
        case RecallFailed():
            return f"{event.name}: {event.error}"
        case BriefDelivered():
            size = _joined(counted(event.characters, "character"), counted(len(event.sources), "source"))
            return f"{short(event.brief_sha256)}: {size}, {event.how}{'' if event.complete else ', incomplete'}"
        case CheckpointReferenced():
            return f"{short(event.capture_id)}: {event.evidence}"
        case _:
            return None
