"""One session with one memory server, shared by concurrent calls. It never sends a call twice and never reconnects.

It is entered and left in one task, the owner's; calls may come from any task
of the same loop. Results are read from the wire by our own rules: the SDK
would list tools in the middle of a call, and drop an answer it finds invalid.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Annotated, cast

import anyio
import anyio.to_thread
import mcp_types
from mcp import ClientSession, MCPError
from mcp.shared.dispatcher import CallOptions
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.transport_context import TransportContext
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from continuity.memory import transport
from continuity.memory.calls import TICKET, Answer, Object, Progress, Schema, Ticket
from continuity.memory.errors import (
    AnswerUnreadable,
    CallFailed,
    CallRejected,
    CallTimedOut,
    ConnectFailed,
    ConnectionLost,
    ConnectReason,
)
from continuity.memory.inventory import Inventory, ListedTool
from continuity.memory.schema import conforms, usable
from continuity.memory.server import ServerSpec
from journal.codec import clean
from journal.events.lifecycle import Process
from journal.ids import ConnectionId

type _Dispatcher = JSONRPCDispatcher[TransportContext]


class _Result(BaseModel):
    """The result of `tools/call`, with blocks of kinds not known yet."""

    model_config = ConfigDict(extra="ignore", strict=True)
    content: list[dict[str, JsonValue]] = []
    structured: Annotated[JsonValue, Field(alias="structuredContent")] = None
    is_error: Annotated[bool, Field(alias="isError")] = False
    kind: Annotated[str, Field(alias="resultType")] = "complete"


class _Annotations(BaseModel):
    model_config = ConfigDict(extra="ignore")
    read_only: Annotated[bool | None, Field(alias="readOnlyHint")] = None


class _Tool(BaseModel):
    """One entry of `tools/list`; an invalid schema is for the bridge to judge, and must not cost the others."""

    model_config = ConfigDict(extra="ignore")
    name: Annotated[str, Field(min_length=1)]
    description: str | None = None
    schema_: Annotated[JsonValue, Field(alias="inputSchema")] = None
    output_schema: Annotated[JsonValue, Field(alias="outputSchema")] = None
    annotations: _Annotations | None = None


class _Page(BaseModel):
    model_config = ConfigDict(extra="ignore")
    tools: list[JsonValue]
    cursor: Annotated[str | None, Field(alias="nextCursor")] = None


class MemoryConnection:
    """A live session. Whether it still lives is `lost`; that it once answered proves nothing."""

    def __init__(
        self, server: transport.ServerProcess, dispatcher: _Dispatcher, greeting: mcp_types.InitializeResult
    ) -> None:
        self.id = ConnectionId(secrets.token_hex(16))
        self.server = clean(greeting.server_info.name, 200)
        self.version = clean(greeting.server_info.version, 200)
        self._tools_changed = anyio.Event()
        self.stalled = False
        """The last call that ended did so at its bound. If one made after that does too, the server is given up as stuck."""
        self._server = server
        self._dispatcher = dispatcher
        self._leaving = False
        self._output_schemas: dict[str, Schema] = {}

    @property
    def process(self) -> Process:
        """Names everything that could still carry out what was sent through here, if the project is local."""
        return self._server.process

    @property
    def lost(self) -> bool:
        return self._leaving or self._server.deaf

    async def wait_lost(self) -> None:
        """Return when the server can no longer be talked to."""
        await self._server.lost.wait()

    async def wait_tools_changed(self) -> None:
        """Return when the server said, since its tools were listed last, that they are others now."""
        await self._tools_changed.wait()

    async def give_up_headless(self, seconds: float) -> None:
        """Once what was started has ended, talk on only if something answers within `seconds`.

        What a server started itself may hold its pipes open after it; but what was started may also have been a wrapper.
        """
        await self._server.headless()
        if not await self.responds(seconds):
            self._server.give_up()

    async def call_tool(
        self,
        name: str,
        arguments: Object,
        seconds: float,
        *,
        ticket: Ticket | None = None,
        progress: Progress | None = None,
    ) -> Answer:
        """Make one call, once, and return its answer; `seconds` covers all of it.

        Cancelling it tells the server, leaves the session usable, and leaves
        `ticket` saying whether anything was sent.

        Raises:
            ConnectionLost: The session ended before or during the call.
            CallTimedOut: No answer in time.
            AnswerUnreadable: An answer that cannot be relied on, or garbage while waiting for one.
            CallRejected: The server answered with a protocol error.
            CallFailed: The arguments are no JSON; not sent.
        """
        try:
            json.dumps(arguments, allow_nan=False)  # the SDK would send null in the place of what is no JSON
        except ValueError as error:
            raise CallFailed("arguments-unencodable", sent=False) from error
        params: Object = {"name": name, "arguments": dict(arguments)}
        raw = await self._request("tools/call", params, seconds, ticket or Ticket(), progress)
        self.stalled = False
        answer = _answer(raw)
        if not answer.is_error and not self._as_declared(name, answer):
            raise AnswerUnreadable("answer-invalid", sent=True)
        return answer

    def _as_declared(self, name: str, answer: Answer) -> bool:
        schema = self._output_schemas.get(name)
        return schema is None or conforms(answer.structured, schema)

    async def responds(self, seconds: float) -> bool:
        """Ask for a sign of life. A server that gives none and left the call before unanswered is given up as stuck."""
        with suppress(CallRejected):  # a server that knows no ping lives too
            try:
                await self._request("ping", {}, seconds, Ticket())
            except (CallTimedOut, AnswerUnreadable, ConnectionLost):
                return False
        self.stalled = False
        return True

    async def list_tools(self, seconds: float) -> Inventory:
        """Read every page of the server's tools, for at most `seconds`; what ended a listing early is in its notices.

        Raises:
            CallFailed: The first page could not be had.
        """
        self._tools_changed = anyio.Event()
        tools: list[ListedTool] = []
        notices: list[str] = []
        complete = await self._pages(anyio.current_time() + seconds, tools, notices)
        self._output_schemas = {t.name: t.output_schema for t in tools if t.output_schema is not None}
        return Inventory(
            server=self.server, version=self.version, tools=tuple(tools), complete=complete, notices=tuple(notices)
        )

    async def _pages(self, deadline: float, tools: list[ListedTool], notices: list[str]) -> bool:
        """Gather pages until the last one; return whether that was reached."""
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            try:
                page = await self._page(cursor, deadline - anyio.current_time())
            except CallFailed as error:
                if cursor is None:
                    raise
                notices.append(f"listing ended early: {error.code}")
                return False
            tools.extend(_new(await anyio.to_thread.run_sync(_listed, page, notices), tools))
            cursor = page.cursor
            if cursor is None:
                return True
            if cursor in seen:
                notices.append("listing ended early: the server repeats its pages")
                return False
            seen.add(cursor)

    async def _page(self, cursor: str | None, seconds: float) -> _Page:
        params: Object = {} if cursor is None else {"cursor": cursor}
        raw = await self._request("tools/list", params, seconds, Ticket())
        try:
            return _Page.model_validate(raw)
        except ValidationError as error:
            raise AnswerUnreadable("answer-invalid", sent=True) from error

    async def _request(
        self, method: str, params: Object, seconds: float, ticket: Ticket, progress: Progress | None = None
    ) -> Mapping[str, JsonValue]:
        if self.lost:
            raise ConnectionLost("connection-lost", sent=False)
        options = None if progress is None else _heard_by(progress)
        noise, stuck = self._server.unreadable_count, self.stalled
        token = TICKET.set(ticket)
        try:
            with anyio.fail_after(max(seconds, 0)):
                answered = await self._dispatcher.send_raw_request(method, params, options)
                return cast("Mapping[str, JsonValue]", answered)
        except TimeoutError as error:
            self.stalled = True
            failure = self._no_answer(ticket, noise)
            if stuck:
                self._server.give_up()
            raise failure from error
        except MCPError as error:
            raise self._refusal(error, ticket) from error
        except ValueError as error:
            raise CallFailed("arguments-unencodable", sent=ticket.sent) from error
        finally:
            ticket.withdraw()
            TICKET.reset(token)

    def _no_answer(self, ticket: Ticket, noise: int) -> CallFailed:
        """A line that was cut off or is no message may have been the answer; either way it did not reach us."""
        if ticket.sent and self._server.unreadable_count > noise:
            return AnswerUnreadable("answer-unreadable", sent=True)
        return CallTimedOut("timeout", sent=ticket.sent)

    def _refusal(self, error: MCPError, ticket: Ticket) -> CallFailed:
        """The SDK reports a closed session with a code that a server may use too, so the session is asked."""
        if error.code == mcp_types.CONNECTION_CLOSED and self.lost:
            return ConnectionLost("connection-lost", sent=ticket.sent)
        return CallRejected("protocol-error", sent=ticket.sent, text=error.message)

    async def heard(self, message: object) -> None:
        """Take note of what the server says unasked."""
        if isinstance(message, mcp_types.ToolListChangedNotification):
            self._tools_changed.set()

    def leave(self) -> None:
        self._leaving = True


def _heard_by(listener: Progress) -> CallOptions:
    """Ask the server to tell of its progress; what the SDK hands over is passed on at once."""

    async def told(progress: float, total: float | None, message: str | None) -> None:
        listener(progress, total, message)

    return {"on_progress": told}


def _answer(raw: Mapping[str, JsonValue]) -> Answer:
    try:
        result = _Result.model_validate(raw)
    except ValidationError as error:
        raise AnswerUnreadable("answer-invalid", sent=True) from error
    if result.kind != "complete":
        raise AnswerUnreadable("answer-incomplete", sent=True)
    if not result.content and result.structured is None:
        raise AnswerUnreadable("answer-empty", sent=True)
    return Answer(blocks=tuple(result.content), structured=result.structured, is_error=result.is_error)


def _new(listed: Iterable[ListedTool], known: Sequence[ListedTool]) -> Iterator[ListedTool]:
    """Pass over what was listed before, word for word: a server that repeats its pages has no more tools for it."""
    by_name: dict[str, list[ListedTool]] = {}
    for tool in known:
        by_name.setdefault(tool.name, []).append(tool)
    for tool in listed:
        of_that_name = by_name.setdefault(tool.name, [])
        if tool not in of_that_name:
            of_that_name.append(tool)
            yield tool


def _listed(page: _Page, notices: list[str]) -> list[ListedTool]:
    tools: list[ListedTool] = []
    for entry in page.tools:
        try:
            tool = _Tool.model_validate(entry)
        except ValidationError:
            notices.append("a tool without a usable name or description was left out")
            continue
        tools.append(
            ListedTool(
                name=tool.name,
                description=tool.description or "",
                schema=tool.schema_ if isinstance(tool.schema_, dict) and usable(tool.schema_) else None,
                output_schema=tool.output_schema if isinstance(tool.output_schema, dict) else None,
                read_only=None if tool.annotations is None else tool.annotations.read_only,
            )
        )
    return tools


@asynccontextmanager
async def connect(
    spec: ServerSpec, *, seconds: float, grace: transport.Grace | None = None
) -> AsyncGenerator[MemoryConnection]:
    """Start a server, greet it within `seconds`, and yield the session; on leaving, both are ended.

    Enter and leave it in the same task. Leaving is bounded, also while the
    greeting hangs, and ends the calls under way: they raise ConnectionLost.

    Raises:
        ConnectFailed: No session came about; the child was ended.
    """
    _quiet_sdk()
    failure: Exception | None = None
    async with transport.stdio_server(spec, grace) as (server, inbox):
        dispatcher: _Dispatcher = JSONRPCDispatcher(inbox, server.outbox)
        listeners: list[MemoryConnection] = []

        async def hear(message: object) -> None:
            for listener in listeners:
                await listener.heard(message)

        async with ClientSession(dispatcher=dispatcher, message_handler=hear) as session:
            try:
                connection = MemoryConnection(server, dispatcher, await _greet(session, server, seconds))
                listeners.append(connection)
                try:
                    yield connection
                finally:
                    connection.leave()
            except Exception as error:  # noqa: BLE001 -- raised again below, outside the groups that would wrap it
                failure = error
    if failure is not None:
        raise failure


async def _greet(session: ClientSession, server: transport.ServerProcess, seconds: float) -> mcp_types.InitializeResult:
    reason: ConnectReason
    cause: Exception
    try:
        with anyio.fail_after(seconds):
            return await session.initialize()
    except TimeoutError as error:
        reason, cause = "garbage" if server.unreadable_count else "timeout", error
    except (MCPError, ValueError, RuntimeError) as error:
        reason, cause = "exited" if server.lost.is_set() else "protocol", error
    raise ConnectFailed(reason) from cause


def _quiet_sdk() -> None:
    """Keep the SDK's warnings off the terminal when the host has set up no logging: a text interface lives there."""
    for name in ("client", "mcp"):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())
