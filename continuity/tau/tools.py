"""Offers tools to Tau's agent in our terms; it neither knows nor alters what a tool does."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import anyio
from tau_agent.messages import ImageContent, TextContent
from tau_agent.tools import AgentTool, AgentToolResult, ToolCancellationToken, ToolUpdateCallback

from continuity.tau.entries import Json
from continuity.tau.host import Tau

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class ImageBlock:
    """An image for the model, base64."""

    data: str
    mime_type: str


class Reply(Protocol):
    """A tool's answer."""

    @property
    def blocks(self) -> tuple[TextBlock | ImageBlock, ...]: ...

    @property
    def is_error(self) -> bool: ...

    @property
    def details(self) -> Json:
        """For the session file and whoever renders it; the model does not see it."""
        ...


class Signal(Protocol):
    """Tau's wish that a running tool ends; the call is cancelled as well."""

    def is_cancelled(self) -> bool: ...


type ToolHandler = Callable[[Mapping[str, Json], Signal | None], Awaitable[Reply]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as Tau's agent sees it."""

    name: str
    description: str
    schema: Mapping[str, Json]
    handler: ToolHandler
    label: str = ""
    prompt_snippet: str | None = None


class ToolFailed(Exception):
    """The tool answered with an error. Tau knows no other way to mark one; its text is all that the model sees."""


def register_tool(tau: Tau, spec: ToolSpec) -> None:
    """Register `spec`; Tau keeps the first registration of a name."""

    async def execute(
        tool_call_id: str,
        arguments: Mapping[str, Json],
        signal: ToolCancellationToken | None = None,
        on_update: ToolUpdateCallback | None = None,
    ) -> AgentToolResult:
        del tool_call_id, on_update
        reply = await _until_cancelled(spec.handler, arguments, signal)
        if reply.is_error:
            raise ToolFailed(_text_of(reply))
        return AgentToolResult(content=[_content(block) for block in reply.blocks], details=reply.details)

    tau.register_tool(
        AgentTool(
            name=spec.name,
            label=spec.label or spec.name,
            description=spec.description,
            parameters=spec.schema,
            execute_fn=execute,
            prompt_snippet=spec.prompt_snippet,
        )
    )


async def _until_cancelled(handler: ToolHandler, arguments: Mapping[str, Json], signal: Signal | None) -> Reply:
    """Run `handler`, and cancel it when `signal` is set: an abort over RPC sets a flag and nothing else.

    Raises:
        ToolFailed: Tau wished it to end; what the handler had begun is the handler's to settle.
    """
    if signal is None:
        return await handler(arguments, None)
    outcome: Reply | Exception = ToolFailed("Operation aborted")
    async with anyio.create_task_group() as group:
        group.start_soon(_cancel_when_set, signal, group.cancel_scope)
        try:
            outcome = await handler(arguments, signal)
        except Exception as error:  # noqa: BLE001 - raised again below, outside the task group that would wrap it
            outcome = error
        group.cancel_scope.cancel()
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


async def _cancel_when_set(signal: Signal, scope: anyio.CancelScope) -> None:
    while not signal.is_cancelled():  # noqa: ASYNC110 - Tau offers a flag to look at, and no event
        await anyio.sleep(_POLL_SECONDS)
    scope.cancel()


def _text_of(reply: Reply) -> str:
    return "\n".join(block.text for block in reply.blocks if isinstance(block, TextBlock)) or "The tool failed."


def _content(block: TextBlock | ImageBlock) -> TextContent | ImageContent:
    match block:
        case TextBlock(text=text):
            return TextContent(text=text)
        case ImageBlock(data=data, mime_type=mime_type):
            return ImageContent(data=data, mime_type=mime_type)
