"""Which questions a session asks its memory, and which answers may be used. It asks nothing and shows nothing.

Another repository's checkpoints are never recalled, by whichever question they come.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from itertools import groupby, zip_longest
from typing import Literal, NamedTuple, Protocol

import msgspec

from continuity.capture import digest
from continuity.profile import Profile
from journal.ids import Sha256

type QueryKind = Literal["checkpoint", "neighbourhood", "prior_work", "tasks", "decisions", "shared", "topic", "recent"]
type Label = Literal["", "local copy", "moved", "edited", "withdrawn"]
"""What a reader must know about a note that is not simply what was confirmed."""

EPOCH_DATE = "1970-01-01"
"""Passed with every question without words: the server orders by newest first only when a date is given."""

_STATUS = {"task": "active", "decision": "open"}
_NEED_FRONTMATTER: frozenset[QueryKind] = frozenset({"prior_work", "neighbourhood", "recent"})
_SESSION_TYPES = frozenset({"session", "coding_session"})
_OLDEST = datetime(1, 1, 1, tzinfo=UTC)


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many notes each question asks for."""

    tasks: int = 20
    decisions: int = 20
    prior_work: int = 30
    shown_prior_work: int = 5
    neighbourhood: int = 8
    shared: int = 10
    topic: int = 8
    recent: int = 10


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """One question, complete: the shell adds nothing to it."""

    name: str
    """Stable and unique within a plan."""
    kind: QueryKind
    project: str
    read_only: bool = False
    """True for a project the user approved for reading only."""
    identifier: str | None = None
    """The note that is read, or whose neighbours are asked for."""
    text: str | None = None
    note_types: tuple[str, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()
    page_size: int = 10
    after_date: str | None = None
    timeframe: str | None = None

    @property
    def sha256(self) -> Sha256:
        """The digest events know this question by."""
        return digest(
            [
                *(self.name, self.kind, self.project, self.read_only, self.identifier, self.text),
                *(list(self.note_types), [list(pair) for pair in self.filters]),
                *(self.page_size, self.after_date, self.timeframe),
            ]
        )


class Hit(Protocol):
    """One note as a listing or a read told it."""

    @property
    def title(self) -> str: ...
    @property
    def file_path(self) -> str: ...
    @property
    def content(self) -> str | None: ...
    @property
    def truncated(self) -> bool:
        """Only the beginning of the content was sent."""
        ...

    @property
    def metadata(self) -> Mapping[str, str]:
        """The note's frontmatter once it was read, `type` among it; of a listing at most `note_type`."""
        ...

    @property
    def checksum(self) -> str | None:
        """Of the revision that has this text; a listing tells none."""
        ...


class Answer(NamedTuple):
    """What one question brought, newest first as the server ordered it."""

    query: Query
    hits: Sequence[Hit]


class Unread(NamedTuple):
    """A note to be read before it can be judged."""

    project: str
    file_path: str


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


def plan_recall(
    profile: Profile, *, checkpoint: str | None, topic: Sequence[str] = (), limits: Limits | None = None
) -> tuple[Query, ...]:
    """Return the questions, in the order in which their answers count.

    `checkpoint` is the permalink or path of this branch's confirmed checkpoint, `topic` the words that `topic_of`
    found in a prompt. Without a project nothing is asked, and without a topic everything can be asked ahead.
    """
    if profile.project is None:
        return ()
    size = limits or Limits()
    plan: list[Query] = []
    if checkpoint is not None:
        plan += _own(profile.project, checkpoint, size)
    else:
        plan += _prior_work(profile, profile.project, size)
    plan += [
        _active("tasks", "tasks", "task", profile.project, size.tasks),
        _active("decisions", "decisions", "decision", profile.project, size.decisions),
    ]
    for name in profile.read_projects:
        plan += [
            _active(f"shared-tasks:{name}", "shared", "task", name, size.shared, read_only=True),
            _active(f"shared-decisions:{name}", "shared", "decision", name, size.shared, read_only=True),
        ]
    plan += _topic(topic, profile.project, profile.read_projects, size)
    if profile.kind == "general":
        plan.append(Query(name="recent", kind="recent", project=profile.project, timeframe="7d", page_size=size.recent))
    return tuple(plan)


def _own(project: str, checkpoint: str, size: Limits) -> Iterator[Query]:
    yield Query(name="checkpoint", kind="checkpoint", project=project, identifier=checkpoint, page_size=1)
    yield Query(
        name="neighbourhood",
        kind="neighbourhood",
        project=project,
        identifier=checkpoint,
        page_size=size.neighbourhood,
    )


def _prior_work(profile: Profile, project: str, size: Limits) -> Iterator[Query]:
    """A checkpoint made without a branch (a detached head, no commit yet) is general work under the repository's name."""
    if profile.kind == "coding" and profile.repository is not None:
        ways = [
            ("prior-work", "coding_session", ("repository", profile.repository)),
            ("prior-work-without-branch", "session", ("scope", profile.repository)),
        ]
    else:
        ways = [
            ("prior-work", "session", ("scope", profile.scope)),
            ("prior-work-by-folder", "session", ("cwd", profile.cwd)),
        ]
    for name, note_type, by in ways:
        yield Query(
            name=name,
            kind="prior_work",
            project=project,
            note_types=(note_type,),
            filters=(by,),
            page_size=size.prior_work,
            after_date=EPOCH_DATE,
        )


def _active(
    name: str, kind: QueryKind, note_type: str, project: str, page_size: int, *, read_only: bool = False
) -> Query:
    return Query(
        name=name,
        kind=kind,
        project=project,
        read_only=read_only,
        note_types=(note_type,),
        filters=(("status", _STATUS[note_type]),),
        page_size=page_size,
        after_date=EPOCH_DATE,
    )


def _topic(topic: Sequence[str], project: str, read_projects: Sequence[str], size: Limits) -> Iterator[Query]:
    """Any of the words counts: a note rarely has all of them, and the server puts those with the most first."""
    words = " OR ".join(topic)
    for name in (project, *read_projects) if topic else ():
        own = name == project
        for kind in ("task", "decision"):
            asked = _active(f"topic-{kind}s", "topic", kind, name, size.topic, read_only=not own)
            title = asked.name if own else f"{asked.name}:{name}"
            yield msgspec.structs.replace(asked, name=title, text=words, after_date=None)


def to_ask(plan: Sequence[Query], whole: Sequence[Answer]) -> tuple[Query, ...]:
    """Return the topic questions of `plan` that may bring something.

    `whole` are answers that left nothing out. Where one of them says that no task is active, or no decision open,
    there is none to match.
    """
    nothing = {_listed(answer.query) for answer in whole if not answer.hits}
    return tuple(query for query in plan if query.kind == "topic" and _listed(query) not in nothing)


def _listed(query: Query) -> tuple[object, ...]:
    """What a question lists: of a listing and of a topic match in it the same."""
    return query.project, query.note_types, query.filters


def both_phases(ahead: Sequence[Answer], topic: Sequence[Answer]) -> tuple[Answer, ...]:
    """Return the answers to what was asked ahead and to what was asked about the topic, in the order of the plan."""
    last = [answer for answer in ahead if answer.query.kind == "recent"]
    return (*(answer for answer in ahead if answer.query.kind != "recent"), *topic, *last)


def unread(answers: Sequence[Answer], *, known: AbstractSet[str] = frozenset()) -> tuple[Unread, ...]:
    """Return which notes must be read before `select` can judge them, each once, in the order of the plan.

    A listing tells a note's type at most, never the rest of its frontmatter; some tell no content either. A hit not
    read is withheld where its type, session or status decides.
    """
    wanted: dict[Unread, None] = {}
    for query, hit in _in_turn(answers):
        silent = query.kind in _NEED_FRONTMATTER and "type" not in hit.metadata
        if hit.file_path and hit.file_path not in known and (silent or hit.content is None):
            wanted[Unread(query.project, hit.file_path)] = None
    return tuple(wanted)


def unrevised(answers: Sequence[Answer]) -> tuple[Unread, ...]:
    """Return the notes with a text whose revision nobody told, each once, in the order of the plan."""
    wanted: dict[Unread, None] = {}
    for query, hit in _in_turn(answers):
        if hit.file_path and hit.content is not None and hit.checksum is None:
            wanted[Unread(query.project, hit.file_path)] = None
    return tuple(wanted)


def is_text_of(shown: str, whole: str, *, truncated: bool) -> bool:
    """Whether a listing's text is that of a note as it was read, or its beginning where the listing cut it."""
    return whole.strip().startswith(shown.strip()) if truncated else whole.strip() == shown.strip()


def _in_turn(answers: Sequence[Answer]) -> Iterator[tuple[Query, Hit]]:
    """The hits in the order of the plan, but those of prior work in turn: whoever reads only some reads the newest of each."""
    for prior, several in groupby(answers, key=lambda answer: answer.query.kind == "prior_work"):
        hits = [[(answer.query, hit) for hit in answer.hits] for answer in several]
        rows = zip_longest(*hits) if prior else hits
        yield from (each for row in rows for each in row if each is not None)


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
    a session counts once, by its newest note. `session` is the one whose own checkpoint speaks for it.
    """
    items: list[Item] = []
    withheld: list[Withheld] = []
    seen: set[tuple[str, str]] = {(profile.project or "", path) for path in known}
    sessions: set[str] = {session} if session else set()
    size = limits or Limits()
    for query, hit in _ordered(answers):
        where = (query.project, hit.file_path)
        why = "shown elsewhere" if where in seen else _objection(query, hit, profile)
        if why is None and _tells_of_a_session(query, hit):
            why = _repeats(hit, sessions, size.shown_prior_work if query.kind == "prior_work" else None)
        if why is None:
            seen.add(where)
            items.append(_item(query, hit))
        else:
            withheld.append(Withheld(query.name, hit.file_path, why))
    return Selection(tuple(items), tuple(withheld))


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
    wanted = _STATUS.get(note_type)
    if not hit.file_path:
        return "no note"
    if query.note_types and note_type and note_type not in query.note_types:
        return "another type"
    if query.kind in {"neighbourhood", "recent"} and not note_type:
        return "type not told"
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
    if note_type == "coding_session":
        return False
    if "scope" in told:
        return told["scope"] == profile.scope
    return "type" in told and told.get("cwd") == profile.cwd


def _tells_of_a_session(query: Query, hit: Hit) -> bool:
    return query.kind == "prior_work" or hit.metadata.get("type", "").lower() in _SESSION_TYPES


def _repeats(hit: Hit, sessions: set[str], most: int | None) -> str | None:
    """Each session counts once, by its newest note. Older agents name it `<host>_session_id`."""
    told = hit.metadata
    legacy = next((told[name] for name in sorted(told) if name.endswith("_session_id")), "")
    session = told.get("session_id") or legacy or hit.file_path
    if session in sessions:
        return "an older note of the same session"
    if most is not None and len(sessions) >= most:
        return "older work"
    sessions.add(session)
    return None
