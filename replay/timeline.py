"""One row as a line: exact for programs, a sentence for people. A row that cannot be decoded is listed as it is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import cast

import msgspec
from msgspec.structs import asdict

from continuity.console import escaped
from continuity.sentences import named, sentence, utc
from journal.chain import canonical
from journal.ids import Sha256
from journal.reader import Reader
from journal.row import RawRow
from replay.render import table
from replay.shapes import LogLine, ShownEvent

_DIGEST = re.compile(r"[0-9a-f]{64}")


def log_line(row: RawRow) -> LogLine:
    """Return `row` as `log --json` prints it."""
    digest = row.digest.hex()
    return LogLine(
        branch=row.branch,
        position=row.position,
        id=digest,
        at_ms=row.at_ms,
        tip=row.tip,
        cause=None if row.cause is None else row.cause.hex(),
        type=row.type,
        data=_data(row),
        digest=digest,
    )


def _data(row: RawRow) -> dict[str, object] | str:
    """The payload without its tag, if saying it so loses nothing; else the payload as it is."""
    try:
        raw = row.payload.encode()
        found = msgspec.json.decode(raw)
        if isinstance(found, dict) and canonical(cast("object", found)) == raw:
            data = cast("dict[str, object]", found)
            if data.pop("type", None) == row.type:
                return data
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        pass
    return row.payload


def line(row: RawRow, length: int) -> tuple[str, ...]:
    """Return the cells of `row` in a listing, its id cut to `length`."""
    return (
        f"{row.branch}@{row.position}",
        row.digest.hex()[:length],
        utc(row.at_ms),
        escaped(named(row)),
        escaped(sentence(row)),
    )


def details(row: RawRow) -> list[str]:
    """Return every column and field of `row`, a line each."""
    data = _data(row)
    fields = data.items() if isinstance(data, dict) else [("payload", data)]
    return table(
        [
            ("place", f"{row.branch}@{row.position}"),
            ("id", row.digest.hex()),
            ("at", f"{utc(row.at_ms)} ({row.at_ms})"),
            ("tip", escaped(row.tip or "-")),
            ("cause", "-" if row.cause is None else row.cause.hex()),
            ("type", escaped(row.type)),
            *((escaped(name), escaped(_value(value))) for name, value in fields),
        ]
    )


def _value(value: object) -> str:
    if isinstance(value, str):
        return value
    return "-" if value is None else canonical(value).decode()


def shown_event(reader: Reader, row: RawRow) -> ShownEvent:
    """Return `row` in full, with the kept texts whose digests stand in its payload."""
    full = log_line(row)
    found = {name: reader.body(Sha256(name)) for name in _named(full.data)}
    return ShownEvent(
        **asdict(full),
        bodies={name: text for name, text in found.items() if text is not None},
        erased=_erased(reader, [name for name, text in found.items() if text is None]),
    )


def _erased(reader: Reader, missing: Collection[str]) -> dict[str, str]:
    """Return which of the `missing` texts a row says were erased. What no row speaks of was no text, or never kept."""
    found: dict[str, str] = {}
    for row in reader.rows() if missing else ():
        if row.type.startswith("bodies-erased."):
            gone = set(_named(log_line(row).data))
            found |= {name: f"{row.branch}@{row.position}: {sentence(row)}" for name in missing if name in gone}
    return found


def _named(value: object, key: str = "") -> Iterator[str]:
    """Yield the digests under keys that say they are digests."""
    if isinstance(value, dict):
        for name, inner in cast("dict[str, object]", value).items():
            yield from _named(inner, name)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _named(inner, key)
    elif isinstance(value, str) and key.endswith(("_sha256", "digests")) and _DIGEST.fullmatch(value):
        yield value
