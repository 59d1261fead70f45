"""Performs recall: asks what is planned, all at once and bounded, and makes the brief of whatever arrived. It ranks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from continuity.brief import Brief, Source, render_brief
from continuity.commands import CommandRejected, RecordProbe
from continuity.memory import notes, probes
from continuity.memory.search import Hit as Found
from continuity.memory.search import SearchResult
from continuity.recall import Answer, Hit, Item, Label, Query, Unread, Withheld, plan_recall, select, unread
from continuity.shell.desk import Desk
from continuity.shell.ports import PathView
from continuity.shell.reconciling import looked_for, observe, probed
from continuity.state import Capture, State, is_ours
from journal.errors import JournalError
from journal.events import BriefDelivered, CheckpointReferenced, RecallAnswered, RecallFailed, RecallPlanned
from journal.events.recall import ROUND, HitRef, QueryRef
from journal.ids import BranchId, CaptureId

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection  # brings mcp, which a warm start does without

RENDERED_AT_ONCE_CHARS = 20_000
"""So much is masked and rendered in about a millisecond."""

MOST_READ = 24
"""Notes read one by one for a brief, because their listing told too little of them."""


@dataclass
class Fetched:
    """What one round of questions brought for one branch."""

    plan: tuple[Query, ...]
    answers: dict[str, Answer] = field(default_factory=dict[str, Answer])
    authoritative: dict[str, bool] = field(default_factory=dict[str, bool])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    """Why a question brought no answer, by its name."""
    capture_id: CaptureId | None = None
    """The checkpoint that was the branch's newest when the questions were asked."""
    checkpoint: notes.NoteRead | None = None
    """That checkpoint as the server has it now."""

    @property
    def in_order(self) -> tuple[Answer, ...]:
        """The answers in the order of the plan, whatever order they came in."""
        return tuple(self.answers[q.name] for q in self.plan if q.name in self.answers)


class Composed(msgspec.Struct, frozen=True):
    """A brief ready to be put into context, and what it rests on."""

    brief: Brief
    checkpoint: Capture | None
    """The confirmed checkpoint it names, if it does."""
    complete: bool
    """False when no server answered in time, or a checkpoint that belongs in is still being made."""
    failed: tuple[str, ...]


def delivered(composed: Composed) -> tuple[BriefDelivered, CheckpointReferenced | None]:
    """Return what is recorded of a brief that went into context, and of the checkpoint it names."""
    brief, checkpoint = composed.brief, composed.checkpoint
    fact = BriefDelivered(
        brief_sha256=brief.sha256,
        characters=len(brief.text),
        sources=sources(brief.sources),
        how="steered",
        entry=None,
        complete=composed.complete,
    )
    if checkpoint is None or checkpoint.evidence is None:
        return fact, None
    referenced = CheckpointReferenced(
        capture_id=checkpoint.capture_id, evidence=checkpoint.evidence, brief_sha256=brief.sha256
    )
    return fact, referenced


