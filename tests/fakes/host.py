"""A host for the shell: a conversation kept in memory, a model with a script, and a voice that is listened to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import anyio

from continuity.capture import PublicMessage
from continuity.shell.ports import ModelFailed, NoticeLevel, PathView
from journal.ids import EntryId, Sha256

HANDOFF = """\
## Objective
Keep the lamp lit.

## Decisions
- Oil, because there is no wind.

## Verified work
- Verified: the lamp turns.

## Unfinished work
- The foghorn.

## Next action
{next}

END-OF-HANDOFF
"""


class _Entry(NamedTuple):
    parent: EntryId | None
    message: PublicMessage | None
    compaction: bool = False
    receipt: Mapping[str, object] | None = None
    brief: Sha256 | None = None


class Conversation:
    """A session's tree of entries, as a host persists it. What is added goes to the tip; `go_to` moves the tip."""

    def __init__(self, name: str = "s") -> None:
        self._name = name
        self._entries: dict[EntryId, _Entry] = {}
        self.tip: EntryId | None = None
        self.unreadable = False
        """While set, every look raises, as a file does that cannot be read."""

    def user(self, text: str) -> EntryId:
        return self._say("user", text)

    def assistant(self, text: str, *, cut: bool = False) -> EntryId:
        """An answer, or what there is of one that was `cut` off."""
        return self._say("assistant", text, cut=cut)

    def compact(self) -> EntryId:
        """Fold what is before this; the model no longer sees our briefs of before."""
        return self._add(_Entry(self.tip, None, compaction=True))

    def receipt(self, data: Mapping[str, object]) -> EntryId:
        return self._add(_Entry(self.tip, None, receipt=data))

    def brief(self, digest: Sha256) -> EntryId:
        return self._add(_Entry(self.tip, None, brief=digest))

    def go_to(self, entry: EntryId | None) -> None:
        self.tip = entry

    async def view(self, anchor: object | None) -> PathView:
        """Return the path to the entry `anchor`, or to the tip."""
        await anyio.lowlevel.checkpoint()
        if self.unreadable:
            raise PermissionError("the session file cannot be read")
        path = self._path(EntryId(anchor) if isinstance(anchor, str) else self.tip)
        folds = [n for n, (_, entry) in enumerate(path) if entry.compaction]
        seen = path[folds[-1] :] if folds else path
        return PathView(
            root=path[0][0] if path else None,
            public=tuple(message for message in _said(path) if not message.cut),
            compactions=tuple(name for name, entry in path if entry.compaction),
            receipts=tuple(entry.receipt for _, entry in path if entry.receipt is not None),
            briefs_in_context=frozenset(entry.brief for _, entry in seen if entry.brief is not None),
            certain=True,
        )

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        await anyio.lowlevel.checkpoint()
        return _said(self._path(tip))

    def _say(self, role: Literal["user", "assistant"], text: str, *, cut: bool = False) -> EntryId:
        entry = EntryId(f"{self._name}{len(self._entries) + 1}")
        message = PublicMessage(entry_id=entry, role=role, text=text, at_ms=len(self._entries), cut=cut)
        return self._add(_Entry(self.tip, message))

    def _add(self, entry: _Entry) -> EntryId:
        name = EntryId(f"{self._name}{len(self._entries) + 1}")
        self._entries[name] = entry
        self.tip = name
        return name

    def _path(self, tip: EntryId | None) -> Sequence[tuple[EntryId, _Entry]]:
        upwards: list[tuple[EntryId, _Entry]] = []
        while tip is not None and tip in self._entries:
            upwards.append((tip, self._entries[tip]))
            tip = self._entries[tip].parent
        return upwards[::-1]


def _said(path: Sequence[tuple[EntryId, _Entry]]) -> tuple[PublicMessage, ...]:
    return tuple(entry.message for _, entry in path if entry.message is not None)


class Said(NamedTuple):
    """An answer of the scripted model."""

    text: str
    model: str = "scripted"
    tokens_in: int = 10
    tokens_out: int = 5


@dataclass
class ScriptedMind:
    """Answers with a handoff, or as `answer` tells; can be told to wait."""

    answer: Callable[[str], str] = lambda _: HANDOFF.format(next="Wire the foghorn.")
    """May raise `ModelFailed`."""
    asked: list[str] = field(default_factory=list[str])
    arrived: anyio.Event = field(default_factory=anyio.Event)
    """Set by the first question."""
    gate: anyio.Event | None = None
    """While there is one, answers wait for it."""

    async def summarize(self, text: str, *, instructions: str, timeout: float) -> Said:
        self.asked.append(text)
        self.arrived.set()
        await anyio.lowlevel.checkpoint()
        if self.gate is not None:
            await self.gate.wait()
        return Said(self.answer(text))


def failing(code: str) -> Callable[[str], str]:
    """Return an `answer` that never is one."""

    def answer(text: str) -> str:
        raise ModelFailed(code)

    return answer


@dataclass
class Listener:
    """A voice whose notices can be read, each topic's text once, as the port promises, and whose answers can."""

    notices: list[tuple[str, str, NoticeLevel]] = field(default_factory=list[tuple[str, str, NoticeLevel]])
    answers: list[str] = field(default_factory=list[str])
    _last: dict[str, str] = field(default_factory=dict[str, str])

    def say(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        if self._last.get(topic) != text:
            self._last[topic] = text
            self.notices.append((topic, text, level))

    def at_once(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        self.say(topic, text, level)

    def answer(self, text: str, level: NoticeLevel = "info") -> None:
        self.answers.append(text)

    def on(self, topic: str) -> list[str]:
        """Return what was said on `topic`, or on one below it, oldest first."""
        return [text for said, text, _ in self.notices if said == topic or said.startswith(f"{topic}:")]
