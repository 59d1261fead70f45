"""The host: a session file with a tree of entries, what a process sees of it, its model, and the person's notices.

The file outlives every process. Two processes may append to it at once; each
follows its own path. A path's tip is what a process appended last, and after a
start the newest entry of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import anyio

from continuity.capture import PublicMessage
from continuity.handoff.answer import HEADINGS
from continuity.handoff.prompt import END_LINE
from continuity.shell.ports import ModelFailed, NoticeLevel, PathView
from journal.ids import EntryId, SessionId, Sha256
from tests.simulation.world import Actor, World, turn

type Kind = Literal["user", "assistant", "compaction", "receipt", "brief", "root"]


@dataclass(frozen=True)
class Entry:
    """One entry of a session file."""

    id: EntryId
    parent: EntryId | None
    kind: Kind
    text: str = ""
    data: Mapping[str, object] = field(default_factory=dict[str, object])
    at_ms: int = 0


class SessionFile:
    """What the host persisted of one session."""

    def __init__(self, world: World, session_id: SessionId) -> None:
        self._world = world
        self.id = session_id
        self.entries: dict[EntryId, Entry] = {}
        self.append(None, "root", "", None)

    @property
    def newest(self) -> EntryId:
        return next(reversed(self.entries))

    def append(self, parent: EntryId | None, kind: Kind, text: str, data: Mapping[str, object] | None) -> EntryId:
        entry = EntryId(f"{self.id}-{len(self.entries):04}")
        self.entries[entry] = Entry(entry, parent, kind, text, data or {}, max(self._world.now_ms(), 0))
        return entry

    def path(self, tip: EntryId | None) -> list[Entry]:
        """From the root to `tip`."""
        found: list[Entry] = []
        while tip is not None:
            found.append(self.entries[tip])
            tip = found[-1].parent
        return found[::-1]


def public(path: list[Entry]) -> tuple[PublicMessage, ...]:
    """The messages of a path that are anybody's to read."""
    return tuple(
        PublicMessage(entry.id, entry.kind, entry.text, entry.at_ms)
        for entry in path
        if entry.kind in ("user", "assistant")
    )


class Source:
    """The session as one process reads it."""

    def __init__(self, world: World, file: SessionFile, actor: Actor) -> None:
        self._world = world
        self.file = file
        self._actor = actor
        self.tip = file.newest

    async def view(self, anchor: object | None) -> PathView:
        await turn(self._world, self._actor, "read session")
        path = self.file.path(EntryId(anchor) if isinstance(anchor, str) else self.tip)
        compactions = [entry.id for entry in path if entry.kind == "compaction"]
        seen = path[path.index(self.file.entries[compactions[-1]]) :] if compactions else path
        return PathView(
            root=path[0].id if path else None,
            public=public(path),
            compactions=tuple(compactions),
            receipts=tuple(entry.data for entry in path if entry.kind == "receipt"),
            briefs_in_context=frozenset(Sha256(entry.text) for entry in seen if entry.kind == "brief"),
            certain=not self._world.chance(0.1),
        )

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        await turn(self._world, self._actor, "read session")
        return public(self.file.path(tip)) if tip in self.file.entries else ()


@dataclass(frozen=True)
class Said:
    """One finished answer of the model."""

    text: str
    model: str = "test/model"
    tokens_in: int = 10
    tokens_out: int = 10


class Model:
    """The session's model: a handoff, something else, or nothing."""

    def __init__(self, world: World, actor: Actor) -> None:
        self._world = world
        self._actor = actor
        self._asked = 0

    async def summarize(self, text: str, *, instructions: str, timeout: float) -> Said:
        await turn(self._world, self._actor, "ask model", 3.0)
        self._asked += 1
        if any(words in text for words in self._world.off_the_record):
            self._world.fail("the model read what was said off the record")
        handoff = self._handoff()
        if self._world.strikes("model"):
            handoff = await self._failed(handoff)
        await turn(self._world, self._actor, "model answers")
        return Said(handoff)

    def _handoff(self) -> str:
        parts = [f"## {name}\n\nItem {self._asked} of {self._actor.number}." for name in HEADINGS]
        return "\n\n".join([*parts, END_LINE])

    async def _failed(self, handoff: str) -> str:
        match self._world.dice.randrange(4):
            case 0:
                raise ModelFailed("provider-error")
            case 1:
                await anyio.sleep(600)
                return handoff
            case 2:
                return handoff.removesuffix(END_LINE)
            case _:
                return "null"


class Voice:
    """What the person was told, oldest first."""

    def __init__(self, world: World, actor: Actor) -> None:
        self._world = world
        self._actor = actor
        self.said: list[tuple[str, str]] = []

    def say(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        if self._actor.alive:
            self.said.append((topic, text))
            self._world.tell(f"says {self._actor.number} {topic}: {text[:60]}")
            if topic == "failure":
                self._world.fail(f"something nobody foresaw: {text}")

    def at_once(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        self.say(topic, text, level)

    def answer(self, text: str, level: NoticeLevel = "info") -> None:
        if self._actor.alive:
            self._world.tell(f"answers {self._actor.number}: {text[:60]}")
