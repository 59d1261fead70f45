"""Asks memory what is planned, all at once, and tells the journal what came of each question. It judges and shows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from continuity.brief import Source
from continuity.memory import notes
from continuity.memory.calls import Object
from continuity.memory.search import Hit as Found
from continuity.memory.search import SearchResult
from continuity.privacy import mask
from continuity.profile import Profile
from continuity.recall import Answer, Hit, Query, Unread, is_text_of, unread, unrevised, unseen
from continuity.selection import Item, Withheld, select
from journal.events import RecallAnswered, RecallFailed
from journal.events.recall import HitRef, QueryRef
from journal.ids import CaptureId
from journal.row import Row

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection  # brings mcp, which a warm start does without

MOST_READ = 32
"""Notes read one by one for a brief, because their listing told too little of them."""

MOST_ROUNDS = 4
"""How often prior work of further sessions is looked for, and how many notes are read for it each time."""
MOST_READ_BETWEEN = 16

PATIENCE_SECONDS = 1.0
"""How long what could go on waits for what is slow; a server that is well answers a question in half of it."""


SEVERAL_PROJECTS = "several-projects"


@dataclass
class Fetched:
    """What one round of questions brought for one branch, so far."""

    plan: tuple[Query, ...] = ()
    unclear: frozenset[str] = frozenset()
    """Names of several projects: nothing is asked of them, for anybody's notes might come."""
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    authoritative: dict[str, bool] = field(default_factory=dict[str, bool])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Why a question brought no answer, by its name."""
    row: Row | None = None
    """Where the questions are on record."""
    capture_id: CaptureId | None = None
    """The checkpoint that was the branch's newest when the questions were asked."""
    checkpoint: notes.NoteRead | None = None
    """That checkpoint as the server has it now."""
    looked_at: dict[Unread, notes.NoteRead | None] = field(default_factory=dict[Unread, "notes.NoteRead | None"])
    """Notes that were read because their listing told too little; None while that is under way, or was in vain."""

    @property
    def asked(self) -> tuple[Query, ...]:
        """The questions of the round; the checkpoint itself is read before, and not among them."""
        return tuple(query for query in self.plan if query.kind != "checkpoint")

    @property
    def in_order(self) -> tuple[Answer, ...]:
        """The answers in the order of the plan, whatever order they came in."""
        return tuple(self.answers[q.name] for q in self.plan if q.name in self.answers)

    @property
    def whole(self) -> tuple[Answer, ...]:
        """Those of them that left nothing out."""
        return tuple(answer for answer in self.in_order if self.authoritative[answer.query.name])


def refs(plan: Sequence[Query]) -> tuple[QueryRef, ...]:
    """Return the questions as events keep them."""
    return tuple(QueryRef(name=query.name, query_sha256=query.sha256) for query in plan)


async def ask_all(connection: MemoryConnection, fetched: Fetched, seconds: float) -> None:
    """Ask every question of the round at once, then read what a listing told too little of; each call has `seconds`.

    What came is in `fetched` as it comes: whoever cannot wait any longer takes what is there. One slow answer does not
    keep the notes of the others from being read.
    """
    answered = anyio.Event()
    async with anyio.create_task_group() as group:
        group.start_soon(_ask_each, connection, fetched, seconds, answered)
        with anyio.move_on_after(PATIENCE_SECONDS):
            await answered.wait()
        await _read_unread(connection, fetched, seconds)
    await _read_unread(connection, fetched, seconds)
    await _ask_older(connection, fetched, seconds)


async def _ask_each(connection: MemoryConnection, fetched: Fetched, seconds: float, answered: anyio.Event) -> None:
    async with anyio.create_task_group() as group:
        for query in fetched.asked:
            if query.project in fetched.unclear:
                fetched.failed[query.name] = SEVERAL_PROJECTS
            else:
                group.start_soon(_ask, connection, query, fetched, seconds)
    answered.set()


