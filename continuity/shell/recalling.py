"""Performs recall: asks what is planned, all at once and bounded, and makes the brief of whatever arrived. It ranks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

import anyio
import anyio.to_thread
import msgspec

from continuity.brief import Brief, render_brief
from continuity.commands import CommandRejected
from continuity.memory import notes, probes
from continuity.profile import Profile
from continuity.recall import Answer, Unread, both_phases, plan_recall, to_ask
from continuity.selection import Item, Withheld, select
from continuity.shell.asking import (
    PATIENCE_SECONDS,
    Fetched,
    ask_all,
    because_of_others,
    facts,
    not_shown,
    refs,
    revise,
    sources,
)
from continuity.shell.desk import Desk, kept
from continuity.shell.newest import newest, read_elsewhere
from continuity.shell.ports import PathView
from continuity.shell.reconciling import looked_for, observe, probed
from continuity.shell.shortfall import tell
from continuity.state import Capture, State, is_ours
from journal.errors import JournalError
from journal.events import BriefDelivered, CheckpointReferenced, RecallFailed, RecallPlanned
from journal.events.recall import ANEW, ROUND
from journal.ids import BranchId, ConnectionId, Sha256
from journal.row import Row

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection  # brings mcp, which a warm start does without

RENDERED_AT_ONCE_CHARS = 20_000
"""So much is masked and rendered in about a millisecond."""

REVISED_WITHIN_SECONDS = 5.0
"""How long a round that came back is busy with the revisions of what it brought; no prompt waits for them."""

UNFOLDED = "its conversation is in context"
"""Why a branch's own checkpoint is not in a brief: nothing of what it was made from was folded away."""


class Composed(msgspec.Struct, frozen=True):
    """A brief ready to be put into context, and what it rests on."""

    brief: Brief
    checkpoint: Capture | None
    """The confirmed checkpoint it names, if it does."""
    complete: bool
    """False when memory did not answer all in time, or a checkpoint that belongs in is still being made."""
    ahead_sha256: Sha256
    """The digest it would have without what matched the prompt's topic."""
    withheld: tuple[Withheld, ...]
    """Notes that are not in it because of others that are; what an answer alone disqualifies was recorded with it."""
    branch: BranchId
    """Whose conversation it was made for."""
    how: Literal["steered", "appended"] = "steered"
    """Put in as the run's first steering message, or at rest, where the host can."""


def delivered(composed: Composed) -> tuple[BriefDelivered, CheckpointReferenced | None]:
    """Return what is recorded of a brief that went into context, and of the checkpoint it names."""
    brief, checkpoint = composed.brief, composed.checkpoint
    fact = BriefDelivered(
        brief_sha256=brief.sha256,
        characters=len(brief.text),
        sources=(*sources(brief.sources), *map(not_shown, composed.withheld)),
        how=composed.how,
        entry=None,
        complete=composed.complete,
    )
    if checkpoint is None or checkpoint.evidence is None:
        return fact, None
    referenced = CheckpointReferenced(
        capture_id=checkpoint.capture_id, evidence=checkpoint.evidence, brief_sha256=brief.sha256
    )
    return fact, referenced


@dataclass
class Anew:
    """A round of questions that a person wants."""

    came: anyio.Event = field(default_factory=anyio.Event)
    """Set once it has come back, or failed."""
    brought: bool = False
    """It brought an answer."""


class _Selected(NamedTuple):
    own: Item | None
    """The branch's checkpoint, first among the items."""
    items: tuple[Item, ...]
    withheld: tuple[Withheld, ...]


