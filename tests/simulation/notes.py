"""The notes as they truly are: files, their identities, and an index that follows later. The one ground truth.

What is assumed of a memory server, and nothing more: a read by path tells the
truth about that path. A note that is moved is known to the index from then on
under its old path or its new one. Everything else may lag for ever: a new note
may never become searchable, a deleted one may be listed for a while.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from continuity.capture import content_digest
from tests.simulation.world import World

type Maker = Literal["machine", "tool", "person"]
type Identity = tuple[str, str]
"""Capture id and source tip."""

NEVER = 1e12


@dataclass(eq=False)
class Note:
    """One note."""

    path: str
    title: str
    content: str
    front: dict[str, str]
    maker: Maker
    indexed_at: float
    index_path: str
    """Where the index believes it is, until `reindexed_at`."""
    reindexed_at: float = 0.0
    answers_at: set[str] = field(default_factory=set[str])
    """Old paths at which a read still finds it."""

    @property
    def identity(self) -> Identity:
        return self.front.get("capture_id", ""), self.front.get("source_tip", "")

    @property
    def permalink(self) -> str:
        return f"main/{self.path.removesuffix('.md')}"


@dataclass
class Listed:
    """One line of a search's answer."""

    path: str
    title: str
    front: Mapping[str, str]
    content: str


@dataclass
class _Ghost:
    listed: Listed
    until: float


class Notes:
    """One project."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.all: list[Note] = []
        self.ever: dict[Identity, list[Note]] = {}
        """Every note that ever bore an identity."""
        self._ghosts: list[_Ghost] = []

    # -- what is there -------------------------------------------------------

    def at(self, path: str) -> Note | None:
        exact = next((note for note in self.all if note.path == path), None)
        return exact or next((note for note in self.all if path in note.answers_at), None)

    def bearing(self, identity: Identity) -> list[Note]:
        """The notes that bear this identity now."""
        return [note for note in self.all if note.identity == identity]

    def occupied(self, path: str) -> bool:
        return any(note.path == path for note in self.all)

    # -- what changes it -----------------------------------------------------

    def create(self, path: str, title: str, content: str, front: Mapping[str, str], maker: Maker) -> Note:
        note = Note(path, title, content, dict(front), maker, self._world.now + self._lag(), path)
        self.all.append(note)
        self.ever.setdefault(note.identity, []).append(note)
        return note

    def _lag(self) -> float:
        if not self._world.strikes("lagging"):
            return self._world.delay(0.2)
        return self._world.dice.choice((2.0, 20.0, 300.0, NEVER))

    def move(self, note: Note, path: str) -> None:
        """As by the server's own tool: the index takes it in, at its old path for a while."""
        if self.occupied(path):
            return
        if self._world.chance(0.4):
            note.answers_at.add(note.path)
        note.indexed_at = min(note.indexed_at, self._world.now)
        note.index_path = note.path
        note.reindexed_at = self._world.now + (self._world.delay(30) if self._world.chance(0.3) else 0)
        note.path = path

    def retitle(self, note: Note, title: str) -> None:
        note.title = title
        note.indexed_at = min(note.indexed_at, self._world.now)

    def edit(self, note: Note, content: str, *, tidily: bool) -> None:
        """Change the body; `tidily` keeps the digest in its frontmatter true to it."""
        note.content = content
        if tidily:
            note.front["content_digest"] = content_digest(content)

    def strip(self, note: Note) -> None:
        """Take its identity away."""
        note.front.pop("capture_id", None)

    def copy(self, note: Note, path: str) -> None:
        if not self.occupied(path):
            self.create(path, note.title, note.content, note.front, "person")

    def delete(self, note: Note) -> None:
        self.all.remove(note)
        if note.indexed_at <= self._world.now and self._world.chance(0.4):
            listed = Listed(note.index_path, note.title, dict(note.front), note.content)
            self._ghosts.append(_Ghost(listed, self._world.now + self._world.delay(60)))

    def catch_up(self) -> None:
        """The index comes to know everything, as after a server's start."""
        self._ghosts.clear()
        for note in self.all:
            note.indexed_at, note.reindexed_at = min(note.indexed_at, self._world.now), 0.0

    # -- what the index says -------------------------------------------------

    def listed(self) -> list[Listed]:
        """Everything a search may find now, newest first."""
        now = self._world.now
        self._ghosts = [ghost for ghost in self._ghosts if ghost.until > now]
        found = [
            Listed(note.path if note.reindexed_at <= now else note.index_path, note.title, note.front, note.content)
            for note in reversed(self.all)
            if note.indexed_at <= now
        ]
        return found + [ghost.listed for ghost in self._ghosts]
