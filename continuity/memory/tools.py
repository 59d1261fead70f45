"""The bridge between a server's tools and a host's: names a provider takes, results a model reads. No host is known here.

Arguments and schemas pass untouched. It never advises to repeat a call whose
outcome is unknown.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeGuard, cast

import msgspec
from msgspec.structs import replace

from continuity.memory.calls import Answer, Caller, Json, Object, Progress, Schema, Ticket, parsed, payload
from continuity.memory.errors import CallFailed, CallRejected
from continuity.memory.inventory import ListedTool
from journal.codec import clean
from journal.events.writes import Outcome

PREFIX = "bm_"
LONGEST_NAME = 64
_ALLOWED = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_NOT_AT_THE_TOP = ("anyOf", "oneOf", "allOf", "enum", "not")
"""What a provider takes in a property, and not beside the properties."""
_NOT_ALLOWED = re.compile(r"[^a-zA-Z0-9_-]")
_LOOK = "Read the note before repeating anything."
_LONGEST_INLINE = 2000
"""Characters of another block's data shown to the model; the rest is in the details. Base64 tells it nothing."""
_LONGEST_PROGRESS = 200


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
    the set of tools, not on its order, nor on what is allowed.
    """
    specs: list[ToolSpec] = []
    left_out: list[str] = []
    offered = list(tools)
    chosen = _names([(tool.name, nth) for nth, tool in _counted(offered)], taken)
    meant = {name: _meant(name, chosen) for name in allow or ()}
    wanted = None if allow is None else frozenset[tuple[str, int]]().union(*meant.values())
    for nth, tool in _counted(offered):
        if wanted is not None and (tool.name, nth) not in wanted:
            continue
        if not _offerable(tool.schema):
            left_out.append(tool.name)
            continue
        spec = ToolSpec(
            name=chosen[tool.name, nth],
            original=tool.name,
            description=_sendable(tool.description),
            schema=tool.schema,
            mutating=tool.read_only is not True,
        )
        specs.append(spec)
    unknown = tuple(sorted(name for name, found in meant.items() if not found))
    return Bridge(tools=tuple(specs), left_out=tuple(left_out), unknown=unknown)


def _meant(name: str, chosen: Mapping[tuple[str, int], str]) -> frozenset[tuple[str, int]]:
    """Return the tools that a person names: the server's name goes before ours, and ours before the one it would have."""
    own = {key for key in chosen if key[0] == name}
    ours = {key for key, called in chosen.items() if called == name}
    plain = {key for key in chosen if PREFIX + key[0] == name}
    return frozenset(own or ours or plain)


def _sendable(text: str) -> str:
    """Half a character has no bytes that could be sent."""
    return text.encode("utf-8", "replace").decode()


def _counted(tools: Iterable[ListedTool]) -> Iterator[tuple[int, ListedTool]]:
    """Number tools that share one name, so that each can be told apart."""
    seen: dict[str, int] = {}
    for tool in tools:
        nth = seen.get(tool.name, 0)
        seen[tool.name] = nth + 1
        yield nth, tool


def _offerable(schema: Schema | None) -> TypeGuard[Schema]:
    """Whether a provider takes it: one schema it refuses would cost the whole request, with every other tool in it."""
    if schema is None or schema.get("type") != "object" or any(key in schema for key in _NOT_AT_THE_TOP):
        return False
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list):
        return False
    each = cast("Mapping[str, object]", properties).items()
    sound = all(_PROPERTY.fullmatch(name) and isinstance(value, Mapping | bool) for name, value in each)
    return sound and all(isinstance(name, str) for name in cast("list[object]", required)) and _is_json(schema)


def _is_json(schema: Schema) -> bool:
    """A number beyond all bounds is read as infinity, and then is no JSON any more; nor is half a character."""
    try:
        json.dumps(schema, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return False
    return True


def _names(wanted: Sequence[tuple[str, int]], taken: Collection[str]) -> dict[tuple[str, int], str]:
    """Choose the name of each tool; names that can stay are given first, so that no changed one takes them away."""
    plain = {(original, 0): PREFIX + original for original, nth in wanted if nth == 0}
    chosen = {key: name for key, name in plain.items() if _ALLOWED.fullmatch(name) and name not in taken}
    used = {*chosen.values(), *taken}
    for original, nth in sorted(set(wanted) - set(chosen)):
        name = next(name for name in _changed(original, nth) if name not in used)
        chosen[original, nth] = name
        used.add(name)
    return chosen


def _changed(original: str, nth: int) -> Iterator[str]:
    """Names that end in a digest of the original, so that two originals meet in one only if somebody made them to."""
    stem = _NOT_ALLOWED.sub("_", PREFIX + original)[: LONGEST_NAME - 9]
    for more in itertools.count():
        told = f"{original}\0{nth}" + (f"\0{more}" if more else "")
        yield f"{stem}_{hashlib.sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


async def call(
    caller: Caller,
    spec: ToolSpec,
    arguments: Object,
    seconds: float,
    *,
    ticket: Ticket | None = None,
    progress: Progress | None = None,
) -> Bridged:
    """Forward one call, once. Every failure is a reply; only cancellation passes through, and `ticket` tells what it left."""
    try:
        answer = await caller.call_tool(spec.original, arguments, seconds, ticket=ticket, progress=progress)
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


def progress_text(done: float, total: float | None, message: str | None) -> str:
    """Return what a person is shown of a call under way."""
    count = f"{done:g}" if total is None else f"{done:g} of {total:g}"
    return clean(f"{count}: {message}" if message else count, _LONGEST_PROGRESS)


def failure_reply(spec: ToolSpec, error: CallFailed) -> ToolReply:
    """Say what became of a call that brought no answer."""
    return _error_reply(_failure_text(spec, error), {"code": error.code, "sent": error.sent})


def cancelled_reply(spec: ToolSpec, ticket: Ticket) -> ToolReply:
    """Say what became of a call that was given up while under way."""
    text = _unknown_text(spec) if ticket.sent and spec.mutating else f"{spec.original} was cancelled."
    return _error_reply(text, {"code": "cancelled", "sent": ticket.sent})


def unserved_reply(spec: ToolSpec) -> ToolReply:
    """Say that another extension answers for memory here."""
    text = (
        f"{spec.original} was not sent: another extension brings Basic Memory here, and its tools are to be used. "
        "Nothing was changed."
    )
    return _error_reply(text, {"code": "stands-down", "sent": False})


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
    """FastMCP wraps what is no object, so the text may be the JSON of the whole or of what is wrapped, or a wrapped text.

    Compared as JSON: to Python, true and 1 are equal.
    """
    wrapped = payload(answer)
    said = {_canonical(answer.structured), _canonical(wrapped)}
    return any(text == wrapped or _canonical(parsed(text)) in said for text in answer.texts)


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
