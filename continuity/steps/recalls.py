"""How recall and the agent's own tool calls change the state."""

from __future__ import annotations

from msgspec.structs import replace

from continuity.state import OpenCall, Recall, State
from journal.events import (
    BriefDelivered,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    ToolAnswered,
    ToolCalled,
    ToolResolved,
)
from journal.events.recall import ANEW, ROUND
from journal.row import Row


def recall_planned(state: State, row: Row, event: RecallPlanned) -> State:
    """Questions about a topic come on top: what is asked ahead of it is owed as before.

    Whoever asks anew wants a brief, whether one was due or not.
    """
    if event.topic_sha256 is not None:
        return state
    due = event.reason if event.reason == ANEW else state.recall.due
    return replace(state, recall=replace(state.recall, due=due, planned=True, failures=()))


def recall_answered(state: State, row: Row, event: RecallAnswered) -> State:
    return replace(state, recall=replace(state.recall, rounds=0))


def recall_failed(state: State, row: Row, event: RecallFailed) -> State:
    """A whole round that nobody answered is owed again, later and later."""
    if event.name == ROUND:
        again = replace(state.recall, planned=False, rounds=state.recall.rounds + 1, asked_ms=row.at_ms)
        return replace(state, recall=again)
    failures = (*state.recall.failures, event.name)[-20:]
    return replace(state, recall=replace(state.recall, failures=failures))


def brief_delivered(state: State, row: Row, event: BriefDelivered) -> State:
    recall = Recall(
        due=None if event.complete else state.recall.due,
        planned=state.recall.planned,
        brief_sha256=event.brief_sha256,
        delivered_ms=row.at_ms,
        failures=state.recall.failures,
    )
    return replace(state, recall=recall)


def tool_called(state: State, row: Row, event: ToolCalled) -> State:
    call = OpenCall(event.call_id, event.name, event.writer, row.at_ms)
    return replace(state, calls=(*state.calls, call))


def tool_answered(state: State, row: Row, event: ToolAnswered) -> State:
    if event.outcome == "unknown":
        marked = (replace(c, unknown=True) if c.call_id == event.call_id else c for c in state.calls)
        return replace(state, calls=tuple(marked))
    return replace(state, calls=tuple(c for c in state.calls if c.call_id != event.call_id))


def tool_resolved(state: State, row: Row, event: ToolResolved) -> State:
    return replace(state, calls=tuple(c for c in state.calls if c.call_id != event.call_id))