class Recaller:
    """One session's recall: at most one round of questions for a branch at a time."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._fetched: dict[BranchId, Fetched] = {}
        self._came = anyio.Event()
        self._in_vain = False

    def stale(self, branch: BranchId) -> None:
        """Forget what was fetched for `branch`: something happened since that it does not cover."""
        self._fetched.pop(branch, None)

    def fetched(self, branch: BranchId) -> bool:
        """Whether a round of questions for `branch` has come back."""
        return branch in self._fetched

    async def ready(self, branch: BranchId, seconds: float) -> bool:
        """Wait for the round under way, at most `seconds`, and not again after a wait in vain until one came back."""
        with anyio.move_on_after(seconds):
            while branch not in self._fetched and not self._in_vain:
                await self._came.wait()
        self._in_vain = branch not in self._fetched
        return not self._in_vain

    async def prefetch(self, reason: str, branch: BranchId, state: State | None) -> None:
        """Ask everything that does not depend on the prompt's words, all of it within the time one call has.

        What is not answered by then has failed, and a round without any answer has failed as a whole: it is as if
        nothing had been asked, and the state owes it again, later.
        """
        connection = self._desk.link.connection
        if connection is None:
            return
        bound = self._desk.settings.timeout_seconds
        fetched = Fetched(())
        with anyio.move_on_after(bound):
            await self._look(connection, fetched, branch, state, bound / 2)
            await self._plan(fetched, reason, branch, state)
            async with anyio.create_task_group() as group:
                for query in _asked_ahead(fetched):
                    group.start_soon(self._ask, connection, query, fetched)
            await self._read(connection, fetched)
        await self._record(fetched, branch)
        if fetched.answers:
            self._fetched[branch] = fetched
        self._in_vain = not fetched.answers
        self._came.set()
        self._came = anyio.Event()

    async def _look(
        self, connection: MemoryConnection, fetched: Fetched, branch: BranchId, state: State | None, seconds: float
    ) -> None:
        """Read the branch's own checkpoint, if it has one; a slow answer leaves time for the questions."""
        checkpoint = state.checkpoint if state else None
        if state is None or checkpoint is None:
            return
        fetched.capture_id = checkpoint.capture_id
        with anyio.move_on_after(seconds):
            fetched.checkpoint = await self._read_checkpoint(connection, state, checkpoint, branch)

    async def _plan(self, fetched: Fetched, reason: str, branch: BranchId, state: State | None) -> None:
        """Choose the questions and put on record that they are asked."""
        checkpoint, read = state.checkpoint if state else None, fetched.checkpoint
        gone = read is not None and read.outcome == "missing"
        identifier = None if checkpoint is None or gone else (read and read.permalink) or checkpoint.path
        fetched.plan = plan_recall(self._desk.profile, topic=None, checkpoint=identifier, fresh=True)
        fetched.checkpoint = None if gone else read
        if checkpoint is not None and read is not None:
            looked_for(self._desk, checkpoint, read.outcome)
        queries = tuple(QueryRef(name=query.name, query_sha256=query.sha256) for query in fetched.plan)
        with anyio.CancelScope(shield=True):
            await self._desk.note(RecallPlanned(reason=reason, topic_sha256=None, queries=queries), branch=branch)

    async def _read_checkpoint(
        self, connection: MemoryConnection, state: State, checkpoint: Capture, branch: BranchId
    ) -> notes.NoteRead:
        """Read our own note and record what that proves: a rung more, moved, edited, or gone."""
        bound = self._desk.settings.timeout_seconds
        read = await notes.read_note(connection, checkpoint.project, checkpoint.path or "", bound)
        seen = probes.observe("address", read)
        if is_ours(checkpoint, seen):
            probe = probed(self._desk, connection, checkpoint, (seen,))
        else:
            probe = await observe(self._desk, connection, state, checkpoint)
            read = await self._read_elsewhere(connection, checkpoint, probe, read)
        try:
            await self._desk.apply(probe, branch=branch)
        except CommandRejected:
            pass
        except JournalError as error:
            self._desk.unrecorded(error)
        return read

    async def _read_elsewhere(
        self, connection: MemoryConnection, checkpoint: Capture, probe: RecordProbe, read: notes.NoteRead
    ) -> notes.NoteRead:
        """A note that is not where it was may have moved: its identity found it, or it is missing."""
        for seen in probe.observations:
            if is_ours(checkpoint, seen) and seen.file_path is not None:
                bound = self._desk.settings.timeout_seconds
                return await notes.read_note(connection, checkpoint.project, seen.file_path, bound)
        return notes.NoteRead(outcome="missing") if read.outcome == "found" else read

    async def _ask(self, connection: MemoryConnection, query: Query, fetched: Fetched) -> None:
        result = await _asked(connection, query, self._desk.settings.timeout_seconds)
        if result.outcome == "unreachable":
            fetched.failed[query.name] = result.code or "unreachable"
            return
        fetched.answers[query.name] = Answer(query, result.hits)
        fetched.authoritative[query.name] = result.authoritative

    async def _read(self, connection: MemoryConnection, fetched: Fetched) -> None:
        """Read what a listing did not tell enough of, all at once, the first of them first."""
        wanted = unread(fetched.in_order)[:MOST_READ]
        async with anyio.create_task_group() as group:
            for note in wanted:
                group.start_soon(self._read_one, connection, note, fetched)

    async def _read_one(self, connection: MemoryConnection, wanted: Unread, fetched: Fetched) -> None:
        read = await notes.read_note(connection, wanted.project, wanted.file_path, self._desk.settings.timeout_seconds)
        if read.outcome != "found":
            return
        for name, answer in fetched.answers.items():
            hits = [_filled(hit, read) if hit.file_path == wanted.file_path else hit for hit in answer.hits]
            if answer.query.project == wanted.project:
                fetched.answers[name] = Answer(answer.query, hits)

    async def _record(self, fetched: Fetched, branch: BranchId) -> None:
        """Record what became of every question, in the order of the plan."""
        facts: list[RecallAnswered | RecallFailed] = []
        for query in _asked_ahead(fetched):
            answer = fetched.answers.get(query.name)
            if answer is None:
                error = fetched.failed.setdefault(query.name, "timeout")
                facts.append(RecallFailed(name=query.name, error=error))
                continue
            selection = select([answer], self._desk.profile)
            answered = RecallAnswered(
                name=query.name,
                query_sha256=query.sha256,
                authoritative=fetched.authoritative[query.name],
                hits=(*map(_kept, selection.items), *map(_withheld, selection.withheld)),
            )
            facts.append(answered)
        if not fetched.answers:
            facts.append(RecallFailed(name=ROUND, error=next(iter(fetched.failed.values()), "timeout")))
        await self._desk.note(*facts, branch=branch)

    async def compose(self, branch: BranchId, state: State, view: PathView) -> Composed | None:
        """Return the brief of what is known now; None when it would be empty or the model still sees the same."""
        fetched = self._fetched.get(branch)
        own = await self._own(fetched, state, view)
        answers = fetched.in_order if fetched else ()
        shown = {path for path in (own.path if own else None, _path(state.checkpoint)) if path}
        spoken_for = self._desk.session_id if state.checkpoint else None
        selection = select(answers, self._desk.profile, known=frozenset(shown), session=spoken_for)
        items = (*([own] if own else ()), *selection.items)
        brief = await self._rendered(items)
        if not brief.text or brief.sha256 in view.briefs_in_context:
            return None
        complete = bool(answers) and not (view.compactions and _is_coming(state))
        return Composed(brief, state.checkpoint if own else None, complete, tuple(fetched.failed if fetched else ()))

    async def _rendered(self, items: Sequence[Item]) -> Brief:
        """The brief of `items`; much text is masked and cut in a thread, for the host shares our loop."""
        render = partial(
            render_brief, items, self._desk.settings.recall_chars, placement=self._desk.profile.placement_conventions
        )
        large = sum(len(item.text) for item in items) > RENDERED_AT_ONCE_CHARS
        return await anyio.to_thread.run_sync(render) if large else render()

    async def _own(self, fetched: Fetched | None, state: State, view: PathView) -> Item | None:
        """The branch's confirmed checkpoint, unless the model still sees the conversation it was made from."""
        checkpoint = state.checkpoint
        if checkpoint is None or not view.compactions:
            return None
        read = fetched.checkpoint if fetched and fetched.capture_id == checkpoint.capture_id else None
        if read is not None and read.outcome == "found" and read.content is not None:
            label: Label = "edited" if checkpoint.edited else "moved" if checkpoint.moved else ""
            return _item(checkpoint, read.content, label, path=read.file_path, checksum=read.checksum)
        basis = state.handoff
        taken = basis.sha256 if basis is not None and basis.capture_id == checkpoint.capture_id else None
        text = await self._desk.body(checkpoint.handoff_sha256 or taken)
        return _item(checkpoint, text, "local copy") if text else None


