"""One tool call as plain data: whether it left, and what came back. Neither the SDK's types nor a host's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Protocol

import msgspec

type Json = bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None
type Object = Mapping[str, Json]
type Schema = Mapping[str, object]
"""A JSON Schema. Not `Object`: msgspec reads no recursive type, and the inventory is read by it."""

type Progress = Callable[[float, float | None, str | None], None]
"""Hears of a call under way: how far it is, of how much, and in the server's words. It extends no bound."""


class Ticket:
    """Says of one request whether any byte of it left this process."""

    __slots__ = ("_sent", "_withdrawn")

    def __init__(self) -> None:
        self._sent = False
        self._withdrawn = False

    @property
    def sent(self) -> bool:
        return self._sent

    @property
    def withdrawn(self) -> bool:
        return self._withdrawn

    def mark_sent(self) -> None:
        self._sent = True

    def withdraw(self) -> None:
        """Keep what has not been sent from ever being sent; without effect once a byte has left."""
        self._withdrawn = not self._sent


TICKET: ContextVar[Ticket | None] = ContextVar("continuity_memory_ticket", default=None)
"""The ticket of the request being sent from this task. The SDK chooses its request ids, so we cannot know them."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one `tools/call`, every block kept as the server sent it."""

    blocks: tuple[Object, ...]
    structured: Json = None
    is_error: bool = False

    @property
    def texts(self) -> tuple[str, ...]:
        found = (block.get("text") for block in self.blocks if block.get("type") == "text")
        return tuple(text for text in found if isinstance(text, str))


class Caller(Protocol):
    """Whoever can make a tool call once: a connection, or what stands for one."""

    async def call_tool(
        self,
        name: str,
        arguments: Object,
        seconds: float,
        *,
        ticket: Ticket | None = None,
        progress: Progress | None = None,
    ) -> Answer: ...


def payload(answer: Answer) -> Json:
    """Return what the tool said: its structured content if there is any, else the JSON of its first text, else that text.

    FastMCP wraps a result that is no object as `{"result": ...}`; a refusal has
    no structured content and carries its JSON as text.
    """
    structured = answer.structured
    if isinstance(structured, Mapping):
        return structured["result"] if set(structured) == {"result"} else structured
    return parsed(answer.texts[0]) if answer.texts else None


def parsed(text: str) -> Json:
    """Return `text` as the JSON it is, or itself when it is none."""
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value
