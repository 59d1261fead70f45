"""Lets the stock Tau of this process announce what it does, as the interface proposed in Tau #687 words it.

Nothing on disk changes, and stock Tau is back when the patch is undone. An extension then has

* `context.branch_entries`: copies of the persisted entries from the root to the active tip,
* `await context.summarize(...)`: one question to the session's model, without tools or history, under a deadline,
* `await tau.append_message(...)`: a custom message at the idle tip, seen by the next model call, without a turn,

and is told of every compaction that really begins, and of the end of each, and is stopped and started with the reason
"branch" around a move in the tree. A check that finds nothing to compact, and a move that Tau refuses, stay silent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

import pytest
from tau_agent.messages import AgentMessage, CustomMessage
from tau_agent.provider_events import AssistantDoneEvent, AssistantErrorEvent
from tau_agent.session.entries import CustomMessageEntry, SessionEntry
from tau_agent.types import JSONValue
from tau_coding import CodingSession
from tau_coding.events import CompactionEndEvent, CompactionReason, CompactionStartEvent
from tau_coding.extensions import ExtensionAPI, ExtensionContext, ExtensionRuntime
from tau_coding.session import _is_branchable_tree_entry  # pyright: ignore[reportPrivateUsage] # Tau's own rule

type Method = Callable[..., Awaitable[object]]

_COMPACTIONS: dict[str, CompactionReason] = {
    "compact_detailed": "manual",
    "_maybe_auto_compact": "threshold",
    "_try_overflow_compact": "overflow",
}
"""Tau's own ways to compact, and what each is called."""


def announce(patch: pytest.MonkeyPatch) -> None:
    """Add the interface until `patch` is undone."""
    for owner, name, value in (
        (ExtensionContext, "branch_entries", property(_branch_entries)),
        (ExtensionContext, "summarize", _summarize),
        (ExtensionAPI, "append_message", _append_message),
    ):
        assert not hasattr(owner, name), f"this Tau has {name} of its own"
        patch.setattr(owner, name, value, raising=False)
    patch.setattr(ExtensionRuntime, "emit_event", _without_overflow(_method(ExtensionRuntime, "emit_event")))
    for name, reason in _COMPACTIONS.items():
        patch.setattr(CodingSession, name, _compaction(_method(CodingSession, name), reason))
    summary = "_generate_compaction_summary"
    patch.setattr(CodingSession, summary, _beginning(_method(CodingSession, summary)))
    patch.setattr(CodingSession, "branch_to_entry", _branching(_method(CodingSession, "branch_to_entry")))


def _method(owner: type, name: str) -> Method:
    return cast("Method", getattr(owner, name))


def _session(of: Any) -> Any:
    """Return the session behind Tau's API or context; raises as Tau does when that generation was replaced."""
    of._generation.assert_active()
    return of._runtime.session_view


# -- what an extension may call ------------------------------------------------


def _branch_entries(self: Any) -> tuple[SessionEntry, ...]:
    entries = cast("Sequence[SessionEntry]", _session(self).state.entries)
    return tuple(entry.model_copy(deep=True) for entry in entries)


async def _summarize(self: Any, messages: Sequence[AgentMessage], *, instructions: str, timeout: float = 60.0) -> str:
    """Raise `TimeoutError` at the deadline and `RuntimeError` for an answer that is none."""
    session = _session(self)
    stream = session.provider.stream_response(
        model=session._harness.config.model, system=instructions, messages=list(messages), tools=[]
    )
    try:
        async with asyncio.timeout(timeout):
            async for event in stream:
                if isinstance(event, AssistantErrorEvent):
                    said = event.error.error_message or event.reason
                    raise RuntimeError(f"summary request failed: {said}")  # noqa: TRY004 - it is no mistake of a caller's
                if isinstance(event, AssistantDoneEvent) and event.message.text.strip():
                    return event.message.text.strip()
    finally:
        await stream.aclose()
    raise RuntimeError("summary request returned no text")


async def _append_message(
    self: Any, content: str, *, custom_type: str, details: dict[str, JSONValue] | None = None
) -> None:
    """Refuse with `RuntimeError` while the agent runs."""
    session = _session(self)
    if session.is_running:
        raise RuntimeError("a message can only be appended while the session is idle")
    message = CustomMessage(custom_type=custom_type, content=content, details=details)
    entry = CustomMessageEntry(
        parent_id=session._last_parent_id, custom_type=custom_type, content=content, details=details
    )
    await session._append_session_entry(entry)
    session._last_parent_id = entry.id
    await session._refresh_persisted_state(leaf_id=entry.id)
    session._harness.append_message(message)
    session._invalidate_context_usage_cache()


# -- what it is told -----------------------------------------------------------

_stock_emit = ExtensionRuntime.emit_event


@dataclass
class _Compaction:
    reason: CompactionReason
    begun: bool = False


_under_way: ContextVar[_Compaction | None] = ContextVar("compaction_under_way", default=None)


def _without_overflow(stock: Method) -> Method:
    """Stock Tau announces an overflow's compaction, and also one that never began: ours are announced instead."""

    async def emit_event(self: Any, event: object) -> object:
        announced = isinstance(event, CompactionStartEvent | CompactionEndEvent)
        return None if announced else await stock(self, event)

    return emit_event


def _compaction(stock: Method, reason: CompactionReason) -> Method:
    """Tell how a compaction that began has ended, whatever becomes of it."""

    async def compact(self: Any, *args: object, **options: object) -> object:
        compaction = _Compaction(reason)
        token = _under_way.set(compaction)
        done, failure = None, f"{reason} compaction failed"
        try:
            done = await stock(self, *args, **options)
        except BaseException as error:
            failure = type(error).__name__
            raise
        finally:
            _under_way.reset(token)
            if compaction.begun:
                await _stock_emit(self.extension_runtime, _ended(reason, done, failure))
        return done

    return compact


def _ended(reason: CompactionReason, done: object, failure: str) -> CompactionEndEvent:
    return CompactionEndEvent(
        reason=reason,
        result=done or None,
        aborted=not done,
        will_retry=bool(done) and reason == "overflow",
        error_message=None if done else failure,
    )


def _beginning(stock: Method) -> Method:
    """Tau asks for a summary only with a plan in hand: this is where a compaction begins."""

    async def generate_summary(self: Any, *args: object, **options: object) -> object:
        compaction = _under_way.get()
        if compaction is not None and not compaction.begun:
            compaction.begun = True
            await _stock_emit(self.extension_runtime, CompactionStartEvent(reason=compaction.reason))
        return await stock(self, *args, **options)

    return generate_summary


def _branching(stock: Method) -> Method:
    """Stop extensions on the branch that is left and start them on the one arrived at, also when the move fails late."""

    async def branch_to_entry(self: Any, entry_id: str, **options: object) -> object:
        target = next((entry for entry in await self.session_entries() if entry.id == entry_id), None)
        if self.is_running or target is None or not _is_branchable_tree_entry(target):
            return await stock(self, entry_id, **options)  # raises Tau's own error
        await self.extension_runtime.emit_session_shutdown("branch")
        try:
            return await stock(self, entry_id, **options)
        finally:
            await self.extension_runtime.emit_session_start("branch")

    return branch_to_entry