async def _ask_older(connection: MemoryConnection, fetched: Fetched, seconds: float) -> None:
    """Look for sessions that no listing of prior work told of, as long as there are new ones and too few."""
    for _ in range(MOST_ROUNDS):
        cut = {query.name for query in fetched.asked if not fetched.authoritative.get(query.name, True)}
        between = unseen(fetched.in_order, cut)
        if not between:
            return
        known = len(fetched.looked_at)
        async with anyio.create_task_group() as group:
            for query in between:
                group.start_soon(_ask_between, connection, query, fetched, seconds)
        await _read_unread(connection, fetched, seconds, known + MOST_READ_BETWEEN)
        if len(fetched.looked_at) == known:
            return


async def _ask_between(connection: MemoryConnection, query: Query, fetched: Fetched, seconds: float) -> None:
    """Add what it brings to the answer of the question it goes on with."""
    result = await _asked(connection, query, seconds)
    before = fetched.answers[query.name]
    there = {hit.file_path for hit in before.hits}
    new = [_known(hit, query, fetched) for hit in result.hits if hit.file_path not in there]
    fetched.answers[query.name] = Answer(before.query, [*before.hits, *new])


async def _read_unread(connection: MemoryConnection, fetched: Fetched, seconds: float, most: int = MOST_READ) -> None:
    """Read what the answers so far say too little of, each note once and no more than `most` in the whole round."""
    room = max(0, most - len(fetched.looked_at))
    wanted = [note for note in unread(fetched.in_order) if note not in fetched.looked_at][:room]
    fetched.looked_at |= dict.fromkeys(wanted)
    async with anyio.create_task_group() as group:
        for note in wanted:
            group.start_soon(_read, connection, note, fetched, seconds)


async def _ask(connection: MemoryConnection, query: Query, fetched: Fetched, seconds: float) -> None:
    result = await _asked(connection, query, seconds)
    if result.outcome == "unreachable":
        fetched.failed[query.name] = result.code or "unreachable"
        return
    fetched.answers[query.name] = Answer(query, [_known(hit, query, fetched) for hit in result.hits])
    fetched.authoritative[query.name] = result.authoritative


async def _asked(connection: MemoryConnection, query: Query, seconds: float) -> SearchResult:
    """Make the one call a question stands for."""
    match query.kind:
        case "neighbourhood":
            identifier = (query.identifier or "").removesuffix(".md")
            return await notes.build_context(connection, query.project, identifier, seconds, page_size=query.page_size)
        case "recent":
            return await notes.recent_activity(
                connection, query.project, seconds, timeframe=query.timeframe or "7d", page_size=query.page_size
            )
        case _:
            return await notes.search_notes(
                connection,
                query.project,
                seconds,
                query=query.text,
                by_words=query.text is not None,
                note_types=query.note_types,
                metadata_filters=_filters(query),
                page_size=query.page_size,
                after_date=query.after_date,
            )


def _filters(query: Query) -> Object:
    after, before = query.began or (None, None)
    began = {operator: at for operator, at in (("$gt", after), ("$lt", before)) if at is not None}
    return {**dict(query.filters), **({"started": began} if began else {})}


async def _read(connection: MemoryConnection, wanted: Unread, fetched: Fetched, seconds: float) -> None:
    read = await notes.read_note(connection, wanted.project, wanted.file_path, seconds)
    if read.outcome == "missing":
        _drop(wanted, fetched)
    if read.outcome != "found":
        return
    fetched.looked_at[wanted] = read
    for name, answer in fetched.answers.items():
        fetched.answers[name] = Answer(answer.query, [_known(hit, answer.query, fetched) for hit in answer.hits])


def _drop(gone: Unread, fetched: Fetched) -> None:
    """Forget a note that an index still lists and nobody can read any more."""
    for name, answer in fetched.answers.items():
        if answer.query.project == gone.project:
            hits = [hit for hit in answer.hits if hit.file_path != gone.file_path]
            fetched.answers[name] = Answer(answer.query, hits)


def _known(hit: Hit, query: Query, fetched: Fetched) -> Hit:
    """The hit with what reading its note told, if it was read for whatever question."""
    read = fetched.looked_at.get(Unread(query.project, hit.file_path))
    silent = "type" not in hit.metadata
    return _filled(hit, read) if read is not None and (silent or hit.content is None) else hit


