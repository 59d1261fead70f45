"""Names for the identifiers that events carry; it checks nothing and creates nothing."""

from __future__ import annotations

from typing import NewType

CaptureId = NewType("CaptureId", str)
"""Identity of one thing to be written: sha256 in hex over project, session, kind and tip."""

EntryId = NewType("EntryId", str)
"""The host's id of one persisted session entry; opaque to us."""

SessionId = NewType("SessionId", str)
"""The host's id of one session; opaque to us."""

JournalId = NewType("JournalId", str)
"""Chosen once when a journal file is created: 32 hex digits."""

ConnectionId = NewType("ConnectionId", str)
"""One life of a memory server under one writer."""

WriterId = NewType("WriterId", str)
"""One process that held a journal's lock."""

CallId = NewType("CallId", str)
"""One tool call of the agent that we forwarded."""

ProjectName = NewType("ProjectName", str)
"""A Basic Memory project as the user named it."""

Sha256 = NewType("Sha256", str)
"""A sha256 digest as 64 lower-case hex digits."""

BranchId = NewType("BranchId", int)
"""One event stream of a journal; 1 is the first."""
