"""Events of a session's life: opened, forked, worked, compacted, connected, closed. None of them writes a note."""

from __future__ import annotations

from typing import Literal

from journal.events.base import (
    Connection,
    Count,
    Digest,
    Entry,
    Fact,
    Name,
    Part,
    Path,
    Project,
    Word,
    Writer,
)

type OpenReason = Literal["startup", "reload", "new", "resume", "branch", "ad-hoc", "sweep", "settle"]
"""`sweep` and `settle` open a journal nobody works in, to read what became of its writes: another session, or a person."""
type Level = Literal["A", "B", "C"]
type CompactionReason = Literal["manual", "threshold", "overflow", "unknown"]
type ProjectSource = Literal["local", "cloud", "unknown"]


class Process(Part, frozen=True, kw_only=True):
    """One process as the operating system knows it; enough to tell later whether it still lives."""

    machine: Name
    boot: Name
    pid_namespace: Name
    pid: Count
    process_group: Count
    started: Count
    """Kernel start time in clock ticks since boot; a reused pid has another."""


class Profile(Part, frozen=True, kw_only=True):
    """How work in this folder is filed, as chosen by the user's settings."""

    kind: Literal["general", "coding"]
    scope: Path
    repository: Path | None
    folder: Path


class PolicyValues(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The settings that decisions depend on, so that replay needs no configuration."""

    capture: bool
    recall: bool
    on_compact: bool
    on_shutdown: bool
    cadence_characters: Count
    """0 captures each settled turn."""
    cadence_ms: Count
    chunk_chars: Count
    recall_chars: Count
    transcripts: bool = False
    """Absent where no transcript notes are made."""


class SessionOpened(Fact, frozen=True, kw_only=True, tag="session-opened.v1"):
    """A writer took the journal's lock and replayed it.

    `writers_ended` are earlier writers of this journal that provably ended:
    their unanswered intents are in doubt from here on, nobody else's.
    """

    reason: OpenReason
    host: Name
    version: Name
    level: Level
    profile: Profile
    destination: Project | None
    policy: PolicyValues
    writer: Writer
    process: Process
    writers_ended: tuple[Writer, ...]


class SessionClosed(Fact, frozen=True, kw_only=True, tag="session-closed.v1"):
    """The writer let go. `drained` is false when owed work was left for the next start."""

    reason: Word
    unsaved_tip: Entry | None
    drained: bool


class BranchForked(Fact, frozen=True, kw_only=True, tag="branch-forked.v1"):
    """The active path left a branch; this event is the first of the new one.

    A fork inherits confirmed receipts and never owed work.
    """

    reason: Word
    left_tip: Entry | None
    kept_tip: Entry | None
    """The deepest tip of the parent that is still on the active path."""


class TipPair(Part, frozen=True, kw_only=True):
    """One entry before and after the host copied it under a new id."""

    old: Entry
    new: Entry


class TipsMapped(Fact, frozen=True, kw_only=True, tag="tips-mapped.v1"):
    """The host repaired its history: the same messages have new ids. No fork."""

    pairs: tuple[TipPair, ...]


class WorkBegun(Fact, frozen=True, kw_only=True, tag="work-begun.v1"):
    """A prompt was persisted. Its text is not here, only its length."""

    how: Literal["prompt", "custom"]
    characters: Count


class WorkSettled(Fact, frozen=True, kw_only=True, tag="work-settled.v1"):
    """The agent came to rest; the row's tip is the newest public message.

    `messages` and `characters` count the public messages new since the last
    row of this kind. `interrupted`: the newest prompt has no answer, for the
    model failed, somebody stopped it, or the process ended.
    """

    messages: Count
    characters: Count
    interrupted: bool


class CompactionStarted(Fact, frozen=True, kw_only=True, tag="compaction-started.v1"):
    """The host announced a compaction."""

    reason: CompactionReason


class CompactionEnded(Fact, frozen=True, kw_only=True, tag="compaction-ended.v1"):
    """The host ended an announced compaction; `aborted` left the context as it was."""

    reason: CompactionReason
    aborted: bool


class CompactionNoticed(Fact, frozen=True, kw_only=True, tag="compaction-noticed.v1"):
    """A compaction nobody announced was found on the active path."""

    entry: Entry


class MemoryConnected(Fact, frozen=True, kw_only=True, tag="memory-connected.v1"):
    """A memory server answered `initialize`.

    The process group names everything that could still land a write sent
    through this connection, if the project is local.
    """

    connection: Connection
    server: Name
    server_version: Name
    inventory_sha256: Digest | None
    project_source: ProjectSource
    project_sha256: Digest | None = None
    """Digest of what the server says of the project's id and folder; null where it says neither, and in older rows."""
    process: Process


class MemoryLost(Fact, frozen=True, kw_only=True, tag="memory-lost.v1"):
    """A connection ended, or none could be made. `connection` is null when none was up."""

    connection: Connection | None
    error: Word


class Paused(Fact, frozen=True, kw_only=True, tag="paused.v1"):
    """The user took the session off the record."""


class Resumed(Fact, frozen=True, kw_only=True, tag="resumed.v1"):
    """The user put the session back on the record; what lay between stays off it.

    Where the branch was on the record, what lay between its tip and this message may have been said off it.
    """
