"""Events of a remote write: intent before it, answer after it, and what reading proved. None carries text."""

from __future__ import annotations

from typing import Literal

from journal.events.base import (
    Attempt,
    Capture,
    Connection,
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
from journal.events.capture import CaptureKind

type Outcome = Literal["accepted", "refused", "unknown", "not-sent"]
type Verdict = Literal[
    "present_same",
    "present_edited",
    "present_twin",
    "conflicted",
    "absent_open",
    "absent_final",
    "unreachable",
]

type Way = Literal["address", "title", "id_search", "file"]
"""How a note was looked for."""

type ServerState = Literal["gone", "alive", "unknown"]
type Decision = Literal["accept", "abandon", "rewrite"]


class NoteAddress(Part, frozen=True, kw_only=True):
    """Where a note is asked to be: chosen by us from the capture's identity alone."""

    folder: Path
    title: Name

    @property
    def file_path(self) -> str:
        """The address as a path inside the project."""
        return f"{self.folder}/{self.title}.md"


class WriteIntended(Fact, frozen=True, kw_only=True, tag="write-intended.v1"):
    """The machine committed to one remote write, before sending it.

    Written ahead of the call so that a crash in between leaves a question
    (an intent without an answer) and never a silence.
    """

    capture_id: Capture
    attempt: Attempt
    """1 for the first intent; higher only after `not-sent` or by a person's decision, never after an ambiguous outcome."""
    mode: Literal["create"]
    kind: CaptureKind
    project: Project
    source_tip: Entry
    address: NoteAddress
    content_sha256: Digest
    """Digest of the body, in the form the note's own frontmatter declares."""
    note_type: Word
    metadata_sha256: Digest
    """Digest of the metadata sent with it; the metadata itself is in bodies."""
    writer: Writer
    connection: Connection


class WriteAnswered(Fact, frozen=True, kw_only=True, tag="write-answered.v1"):
    """What became of the one call.

    `refused` only for a known code; `unknown` for every other failure after
    the first byte left; `not-sent` when none did.
    """

    capture_id: Capture
    attempt: Attempt
    outcome: Outcome
    code: Word | None
    file_path: Path | None
    permalink: Path | None
    checksum: Name | None


class Observation(Part, frozen=True, kw_only=True):
    """One read made to settle a capture, as it was answered."""

    by: Way
    found: Literal["note", "nothing", "unreachable"]
    capture_id: Capture | None
    """The identity the note declares; null when it declares none."""
    source_tip: Entry | None
    declared_sha256: Digest | None
    """The content digest the note's own frontmatter declares."""
    content_sha256: Digest | None
    """The digest of the body as it was read."""
    file_path: Path | None
    checksum: Name | None


class CaptureProbed(Fact, frozen=True, kw_only=True, tag="capture-probed.v1"):
    """Reads were made to settle or to check a capture; the verdict follows from this event and the intent alone.

    On a confirmed capture it raises the evidence: a matching read by path
    proves `read`, by file `on_disk`, by id search `indexed`.
    """

    capture_id: Capture
    attempt: Attempt
    connection: Connection | None
    observations: tuple[Observation, ...]
    writing_server: ServerState
    """What was proven of the process group the intent was sent through, before the reads began."""
    project_source: Literal["local", "cloud", "unknown"]
    index_proven: bool
    """The id search returned a note confirmed earlier, so its silence means something."""
    verdict: Verdict


class ReceiptAdopted(Fact, frozen=True, kw_only=True, tag="receipt-adopted.v1"):
    """A confirmed receipt was taken over from elsewhere; this journal sent nothing for it."""

    capture_id: Capture
    attempt: Attempt
    kind: CaptureKind
    project: Project
    source_tip: Entry
    content_sha256: Digest
    file_path: Path
    origin: Literal["session", "sibling", "tool", "address"]
    """`sibling` is another branch of this journal, `tool` a receipt without our anchor, `address` a note that was read."""


class NoteMoved(Fact, frozen=True, kw_only=True, tag="note-moved.v1"):
    """A confirmed note was read at another path."""

    capture_id: Capture
    file_path: Path


class NoteEdited(Fact, frozen=True, kw_only=True, tag="note-edited.v1"):
    """A confirmed note's body no longer is what was confirmed."""

    capture_id: Capture
    content_sha256: Digest


class NoteWithdrawn(Fact, frozen=True, kw_only=True, tag="note-withdrawn.v1"):
    """A confirmed note is gone."""

    capture_id: Capture


class CaptureResolved(Fact, frozen=True, kw_only=True, tag="capture-resolved.v1"):
    """A person settled what reading could not."""

    capture_id: Capture
    attempt: Attempt
    decision: Decision
    reason_sha256: Digest
    file_path: Path | None
