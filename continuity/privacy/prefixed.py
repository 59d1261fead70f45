"""Finds tokens in the forms that `vendor` lists, each known by how it begins; it adds no form of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from continuity.privacy.references import is_opaque
from continuity.privacy.spans import BREAK, START, Span
from continuity.privacy.vendor import FORMS

_CHARACTERS = r"[A-Za-z0-9_.~+/=|!%:$-]"
_RUN = re.compile(rf"(?<!{_CHARACTERS})(?:{_CHARACTERS}{{16,}}+|{_CHARACTERS}{{3,15}}+(?=\\?(?:\r?\n|\\+[rn])))")
_REST = re.compile(rf"{_CHARACTERS}{{1,1024}}+")
_NEAR = re.compile(r"[A-Za-z0-9_+/=-]{16,64}+")
_GOES_ON = re.compile(r"[A-Za-z0-9_+/=-]*+")
_ENDS = "(?![A-Za-z0-9])"
_MOST_PIECES = 8
_LEAST_PIECE = 6
"""Nobody's lines are shorter, the first and the last of a token excepted."""

_SHORTEST = 16
"""Characters that every form has at least."""


class _Form(NamedTuple):
    name: str
    pattern: re.Pattern[str]
    is_open: bool


def prefixed(text: str) -> Iterator[Span]:
    """Yield the places of tokens in vendors' forms, each as a whole, also where it is wrapped over lines.

    Only long words are looked at, and a look ends within a bounded number of characters.
    """
    roots = _roots()
    done = 0
    for run in _RUN.finditer(text):
        at = max(run.start(), done)
        while found := roots.search(text, at, run.end()):
            at = found.start() + 1
            span = _token(text, found, run.end())
            if span is not None:
                yield span
                at = done = span.end
                if done >= run.end():
                    break


def nearly_prefixed(text: str) -> Iterator[Span]:
    """Yield the places of what begins like a vendor's token and is in none of its forms: a newer one, or a torn one."""
    for run in _RUN.finditer(text):
        at = run.start()
        while found := _roots().search(text, at, run.end()):
            at = found.start() + 1
            near, root = _NEAR.match(text, found.end()), found.group()
            if near is not None and len(root) > 3 and not root.isalnum() and is_opaque(near.group()):
                end = _gone_on(text, near.end())
                yield Span(found.start(), end, "possible-credential")
                at = end


@cache
def _roots() -> re.Pattern[str]:
    """Every beginning, asked at once; made when the first text is masked, not when a program starts."""
    every = sorted({root for _, roots, _, _ in FORMS for root in roots})
    return re.compile(f"{START}(?:{'|'.join(map(re.escape, every))})")


@cache
def _forms(root: str) -> tuple[_Form, ...]:
    these = ((name, form, is_open) for name, roots, form, is_open in FORMS if root in roots)
    return tuple(_Form(name, re.compile(form if is_open else form + _ENDS), is_open) for name, form, is_open in these)


def _token(text: str, found: re.Match[str], run_end: int) -> Span | None:
    pieces = _pieces(text, found.start(), run_end)
    joined = "".join(text[begin : min(end, begin + 1024)] for begin, end in pieces) if len(pieces) > 1 else None
    for form in _forms(found.group()):
        end = _end(text, found.start(), form)
        if joined is not None and (end < 0 or end == run_end):
            end = max(end, _torn_end(joined, pieces, form))
        if end > 0 and is_opaque(text[found.end() : end]):
            return Span(found.start(), end, form.name)
    return None


def _end(text: str, at: int, form: _Form) -> int:
    """Where the token that begins at `at` ends, -1 if there is none or a word goes on after it."""
    match = form.pattern.match(text, at)
    if match is None:
        return -1
    return _gone_on(text, match.end()) if form.is_open else match.end()


def _gone_on(text: str, end: int) -> int:
    goes_on = _GOES_ON.match(text, end)
    return goes_on.end() if goes_on else end


def _pieces(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The token's lines as places in `text`, one if it cannot be wrapped: no sentence begins like its second line."""
    pieces = [(start, end)]
    for _ in range(_MOST_PIECES):
        line = BREAK.match(text, pieces[-1][1])
        rest = _REST.match(text, line.end()) if line else None
        if rest is None or (len(pieces) == 1 and not _continues(rest.group())):
            break
        pieces.append(rest.span())
        if len(rest.group()) < _LEAST_PIECE:
            break
    return pieces if pieces[-1][1] - start >= _SHORTEST else pieces[:1]


def _torn_end(joined: str, pieces: list[tuple[int, int]], form: _Form) -> int:
    """Where a wrapped token ends, -1 if the lines together are none."""
    end = _end(joined, 0, form)
    for begin, stop in pieces:
        if 0 <= end <= stop - begin:
            return begin + end
        end -= min(stop - begin, 1024)
    return -1


def _continues(piece: str) -> bool:
    """True for what no sentence begins with."""
    return len(piece) > 24 or any(c.isdigit() for c in piece) or any(c.isupper() for c in piece[1:])
