"""What opening a session's journal needs to know: where it is, which settings it records, what a refusal means."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import msgspec

from continuity.commands import OpenSession
from continuity.places import Places
from continuity.profile import Profile
from continuity.shell.ports import PathView, Voice
from continuity.shell.settings import Settings
from journal.disk import FORMAT
from journal.errors import (
    ChainBroken,
    FileSystemUnsupported,
    JournalBusy,
    JournalDamaged,
    JournalError,
    JournalFull,
    JournalLocked,
    JournalMissing,
    JournalNewer,
    JournalUnreadable,
    JournalVanished,
    NotAJournal,
    RowUnreadable,
    StorageFailed,
    UnknownEvent,
)
from journal.events.lifecycle import Level, OpenReason, PolicyValues
from journal.ids import EntryId, JournalId, ProjectName, SessionId
from journal.reader import open_reader
from journal.row import Header, WriterRecord


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the host, for the record."""

    name: str
    version: str
    level: Level
    extension: str
    """Our own version."""

    @property
    def recorded(self) -> str:
        """Its name and version, as rows keep them."""
        return f"{self.name} {self.version}"[:200]


def header(session_id: SessionId, root: EntryId) -> Header:
    """Return what a new journal of this session says of itself."""
    return Header(format=FORMAT, journal_id=JournalId(secrets.token_hex(16)), session_id=session_id, root=root)


def opening(
    reason: OpenReason, *, host: Host, profile: Profile, settings: Settings, writer: WriterRecord
) -> OpenSession:
    """Return the command that takes over a session's journal."""
    return OpenSession(
        reason=reason,
        host=host.recorded,
        version=host.extension,
        level=host.level,
        profile=profile.recorded(),
        destination=ProjectName(profile.project) if profile.project else None,
        policy=policy_values(settings),
        writer=writer.writer,
        process=writer.process,
    )


class Guard:
    """Turns a journal that cannot be used into words: memory stands still, the session goes on."""

    def __init__(self, refused: Callable[[JournalError], None]) -> None:
        self._refused = refused

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, JournalError):
            return False
        self._refused(error)
        return True


def unreadable(error: JournalError) -> str:
    """Return in our own words why a journal cannot be used."""
    words: dict[type[JournalError], str] = {
        JournalMissing: "it is gone",
        NotAJournal: "it is something else",
        JournalNewer: "a later version of tau-continuity wrote it",
        JournalDamaged: "it is damaged",
        ChainBroken: "its chain is broken",
        UnknownEvent: "a later version of tau-continuity wrote in it",
    }
    said = next((text for kind, text in words.items() if isinstance(error, kind)), "a row is damaged")
    if isinstance(error, JournalNewer):
        return f"{said}: it has format {error.found}, and this version reads up to {error.known}"
    where = f" at {error.branch}@{error.position}" if isinstance(error, RowUnreadable) and error.branch else ""
    return f"{said}{where}"


def blocked(error: JournalError) -> str | None:
    """Return why this session records nothing, if it is no passing trouble of the disk."""
    if isinstance(error, JournalLocked):
        return "another process has this session open; memory is read-only here"
    if isinstance(error, FileSystemUnsupported):
        return (
            f"no journal is kept in {error.folder}: it is on a file system of the kind {error.kind}, where none is safe; "
            "set CONTINUITY_HOME to a folder on a local disk"
        )
    if isinstance(error, JournalUnreadable | RowUnreadable):
        later = isinstance(error, JournalNewer | UnknownEvent)
        return (
            f"the journal cannot be read ({unreadable(error)}); it was left as it is, and nothing is saved or recalled "
            f"in this session: {'update tau-continuity' if later else 'see `continuity audit`'}"
        )
    return None


def trouble(error: JournalError) -> str:
    """Return in our own words why nothing can be recorded at the moment."""
    words: dict[type[JournalError], str] = {
        JournalFull: "there is no room on its disk",
        JournalBusy: "another program holds its write lock",
        JournalVanished: "its file was moved, deleted or unmounted",
        StorageFailed: "its disk fails or its folder cannot be written to",
    }
    said = next((text for kind, text in words.items() if isinstance(error, kind)), None)
    return said or blocked(error) or f"the journal refused it ({type(error).__name__})"


def policy_values(settings: Settings) -> PolicyValues:
    """Return the settings that decisions depend on, as the journal keeps them."""
    cadence = settings.cadence
    return PolicyValues(
        capture=settings.capture_knowledge,
        recall=settings.auto_recall,
        on_compact=settings.checkpoint_on_compact,
        on_shutdown=settings.summarize_on_shutdown,
        cadence_characters=0 if cadence == "every" else cadence.characters,
        cadence_ms=0 if cadence == "every" else round(cadence.minutes * 60_000),
        chunk_chars=settings.summary_chunk_chars,
        recall_chars=settings.recall_chars,
        transcripts=settings.capture_transcript,
    )


def tell_torn(voice: Voice, view: PathView) -> None:
    """Say what of the session's file cannot be used. The rest is: nothing of ours depends on a whole history."""
    lost = [
        *([f"{view.unreadable} of its records cannot be read"] if view.unreadable else []),
        *(["what its path goes on from was never written"] if view.torn else []),
    ]
    if lost:
        text = f"Continuity: of this session's file, {' and '.join(lost)}. What can be reached is used."
        voice.say("session-file", text, "warning")


def journal_path(places: Places, session_id: SessionId, root: EntryId | None) -> Path:
    """Return the session's journal; the same session id with another root is another journal. Blocking."""
    usual = places.journal(session_id)
    if not usual.exists() or root is None or _root(usual) in (root, None):
        return usual
    return places.journal(SessionId(f"{session_id}-{root}"))


def _root(path: Path) -> EntryId | None:
    with open_reader(path) as reader:
        return reader.header.root
