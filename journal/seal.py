"""Turns records into rows: encoded, bounded, placed and chained. Pure; it writes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from journal import chain, codec
from journal.errors import EventRejected
from journal.ids import BranchId, Sha256
from journal.row import Record, Row, pack_tip

type Stored = tuple[int, int, int, bytes | str | None, bytes | None, str, str, bytes]
"""The columns of one event, in the order of `statements.INSERT_EVENT`."""

TIP_LIMIT = 200
_DIGEST = re.compile(r"[0-9a-f]{64}")


def seal(branch: BranchId, position: int, previous: bytes, records: Sequence[Record]) -> Iterator[tuple[Row, Stored]]:
    """Yield each record as a row of `branch` after `position`, whose digest is `previous`.

    Raises:
        EventRejected: A record cannot be held exactly.
    """
    for place, record in enumerate(records, position + 1):
        type_, payload = codec.encode(record.event)
        at_ms, tip, cause = _time(record.at_ms), _tip(record.tip), _cause(record.cause)
        columns = (branch, place, at_ms, record.tip, record.cause, type_)
        previous = chain.link(previous, columns, payload.encode())
        row = Row(
            event=record.event,
            branch=branch,
            position=place,
            at_ms=at_ms,
            tip=record.tip,
            cause=record.cause,
            digest=Sha256(previous.hex()),
        )
        yield row, (branch, place, at_ms, tip, cause, type_, payload, previous)


def _time(at_ms: int) -> int:
    if not 0 <= at_ms < 2**53:
        raise EventRejected(f"{at_ms} is no time in UTC milliseconds")
    return at_ms


def _cause(cause: str | None) -> bytes | None:
    if cause is None:
        return None
    if not _DIGEST.fullmatch(cause):
        raise EventRejected("a cause is a digest in lower-case hex")
    return bytes.fromhex(cause)


def _tip(tip: str | None) -> bytes | str | None:
    if tip is None:
        return None
    if not 0 < len(tip) <= TIP_LIMIT or not (tip.isascii() or codec.clean(tip, TIP_LIMIT) == tip):
        raise EventRejected(f"a tip has 1 to {TIP_LIMIT} characters and no lone surrogate")
    return pack_tip(tip)
