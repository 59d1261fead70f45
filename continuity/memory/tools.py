"""The bridge between a server's tools and a host's: names a provider takes, results a model reads. No host is known here.

Arguments and schemas pass untouched. It never advises to repeat a call whose
outcome is unknown.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from continuity.memory.calls import Answer, Caller, Json, Object, Schema, Ticket, parsed, payload
from continuity.memory.errors import CallFailed, CallRejected
from continuity.memory.inventory import ListedTool
from journal.events.writes import Outcome

PREFIX = "bm_"
LONGEST_NAME = 64
_ALLOWED = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]")
_LOOK = "Read the note before repeating anything."
_LONGEST_INLINE = 2000
"""Characters of another block's data shown to the model; the rest is in the details. Base64 tells it nothing."""


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One tool as a host registers it; calls go to `original`."""

    name: str
    original: str
    description: str
    schema: Schema
    mutating: bool
    """True unless the server says that the tool only reads."""


class Bridge(NamedTuple):
    """What is offered to the model, and what a person should know about the difference to what the server offers."""

    tools: tuple[ToolSpec, ...]
    left_out: tuple[str, ...]
    unknown: tuple[str, ...]
    """Names in the user's allow-list that the server does not offer."""


class TextBlock(msgspec.Struct, frozen=True):
    """Text for the model."""

    text: str


class ImageBlock(msgspec.Struct, frozen=True):
    """An image for the model, base64 as it came."""

    data: str
    mime_type: str


class ToolReply(msgspec.Struct, frozen=True, kw_only=True):
    """What a host hands back for one call; `details` is for people and hosts, not for the model."""

    blocks: tuple[TextBlock | ImageBlock, ...]
    is_error: bool
    details: Mapping[str, object]


class Bridged(NamedTuple):
    """One bridged call: its reply, and what is known of its effect."""

    reply: ToolReply
    outcome: Outcome
    code: str | None


def bridge(tools: Iterable[ListedTool], *, allow: Collection[str] | None = None, taken: Collection[str] = ()) -> Bridge:
    """Choose a name for each tool: `bm_` and its own, changed only where a provider, the host or another tool forbids it.

    `allow` holds the server's names, or ours; None allows all. Names depend on
    the set of tools, not on its order.
    """
    specs: dict[str, ToolSpec] = {}
    left_out: list[str] = []
    wanted = None if allow is None else {name.removeprefix(PREFIX) for name in allow} | set(allow)
    offered = list(tools)
    for nth, tool in _counted(offered):
        if wanted is not None and tool.name not in wanted:
            continue
        if tool.schema is None or tool.schema.get("type") != "object":
            left_out.append(tool.name)
            continue
        name = _name(tool.name, nth, taken)
        specs[name] = ToolSpec(
            name=name,
            original=tool.name,
            description=tool.description,
            schema=tool.schema,
            mutating=tool.read_only is not True,
        )
    names = {tool.name for tool in offered}
    return Bridge(
        tools=tuple(specs.values()),
        left_out=tuple(left_out),
        unknown=tuple(sorted(n for n in allow or () if n not in names and n.removeprefix(PREFIX) not in names)),
    )


def _counted(tools: Iterable[ListedTool]) -> Iterator[tuple[int, ListedTool]]:
    """Number tools that share one name, so that each can be told apart."""
    seen: dict[str, int] = {}
    for tool in tools:
        nth = seen.get(tool.name, 0)
        seen[tool.name] = nth + 1
        yield nth, tool


def _name(original: str, nth: int, taken: Collection[str]) -> str:
    """A name that had to be changed ends in a digest of the original, so that no two originals can meet in one name."""
    plain = PREFIX + original
    if nth == 0 and _ALLOWED.fullmatch(plain) and plain not in taken:
        return plain
    mark = hashlib.sha256(f"{original}\0{nth}".encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_NOT_ALLOWED.sub('_', plain)[: LONGEST_NAME - 9]}_{mark}"


async def call(
    caller: Caller, spec: ToolSpec, arguments: Object, seconds: float, *, ticket: Ticket | None = None
) -> Bridged:
    """Forward one call, once. Every failure is a reply; only cancellation passes through, and `ticket` tells what it left."""
    try:
        answer = await caller.call_tool(spec.original, arguments, seconds, ticket=ticket)
    except CallFailed as error:
        outcome: Outcome = "unknown" if error.sent else "not-sent"
        return Bridged(failure_reply(spec, error), outcome, error.code)
    reply = convert_result(answer)
    if not answer.is_error and not _says_failed(answer):
        return Bridged(reply, "accepted", None)
    outcome, code = _failed_outcome(answer)
    return Bridged(_with_doubt(reply) if spec.mutating and outcome == "unknown" else reply, outcome, code)


