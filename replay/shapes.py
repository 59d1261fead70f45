"""What the offline commands say as JSON: versioned shapes, from which `schemas/cli` is generated. No text for people is here."""

from __future__ import annotations

from typing import Literal

import msgspec

from continuity.state import Evidence, Status
from journal.events.capture import CaptureKind
from journal.events.writes import Decision, Verdict

type Severity = Literal["broken", "unproven"]


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all shapes; keys come in the order written here."""


class LogLine(Shape, frozen=True, kw_only=True):
    """One recorded event; `log --json` prints one object a line, oldest first, all branches in order of recording."""

    branch: int
    position: int
    id: str
    """The digest in hex: what a reference may be a prefix of."""
    at_ms: int
    tip: str | None
    cause: str | None
    type: str
    """The tag with its version."""
    data: dict[str, object] | str
    """The payload without its tag; the payload itself, as text, when it is not what its tag promises."""
    digest: str


class ShownEvent(LogLine, frozen=True, kw_only=True):
    """One event with the texts that it names by digest, as far as they are kept."""

    bodies: dict[str, str]
    erased: dict[str, str]
    """Texts that it names and that are gone: by digest, when and why they were erased, in words."""


class Checkpoint(Shape, frozen=True, kw_only=True):
    """The newest confirmed checkpoint of a branch."""

    capture_id: str
    attempt: int
    project: str
    file_path: str | None
    evidence: Evidence | None
    labels: list[Literal["moved", "edited"]]


class PendingCapture(Shape, frozen=True, kw_only=True):
    """One write whose outcome is open: intended, in_doubt or conflicted."""

    capture_id: str
    attempt: int
    status: Status
    project: str
    file_path: str | None
    """Where it was found, else where it was asked to be."""
    since_ms: int
    """When its intent was recorded."""


class RecallView(Shape, frozen=True, kw_only=True):
    """What a branch owes its next prompt, and what it last gave."""

    due: str | None
    planned: bool
    brief_sha256: str | None
    delivered_ms: int | None
    failures: list[str]


class StateView(Shape, frozen=True, kw_only=True):
    """A branch after one of its rows."""

    schema: Literal["continuity.state/1"] = "continuity.state/1"
    session: str
    journal: str
    branch: int
    position: int
    tip: str | None
    checkpoint: Checkpoint | None
    pending: list[PendingCapture]
    recall: RecallView


class BranchView(Shape, frozen=True, kw_only=True):
    """One branch: where it left its parent and how far it goes."""

    branch: int
    parent: int | None
    fork_position: int
    position: int
    """Of its last row, ancestors counted."""
    events: int
    """Rows that it recorded itself."""
    tip: str | None
    first_ms: int | None
    last_ms: int | None
    digest: str | None
    """Of its last row."""
    written_last: bool


class BranchesView(Shape, frozen=True, kw_only=True):
    """All branches of a journal, by number."""

    schema: Literal["continuity.branches/1"] = "continuity.branches/1"
    session: str
    journal: str
    branches: list[BranchView]


class Unproven(Shape, frozen=True, kw_only=True):
    """One write, or one forwarded tool call, that is not settled: nobody knows what became of it, or it waits to be decided."""

    path: str
    """The journal's file."""
    session: str
    journal: str
    branch: int
    reference: str
    """The capture's or the call's identity; its beginning names it to other commands."""
    kind: CaptureKind | Literal["call"]
    capture_id: str | None
    """Null for a tool call."""
    attempt: int | None
    status: Status
    project: str | None
    file_path: str | None
    tool: str | None
    """Null for a capture."""
    since_ms: int
    probes: int
    """How often it was looked for."""
    probed_ms: int | None
    verdict: Verdict | None
    """Of the newest look."""
    code: str | None
    unproven: bool
    """False when it is known not to be stored: then it waits for a person's decision alone."""
    live: bool
    """A running process holds the journal, and only its own session settles anything in it."""
    why: str
    next_step: str
    choices: list[Decision]
    """What a person may decide now."""


class NotStored(Shape, frozen=True, kw_only=True):
    """What one session keeps and nobody sent yet. It waits for no decision; what opens the session again stores it."""

    kind: Literal["not-stored"] = "not-stored"
    path: str
    """The journal's file."""
    session: str
    journal: str
    ready: int
    """Texts that are made, and wait for memory alone."""
    unmade: int
    """Checkpoints that a model has to make first."""
    failed: int
    """Of those, the ones that a model failed to make so far."""
    since_ms: int
    """When the oldest of it was said."""
    live: bool
    """A running process holds the journal, and stores it itself."""
    why: str
    next_step: str


class WhyStep(LogLine, frozen=True, kw_only=True):
    """One row of a story."""

    link: Literal["cause", "own", "writer-ended"]
    """It led here; it is about the capture or the call itself; it proves that whoever sent it has ended."""
    asked: bool
    """The reference names this very row."""
    said: str
    details: list[str]
    """In words: what each read found, a person's kept reason."""


