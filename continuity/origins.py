"""Tells of one brief, note by note, what went into context, from which revision, why, and what was cut or withheld.

It knows rows alone, so an auditor and the session itself tell the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec

from continuity.privacy.quoting import one_line, printable
from journal.events import (
    BriefDelivered,
    CheckpointReferenced,
    NoteWithdrawn,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    SessionOpened,
    WorkBegun,
)
from journal.events.recall import HitRef
from journal.ids import BranchId, CaptureId, ProjectName, Sha256
from journal.row import Row

type Treatment = Literal["used", "cut", "withheld"]
type Outcome = Literal["answered", "failed", "late"]

CHECKPOINT = "checkpoint"
"""The question that stands for the branch's own checkpoint, which is read and not searched for."""

_BROUGHT: Mapping[str, str] = MappingProxyType(
    {
        CHECKPOINT: "the branch's newest confirmed checkpoint",
        "neighbourhood": "linked with the branch's checkpoint",
        "prior-work": "earlier work in this scope",
        "prior-work-without-branch": "earlier work in this repository, on no branch",
        "prior-work-by-folder": "earlier work in this folder",
        "tasks": "an active task",
        "decisions": "an open decision",
        "shared-tasks": "an active task of an approved read-only project",
        "shared-decisions": "an open decision of an approved read-only project",
        "topic-tasks": "an active task that has words of the prompt",
        "topic-decisions": "an open decision that has words of the prompt",
        "recent": "changed lately",
    }
)
_WITHDRAWN = "the branch's newest checkpoint, whose note is proven gone"
_UNTOLD = "it came back and is no part of the brief; why was not recorded"
_SHORT = 10


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One note that came back for a brief, and what was done with it."""

    file_path: str
    project: ProjectName | None
    treatment: Treatment
    characters: int
    """Of its text in the brief."""
    of_characters: int | None
    """Of its text as it came; null when no answer of the round told it."""
    checksum: str | None
    """Of the revision that was read; null when the note was not read by then, or its text was kept here."""
    question: str | None
    """The question that brought it; null when no answer before the brief tells."""
    brought: str
    """Why it came back at all, in words."""
    why: str
    """Why it was cut or withheld; empty when it was used."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question of the round behind a brief, and what had become of it by then."""

    name: str
    query_sha256: Sha256
    outcome: Outcome
    """`late` when the brief went out before its answer was recorded."""
    hits: int
    authoritative: bool
    """Its answer left nothing out."""
    error: str | None


class Origins(msgspec.Struct, frozen=True, kw_only=True):
    """Where one brief came from."""

    branch: BranchId
    position: int
    id: Sha256
    """The digest of the row that records its delivery."""
    at_ms: int
    brief_sha256: Sha256
    characters: int
    how: str
    complete: bool
    reason: str | None
    """Why a brief was due; null when no round was recorded before it."""
    topic_sha256: Sha256 | None
    checkpoint: CaptureId | None
    evidence: str | None
    """Of the checkpoint that it names, at that moment."""
    notes: tuple[Note, ...]
    questions: tuple[Question, ...]


def origins_of(history: Sequence[Row], at: int | None = None) -> Origins | None:
    """Return where the newest brief of `history`, one branch's rows from 1 on, came from; None when it has none.

    With `at` it is the newest one at or before that position.
    """
    upto = len(history) if at is None else at
    for place in reversed(range(upto)):
        row = history[place]
        if isinstance(row.event, BriefDelivered):
            return _origins(row, row.event, history[:place], history[place + 1 :])
    return None


def _origins(row: Row, brief: BriefDelivered, before: Sequence[Row], after: Sequence[Row]) -> Origins:
    rounds = _rounds(before)
    named = _named(brief, after)
    return Origins(
        branch=row.branch,
        position=row.position,
        id=row.digest,
        at_ms=row.at_ms,
        brief_sha256=brief.brief_sha256,
        characters=brief.characters,
        how=brief.how,
        complete=brief.complete,
        reason=rounds[0].planned.reason if rounds else None,
        topic_sha256=next((each.planned.topic_sha256 for each in rounds if each.planned.topic_sha256), None),
        checkpoint=named.capture_id if named is not None else None,
        evidence=named.evidence if named is not None else None,
        notes=tuple(_notes(brief, named, before, rounds)),
        questions=tuple(_questions(rounds)),
    )


class _Round(NamedTuple):
    planned: RecallPlanned
    since: Sequence[Row]
    """The rows after it, up to the brief."""

    @property
    def answers(self) -> Iterator[RecallAnswered]:
        names = {query.name for query in self.planned.queries}
        events = (row.event for row in self.since)
        yield from (event for event in events if isinstance(event, RecallAnswered) and event.name in names)


def _named(brief: BriefDelivered, after: Sequence[Row]) -> CheckpointReferenced | None:
    """The checkpoint that the brief names is recorded right behind it, before any other brief."""
    for row in after:
        if isinstance(row.event, BriefDelivered):
            return None
        if isinstance(row.event, CheckpointReferenced) and row.event.brief_sha256 == brief.brief_sha256:
            return row.event
    return None


def _rounds(before: Sequence[Row]) -> list[_Round]:
    """Return the newest round asked ahead of the prompt, and the questions about the prompt's topic if there were any."""
    found: list[_Round] = []
    prompted = False
    for place in reversed(range(len(before))):
        event = before[place].event
        prompted = prompted or isinstance(event, WorkBegun)
        if not isinstance(event, RecallPlanned):
            continue
        if event.topic_sha256 is None:
            return [_Round(event, before[place + 1 :]), *found]
        if not prompted:
            found = [_Round(event, before[place + 1 :])]
    return found


