"""Events of one capture before its write: begun, synthesised, failed, superseded. No text, only digests and counts."""

from __future__ import annotations

from typing import Literal

from journal.events.base import (
    Attempt,
    Capture,
    Count,
    Digest,
    Entry,
    Fact,
    Name,
    Project,
    Word,
)

type CaptureKind = Literal["checkpoint", "transcript", "note"]


class CaptureRequested(Fact, frozen=True, kw_only=True, tag="capture-requested.v1"):
    """What was gathered is due now, whatever the cadence: by command, at a compaction, on leaving."""

    reason: Word
    focus_sha256: Digest | None
    """What the person asked to keep in view; masked text in bodies."""


class CaptureBegun(Fact, frozen=True, kw_only=True, tag="capture-begun.v1"):
    """One thing is to be written: the knowledge up to `source_tip`."""

    capture_id: Capture
    attempt: Attempt
    kind: CaptureKind
    project: Project
    source_tip: Entry
    reason: Word
    prior_sha256: Digest | None
    """The finished handoff that synthesis starts from; its text is in bodies."""
    prior_tip: Entry | None
    """The tip that handoff covers; messages after it are new."""
    focus_sha256: Digest | None


class SynthesisAdvanced(Fact, frozen=True, kw_only=True, tag="synthesis-advanced.v1"):
    """A chunk was folded into the handoff, so no failure makes it be read again."""

    capture_id: Capture
    through_entry: Entry
    through_offset: Count
    """Characters of that message already covered."""
    handoff_sha256: Digest
    chunks: Count


class SynthesisFinished(Fact, frozen=True, kw_only=True, tag="synthesis-finished.v1"):
    """The handoff is complete and its body is kept; nothing was sent yet."""

    capture_id: Capture
    handoff_sha256: Digest
    characters: Count
    chunks: Count
    maskings: Count
    rule_set: Count
    model: Name | None
    """Null when no model was asked (a note of a person's own words)."""
    tokens_in: Count
    tokens_out: Count


class SynthesisFailed(Fact, frozen=True, kw_only=True, tag="synthesis-failed.v1"):
    """The model gave no usable handoff. The good checkpoint stands; the capture stays begun."""

    capture_id: Capture
    error: Word
    model_calls: Count


class BasisTaken(Fact, frozen=True, kw_only=True, tag="basis-taken.v1"):
    """The handoff in a confirmed note became what the next synthesis starts from: here its text was gone or overtaken.

    Without it the whole session would be read again.
    """

    capture_id: Capture
    source_tip: Entry
    handoff_sha256: Digest
    """The text as it was read, masked, in bodies."""
    edited: bool
    """Somebody changed the note since it was confirmed."""


class TranscriptPassed(Fact, frozen=True, kw_only=True, tag="transcript-passed.v1"):
    """Of some public messages in a row no transcript note is made, for good.

    They may hold a credential, were said off the record, have no words, or were sent before, on whatever branch.
    """

    through: Entry
    """The newest of them."""
    messages: Count
    withheld: Count
    """How many of them may hold a credential."""


class CaptureSuperseded(Fact, frozen=True, kw_only=True, tag="capture-superseded.v1"):
    """A newer tip overtook a capture before any intent; nothing was ever sent for it."""

    capture_id: Capture
    by_tip: Entry
