"""What can go wrong with a journal: each error says what the caller may rely on afterwards. Driver errors never get out.

JournalError
├── EventRejected         the journal cannot hold this fact           nothing was written
├── VersionConflict       the branch is at another position           nothing was written
├── AlreadySubmitted      this attempt has its intent already         nothing was written
├── NoSuchPlace           no such branch, or no such position on it   nothing was written
├── JournalBusy           no write lock within the busy timeout       nothing was written
├── JournalClosed         the journal was closed before               nothing was written
├── JournalExists         something is at that path                   it was left as it is
├── JournalLocked         another process writes here                 nothing was touched
├── FileSystemUnsupported no journal is safe on this file system      nothing was touched
├── StorageFailed         the file system failed                      see its own words
│   ├── JournalFull       no room                                     nothing was written
│   └── JournalVanished   the file is not at its path any more        nothing was written
├── JournalUnreadable     the file was left as it is
│   ├── JournalMissing    nothing is at that path
│   ├── NotAJournal       it is something else
│   ├── JournalNewer      a later version wrote it
│   └── JournalDamaged    it is a journal and cannot be read as one
├── RowUnreadable         the history is good up to the row before
│   ├── ChainBroken       a digest, an order or a genesis does not hold
│   ├── UnknownEvent      a tag this version does not know
│   └── EventDamaged      a payload that is not what its tag promises
└── ImportRefused         the lines are not a sound journal           no file was made
    └── NotAnExport       they are something else from the first on
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path

    from journal.row import WriterRecord


class JournalError(Exception):
    """Base of everything the journal raises on purpose."""


class EventRejected(JournalError):
    """The journal cannot hold this fact or text exactly; nothing was written. Mend the caller."""


class VersionConflict(JournalError):
    """The branch is not where the caller believed; nothing was written. Read again, decide again."""

    def __init__(self, branch: int, expected: int, actual: int) -> None:
        super().__init__(f"branch {branch} is at {actual}, not at {expected}; nothing was written")
        self.branch = branch
        self.expected = expected
        self.actual = actual


class AlreadySubmitted(JournalError):
    """One of these intents has an attempt that was intended before; nothing was written. Never send it."""

    def __init__(self, captures: tuple[tuple[str, int], ...]) -> None:
        named = ", ".join(f"{capture[:12]} attempt {attempt}" for capture, attempt in captures)
        super().__init__(f"already submitted: {named}; nothing was written")
        self.captures = captures


class NoSuchPlace(JournalError):
    """The journal has no such branch, or the branch no such position; nothing was written."""

    def __init__(self, branch: int, position: int | None = None) -> None:
        place = f"branch {branch}" if position is None else f"position {position} on branch {branch}"
        super().__init__(f"there is no {place}")
        self.branch = branch
        self.position = position


class JournalBusy(JournalError):
    """Another process held the write lock for longer than the busy timeout; nothing was written. Try again later."""


class JournalClosed(JournalError):
    """The journal was closed before this call; nothing was written."""


class JournalExists(JournalError):
    """Something is at the path already; it was left as it is."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} exists and is never overwritten")
        self.path = path


class JournalLocked(JournalError):
    """Another process is this journal's writer; nothing was touched. `holder` is null if it left no words."""

    def __init__(self, path: Path, holder: WriterRecord | None) -> None:
        who = "another process" if holder is None else f"process {holder.process.pid}"
        super().__init__(f"{path} is being written by {who}")
        self.path = path
        self.holder = holder


class FileSystemUnsupported(JournalError):
    """The folder is behind a network or another machine's kernel, where a journal breaks unnoticed; nothing was touched."""

    def __init__(self, folder: Path, kind: str) -> None:
        super().__init__(
            f"{folder} is on a file system of the kind {kind}, where no journal is safe; nothing was touched: "
            "set CONTINUITY_HOME to a folder on a local disk"
        )
        self.folder = folder
        self.kind = kind


class StorageFailed(JournalError):
    """The file system refused or failed.

    A failed commit may yet be found on disk: the journal reads its head again
    before the next append, and so must whoever wants to know.
    """


class JournalFull(StorageFailed):
    """There is no room; nothing was written. Make room, then append again."""


class JournalVanished(StorageFailed):
    """The open file is not what lies at its path: a folder was moved, deleted or unmounted. Nothing was written."""


class JournalUnreadable(JournalError):
    """The file cannot be used as a journal; it was left as it is."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(f"{path}: {what}")
        self.path = path
        self.what = what


class JournalMissing(JournalUnreadable):
    """Nothing is at the path; nothing was made."""


class NotAJournal(JournalUnreadable):
    """What is at the path is something else; it was left as it is."""


class JournalNewer(JournalUnreadable):
    """A later version wrote this file; it was left as it is. Update, or read it with that version."""

    def __init__(self, path: Path, found: int, known: int) -> None:
        super().__init__(
            path,
            f"the journal has format {found}, this version reads up to {known}; "
            "it was left as it is: update tau-continuity to a version that knows it",
        )
        self.found = found
        self.known = known


class JournalDamaged(JournalUnreadable):
    """The file says it is a journal and cannot be read as one; it was left as it is. `salvage` may save a part."""


class RowUnreadable(JournalError):
    """One row cannot be used. What lies before it is good; nothing after it may be built on."""

    def __init__(self, what: str, branch: int = 0, position: int = 0) -> None:
        super().__init__(f"{branch}@{position}: {what}" if branch else what)
        self.what = what
        self.branch = branch
        self.position = position

    def at(self, branch: int, position: int) -> Self:
        """Return the same error, located."""
        return type(self)(self.what, branch, position)


class ChainBroken(RowUnreadable):
    """A digest, an order or a branch's beginning does not follow from what is before it."""


class UnknownEvent(RowUnreadable):
    """The row is sound, but its tag is none this version knows. Update; until then the journal is read-only."""


class EventDamaged(RowUnreadable):
    """The payload is not what its tag promises."""


class ImportRefused(JournalError):
    """The lines are not a sound export; no file was made."""

    def __init__(self, what: str, record: int, offset: int) -> None:
        super().__init__(f"record {record} at byte {offset}: {what}; no file was made")
        self.what = what
        self.record = record
        self.offset = offset


class NotAnExport(ImportRefused):
    """The first line is none that an export begins with; no file was made. It is another kind of file."""

    def __init__(self, what: str) -> None:
        super().__init__(what, 1, 0)