def _questions(rounds: Sequence[_Round]) -> Iterator[Question]:
    for each in rounds:
        for query in each.planned.queries:
            if query.name != CHECKPOINT:
                yield _question(query.name, query.query_sha256, each.since)


def _question(name: str, query: Sha256, since: Sequence[Row]) -> Question:
    for row in since:
        event = row.event
        if isinstance(event, RecallAnswered) and event.name == name:
            return Question(
                name=name,
                query_sha256=query,
                outcome="answered",
                hits=len(event.hits),
                authoritative=event.authoritative,
                error=None,
            )
        if isinstance(event, RecallFailed) and event.name == name:
            return Question(
                name=name, query_sha256=query, outcome="failed", hits=0, authoritative=False, error=event.error
            )
    return Question(name=name, query_sha256=query, outcome="late", hits=0, authoritative=False, error=None)


# -- notes -------------------------------------------------------------------


def _notes(
    brief: BriefDelivered, named: CheckpointReferenced | None, before: Sequence[Row], rounds: Sequence[_Round]
) -> Iterator[Note]:
    """The sources in the order of the brief, then what the answers of its rounds brought and it has not."""
    events = [row.event for row in before]
    home = next((event.destination for event in reversed(events) if isinstance(event, SessionOpened)), None)
    answers = [answer for each in rounds for answer in each.answers]
    older = [event for event in reversed(events) if isinstance(event, RecallAnswered)]
    gone = [event.capture_id for event in events if isinstance(event, NoteWithdrawn)]
    for number, source in enumerate(brief.sources):
        withdrawn = number == 0 and any(capture[:20] in source.file_path for capture in gone)
        own = withdrawn or (named is not None and number == 0)
        name, hit = (CHECKPOINT, None) if own else _brought(source.file_path, (*answers, *older))
        note = _note(source, name, hit, home)
        yield msgspec.structs.replace(note, brought=_WITHDRAWN) if withdrawn else note
    seen = {source.file_path for source in brief.sources}
    for answer in answers:
        for hit in answer.hits:
            if hit.file_path not in seen:
                seen.add(hit.file_path)
                yield _note(hit, answer.name, hit, home)


def _brought(path: str, answers: Sequence[RecallAnswered]) -> tuple[str | None, HitRef | None]:
    """Return the first answer with the note at `path`, and how it had it."""
    for answer in answers:
        for hit in answer.hits:
            if hit.file_path == path:
                return answer.name, hit
    return None, None


def _note(source: HitRef, name: str | None, hit: HitRef | None, home: ProjectName | None) -> Note:
    question, _, elsewhere = (name or "").partition(":")
    told = source.treatment != "kept"
    return Note(
        file_path=source.file_path,
        project=ProjectName(elsewhere) if elsewhere else home,
        treatment=_treated(source),
        characters=source.characters if told else 0,
        of_characters=hit.characters if hit is not None and hit.treatment == "kept" else None,
        checksum=source.checksum,
        question=name,
        brought=_BROUGHT.get(question, "no answer before it tells"),
        why=source.why if told else _UNTOLD,
    )


def _treated(source: HitRef) -> Treatment:
    return "withheld" if source.treatment == "kept" else source.treatment


# -- words -------------------------------------------------------------------


def lines(told: Origins, *, when: str, topic: str | None) -> list[str]:
    """Return what is told to a person; `topic` are the kept words, None when there are none or they were erased."""
    place = f"{told.branch}@{told.position}"
    complete = "" if told.complete else "; incomplete, so it stayed due"
    head = (
        f"brief {told.brief_sha256[:_SHORT]}, row {place}, {when}: {told.characters} characters, {told.how}{complete}"
    )
    rows = [("due", f"after {told.reason}" if told.reason is not None else "no round was recorded before it")]
    if told.topic_sha256 is not None:
        rows.append(
            ("topic", one_line(topic, 200) if topic else f"{told.topic_sha256[:_SHORT]}, its words were erased")
        )
    if told.checkpoint is not None:
        rows.append(("checkpoint", f"{told.checkpoint[:_SHORT]}, evidence {told.evidence}"))
    for note in told.notes:
        rows.append((note.treatment, _what(note)))
        rows.append(("", "; ".join(part for part in (note.brought, note.why) if part)))
    answered = [question for question in told.questions if question.outcome == "answered"]
    rows.append(
        ("asked", f"{len(told.questions)} question{'' if len(told.questions) == 1 else 's'}, {len(answered)} answered")
    )
    rows += [("answered", "; ".join(map(_answered, answered)))] if answered else []
    rows += [("unanswered", _unanswered(question)) for question in told.questions if question.outcome != "answered"]
    return [head, *(f"  {name:<10}  {text}" for name, text in rows)]


def _what(note: Note) -> str:
    where = f"{note.project}: {note.file_path}" if note.project is not None else note.file_path
    if note.treatment == "withheld":
        return one_line(where, 300)
    whole = f" of {note.of_characters}" if note.treatment == "cut" and note.of_characters is not None else ""
    return f"{one_line(where, 300)}, {note.characters}{whole} characters, {_revision(note)}"


def _revision(note: Note) -> str:
    if note.checksum is not None:
        return f"revision {printable(note.checksum)[:_SHORT]}"
    if note.question == CHECKPOINT:
        return "a local copy, not read from memory then"
    return "revision not told"


def _answered(question: Question) -> str:
    """What one question brought. That nothing was found means little where not everything could be searched."""
    if not question.hits:
        return f"{question.name} nothing{'' if question.authoritative else ', not everything was searched'}"
    return f"{question.name} {question.hits}{'' if question.authoritative else ', not all'}"


def _unanswered(question: Question) -> str:
    return f"{question.name}: {question.error or 'no answer by then'}"
