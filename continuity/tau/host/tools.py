"""Offers bridged tools to Tau's agent; it neither knows nor alters what a tool does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast

import anyio
from tau_agent.messages import ImageContent, TextContent
from tau_agent.tools import AgentTool, AgentToolResult, ToolCancellationToken, ToolUpdateCallback
from tau_agent.types import JSONValue

from continuity.memory.tools import ImageBlock, TextBlock, ToolReply, ToolSpec, progress_text
from continuity.tau.entries import Json
from continuity.tau.host import Tau

_POLL_SECONDS = 0.05
MOST_UPDATES = 100
"""Of one call."""


def _aborted() -> ToolReply:
    return ToolReply(blocks=(TextBlock("Operation aborted"),), is_error=True, details={})


@dataclass(slots=True)
class ToolRun:
    """One call while it runs, as its handler sees it."""

    if_aborted: Callable[[], ToolReply] = _aborted
    """What to answer when Tau wishes the call to end: only the handler knows what was already sent."""
    on_update: ToolUpdateCallback | None = None
    told: int = 0

    def progressed(self, done: float, total: float | None, message: str | None) -> None:
        """Show how far the call is. Stock Tau gathers all of it until the call ends, so a talkative server is cut off."""
        if self.on_update is None or self.told >= MOST_UPDATES:
            return
        self.told += 1
        self.on_update(AgentToolResult(content=[TextContent(text=progress_text(done, total, message))]))


type ToolHandler = Callable[[Mapping[str, Json], ToolRun], Awaitable[ToolReply]]


class ToolFailed(Exception):
    """The tool answered with an error. Tau knows no other way to mark one; its text is all that the model sees."""


def register_tool(tau: Tau, spec: ToolSpec, handler: ToolHandler) -> None:
    """Offer `spec` to the agent; Tau keeps the first registration of a name.

    Tau interrupts a call either by cancelling its task, which passes through
    the handler, or over RPC by a flag alone: then the handler is cancelled
    here and `ToolRun.if_aborted` answers for it.
    """

    async def execute(
        tool_call_id: str,
        arguments: Mapping[str, JSONValue],
        signal: ToolCancellationToken | None = None,
        on_update: ToolUpdateCallback | None = None,
    ) -> AgentToolResult:
        del tool_call_id
        reply = await _until_aborted(handler, arguments, signal, ToolRun(on_update=on_update))
        if reply.is_error:
            raise ToolFailed(_text_of(reply))
        details = cast("dict[str, JSONValue]", dict(reply.details)) if reply.details else None
        return AgentToolResult(content=[_content(block) for block in reply.blocks], details=details)

    tau.register_tool(
        AgentTool(
            name=spec.name,
            label=spec.name,
            description=spec.description,
            parameters=cast("Mapping[str, JSONValue]", spec.schema),
            execute_fn=execute,
        )
    )


async def _until_aborted(
    handler: ToolHandler, arguments: Mapping[str, Json], signal: ToolCancellationToken | None, run: ToolRun
) -> ToolReply:
    if signal is None:
        return await handler(arguments, run)
    outcome: ToolReply | Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_set, signal, group.cancel_scope)
        try:
            outcome = await handler(arguments, run)
        except Exception as error:  # noqa: BLE001 - raised again below, outside the task group that would wrap it
            outcome = error
        group.cancel_scope.cancel()
    if isinstance(outcome, Exception):
        raise outcome
    return run.if_aborted() if outcome is None else outcome


async def _cancel_when_set(signal: ToolCancellationToken, scope: anyio.CancelScope) -> None:
    while not signal.is_cancelled():  # noqa: ASYNC110 - Tau offers a flag to look at, and no event
        await anyio.sleep(_POLL_SECONDS)
    scope.cancel()


def _text_of(reply: ToolReply) -> str:
    return "\n".join(block.text for block in reply.blocks if isinstance(block, TextBlock)) or "The tool failed."


def _content(block: TextBlock | ImageBlock) -> TextContent | ImageContent:
    match block:
        case TextBlock(text=text):
            return TextContent(text=text)
        case ImageBlock(data=data, mime_type=mime_type):
            return ImageContent(data=data, mime_type=mime_type)
