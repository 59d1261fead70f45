"""Which of the answers may be shown, in what order and under which label. It asks nothing and writes no text.

Another repository's checkpoints are never recalled, by whichever question they come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from itertools import groupby
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec

from continuity.profile import Profile
from continuity.recall import STATUS, Answer, Hit, Limits, Query, QueryKind, session_of

type Label = Literal["", "local copy", "not found", "moved", "edited", "moved and edited", "withdrawn"]
"""What a reader must know about a note that is not simply what was confirmed."""

_SESSION_TYPES = frozenset({"session", "coding_session"})
_NO_WORK: Mapping[str, str] = MappingProxyType({"schema": "a schema", "tau_transcript": "a transcript"})
"""Types that tell of no work: how notes are made, and what a checkpoint sums up."""
_OLDEST = datetime(1, 1, 1, tzinfo=UTC)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One note for the brief."""

    section: QueryKind
    title: str
    path: str
    text: str
    project: str
    checksum: str | None = None
    label: Label = ""
    read_only: bool = False
    truncated: bool = False


class Withheld(NamedTuple):
    """A note that came back and is not shown."""

    query: str
    path: str
    why: str


class Selection(NamedTuple):
    """What may be shown, in the order of the plan, and what may not."""

    items: tuple[Item, ...]
    withheld: tuple[Withheld, ...]


def select(
    answers: Sequence[Answer],
    profile: Profile,
    *,
    known: AbstractSet[str] = frozenset(),
    session: str | None = None,
    limits: Limits | None = None,
) -> Selection:
    """Return what of `answers`, given in the order of the plan, may be shown.

    `known` are paths shown already, the branch's own checkpoint above all. A note counts once, where it comes first;
    a session counts once, by its newest note, so of prior work that is read in part the rest is left out: nobody knows
    whose it is. `session` is the one whose own checkpoint speaks for it.
    """
    items: list[Item] = []
    withheld: list[Withheld] = []
    seen: set[tuple[str, str]] = {(profile.project or "", path) for path in known}
    sessions: set[str] = {session} if session else set()
    most = (limits or Limits()).shown_prior_work
    read = {answer.query.name for answer in answers if any("type" in hit.metadata for hit in answer.hits)}
    for query, hit in _ordered(answers):
        why = _reason(query, hit, profile, seen, in_part=query.name in read) or _repeats(query, hit, sessions, most)
        if why is None:
            seen.add((query.project, hit.file_path))
            items.append(_item(query, hit))
        else:
            withheld.append(Withheld(query.name, hit.file_path, why))
    return Selection(tuple(items), tuple(withheld))


def _reason(
    query: Query, hit: Hit, profile: Profile, seen: AbstractSet[tuple[str, str]], *, in_part: bool
) -> str | None:
    """Say why a hit is not shown, whatever session it tells of; `in_part` if of its answer some notes were read."""
    if (query.project, hit.file_path) in seen:
        return "shown elsewhere"
    objection = _objection(query, hit, profile)
    if objection is None and in_part and query.kind == "prior_work" and "type" not in hit.metadata:
        return "not read"
    return objection


def _item(query: Query, hit: Hit) -> Item:
    return Item(
        section=query.kind,
        title=hit.title,
        path=hit.file_path,
        text=hit.content or "",
        project=query.project,
        checksum=hit.checksum,
        read_only=query.read_only,
        truncated=hit.truncated,
    )


def _ordered(answers: Sequence[Answer]) -> Iterator[tuple[Query, Hit]]:
    """Prior work newest first by its own times, by whichever question it came; everything else as it came."""
    for prior, several in groupby(answers, key=lambda answer: answer.query.kind == "prior_work"):
        hits = [(answer.query, hit) for answer in several for hit in answer.hits]
        yield from sorted(hits, key=lambda found: _ended(found[1]), reverse=True) if prior else hits


def _ended(hit: Hit) -> datetime:
    for name in ("ended", "started"):
        try:
            told = datetime.fromisoformat(hit.metadata.get(name, ""))
        except ValueError:
            continue
        return told if told.tzinfo else told.replace(tzinfo=UTC)
    return _OLDEST


def _objection(query: Query, hit: Hit, profile: Profile) -> str | None:
    """Say why a hit is not shown. What names no path is no note but the server talking."""
    told = {**dict(query.filters), **hit.metadata}
    note_type = told.get("type", told.get("note_type", "")).lower()
    wanted = STATUS.get(note_type)
    if not hit.file_path:
        return "no note"
    if query.note_types and note_type and note_type not in query.note_types:
        return "another type"
    if query.kind in {"neighbourhood", "recent"} and not note_type:
        return "type not told"
    if note_type in _NO_WORK:
        return _NO_WORK[note_type]
    if wanted is not None and told.get("status") != wanted:
        return "not active or open"
    if query.kind == "prior_work" or (note_type in _SESSION_TYPES and query.kind != "checkpoint"):
        return None if _in_scope(note_type, told, profile) else "other work"
    return None


def _in_scope(note_type: str, told: Mapping[str, str], profile: Profile) -> bool:
    if profile.kind == "coding":
        if note_type == "session":
            return told.get("scope") == profile.repository == told.get("repository", profile.repository)
        return note_type in {"coding_session", ""} and told.get("repository") == profile.repository
    if note_type == "coding_session" or told.get("repository"):
        return False
    if "scope" in told:
        return told["scope"] == profile.scope
    return "type" in told and told.get("cwd") == profile.cwd


def _repeats(query: Query, hit: Hit, sessions: set[str], most: int) -> str | None:
    """Each session counts once, by its newest note."""
    prior = query.kind == "prior_work"
    if not prior and hit.metadata.get("type", "").lower() not in _SESSION_TYPES:
        return None
    session = session_of(hit)
    if session in sessions:
        return "an older note of the same session"
    if prior and len(sessions) >= most:
        return "older work"
    sessions.add(session)
    return None
