"""What a person is told of a write: before the first of a session, and after each. It decides and records nothing."""

from __future__ import annotations

from continuity.memory.notes import WriteOutcome, WriteRequest
from continuity.shell.desk import Desk
from journal.events import MemoryConnected, WriteIntended
from journal.events.capture import CaptureKind

_NAMES: dict[CaptureKind, str] = {"checkpoint": "checkpoint", "note": "note", "transcript": "transcript note"}


def disclosed(desk: Desk, kind: CaptureKind, request: WriteRequest, described: MemoryConnected) -> None:
    """Before the first automatic write of a session the person is told where to, what, when, and how to stop it.

    A note is written because somebody said so, there and then.
    """
    where = f"project {request.project} ({described.project_source}), folder {request.folder}"
    if kind == "checkpoint":
        every = desk.settings.cadence == "every"
        when = "after every turn" if every else "as work gathers, at compactions and at exit"
        desk.voice.say(
            f"destination:{desk.session_id}",
            f"Continuity saves masked summaries of this conversation {when} to {where}. "
            "/bm-pause stops it in this session, `capture_knowledge` false in all; /bm-last shows what was saved.",
        )
    elif kind == "transcript":
        desk.voice.say(
            f"transcripts:{desk.session_id}",
            f"Continuity saves every message of this conversation, masked, after each turn to {where}. "
            "/bm-pause stops it in this session, `capture_transcript` false in all.",
        )


def told(desk: Desk, intent: WriteIntended, outcome: WriteOutcome) -> None:
    """Say what is known of a write after its one call. A transcript note is one of many: that it is stored is no news."""
    name = _NAMES[intent.kind]
    match outcome.outcome:
        case "accepted":
            if intent.kind != "transcript":
                desk.voice.say("save", f"{name.capitalize()} saved: {outcome.file_path} (answered by the server).")
        case "refused":
            desk.voice.say("save", f"The server refused the {name} ({outcome.code}). See /bm-pending.", "warning")
        case "unknown":
            desk.voice.say(
                "save",
                f"It is not known whether the {name} was stored ({outcome.code}); it is being settled by reading.",
                "warning",
            )
        case "not-sent":
            desk.voice.say("save", f"The {name} was not sent ({outcome.code}); it is kept.", "warning")