def _filled(hit: Hit, read: notes.NoteRead) -> Hit:
    """The hit with what reading its note told: all of its text and frontmatter."""
    return Found(
        title=hit.title,
        permalink=read.permalink,
        file_path=hit.file_path,
        content=read.content,
        metadata=read.frontmatter,
        checksum=read.checksum,
    )


async def revise(connection: MemoryConnection, fetched: Fetched, seconds: float) -> None:
    """Find out of which revision the texts are that listings told. No text changes: a note edited since has none.

    A note that is gone goes out of the answers: its listing was stale.
    """
    wanted = unrevised(fetched.in_order)[:MOST_READ]
    with anyio.move_on_after(seconds):
        async with anyio.create_task_group() as group:
            for note in wanted:
                group.start_soon(_revise, connection, note, fetched, seconds)


async def _revise(connection: MemoryConnection, wanted: Unread, fetched: Fetched, seconds: float) -> None:
    read = await notes.read_note(connection, wanted.project, wanted.file_path, seconds)
    if read.outcome == "missing":
        _drop(wanted, fetched)
    for name, answer in fetched.answers.items():
        if answer.query.project == wanted.project:
            hits = [_revised(hit, read) if hit.file_path == wanted.file_path else hit for hit in answer.hits]
            fetched.answers[name] = Answer(answer.query, hits)


def _revised(hit: Hit, read: notes.NoteRead) -> Hit:
    told = hit.content is not None and hit.checksum is None and read.content is not None
    if not told or not is_text_of(hit.content or "", read.content or "", truncated=hit.truncated):
        return hit
    return Found(
        title=hit.title,
        permalink=read.permalink,
        file_path=hit.file_path,
        content=hit.content,
        truncated=hit.truncated,
        metadata=hit.metadata,
        checksum=read.checksum,
    )


def facts(fetched: Fetched, profile: Profile) -> tuple[RecallAnswered | RecallFailed, ...]:
    """Return what became of every question, in the order of the plan; one without an answer by now is too late."""
    return tuple(_fact(fetched, query, profile) for query in fetched.asked)


def _fact(fetched: Fetched, query: Query, profile: Profile) -> RecallAnswered | RecallFailed:
    answer = fetched.answers.get(query.name)
    if answer is None:
        return RecallFailed(name=query.name, error=fetched.failed.setdefault(query.name, "timeout"))
    selection = select([answer], profile)
    return RecallAnswered(
        name=query.name,
        query_sha256=query.sha256,
        authoritative=fetched.authoritative[query.name],
        hits=(*map(_shown, selection.items), *map(not_shown, selection.withheld)),
    )


def _shown(item: Item) -> HitRef:
    return HitRef(
        file_path=recorded(item.path),
        checksum=item.checksum,
        characters=len(item.text),
        treatment="kept",
        why="",
    )


def recorded(path: str) -> str:
    """Return a recalled note's path as events keep it: without a credential that somebody put into it."""
    return mask(path).text[:1024]


def not_shown(held: Withheld) -> HitRef:
    """Return a note that came back and is in no brief, as events keep it."""
    return HitRef(file_path=recorded(held.path), checksum=None, characters=0, treatment="withheld", why=held.why[:80])


def sources(of: Sequence[Source]) -> tuple[HitRef, ...]:
    """Return what a brief was made from, as events keep it."""
    return tuple(
        HitRef(
            file_path=recorded(source.path),
            checksum=source.checksum,
            characters=source.characters,
            treatment=source.used,
            why=source.why[:80],
        )
        for source in of
    )


def because_of_others(
    answers: Sequence[Answer], withheld: Sequence[Withheld], items: Sequence[Item], profile: Profile
) -> tuple[Withheld, ...]:
    """Of the notes withheld those that are not in the brief at all, each once, and whose own answer did not say why."""
    said = {(each.query, each.path) for answer in answers for each in select([answer], profile).withheld}
    shown = {item.path for item in items}
    found = {each.path: each for each in withheld if (each.query, each.path) not in said and each.path not in shown}
    return tuple(found.values())