class KnownView(Shape, frozen=True, kw_only=True):
    """What is known now."""

    status: str
    """Of a capture or a call; `recorded` for a row that is about neither."""
    settled: bool
    evidence: Evidence | None
    text: str
    next_step: str | None
    """Null when nothing is left to do."""


class WhyView(Shape, frozen=True, kw_only=True):
    """The rows that led to one row, capture or call, oldest first, and what became of it."""

    schema: Literal["continuity.why/1"] = "continuity.why/1"
    path: str
    session: str
    journal: str
    branch: int
    kind: CaptureKind | Literal["call", "row"]
    reference: str
    """The whole identity of the capture or the call, else the row's digest."""
    steps: list[WhyStep]
    known: KnownView


class BriefNote(Shape, frozen=True, kw_only=True):
    """One note that came back for a brief."""

    file_path: str
    project: str | None
    treatment: Literal["used", "cut", "withheld"]
    characters: int
    """Of its text in the brief."""
    of_characters: int | None
    """Of its text as it came; null when no answer tells."""
    checksum: str | None
    """Of the revision that was read; null when the note was not read by then, or its text was kept here."""
    question: str | None
    """Which brought it; `checkpoint` for the branch's own."""
    brought: str
    """Why it came back at all, in words."""
    why: str
    """Why it was cut or withheld; empty when it was used."""


class BriefQuestion(Shape, frozen=True, kw_only=True):
    """One question of the round behind a brief, and what had become of it by then."""

    name: str
    query_sha256: str
    outcome: Literal["answered", "failed", "late"]
    hits: int
    authoritative: bool
    """Its answer left nothing out."""
    error: str | None


class BriefView(Shape, frozen=True, kw_only=True):
    """What one brief put into the model's context, note by note, and where each came from."""

    schema: Literal["continuity.why-brief/1"] = "continuity.why-brief/1"
    path: str
    session: str
    journal: str
    branch: int
    position: int
    id: str
    """The digest of the row that records its delivery."""
    at_ms: int
    brief_sha256: str
    characters: int
    how: str
    complete: bool
    """False when it stayed due."""
    reason: str | None
    topic_sha256: str | None
    topic: str | None
    """The words taken from the prompt, as far as they are kept."""
    checkpoint: str | None
    """The capture id of the checkpoint it names."""
    evidence: str | None
    notes: list[BriefNote]
    questions: list[BriefQuestion]


class FindingView(Shape, frozen=True, kw_only=True):
    """One thing that is wrong, or that nothing proves."""

    rule: str
    severity: Severity
    branch: int | None
    position: int | None
    detail: str


class Proved(Shape, frozen=True, kw_only=True):
    """How far one branch is proven."""

    position: int
    """The last row of its history up to which every digest follows from the rows before and every event is readable."""
    digest: str | None
    anchored: int | None
    """The last row that a receipt outside the file vouches for; null when none does."""


class AuditView(Shape, frozen=True, kw_only=True):
    """What an audit found. `ok` is false when a finding is broken; unproven ones are listed and leave it true."""

    ok: bool
    journal_mode: str | None
    """SQLite's word for how it commits: a sound journal says wal. Null when the file is too damaged to say."""
    file_system: str | None
    """The kind of file system the file lies on; null where the machine cannot tell."""
    file_system_supported: bool
    """Whether a journal may be written there; it can be read anywhere."""
    proved_to: dict[str, Proved]
    """By branch number."""
    findings: list[FindingView]


class RescanFinding(Shape, frozen=True, kw_only=True):
    """One kept text that would be masked now and was not when it was kept. The value itself is nowhere in here."""

    journal: str
    session_id: str
    branch: int | None
    """With `position`, the row that the text was recorded with; null if no row names it."""
    position: int | None
    type: str | None
    digest: str
    values: int
    """How many values in it would be masked."""
    erased: bool
    """It was erased now: the journal says so, and no file of it holds the text any more."""
    unstored: bool
    """It is the text of a note that is not known to be stored and that nothing would bring back, so it is not erased."""


class Rescan(Shape, frozen=True, kw_only=True):
    """What the present rules find in kept texts."""

    rule_set: int
    journals: int
    texts: int
    """Kept texts looked at."""
    findings: list[RescanFinding]
    unfinished: list[str]
    """Journals whose files still hold what was erased, for another program reads them: erase again once it has ended."""


CLI_SHAPES: dict[str, type[Shape]] = {
    "log": LogLine,
    "show": ShownEvent,
    "state": StateView,
    "branches": BranchesView,
    "unproven": Unproven,
    "why": WhyView,
    "why-brief": BriefView,
    "audit": AuditView,
    "rescan": Rescan,
}
"""The shape behind each command's `--json`; `why --brief` prints the one after `why`, and `unproven` a list of its shape
and, at its end, of `NotStored`."""
