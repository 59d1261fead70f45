"""The digest of a row and the beginning of a branch; pure, over stored bytes, and it never decodes a payload.

A row's digest covers every column but the rowid and everything before it on
its history. What a chain alone cannot show: that a branch's newest rows, or a
newest branch as a whole, were cut away. For that, look for anchors outside the file.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import msgspec

from journal.ids import Sha256
from journal.row import Header

DOMAIN = "tau-continuity journal"
"""First member of every genesis: a digest of ours is never a digest of something else."""

Columns = tuple[int, int, int, str | None, str | None, str]
"""(branch, position, at_ms, tip, cause in hex, type): what is chained beside the payload."""

canonical: Callable[[object], bytes] = msgspec.json.Encoder(order="sorted").encode
"""Compact JSON: sorted keys, UTF-8 unescaped, the bytes of `json.dumps(..., ensure_ascii=False)` without its spaces."""


def link(previous: bytes, columns: Columns, payload: bytes) -> bytes:
    """Return the digest of the row (`columns`, `payload`) that follows `previous`."""
    return sha256(previous + canonical(columns) + b"\n" + payload).digest()


def genesis(
    header: Header, branch: int, parent: int | None = None, fork_position: int = 0, digest_at_fork: bytes | None = None
) -> bytes:
    """Return what the first row of `branch` is chained to; the first branch has no parent and no fork."""
    at_fork = None if digest_at_fork is None else digest_at_fork.hex()
    start = (header.format, header.journal_id, header.session_id, header.root)
    return sha256(canonical((DOMAIN, *start, branch, parent, fork_position, at_fork))).digest()


def body_digest(text: str) -> Sha256:
    """Return the name of a body: sha256 over its UTF-8 bytes. Raises UnicodeEncodeError on a lone surrogate."""
    return Sha256(sha256(text.encode()).hexdigest())
