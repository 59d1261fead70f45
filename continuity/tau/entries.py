"""Session entries in the small form we keep; turns Tau's JSON objects into it and never imports Tau."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, cast

from continuity.capture import RECEIPT_NAMESPACE, PublicMessage
from journal.ids import EntryId

type Json = bool | int | float | str | list[Json] | dict[str, Json] | None

type Kind = Literal[
    "user",
    "assistant",
    "tool",
    "custom_message",
    "custom",
    "compaction",
    "branch_summary",
    "other",
]

BRIEF_TYPE = "continuity.brief"
"""Custom type of the one message we put into a conversation."""

CUT = frozenset({"aborted", "error", "length"})
"""Stop reasons of an answer that somebody or something cut off."""

_ROLES: Mapping[str, Kind] = {"user": "user", "assistant": "assistant", "toolResult": "tool", "tool": "tool"}
_MADE_BY_TAU = (
    "Terminal command executed by the user.\n\nCommand:\n```bash\n",
    "Previous conversation summary:\n",
    "The following is a summary of a branch that this conversation came back from:\n<summary>\n",
)
"""How Tau words what it puts in as a user's message: the output of a `!command`, and summaries it copied when it repaired
its history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of a session file, without what we may not or need not keep."""

    id: EntryId
    parent_id: EntryId | None
    kind: Kind
    timestamp_ms: int
    text: str = ""
    """A user's, an assistant's that ended with "stop", or what there is of one that was cut off; no other."""
    stop_reason: str | None = None
    namespace: str | None = None
    data: Mapping[str, Json] | None = None
    """Only of custom entries in our namespace."""
    custom_type: str | None = None
    details: Json = None
    """Only of our own custom messages."""
    in_context: bool = False
    """Whether the model sees this entry until a compaction folds it away."""
    kept_from: EntryId | None = None
    """Of a compaction: the first entry that stays."""
    replaced: frozenset[EntryId] | None = None
    """Of a compaction in Tau's first format: what it folded."""
    first_id: EntryId | None = None
    """Of a message that Tau copied when it repaired its history: what the message is called in all that we recorded."""

    @property
    def is_public(self) -> bool:
        """Whether this is a public message, the only thing that moves a tip."""
        return self.is_material and not self.is_cut

    @property
    def is_material(self) -> bool:
        """Whether there is text a synthesis may read."""
        return bool(self.text) and not self.text.isspace()

    @property
    def is_cut(self) -> bool:
        """Whether this is an answer that ends before its end."""
        return self.stop_reason in CUT


class MessageKey(NamedTuple):
    """What identifies a message across Tau's event and Tau's file."""

    role: str
    text: str
    timestamp_ms: int


class Parsed(NamedTuple):
    """An entry and what only the reader of a file needs to know about it."""

    entry: Entry
    key: MessageKey | None
    is_leaf: bool


class EntryDamaged(ValueError):
    """The object is not a session entry; it was left out."""


def parse_entry(value: object) -> Parsed:
    """Return the small form of one decoded line, in Tau's present or first format.

    Raises:
        EntryDamaged: No object, or no usable id.
    """
    if not isinstance(value, dict):
        raise EntryDamaged("not an object")
    raw = cast("Mapping[str, Json]", value)
    entry_id = raw.get("id")
    if not isinstance(entry_id, str) or not entry_id:
        raise EntryDamaged("no id")
    match raw.get("type"):
        case "message":
            return _message(entry_id, raw, _mapping(raw.get("message")))
        case "custom_message":
            return _custom_message(entry_id, raw, raw, _milliseconds(raw))
        case "custom":
            return Parsed(_custom(entry_id, raw), None, is_leaf=False)
        case "compaction":
            return Parsed(_compaction(entry_id, raw), None, is_leaf=False)
        case "branch_summary":
            return Parsed(_bare(entry_id, raw, "branch_summary", in_context=True), None, is_leaf=False)
        case kind:
            return Parsed(_bare(entry_id, raw, "other"), None, is_leaf=kind == "leaf")


def public_messages(path: Iterable[Entry]) -> tuple[PublicMessage, ...]:
    """Return the public messages among `path`, in its order."""
    return tuple(_said(entry) for entry in path if entry.is_public)


def material(path: Iterable[Entry]) -> tuple[PublicMessage, ...]:
    """Return what a synthesis reads of `path`: its public messages, and answers that were cut off, marked as such."""
    return tuple(_said(entry) for entry in path if entry.is_material)


def _said(entry: Entry) -> PublicMessage:
    return PublicMessage(
        entry_id=entry.first_id or entry.id,
        role="user" if entry.kind == "user" else "assistant",
        text=entry.text,
        at_ms=entry.timestamp_ms,
        cut=entry.is_cut,
    )


def receipts_on(path: Iterable[Entry]) -> tuple[Mapping[str, Json], ...]:
    """Return the data of our custom entries on `path`, oldest first."""
    return tuple(entry.data for entry in path if entry.data is not None)


def context_of(path: Sequence[Entry]) -> tuple[Entry, ...]:
    """Return the entries of `path` that the model still sees, as Tau folds them."""
    shown: list[Entry] = []
    for index, entry in enumerate(path):
        if entry.kind == "compaction":
            shown = _folded(shown, entry, path[:index])
        elif entry.in_context:
            shown.append(entry)
    return tuple(shown)


