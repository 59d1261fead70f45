"""Which questions a session asks its memory, and what must be read before an answer can be judged. It asks nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby, zip_longest
from types import MappingProxyType
from typing import Literal, NamedTuple, Protocol

import msgspec

from continuity.capture import digest
from continuity.profile import Profile
from journal.ids import Sha256

type QueryKind = Literal["checkpoint", "neighbourhood", "prior_work", "tasks", "decisions", "shared", "topic", "recent"]
EPOCH_DATE = "1970-01-01"
"""Passed with every question without words: the server orders by newest first only when a date is given."""

STATUS: Mapping[str, str] = MappingProxyType({"task": "active", "decision": "open"})
"""Tasks and decisions are recalled in this status alone."""
_NEED_FRONTMATTER: frozenset[QueryKind] = frozenset({"prior_work", "neighbourhood", "recent"})


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many notes each question asks for."""

    tasks: int = 20
    decisions: int = 20
    prior_work: int = 10
    prior_work_between: int = 4
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
    began: tuple[str | None, str | None] | None = None
    """Only what sessions left that began after the first and before the second time; an open end is None."""

    @property
    def sha256(self) -> Sha256:
        """The digest events know this question by."""
        return digest(
            [
                *(self.name, self.kind, self.project, self.read_only, self.identifier, self.text),
                *(list(self.note_types), [list(pair) for pair in self.filters]),
                *(self.page_size, self.after_date, self.timeframe),
                *([list(self.began)] if self.began is not None else []),
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
        filters=(("status", STATUS[note_type]),),
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


def unseen(answers: Sequence[Answer], cut: AbstractSet[str], limits: Limits | None = None) -> tuple[Query, ...]:
    """Return the questions after prior work of sessions that no answer tells of; none where there are enough of them.

    A long session fills a listing with its own notes. All of them say when it began, so others are found before, after
    and between the beginnings that are known. `cut` are the questions whose listing left something out.
    """
    size = limits or Limits()
    prior = [answer for answer in answers if answer.query.kind == "prior_work"]
    read = [hit for answer in prior for hit in answer.hits if "type" in hit.metadata]
    known = sorted({hit.metadata["started"] for hit in read if "started" in hit.metadata})
    if not known or len({session_of(hit) for hit in read}) >= size.shown_prior_work:
        return ()
    return tuple(
        msgspec.structs.replace(answer.query, began=gap, page_size=size.prior_work_between)
        for answer in prior
        if answer.query.name in cut
        for gap in zip((None, *known), (*known, None), strict=True)
    )


def session_of(hit: Hit) -> str:
    """Whose note it is, as far as it tells. Older agents name it `<host>_session_id`."""
    told = hit.metadata
    legacy = next((told[name] for name in sorted(told) if name.endswith("_session_id")), "")
    return told.get("session_id") or legacy or hit.file_path


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