def _item(
    checkpoint: Capture, text: str, label: Label, *, path: str | None = None, checksum: str | None = None
) -> Item:
    return Item(
        section="checkpoint",
        title=f"checkpoint {checkpoint.capture_id[:12]}",
        path=path or checkpoint.path or "",
        text=text,
        project=checkpoint.project,
        checksum=checksum,
        label=label,
    )


def _asked_ahead(fetched: Fetched) -> tuple[Query, ...]:
    """The questions of a round; the checkpoint itself is read before, and not among them."""
    return tuple(query for query in fetched.plan if query.kind != "checkpoint")


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
                note_types=query.note_types,
                metadata_filters=dict(query.filters),
                page_size=query.page_size,
                after_date=query.after_date,
            )


def _filled(hit: Hit, read: notes.NoteRead) -> Hit:
    """The hit with what reading its note told: all of its text and frontmatter."""
    return Found(
        title=hit.title,
        permalink=read.permalink,
        file_path=hit.file_path,
        content=read.content,
        metadata=read.frontmatter,
    )


def _is_coming(state: State) -> bool:
    """Whether what a compaction folded is still on its way into a checkpoint."""
    under_way = any(c.status in ("begun", "ready", "intended", "in_doubt") for c in state.captures)
    return under_way or state.gathered.owed is not None


def _path(checkpoint: Capture | None) -> str | None:
    return checkpoint.path if checkpoint else None


def _kept(item: Item) -> HitRef:
    return HitRef(
        file_path=item.path[:1024],
        checksum=item.checksum,
        characters=len(item.text),
        treatment="kept",
        why="",
    )


def _withheld(held: Withheld) -> HitRef:
    return HitRef(file_path=held.path[:1024], checksum=None, characters=0, treatment="withheld", why=held.why[:80])


def sources(of: Sequence[Source]) -> tuple[HitRef, ...]:
    """Return what a brief was made from, as events keep it."""
    return tuple(
        HitRef(
            file_path=source.path[:1024],
            checksum=source.checksum,
            characters=source.characters,
            treatment=source.used,
            why=source.why[:80],
        )
        for source in of
    )