class Recaller:
    """One session's recall: at most one round of questions for a branch at a time, and those about a prompt beside it."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._fetched: dict[BranchId, Fetched] = {}
        self._asking: dict[BranchId, Fetched] = {}
        """Rounds that have not come back yet, with what they brought so far."""
        self._came = anyio.Event()
        self._anew: dict[BranchId, Anew] = {}
        """Rounds that a person wants, until they have come back."""
        self._about: dict[BranchId, Fetched] = {}
        """What memory answered to the topic of such a round; the next brief has it."""
        self._in_vain = False
        self._mute: ConnectionId | None = None
        """The connection over which nothing about a prompt's topic was answered in time: it is not waited for again."""

    def stale(self, branch: BranchId) -> None:
        """Forget what was fetched for `branch`: something happened since that it does not cover."""
        self._fetched.pop(branch, None)

    def fetched(self, branch: BranchId) -> bool:
        """Whether a round of questions for `branch` has come back."""
        return branch in self._fetched

    def ask_anew(self, branch: BranchId) -> Anew:
        """Want a new round of questions for `branch`, whatever is known."""
        self._about.pop(branch, None)
        return self._anew.setdefault(branch, Anew())

    @property
    def wants_anew(self) -> BranchId | None:
        """The branch for which a person wants a new round that has not come back, also where it was left meanwhile."""
        return next(iter(self._anew), None)

    async def anew(
        self, branch: BranchId, state: State, view: PathView, topic: Sequence[str]
    ) -> tuple[Composed | None, Row | None]:
        """Return the brief of the round that came back, with what memory has on `topic`, and where its questions are on record.

        No brief where it would be empty, or the model sees the same already.
        """
        about = await self._plan_topic(branch, state, topic)
        if about is not None:
            await self._ask_topic(about)
            await self._told_topic(about, branch)
            self._about[branch] = about
        fetched = self._fetched.get(branch)
        return await self._composed(fetched, self._topical(branch), state, view), fetched.row if fetched else None

    async def brief(
        self, branch: BranchId, state: State, view: PathView, *, topic: Sequence[str], seconds: float
    ) -> Composed | None:
        """Return the brief for a prompt about `topic`: what memory knows if it answers within `seconds`, else what is kept.

        The round under way and the questions about the topic are waited for together, and not again after a wait in
        vain until one came back. None when there is nothing to put in or the model still sees it.
        """
        if branch not in self._about and await self._is_seen(branch, state, view):
            return None
        if self._desk.link.connection is None:
            return await self._composed(self._fetched.get(branch), self._topical(branch), state, view)
        waits = not self._in_vain or branch in self._fetched
        about = await self._plan_topic(branch, state, topic) if waits else None
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as group:
                group.start_soon(self._ready, branch)
                if about is not None:
                    group.start_soon(self._ask_topic, about)
        self._in_vain = branch not in self._fetched
        if about is not None:
            await self._told_topic(about, branch)
        so_far = self._asking.get(branch) if waits else None
        topical = self._topical(branch, about)
        return await self._composed(self._fetched.get(branch, so_far), topical, state, view)

    def given(self, branch: BranchId) -> None:
        """A brief of `branch` went into context: what a person wanted is in it."""
        self._about.pop(branch, None)

    def _topical(self, branch: BranchId, about: Fetched | None = None) -> tuple[Answer, ...]:
        """The answers about the topic a person named, and about the prompt's own."""
        known = self._about.get(branch)
        return (*(known.in_order if known else ()), *(about.in_order if about else ()))

    async def _ready(self, branch: BranchId) -> None:
        while branch not in self._fetched and not self._in_vain:
            await self._came.wait()

    async def _is_seen(self, branch: BranchId, state: State, view: PathView) -> bool:
        """Whether the model still sees all that is known ahead of the prompt; then nothing is asked for it."""
        fetched = self._fetched.get(branch)
        if fetched is None or not view.briefs_in_context:
            return False
        selected = await self._selected(fetched, (), state, view)
        return (await self._rendered(selected.items)).sha256 in view.briefs_in_context

    # -- the prompt's topic --------------------------------------------------

    async def _plan_topic(self, branch: BranchId, state: State, topic: Sequence[str]) -> Fetched | None:
        """Choose the questions about `topic` and put on record that they are asked; None when there are none."""
        connection = self._desk.link.connection
        known = self._fetched.get(branch)
        plan = plan_recall(self._desk.profile, checkpoint=None, topic=topic)
        queries = to_ask(plan, known.whole if known else ())
        if connection is None or connection.id == self._mute or not queries:
            return None
        digest, bodies = kept(" ".join(topic))
        planned = RecallPlanned(reason=state.recall.due or "prompt", topic_sha256=digest, queries=refs(queries))
        await self._desk.note(planned, branch=branch, bodies=bodies)
        return Fetched(queries)

    async def _ask_topic(self, about: Fetched) -> None:
        link = self._desk.link
        if link.connection is not None:
            about.unclear = await link.unclear({query.project for query in about.plan})
        if link.connection is not None:
            await ask_all(link.connection, about, self._desk.settings.timeout_seconds)

    async def _told_topic(self, about: Fetched, branch: BranchId) -> None:
        """Record what became of each question; one that is not answered by now costs itself, and is named."""
        connection = self._desk.link.connection
        if connection is not None and not about.answers and len(about.failed) < len(about.asked):
            self._mute = connection.id
        await self._desk.note(*facts(about, self._desk.profile), branch=branch)
        tell(self._desk, about)

    # -- what is asked ahead of the prompt -----------------------------------

    async def prefetch(self, reason: str, branch: BranchId, state: State | None) -> None:
        """Ask everything that does not depend on the prompt's words, all of it within the time one call has.

        What is not answered by then has failed, and a round without any answer has failed as a whole: it is as if
        nothing had been asked, and the state owes it again, later.
        """
        wanted = self._anew.get(branch) if reason == ANEW else None
        try:
            brought = await self._prefetch(reason, branch, state)
            if wanted is not None:
                wanted.brought = brought
        finally:
            if wanted is not None:
                self._anew.pop(branch, None)
                wanted.came.set()

    async def _prefetch(self, reason: str, branch: BranchId, state: State | None) -> bool:
        connection = self._desk.link.connection
        if connection is None:
            return False
        bound = self._desk.settings.timeout_seconds
        fetched = self._asking[branch] = Fetched()
        try:
            with anyio.move_on_after(bound):
                fetched.unclear = await self._desk.link.unclear(_projects(self._desk.profile))
                async with anyio.create_task_group() as group:
                    looked = anyio.Event()
                    group.start_soon(self._look, connection, fetched, branch, state, looked)
                    with anyio.move_on_after(PATIENCE_SECONDS):
                        await looked.wait()
                    await self._plan(fetched, reason, branch, state)
                    await ask_all(connection, fetched, bound)
            await self._record(fetched, branch)
        finally:
            del self._asking[branch]
        if fetched.answers:
            self._fetched[branch] = fetched
            self._mute = None
        self._in_vain = not fetched.answers
        self._came.set()
        self._came = anyio.Event()
        await revise(connection, fetched, min(bound, REVISED_WITHIN_SECONDS))
        return bool(fetched.answers)

    async def _look(
        self,
        connection: MemoryConnection,
        fetched: Fetched,
        branch: BranchId,
        state: State | None,
        looked: anyio.Event,
    ) -> None:
        """Read the branch's own checkpoint, if it has one. A slow answer costs itself: what is kept here is shown."""
        checkpoint = state.checkpoint if state else None
        if state is not None and checkpoint is not None and checkpoint.project not in fetched.unclear:
            fetched.capture_id = checkpoint.capture_id
            with anyio.move_on_after(self._desk.settings.timeout_seconds / 2):
                read = await self._read_checkpoint(connection, state, checkpoint, branch)
                looked_for(self._desk, checkpoint, read.outcome)
                fetched.checkpoint = read
                if read.file_path is not None:
                    fetched.looked_at[Unread(checkpoint.project, read.file_path)] = read
        looked.set()

    async def _plan(self, fetched: Fetched, reason: str, branch: BranchId, state: State | None) -> None:
        """Choose the questions and put on record that they are asked."""
        checkpoint, read = state.checkpoint if state else None, fetched.checkpoint
        gone = read is not None and read.outcome == "missing"
        identifier = None if checkpoint is None or gone else (read and read.permalink) or checkpoint.path
        fetched.plan = plan_recall(self._desk.profile, checkpoint=identifier)
        planned = RecallPlanned(reason=reason, topic_sha256=None, queries=refs(fetched.plan))
        with anyio.CancelScope(shield=True):
            fetched.row = next(iter(await self._desk.noted(planned, branch=branch) or ()), None)

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
            read = await read_elsewhere(connection, checkpoint, probe, read, bound)
        try:
            await self._desk.apply(probe, branch=branch)
        except CommandRejected:
            pass
        except JournalError as error:
            self._desk.unrecorded(error)
        return read

    async def _record(self, fetched: Fetched, branch: BranchId) -> None:
        """Record what became of every question, in the order of the plan, and say which had no answer."""
        told = facts(fetched, self._desk.profile)
        if not fetched.answers:
            told = (*told, RecallFailed(name=ROUND, error=next(iter(fetched.failed.values()), "timeout")))
        await self._desk.note(*told, branch=branch)
        tell(self._desk, fetched)

    # -- the brief -----------------------------------------------------------

    async def _composed(
        self, fetched: Fetched | None, about: Sequence[Answer], state: State, view: PathView
    ) -> Composed | None:
        """Return the brief of what is known now; None when it would be empty or the model still sees the same."""
        ahead = await self._selected(fetched, (), state, view)
        without = await self._rendered(ahead.items)
        if without.text and without.sha256 in view.briefs_in_context and state.branch not in self._about:
            return None
        found, brief = ahead, without
        if about:
            found = await self._selected(fetched, about, state, view)
            brief = await self._rendered(found.items)
        if not brief.text or brief.sha256 in view.briefs_in_context:
            return None
        came_back = any(fetched is each for each in self._fetched.values())
        complete = came_back and not (view.compactions and _is_coming(state))
        named = state.checkpoint if found.own and found.own.label != "withdrawn" else None
        return Composed(brief, named, complete, without.sha256, found.withheld, state.branch)

    async def _selected(
        self, fetched: Fetched | None, about: Sequence[Answer], state: State, view: PathView
    ) -> _Selected:
        """Choose what may be shown of what arrived, and keep in mind which notes are not shown because of others."""
        own = await newest(self._desk, fetched, state) if view.compactions else None
        answers = both_phases(fetched.in_order if fetched else (), about)
        shown = {path for path in (own.path if own else None, _path(state.checkpoint)) if path}
        spoken_for = self._desk.session_id if state.checkpoint or own else None
        selection = select(answers, self._desk.profile, known=frozenset(shown), session=spoken_for)
        items = (*([own] if own else ()), *selection.items)
        others = because_of_others(answers, selection.withheld, items, self._desk.profile)
        unfolded = None if own else _path(state.checkpoint)
        withheld = [each._replace(why=UNFOLDED) if each.path == unfolded else each for each in others]
        return _Selected(own, items, tuple(withheld))

    async def _rendered(self, items: Sequence[Item]) -> Brief:
        """The brief of `items`; much text is masked and cut in a thread, for the host shares our loop."""
        render = partial(
            render_brief, items, self._desk.settings.recall_chars, placement=self._desk.profile.placement_conventions
        )
        large = sum(len(item.text) for item in items) > RENDERED_AT_ONCE_CHARS
        return await anyio.to_thread.run_sync(render) if large else render()


def _projects(profile: Profile) -> set[str]:
    return {*([profile.project] if profile.project is not None else []), *profile.read_projects}


def _is_coming(state: State) -> bool:
    """Whether what a compaction folded is still on its way into a checkpoint."""
    under_way = any(c.status in ("begun", "ready", "intended", "in_doubt") for c in state.captures)
    return under_way or state.gathered.owed is not None


def _path(checkpoint: Capture | None) -> str | None:
    return checkpoint.path if checkpoint else None
