"""Decides openings, closes, forks, captures and intents again, in the replayed state; what was observed it takes as it is."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import asdict

from continuity.commands import BeginCapture, CloseSession, Command, CommandRejected, Fork, OpenSession, SubmitWrite
from continuity.decide import decide
from continuity.state import State
from journal.events import (
    BranchForked,
    CaptureBegun,
    Event,
    SessionClosed,
    SessionOpened,
    SynthesisFinished,
    WriteIntended,
)
from journal.ids import Sha256


def differences(state: State, event: Event) -> Iterator[str]:
    """Yield what deciding again in `state` gives that `event` does not say; nothing if it decides nothing itself."""
    command = _command(event)
    if command is None:
        return
    try:
        decided = decide(state, command)
    except CommandRejected as error:
        yield f"replay refuses it: {error.reason}"
        return
    again = next((each for each in decided if type(each) is type(event)), None)
    if again is None:
        yield "replay would not have recorded it"
        return
    mine = asdict(again)
    for name, value in asdict(event).items():
        if value != mine[name]:
            yield f"{name} is {_shown(value)}, replay gives {_shown(mine[name])}"


def _shown(value: object) -> str:
    return "none" if value is None or value == () else str(value)


def _command(event: Event) -> Command | None:
    """The request behind an event, with only what the shell brought; what the machine added is derived again."""
    match event:
        case SessionOpened():
            return OpenSession(
                reason=event.reason,
                host=event.host,
                version=event.version,
                level=event.level,
                profile=event.profile,
                destination=event.destination,
                policy=event.policy,
                writer=event.writer,
                process=event.process,
            )
        case SessionClosed():
            return CloseSession(reason=event.reason)
        case BranchForked():
            return Fork(reason=event.reason, left_tip=event.left_tip)
        case CaptureBegun():
            return BeginCapture(
                capture_id=event.capture_id,
                kind=event.kind,
                project=event.project,
                source_tip=event.source_tip,
                reason=event.reason,
                text=None if event.kind == "checkpoint" else _some_text(event),
            )
        case WriteIntended():
            return SubmitWrite(
                capture_id=event.capture_id,
                address=event.address,
                content_sha256=event.content_sha256,
                note_type=event.note_type,
                metadata_sha256=event.metadata_sha256,
                writer=event.writer,
                connection=event.connection,
            )
        case _:
            return None


def _some_text(event: CaptureBegun) -> SynthesisFinished:
    """What no model makes begins with its text; which text that was says the row after it, and is no matter here."""
    return SynthesisFinished(
        capture_id=event.capture_id,
        handoff_sha256=Sha256("0" * 64),
        characters=0,
        chunks=0,
        maskings=0,
        rule_set=0,
        model=None,
        tokens_in=0,
        tokens_out=0,
    )
