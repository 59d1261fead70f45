"""What a person is told of a write: before the first of a session, and after each. It decides and records nothing."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from continuity.memory.notes import WriteOutcome, WriteRequest
from continuity.shell.desk import Desk
from journal.events import MemoryConnected, WriteIntended
from journal.events.capture import CaptureKind
from journal.row import Row

_NAMES: dict[CaptureKind, str] = {"checkpoint": "checkpoint", "note": "note", "transcript": "transcript note"}


def disclosed(desk: Desk, kind: CaptureKind, request: WriteRequest, described: MemoryConnected) -> None:
    """Before the first automatic write of a session the person is told where to, what, when, and how to stop it.

    A note is written because somebody said so, there and then. Where the journal holds a checkpoint sent to the same
    place, by whatever process, the person was told before that one.
    """
    where = f"project {request.project} ({described.project_source}), folder {request.folder}"
    if kind == "checkpoint" and not _sent_before(desk, request):
        every = desk.settings.cadence == "every"
        when = "after every turn" if every else "as work gathers, at compactions and at exit"
        desk.voice.at_once(
            f"destination:{desk.session_id}",
            f"Continuity saves masked summaries of this conversation {when} to {where}. "
            "/bm-pause stops it in this session, `capture_knowledge` false in all; /bm-last shows what was saved.",
        )
    elif kind == "transcript":
        desk.voice.at_once(
            f"transcripts:{desk.session_id}",
            f"Continuity saves every message of this conversation, masked, after each turn to {where}. "
            "/bm-pause stops it in this session, `capture_transcript` false in all.",
        )


def _sent_before(desk: Desk, request: WriteRequest) -> bool:
    states = desk.ledger.states.values() if desk.ledger is not None else ()
    intents = [state.checkpoint.intent for state in states if state.checkpoint is not None]
    sent = [(each.event.project, each.event.address.folder) for each in intents if each is not None]
    return (request.project, request.folder) in sent


def told(desk: Desk, intent: WriteIntended, outcome: WriteOutcome, row: Row | None) -> None:
    """Say what is known of a write after its one call, and which `row` proves it to whoever asked for it.

    A transcript note is one of many: that it is stored is no news.
    """
    name, asked = _NAMES[intent.kind], intent.kind == "note" or (intent.kind == "checkpoint" and desk.asked)
    say = desk.voice.at_once if asked else desk.voice.say
    proof = f" {recorded_as(row)}" if asked and row is not None else ""
    topic = f"save:{intent.capture_id}"  # only what comes of the same capture takes the place of what was not heard
    match outcome.outcome:
        case "accepted":
            if intent.kind != "transcript":
                say(topic, f"{name.capitalize()} saved: {outcome.file_path} (answered by the server).{proof}")
        case "refused":
            say(topic, f"The server refused the {name} ({outcome.code}). See /bm-pending.{proof}", "warning")
        case "unknown":
            text = f"It is not known whether the {name} was stored ({outcome.code}); it is being settled by reading."
            say(topic, f"{text}{proof}", "warning")
        case "not-sent":
            text = f"The {name} was not sent ({outcome.code}); it is kept and tried again by itself."
            say(topic, f"{text}{proof}", "warning")
    if intent.kind == "checkpoint" and outcome.outcome != "not-sent":
        desk.asked = False


def recorded_as(row: Row) -> str:
    """Return where a fact is on record, so that a person can look it up."""
    return f"Recorded as row {row.branch}@{row.position}, {row.digest[:10]}."


_WHY_DOWN: Mapping[str, str] = MappingProxyType(
    {
        "not-found": "the memory server's command was not found; install basic-memory or set `command`",
        "inside-checkout": "the memory server's command lies inside this checkout and is not run; set `command`",
        "relative": "`command` must be a name or an absolute path",
        "timeout": "the memory server did not answer; it is tried again when needed",
        "garbage": "the memory server speaks something else than MCP; check `command` and `args`",
        "exited": "the memory server ended at once; run its command in a terminal to see why",
        "unstartable": "the memory server could not be started; run its command in a terminal to see why",
    }
)


def reason_down(error: str | None) -> str:
    """Name in our own words why there is no server, and the remedy."""
    return _WHY_DOWN.get(error or "", "the memory server failed; `continuity doctor` looks into it")


def why_down(error: str | None) -> str:
    """Return the notice of it."""
    return f"Memory unavailable: {reason_down(error)}."
