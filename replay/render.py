"""Turns shapes into text that is safe on a terminal and into JSON that loses nothing; it knows no event."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise

import msgspec

from continuity.console import escaped_json
from replay.shapes import Shape

_SHORTEST_ID = 8


def json_line(shape: Shape) -> str:
    """Return `shape` as one line of JSON, its keys in their order."""
    return escaped_json(_encoded(shape))


def json_text(value: Shape | Sequence[Shape]) -> str:
    """Return `value` as indented JSON, its keys in their order."""
    if isinstance(value, Shape):
        return escaped_json(msgspec.json.format(_encoded(value), indent=2))
    if not value:
        return "[]"
    inside = ",\n".join(msgspec.json.format(_encoded(each), indent=2) for each in value)
    return escaped_json(f"[\n{inside}\n]")


def _encoded(shape: Shape) -> str:
    try:
        return msgspec.json.encode(shape).decode()
    except UnicodeEncodeError:  # a damaged row's bytes, kept as lone surrogates
        return json.dumps(msgspec.to_builtins(shape))


def id_length(ids: Iterable[str]) -> int:
    """Return how many characters of an id tell it from all others: at least eight."""
    ordered = sorted(set(ids))
    longest = _SHORTEST_ID
    for before, after in pairwise(ordered):
        shared = next((n for n, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), len(after))
        longest = max(longest, shared + 1)
    return longest


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return `rows` as lines whose columns stand under each other; the last column runs free."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    return [
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1])).rstrip()
        for row in rows
    ]
