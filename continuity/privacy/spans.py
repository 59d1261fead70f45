"""Places in a text and the placeholders put over them; it knows no secret by sight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

PLACEHOLDER = re.compile(r"\[masked:[a-z0-9-]{1,32}\]")
"""What stands where a value was. It is never masked again and never cut in two."""

START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2}))"
"""Where a token may begin: not inside a word, but behind a line break or a sign that was written out."""

BREAK = re.compile(r"\\?(?:\r?\n|\\+r\\+n|\\+n)[ \t>|]{0,16}")
"""Where a terminal or an editor wrapped a line."""

_PLACEHOLDER_CHARS = 42

_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f\ufeff]"
    r"|\x1b\[[0-9;?]{0,16}[A-Za-z]"
)


class Span(NamedTuple):
    """Characters `start` to `end` of a text, and the word for what they are."""

    start: int
    end: int
    name: str


def visible(text: str) -> tuple[str, Sequence[int]]:
    """Return `text` without characters nobody sees and a terminal's colours, and for each one kept where it stood.

    A token with a zero-width space in it is the same token to whoever pastes it.
    """
    if (text.isascii() and "\x1b" not in text) or _INVISIBLE.search(text) is None:
        return text, range(len(text))
    kept: list[int] = []
    done = 0
    for unseen in _INVISIBLE.finditer(text):
        kept.extend(range(done, unseen.start()))
        done = unseen.end()
    kept.extend(range(done, len(text)))
    return "".join(text[at] for at in kept), kept


def placed(spans: Iterable[Span], origin: Sequence[int]) -> Iterator[Span]:
    """Yield `spans` of the visible text as spans of the text it was taken from."""
    for span in spans:
        yield Span(origin[span.start], origin[span.end - 1] + 1, span.name)


def replaced(text: str, spans: Iterable[Span]) -> tuple[str, int]:
    """Return `text` with a placeholder over each span and how many were put; overlapping spans are one."""
    parts: list[str] = []
    done = count = 0
    for span in _merged(spans):
        if PLACEHOLDER.fullmatch(text, span.start, span.end):
            continue
        parts += (text[done : span.start], f"[masked:{span.name}]")
        done = span.end
        count += 1
    return "".join((*parts, text[done:])), count


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    last: Span | None = None
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if last is None:
            last = span
        elif span.start < last.end:
            last = last._replace(end=max(last.end, span.end))
        else:
            yield last
            last = span
    if last is not None:
        yield last


def cut_point(text: str, start: int, limit: int) -> int:
    """Return where a piece of at most `limit` (>= 1) characters from `start` ends.

    Preferably after a line or a word, and never inside a placeholder: half of one could be mistaken for text. Only a
    placeholder longer than `limit` makes a piece longer.
    """
    end = start + limit
    if end >= len(text):
        return len(text)
    opened = text.rfind("[masked:", max(start, end - _PLACEHOLDER_CHARS), end + 7)
    cover = PLACEHOLDER.match(text, opened) if opened >= 0 else None
    if cover is not None and cover.end() > end:
        return opened if opened > start else cover.end()
    near = max(start, end - min(200, limit // 4))
    for separator in ("\n", " "):
        found = text.rfind(separator, near, end)
        if found > start:
            return found + 1
    return end