def _folded(shown: list[Entry], compaction: Entry, before: Sequence[Entry]) -> list[Entry]:
    if compaction.replaced is not None:
        return _folded_by_ids(shown, compaction, compaction.replaced)
    start = next((i for i, entry in enumerate(before) if entry.id == compaction.kept_from), None)
    if start is None:
        return [compaction]
    kept = {entry.id for entry in shown}
    return [compaction, *(entry for entry in before[start:] if entry.id in kept)]


def _folded_by_ids(shown: list[Entry], compaction: Entry, replaced: frozenset[EntryId]) -> list[Entry]:
    first = next((i for i, entry in enumerate(shown) if entry.id in replaced), len(shown))
    rest = [entry for entry in shown[first:] if entry.id not in replaced]
    return [*shown[:first], compaction, *rest]


def _message(entry_id: str, raw: Mapping[str, Json], message: Mapping[str, Json]) -> Parsed:
    role = message.get("role")
    at_ms = _message_time(raw, message)
    if role == "custom" or "custom_type" in message or "customType" in message:
        return _custom_message(entry_id, raw, message, at_ms)
    kind = _ROLES.get(role, "other") if isinstance(role, str) else "other"
    text = _joined_text(message.get("content"))
    stop = _stop_reason(message) if kind == "assistant" else None
    readable = kind == "user" or (kind == "assistant" and (stop == "stop" or stop in CUT))
    hidden = kind == "user" and text.startswith(_MADE_BY_TAU)
    entry = Entry(
        id=EntryId(entry_id),
        parent_id=_parent(raw),
        kind="other" if hidden else kind,
        timestamp_ms=at_ms,
        text=text if readable and not hidden else "",
        stop_reason=stop,
        in_context=True,
    )
    return Parsed(entry, MessageKey(str(role), text, at_ms), is_leaf=False)


def _stop_reason(message: Mapping[str, Json]) -> str:
    stop = message.get("stopReason", message.get("stop_reason", "stop"))
    return stop if isinstance(stop, str) else "other"


def _custom_message(entry_id: str, raw: Mapping[str, Json], body: Mapping[str, Json], at_ms: int) -> Parsed:
    custom_type = body.get("custom_type", body.get("customType"))
    entry = Entry(
        id=EntryId(entry_id),
        parent_id=_parent(raw),
        kind="custom_message",
        timestamp_ms=at_ms,
        custom_type=custom_type if isinstance(custom_type, str) else None,
        details=body.get("details") if custom_type == BRIEF_TYPE else None,
        in_context=True,
    )
    return Parsed(entry, MessageKey("custom", _joined_text(body.get("content")), at_ms), is_leaf=False)


def _custom(entry_id: str, raw: Mapping[str, Json]) -> Entry:
    namespace = raw.get("namespace")
    ours = namespace == RECEIPT_NAMESPACE
    return Entry(
        id=EntryId(entry_id),
        parent_id=_parent(raw),
        kind="custom",
        timestamp_ms=_milliseconds(raw),
        namespace=namespace if isinstance(namespace, str) else None,
        data=_mapping(raw.get("data")) if ours else None,
    )


def _compaction(entry_id: str, raw: Mapping[str, Json]) -> Entry:
    kept = raw.get("first_kept_entry_id")
    replaced = raw.get("replaces_entry_ids")
    return Entry(
        id=EntryId(entry_id),
        parent_id=_parent(raw),
        kind="compaction",
        timestamp_ms=_milliseconds(raw),
        in_context=True,
        kept_from=EntryId(kept) if isinstance(kept, str) else None,
        replaced=_ids(replaced) if isinstance(replaced, list) else None,
    )


def _bare(entry_id: str, raw: Mapping[str, Json], kind: Kind, *, in_context: bool = False) -> Entry:
    return Entry(
        id=EntryId(entry_id),
        parent_id=_parent(raw),
        kind=kind,
        timestamp_ms=_milliseconds(raw),
        in_context=in_context,
    )


def _ids(values: list[Json]) -> frozenset[EntryId]:
    return frozenset(EntryId(value) for value in values if isinstance(value, str))


def _parent(raw: Mapping[str, Json]) -> EntryId | None:
    parent = raw.get("parent_id")
    return EntryId(parent) if isinstance(parent, str) else None


def _mapping(value: Json) -> Mapping[str, Json]:
    return value if isinstance(value, dict) else {}


def _message_time(raw: Mapping[str, Json], message: Mapping[str, Json]) -> int:
    at_ms = message.get("timestamp")
    return int(at_ms) if isinstance(at_ms, int | float) else _milliseconds(raw)


def _milliseconds(raw: Mapping[str, Json]) -> int:
    seconds = raw.get("timestamp")
    return round(seconds * 1000) if isinstance(seconds, int | float) else 0


def _joined_text(content: Json) -> str:
    """Return the text blocks run together: no images, no thinking, no tool calls."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = (_mapping(block) for block in content)
    texts = (block.get("text") for block in blocks if block.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str))
