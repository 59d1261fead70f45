"""Finds what every rule recognises in a text. Its rules take a while to compile, so it is imported when one is needed."""

from __future__ import annotations

from continuity.privacy.keyblocks import key_blocks
from continuity.privacy.named import named_values
from continuity.privacy.paired import paired
from continuity.privacy.prefixed import prefixed
from continuity.privacy.spans import Span
from continuity.privacy.tokens import tokens
from continuity.privacy.webkeys import web_keys


def recognised(plain: str, *, opened: bool) -> tuple[list[Span], bool]:
    """Return the places of credentials in `plain`, and whether a key block is still open at its end.

    `opened` says that one was open at its start.
    """
    blocks, still = key_blocks(plain, opened=opened)
    spans: list[Span] = [
        *blocks,
        *tokens(plain),
        *prefixed(plain),
        *named_values(plain),
        *paired(plain),
        *web_keys(plain),
    ]
    return spans, still
