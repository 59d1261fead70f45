"""Quotes text nobody vouches for: without control characters, behind a fence it cannot close. It masks nothing."""

from __future__ import annotations

import re

from continuity.privacy.spans import cut_point

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_SPACE = re.compile(r"\s+")
_LONGEST_RUN = 40
_LONG_RUNS = re.compile(rf"([`~])\1{{{_LONGEST_RUN},}}")
_RUNS = {mark: re.compile(rf"{mark}{{3,}}") for mark in "`~"}

FENCE_OVERHEAD = 2 * (_LONGEST_RUN + 1) + 8
"""Most characters that fencing adds, an info word of up to four letters included."""


def printable(text: str) -> str:
    """Return `text` without control and direction characters (line breaks and tabs stay) and as valid UTF-8."""
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))


def one_line(text: str, limit: int) -> str:
    """Return `text` printable, on one line, cut to `limit` characters with an ellipsis."""
    line = _SPACE.sub(" ", printable(text)).strip()
    if len(line) <= limit:
        return line
    return line[: cut_point(line, 0, limit - 1)].rstrip()[: limit - 1] + "…"


def tame(text: str) -> str:
    """Return `text` with runs of fence characters shortened, so that the fence around it stays short too."""
    return _LONG_RUNS.sub(lambda run: run[1] * _LONGEST_RUN, text)


def fenced(text: str, info: str = "text") -> str:
    """Return `text` between two fences longer than any run of the same character inside."""
    quiet = tame(printable(text)).strip("\n")
    longest = {mark: max((len(run) for run in runs.findall(quiet)), default=2) for mark, runs in _RUNS.items()}
    mark = "`" if longest["`"] <= longest["~"] else "~"
    fence = mark * (longest[mark] + 1)
    return f"{fence}{info}\n{quiet}\n{fence}"
