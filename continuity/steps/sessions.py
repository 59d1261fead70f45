"""How a session's life changes the state: opened, forked, settled, compacted, connected, closed."""

from __future__ import annotations

from msgspec.structs import replace

from continuity.state import Capture, Gathered, Recall, Span, State
from continuity.steps import transcripts
from continuity.steps.captures import doubted
from journal.events import (
    BranchForked,
    CompactionEnded,
    CompactionNoticed,
    MemoryConnected,
    MemoryLost,
    Paused,
    Resumed,
    SessionClosed,
    SessionOpened,
    TipsMapped,
    WorkSettled,
)
from journal.ids import EntryId
from journal.row import Row


def session_opened(state: State, row: Row, event: SessionOpened) -> State:
    """Unanswered intents of writers proven ended become in doubt; nobody else's do."""
    ended = frozenset(event.writers_ended)
    kept = state.connection is not None and event.reason == "reload"
    owed = {"startup": "start", "new": "start", "resume": "start", "branch": "branch"}.get(event.reason)
    after = replace(
        state,
        opened=event,
        closed=False,
        connection=state.connection if kept else None,
        captures=tuple(doubted(c) if _ended(c, ended) else c for c in state.captures),
        calls=tuple(replace(c, unknown=True) if c.writer in ended else c for c in state.calls),
        recall=_due(state.recall, owed) if owed else state.recall,
    )
    return transcripts.switched(after)


def _ended(capture: Capture, writers: frozenset[str]) -> bool:
    return capture.status == "intended" and capture.intent is not None and capture.intent.event.writer in writers


def _due(recall: Recall, reason: str) -> Recall:
    return replace(recall, due=reason, planned=False, failures=())


def session_closed(state: State, row: Row, event: SessionClosed) -> State:
    return replace(state, closed=True, connection=None)


def branch_forked(state: State, row: Row, event: BranchForked) -> State:
    """A fork inherits what is confirmed and what was synthesised, never owed work."""
    return replace(
        transcripts.forked(state, event.kept_tip),
        captures=(),
        calls=(),
        gathered=Gathered(),
        settled_tip=event.kept_tip,
        recall=_due(state.recall, "branch"),
    )


def tips_mapped(state: State, row: Row, event: TipsMapped) -> State:
    new: dict[EntryId | None, EntryId] = {pair.old: pair.new for pair in event.pairs}

    def moved(tip: EntryId | None) -> EntryId | None:
        return new.get(tip, tip)

    return replace(
        state,
        tip=moved(state.tip),
        settled_tip=moved(state.settled_tip),
        gathered=replace(state.gathered, tip=moved(state.gathered.tip)),
        handoff=state.handoff and replace(state.handoff, tip=moved(state.handoff.tip)),
        off=tuple(Span(moved(span.after), moved(span.through)) for span in state.off),
        transcript=transcripts.mapped(state.transcript, new),
    )


def work_settled(state: State, row: Row, event: WorkSettled) -> State:
    """Gathering counts from the newest capture on; a pause gathers nothing, and a tip that is stored owes nothing."""
    settled = replace(state, settled_tip=row.tip)
    if state.paused or event.messages == 0:
        return settled
    settled = transcripts.settled(settled, row.tip)
    if state.checkpoint is not None and state.checkpoint.source_tip == row.tip:
        return replace(settled, gathered=Gathered())
    had = state.gathered
    gathered = replace(
        had,
        tip=row.tip,
        messages=had.messages + event.messages,
        characters=had.characters + event.characters,
        since_ms=had.since_ms or row.at_ms,
        unanswered=event.interrupted,
    )
    return replace(settled, gathered=gathered)


def compaction_ended(state: State, row: Row, event: CompactionEnded) -> State:
    recall = state.recall if event.aborted else _due(state.recall, "compaction")
    return replace(state, recall=recall)


def compaction_noticed(state: State, row: Row, event: CompactionNoticed) -> State:
    return replace(
        state,
        compactions=state.compactions | {event.entry},
        recall=_due(state.recall, "compaction"),
    )


def memory_connected(state: State, row: Row, event: MemoryConnected) -> State:
    return replace(state, connection=event)


def memory_lost(state: State, row: Row, event: MemoryLost) -> State:
    """A brief that is still due is asked for anew once there is a server again."""
    return replace(state, connection=None, recall=replace(state.recall, planned=False))


def paused(state: State, row: Row, event: Paused) -> State:
    """What is said from here on is off the record; a stretch that ended at this very message goes on."""
    if state.paused:
        return state
    return replace(state, paused=True, paused_ms=row.at_ms, off=_left(state.off, row.tip))


def resumed(state: State, row: Row, event: Resumed) -> State:
    """The stretch ends at this message; on the record already, what came since the branch's tip was a stretch.

    One in which nothing was said is kept: what the journal has not seen yet may go on from where it was.
    """
    *before, last = state.off if state.paused else _left(state.off, state.tip)
    ended = () if row.tip is None else (Span(last.after, row.tip),)
    return replace(state, paused=False, paused_ms=0, off=(*before, *ended))


def _left(off: tuple[Span, ...], tip: EntryId | None) -> tuple[Span, ...]:
    """The stretches `off` with one that begins at `tip`; where the last one ended there, it goes on."""
    if off and off[-1].through == tip:
        return (*off[:-1], Span(off[-1].after))
    return (*off, Span(tip))
