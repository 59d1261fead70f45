"""What the store asks of SQLite in one transaction: statements and values, made of bodies and sealed rows. It runs none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from journal import chain
from journal.errors import EventRejected
from journal.ids import Sha256
from journal.seal import Stored

type Value = str | bytes | int | None
type Statement = tuple[str, tuple[Value, ...]]

INSERT_BRANCH = "INSERT INTO branches (branch, parent, fork_position, genesis) VALUES (?, ?, ?, ?)"
INSERT_EVENT = "INSERT INTO events (branch, position, at_ms, tip, cause, type, payload, digest) VALUES "
INSERT_BODY = "INSERT INTO bodies (digest, text) VALUES (?, ?)"

_ROWS_AT_ONCE = 1000


def keeping(bodies: Mapping[Sha256, str]) -> Iterable[Statement]:
    """Yield what keeps `bodies`.

    Raises:
        EventRejected: One of them is not what its digest names, or cannot be held.
    """
    for digest, text in bodies.items():
        try:
            named = chain.body_digest(text)
        except UnicodeEncodeError as error:
            raise EventRejected("a body holds a lone surrogate; nothing was written") from error
        if named != digest:
            raise EventRejected("a body is not what its digest names; nothing was written")
        yield INSERT_BODY, (bytes.fromhex(digest), text)


def erasing(digests: Sequence[Sha256]) -> Iterable[Statement]:
    """Yield what erases the bodies named by `digests`."""
    for digest in digests:
        yield "DELETE FROM bodies WHERE digest = ?", (bytes.fromhex(digest),)


def inserting(stored: Sequence[Stored]) -> Iterable[Statement]:
    """Yield what inserts sealed rows, many at once."""
    for start in range(0, len(stored), _ROWS_AT_ONCE):
        block = stored[start : start + _ROWS_AT_ONCE]
        values = tuple(value for row in block for value in row)
        yield INSERT_EVENT + ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?)"] * len(block)), values
