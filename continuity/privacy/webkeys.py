"""Finds private keys that are not written in armour: JSON Web Keys, PuTTY's files, armour that was encoded once more."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator

from continuity.privacy.spans import Span

NAME = "private-key"

_MEMBER = re.compile(r"\"(?:d|p|q|dp|dq|qi|k)\\{0,3}\"\s{0,4}:\s{0,4}\\{0,3}\"(?P<value>[A-Za-z0-9_-]{16,}+)")
_PUTTY = re.compile(
    r"Private-Lines:[ ]\d{1,4}(?:\r?\n|\\+r\\+n|\\+n)(?P<value>(?:[A-Za-z0-9+/=]++(?:\r?\n|\\+r\\+n|\\+n|\Z))++)"
)
_MAC = re.compile(r"Private-MAC:[ ](?P<value>[0-9a-f]{40,}+)")
_ENCODED = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/_-]{40,}+={0,2}")
_HEAD = 80


def web_keys(text: str) -> Iterator[Span]:
    """Yield the places of private key material; public parts and certificates stay."""
    if "kty" in text:
        yield from (Span(*found.span("value"), NAME) for found in _MEMBER.finditer(text))
    if "Private-Lines" in text:
        for pattern in (_PUTTY, _MAC):
            for found in pattern.finditer(text):
                end = found.start("value") + len(found["value"].rstrip("\r\n\\"))
                yield Span(found.start("value"), end, NAME)
    if "LS0tLS1CRUdJTi" in text:
        yield from (Span(*found.span(), NAME) for found in _ENCODED.finditer(text) if _is_private(found.group()))


def _is_private(encoded: str) -> bool:
    head = encoded[: min(_HEAD, len(encoded) // 4 * 4)].translate({45: 43, 95: 47})
    return b"PRIVATE" in base64.b64decode(head + "=" * (-len(head) % 4))
