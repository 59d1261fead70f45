"""Events about the journal itself and about failures: nothing here changes what is known of a note."""

from __future__ import annotations

from journal.events.base import Count, Digest, Fact, Word


class OperationFailed(Fact, frozen=True, kw_only=True, tag="operation-failed.v1"):
    """Something of ours failed; our own words for what and what helps, never the other side's text."""

    operation: Word
    error: Word
    remedy: Word


class Gap(Fact, frozen=True, kw_only=True, tag="gap.v1"):
    """Notifications could not be recorded for a while; this says how many and since when."""

    reason: Word
    count: Count
    since_ms: Count


class BodiesErased(Fact, frozen=True, kw_only=True, tag="bodies-erased.v1"):
    """Texts were erased on purpose; the chain still verifies by their digests."""

    digests: tuple[Digest, ...]
    reason: Word


class Hold(Fact, frozen=True, kw_only=True, tag="hold.v1"):
    """Erasure was forbidden (`on`) or allowed again."""

    on: bool
    reason_sha256: Digest


class JournalSalvaged(Fact, frozen=True, kw_only=True, tag="journal-salvaged.v1"):
    """This journal continues the verified prefix of a damaged one."""

    events_kept: Count
    events_lost: Count


class JournalImported(Fact, frozen=True, kw_only=True, tag="journal-imported.v1"):
    """This file was imported from an export; recorded when it was next opened for writing."""

    events: Count
