"""Basic Memory's tools as typed calls: what was written, what is there, what was found. It repeats no call.

Nothing here raises for what a server says or fails to say; every outcome is a
value, and its `code` is a short word of ours or a refusal code we know. The
server's own sentences go no further than this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from continuity.capture import digest
from continuity.memory import wire
from continuity.memory.calls import Answer, Caller, Json, Object, Ticket, payload
from continuity.memory.errors import CallFailed
from continuity.memory.search import SearchResult
from continuity.recall import EPOCH_DATE
from journal.events.lifecycle import ProjectSource
from journal.events.writes import Outcome
from journal.ids import Sha256

REFUSALS = frozenset(
    {"NOTE_LOCKED", "NOTE_PATH_CONFLICT", "NOTE_REVISION_CONFLICT", "PROJECT_CONSTRAINED", "SECURITY_VALIDATION_ERROR"}
)
"""Codes that promise that nothing was written. Any other error can leave the note behind."""

ALREADY_EXISTS = "NOTE_ALREADY_EXISTS"
"""No refusal but a question: the note that is there may be the one we wrote."""


class WriteRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One note to be created. Metadata values are strings, because the server normalises every other kind."""

    project: str
    folder: str
    title: str
    content: str
    note_type: str
    metadata: Mapping[str, str]


class WriteOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a write after its one call; the path is the one returned, or the one named in a conflict."""

    outcome: Outcome
    code: str | None = None
    file_path: str | None = None
    permalink: str | None = None
    checksum: str | None = None


class NoteRead(msgspec.Struct, frozen=True, kw_only=True):
    """What a read by identifier found.

    `ambiguous` means several notes answer to the identifier; `unreachable`
    means that nothing was learned, and `code` tells why.
    """

    outcome: Literal["found", "missing", "ambiguous", "unreachable"]
    code: str | None = None
    title: str | None = None
    permalink: str | None = None
    file_path: str | None = None
    content: str | None = None
    """The body as stored, without the newline that separates it from the frontmatter."""
    frontmatter: Mapping[str, str] = {}
    checksum: str | None = None


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What a note says about itself."""

    capture_id: str | None
    source_tip: str | None
    content_digest: str | None


class ProjectInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One project; only `local` lets a dead server prove that nothing more will land."""

    name: str
    source: ProjectSource
    is_default: bool = False
    sha256: Sha256 | None = None
    """Digest of the id and the folder the server tells; None where it tells neither. Two stores may know one name."""
    qualified: str | None = None
    """WORKSPACE/PROJECT, by which it is told from another of its name."""

    @property
    def label(self) -> str:
        """How a person tells it from others of its name."""
        return f"{self.qualified or self.name} ({self.source})"


class Projects(msgspec.Struct, frozen=True, kw_only=True):
    """The projects a server knows, or why they are not known."""

    projects: tuple[ProjectInfo, ...] = ()
    code: str | None = None

    def named(self, name: str) -> tuple[ProjectInfo, ...]:
        """Return the projects that `name` names, each once: by name and workspace if it gives both, else by name alone."""
        exact = [project for project in self.projects if project.qualified == name]
        return tuple(dict.fromkeys(exact or [project for project in self.projects if project.name == name]))

    def several(self, name: str) -> bool:
        """Whether `name` names more than one project, so that nobody can say which of them would answer."""
        return len(self.named(name)) > 1

    def source(self, name: str) -> ProjectSource:
        """Return where `name` lives; several of one name in different places are unknown."""
        found: list[ProjectSource] = [project.source for project in self.named(name)]
        return found[0] if len(set(found)) == 1 else "unknown"

    def sha256(self, name: str) -> Sha256 | None:
        """Return the digest of the one project of this name, if it has one."""
        found = {project.sha256 for project in self.named(name)}
        return found.pop() if len(found) == 1 else None

    def lack(self, name: str) -> bool:
        """Whether `name` does not name one project: none, or several. Never when they are not known."""
        return bool(self.projects) and len(self.named(name)) != 1


async def write_note(
    caller: Caller, request: WriteRequest, seconds: float, *, ticket: Ticket | None = None
) -> WriteOutcome:
    """Ask once for `request` to be created, never to overwrite, and return what the answer proves."""
    arguments: Object = {
        "project": request.project,
        "directory": request.folder,
        "title": request.title,
        "content": request.content,
        "note_type": request.note_type,
        "metadata": dict(request.metadata),
        "overwrite": False,
        "output_format": "json",
    }
    try:
        answer = await caller.call_tool("write_note", arguments, seconds, ticket=ticket)
    except CallFailed as error:
        return WriteOutcome(outcome="unknown" if error.sent else "not-sent", code=error.code)
    return judge_write(answer)


def judge_write(answer: Answer) -> WriteOutcome:
    """Return what an answer to `write_note` proves. Neither the error flag nor `action` is trusted alone. Pure."""
    said = payload(answer)
    if not isinstance(said, Mapping):
        return WriteOutcome(outcome="unknown", code="error-text" if answer.is_error else "answer-text")
    if said.get("error") is not None:
        return _failed_write(said)
    if answer.is_error:
        return WriteOutcome(outcome="unknown", code="error-without-code")
    created = wire.read(wire.Created, said)
    if created is None:
        return WriteOutcome(outcome="unknown", code="answer-invalid")
    return WriteOutcome(
        outcome="accepted", file_path=created.file_path, permalink=created.permalink, checksum=created.checksum
    )


def _failed_write(said: Object) -> WriteOutcome:
    conflict = wire.read(wire.Conflict, said)
    if conflict is None or conflict.error not in REFUSALS | {ALREADY_EXISTS}:
        return WriteOutcome(outcome="unknown", code="error-unknown")
    outcome: Outcome = "refused" if conflict.error in REFUSALS else "unknown"
    return WriteOutcome(
        outcome=outcome, code=conflict.error, file_path=conflict.file_path, permalink=conflict.permalink
    )


async def read_note(caller: Caller, project: str, identifier: str, seconds: float) -> NoteRead:
    """Read one note. Give a path with its `.md`: only then is a miss a clean miss."""
    arguments: Object = {"project": project, "identifier": identifier, "output_format": "json"}
    try:
        answer = await caller.call_tool("read_note", arguments, seconds)
    except CallFailed as error:
        return NoteRead(outcome="unreachable", code=error.code)
    return judge_read(answer)


def judge_read(answer: Answer) -> NoteRead:
    """Return what an answer to `read_note` says. A missing note is an ordinary answer there, not an error. Pure."""
    said = payload(answer)
    if isinstance(said, Mapping) and said.get("error") == "NOTE_NOT_FOUND" and said.get("file_path") is None:
        return NoteRead(outcome="missing")
    if answer.is_error or not isinstance(said, Mapping) or said.get("error") is not None:
        code = wire.failure_code(answer)
        return NoteRead(outcome="ambiguous" if code == "ambiguous" else "unreachable", code=code)
    note = wire.read(wire.Note, said)
    if note is None:
        return NoteRead(outcome="unreachable", code="answer-invalid")
    return NoteRead(
        outcome="found",
        title=note.title,
        permalink=note.permalink,
        file_path=note.file_path,
        content=note.content.removeprefix("\n"),
        frontmatter={name: _as_text(value) for name, value in (note.frontmatter or {}).items()},
        checksum=note.checksum,
    )


def _as_text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def identify(note: NoteRead) -> Identity:
    """Return the identity `note` declares; fields of another shape, or of no note, count as not declared."""
    declared: Mapping[str, str] = note.frontmatter if note.outcome == "found" else {}
    return Identity(
        capture_id=_hex(declared.get("capture_id")),
        source_tip=declared.get("source_tip") or None,
        content_digest=_hex(declared.get("content_digest")),
    )


def _hex(value: str | None) -> str | None:
    return value if value is not None and len(value) == 64 and set(value) <= set("0123456789abcdef") else None


async def search_notes(
    caller: Caller,
    project: str,
    seconds: float,
    *,
    query: str | None = None,
    by_title: bool = False,
    by_words: bool = False,
    note_types: Sequence[str] = (),
    metadata_filters: Object | None = None,
    page_size: int = 10,
    after_date: str | None = EPOCH_DATE,
) -> SearchResult:
    """Search one project, newest first. What is not found may still be there: see `SearchResult.authoritative`.

    `by_words` makes the server look for the words alone, whatever else it can do: the answer then is the same on every
    machine, and no embedding is computed while somebody waits.
    """
    arguments: dict[str, Json] = {"project": project, "page_size": page_size, "output_format": "json"}
    if query is not None:
        arguments |= {"query": query}
    if by_title:
        arguments |= {"search_type": "title"}
    if by_words:
        arguments |= {"search_type": "text"}
    if note_types:
        arguments |= {"note_types": list(note_types)}
    if metadata_filters:
        arguments |= {"metadata_filters": dict(metadata_filters)}
    if after_date is not None:
        arguments |= {"after_date": after_date}
    return await _hits(caller, "search_notes", arguments, seconds)


async def build_context(
    caller: Caller, project: str, permalink: str, seconds: float, *, page_size: int = 5, max_related: int = 30
) -> SearchResult:
    """Return the note at `permalink` and its neighbours in the graph, without their bodies.

    The server counts each link as related too, so `max_related` is several times the neighbours wanted.
    """
    arguments: Object = {
        "project": project,
        "url": f"memory://{permalink}",
        "depth": 1,
        "page_size": page_size,
        "max_related": max_related,
        "timeframe": None,  # the default forgets neighbours after a week
        "compact": True,
        "output_format": "json",
    }
    return await _hits(caller, "build_context", arguments, seconds)


async def recent_activity(
    caller: Caller, project: str, seconds: float, *, timeframe: str = "7d", page_size: int = 10
) -> SearchResult:
    """Return the notes touched lately, newest first, without their bodies."""
    arguments: Object = {
        "project": project,
        "timeframe": timeframe,
        "page_size": page_size,
        "output_format": "json",
    }
    return await _hits(caller, "recent_activity", arguments, seconds)


async def _hits(caller: Caller, tool: str, arguments: Object, seconds: float) -> SearchResult:
    try:
        answer = await caller.call_tool(tool, arguments, seconds)
    except CallFailed as error:
        return SearchResult(outcome="unreachable", code=error.code)
    return SearchResult.from_answer(answer)


async def list_memory_projects(caller: Caller, seconds: float) -> Projects:
    """Return the server's projects and where each lives."""
    try:
        answer = await caller.call_tool("list_memory_projects", {"output_format": "json"}, seconds)
    except CallFailed as error:
        return Projects(code=error.code)
    listing = None if answer.is_error else wire.read(wire.ProjectList, payload(answer))
    if listing is None:
        return Projects(code=wire.failure_code(answer))
    return Projects(
        projects=tuple(
            ProjectInfo(
                name=entry.name,
                source=entry.source_class,
                is_default=entry.is_default,
                qualified=entry.qualified_name,
                sha256=digest([entry.external_id, entry.path]) if entry.external_id or entry.path else None,
            )
            for entry in listing.projects
        )
    )