def _says_failed(answer: Answer) -> bool:
    """Some servers tell a failure in an ordinary answer's text; it proves neither that nor the contrary."""
    return any(text.startswith("Failed to ") for text in answer.texts[:1])


def _with_doubt(reply: ToolReply) -> ToolReply:
    """The server's own words stay; what they leave open is said after them."""
    return replace(
        reply, blocks=(*reply.blocks, TextBlock(f"The outcome is unknown: it may have been stored. {_LOOK}"))
    )


def _failed_outcome(answer: Answer) -> tuple[Outcome, str]:
    """A tool error can leave the note behind, so only a code that promises otherwise is a refusal."""
    from continuity.memory.notes import ALREADY_EXISTS, REFUSALS  # it needs pydantic, which a warm start does without

    said = payload(answer)
    code = said.get("error") if isinstance(said, Mapping) else None
    if isinstance(code, str) and code in REFUSALS:
        return "refused", code
    return "unknown", ALREADY_EXISTS if code == ALREADY_EXISTS else "error-unknown"


def failure_reply(spec: ToolSpec, error: CallFailed) -> ToolReply:
    """Say what became of a call that brought no answer."""
    return _error_reply(_failure_text(spec, error), {"code": error.code, "sent": error.sent})


def cancelled_reply(spec: ToolSpec, ticket: Ticket) -> ToolReply:
    """Say what became of a call that was given up while under way."""
    text = _unknown_text(spec) if ticket.sent and spec.mutating else f"{spec.original} was cancelled."
    return _error_reply(text, {"code": "cancelled", "sent": ticket.sent})


def _error_reply(text: str, details: Mapping[str, object]) -> ToolReply:
    return ToolReply(blocks=(TextBlock(text),), is_error=True, details=details)


def _failure_text(spec: ToolSpec, error: CallFailed) -> str:
    if not error.sent:
        return f"{spec.original} was not sent: memory is not reachable ({error.code}). Nothing was changed."
    if spec.mutating:
        return _unknown_text(spec)
    if isinstance(error, CallRejected):
        return f"{spec.original} failed: {error.text}"
    return f"{spec.original} brought no usable answer ({error.code})."


def _unknown_text(spec: ToolSpec) -> str:
    return (
        f"The outcome of {spec.original} is unknown: no usable answer came back, and it may have been stored. {_LOOK}"
    )


def convert_result(answer: Answer) -> ToolReply:
    """Return `answer` for a host: text and images as they are, any other block as its JSON.

    Structured content is shown to the model only if no text block already is
    its JSON; in the details it is kept either way.
    """
    blocks = [_convert(block) for block in answer.blocks]
    details: dict[str, object] = {}
    if answer.structured is not None:
        details["structured_content"] = answer.structured
        if not _said_already(answer):
            blocks.append(TextBlock(_json(answer.structured)))
    others = [block for block in answer.blocks if block.get("type") not in {"text", "image"}]
    if others:
        details["other_blocks"] = others
    return ToolReply(blocks=tuple(blocks), is_error=answer.is_error, details=details)


def _convert(block: Object) -> TextBlock | ImageBlock:
    match block:
        case {"type": "text", "text": str(text)}:
            return TextBlock(text)
        case {"type": "image", "data": str(data), "mimeType": str(mime_type)}:
            return ImageBlock(data, mime_type)
        case _:
            return TextBlock(_json(_shortened(block)))


def _shortened(value: Json) -> Json:
    """Return `value` with what is too long to be read cut, and the cut said."""
    if isinstance(value, str):
        cut = len(value) - _LONGEST_INLINE
        return value if cut <= 0 else f"{value[:_LONGEST_INLINE]} [{cut} more characters]"
    if isinstance(value, Mapping):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    return value


def _said_already(answer: Answer) -> bool:
    """FastMCP wraps what is no object, so the text may be the JSON of the whole or of what is wrapped."""
    return any(parsed(text) in (answer.structured, payload(answer)) for text in answer.texts)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
