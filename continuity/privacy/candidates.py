"""Finds what may be a credential and is not known to be one; it is asked after everything certain was masked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from continuity.privacy.names import is_other_name
from continuity.privacy.prefixed import nearly_prefixed
from continuity.privacy.spans import Span

NAME = "possible-credential"

_VALUE = re.compile(r"(?<![A-Za-z0-9+/_~.-])[A-Za-z0-9+/_~.-]{16,}+={0,2}")
_SAID = re.compile(
    r"""(?i)(?<![A-Za-z0-9])(?P<name>[A-Za-z0-9_.-]{0,40})(?P<last>key|token|secret|passw?(?:or)?d?|pwd|cred(?:ential)?|auth|login|cookie|session|license|seed|salt
        |signature|bearer|webhook)s?
    (?:[_ -](?:id|value|string|code|header|url))?
    (?:[ ](?:for|of|on|to)(?:[ ]\S{1,30}){1,3}?)?
    ["'`*\])\\]{0,4}[ \t]{0,4}(?:(?:[:=]|:=|=>|->|[ ](?:is|was|to))\s{0,4})["'`*(\\]{0,4}(?:b|Bearer[ ])?["']?\Z""",
    re.VERBOSE,
)
_PIECE = re.compile(r"[A-Za-z0-9]{12,}+")
_BEFORE = 96
_DIGEST = re.compile(r"[0-9a-f]+|[0-9A-F]+|sha(?:1|256|384|512)-.*", re.DOTALL)


def candidates(text: str) -> Iterator[Span]:
    """Yield the places of long random values behind a name that speaks of a secret, and of what resembles a token."""
    yield from nearly_prefixed(text)
    for found in _VALUE.finditer(text):
        if is_random(found.group()) and _is_said(text, found.start()):
            yield Span(found.start(), found.end(), NAME)


def _is_said(text: str, at: int) -> bool:
    """True if the words before `at` speak of a secret; a mere key, or a token that turns pages, is none."""
    said = _SAID.search(text, max(0, at - _BEFORE), at)
    if said is None:
        return False
    name = said["name"] + said["last"]
    if name.lower() == "key":
        return text[: said.start()].endswith(" ") and "=" not in said.group()
    return not is_other_name(name)


def is_random(value: str) -> bool:
    """True if `value` looks drawn by lot: upper case, lower case and digits in one stretch, taking turns.

    A digest, a path, a name made of words is none.
    """
    return _DIGEST.fullmatch(value) is None and any(map(_is_drawn, _PIECE.findall(value[:512])))


def _is_drawn(piece: str) -> bool:
    kinds = [0 if c.isdigit() else 1 if c.isupper() else 2 for c in piece]
    turns = sum(one != other for one, other in pairwise(kinds))
    return len(set(kinds)) == 3 and turns * 20 >= len(piece) * 9
