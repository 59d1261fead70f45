"""A conversation that stands in a file of Tau's and is read by our own reader; what others do to the file is done here."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from tau_agent.messages import AssistantMessage, TextContent, UserMessage
from tau_agent.session.entries import CompactionEntry, CustomEntry, CustomMessageEntry, MessageEntry, SessionEntry
from tau_agent.session.jsonl import entry_to_json_line
from tau_agent.types import JSONValue

from continuity.capture import RECEIPT_NAMESPACE, PublicMessage
from continuity.shell.ports import PathView
from continuity.shell.recalling import Composed
from continuity.tau.adapters import FileSource, details_of
from continuity.tau.entries import BRIEF_TYPE, MessageKey
from journal.ids import EntryId
from tests.fakes.host import Conversation

type Line = dict[str, JSONValue]


class Transcript(Conversation):
    """The same words as a `Conversation` of memory, in `path`. `rewrite` changes the file behind everybody's back."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.source = FileSource(path)
        self._keys: dict[str, MessageKey] = {}
        self._times = itertools.count(1_700_000_000_000)
        self._count = itertools.count(1)

    def user(self, text: str) -> EntryId:
        at_ms = next(self._times)
        return self._said("user", text, UserMessage(content=text, timestamp=at_ms), at_ms)

    def assistant(self, text: str, *, cut: bool = False) -> EntryId:
        at_ms = next(self._times)
        message = AssistantMessage(
            content=[TextContent(text=text)], stop_reason="length" if cut else "stop", timestamp=at_ms
        )
        return self._said("assistant", text, message, at_ms)

    def compact(self, summary: str = "s") -> EntryId:
        return self._put(
            CompactionEntry(id=self._next(), parent_id=self.tip, summary=summary, first_kept_entry_id=None)
        )

    def receipt(self, data: Mapping[str, object]) -> EntryId:
        given = json.loads(json.dumps(data))
        return self._put(CustomEntry(id=self._next(), parent_id=self.tip, namespace=RECEIPT_NAMESPACE, data=given))

    def insert(self, composed: Composed) -> EntryId:
        """Put a brief into the conversation, as the host does."""
        details = json.loads(json.dumps(details_of(composed)))
        text = composed.brief.text
        made = CustomMessageEntry(
            id=self._next(), parent_id=self.tip, custom_type=BRIEF_TYPE, content=text, details=details
        )
        return self._put(made)

    async def view(self, anchor: object | None) -> PathView:
        return await self.source.view(self._keys.get(anchor) if isinstance(anchor, str) else None)

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        return await self.source.messages(tip)

    @property
    def lines(self) -> list[Line]:
        """The file's entries as they stand there."""
        found: list[Line] = [json.loads(line) for line in self.path.read_text().split("\n") if line]
        return found

    def rewrite(self, change: Callable[[list[Line]], list[Line]]) -> None:
        """Replace the file by what `change` makes of its lines, and go on from its last one."""
        lines = change(self.lines)
        self.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        self.tip = EntryId(str([line for line in lines if line["type"] != "leaf"][-1]["id"]))

    def append(self, line: Line) -> None:
        """Write one line of whatever form; the tip stays where it is."""
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")

    def copied_to(self, path: Path) -> Transcript:
        """Fork the session by copying its file with every id in it replaced, as somebody's tool does."""
        made = Transcript(path)
        new = {str(line["id"]): f"copy-{number}" for number, line in enumerate(self.lines)}
        path.write_text("".join(json.dumps(_renamed(line, new)) + "\n" for line in self.lines))
        made.tip = EntryId(new[str(self.tip)])
        made._times = itertools.count(1_800_000_000_000)
        made._count = itertools.count(len(new) + 1)
        return made

    def _said(self, role: str, text: str, message: UserMessage | AssistantMessage, at_ms: int) -> EntryId:
        entry = self._put(MessageEntry(id=self._next(), parent_id=self.tip, message=message))
        self._keys[entry] = MessageKey(role, text, at_ms)
        return entry

    def _next(self) -> str:
        return f"t{next(self._count)}"

    def _put(self, entry: SessionEntry) -> EntryId:
        with self.path.open("a") as file:
            file.write(entry_to_json_line(entry))
        self.tip = EntryId(entry.id)
        return self.tip


def _renamed(line: Line, new: Mapping[str, str]) -> Line:
    parent = line.get("parent_id")
    renamed: Line = {**line, "id": new[str(line["id"])]}
    return {**renamed, "parent_id": new[parent]} if isinstance(parent, str) else renamed
