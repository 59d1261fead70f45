"""Masks credentials in public text: a rule set, not a privacy boundary. It cannot know every secret and does not say so.

Everything here is linear in the text and leaves alone what only looks random: commit ids, digests, UUIDs.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from continuity.capture import PublicMessage
from continuity.privacy.spans import PLACEHOLDER, cut_point, placed, replaced, visible
from journal.ids import EntryId

__all__ = [
    "PLACEHOLDER",
    "RULE_SET_VERSION",
    "WITHHELD",
    "Masked",
    "cut_point",
    "mask",
    "mask_candidates",
    "mask_messages",
    "mask_words",
    "withhold",
]

WITHHELD = "[This message is left out: it may hold a credential.]"
"""Stands for a message with a candidate in it, so that whoever reads on knows that something is missing."""

RULE_SET_VERSION = 2
"""Recorded with every synthesis; raised with every change of what is masked."""

_PASSES = 5
_PATIENCE = 4
"""Messages after which a key begun in one of them is no longer waited for."""


class Masked(msgspec.Struct, frozen=True):
    """A text without the credentials that were recognised, and how many were."""

    text: str
    count: int


def mask(text: str) -> Masked:
    """Return `text` with each recognised credential replaced as a whole by `[masked:what-it-was]`.

    Masking twice changes nothing more, and the count tells real changes only.
    """
    return _mask(text, opened=False)[0]


def mask_messages(messages: Sequence[PublicMessage]) -> tuple[tuple[PublicMessage, ...], int]:
    """Return the messages masked, and how many values were. A key block torn over several messages is one block."""
    done: list[PublicMessage] = []
    count = waited = 0
    opened = False
    for message in messages:
        result, still = _mask(message.text, opened=opened)
        waited = waited + 1 if opened and still else 0
        opened = still and waited < _PATIENCE
        count += result.count
        done.append(msgspec.structs.replace(message, text=result.text) if result.count else message)
    return tuple(done), count


def mask_candidates(messages: Sequence[PublicMessage]) -> tuple[tuple[PublicMessage, ...], int]:
    """Return messages, masked already, with what may be a credential masked too, and how many values were."""
    from continuity.privacy.candidates import candidates  # as `recognition`

    done: list[PublicMessage] = []
    count = 0
    for message in messages:
        plain, origin = visible(message.text)
        text, more = replaced(message.text, placed(candidates(plain), origin))
        count += more
        done.append(msgspec.structs.replace(message, text=text) if more else message)
    return tuple(done), count


def mask_words(text: str, *, candidates: bool) -> Masked:
    """Return one text that stands alone masked; with `candidates` what may be a credential is masked in it too."""
    masked = mask(text)
    if not candidates:
        return masked
    (done,), more = mask_candidates([PublicMessage(EntryId("words"), "user", masked.text, 0)])
    return Masked(done.text, masked.count + more)


def withhold(messages: Sequence[PublicMessage]) -> tuple[tuple[PublicMessage, ...], int]:
    """Return messages, masked already, with `WITHHELD` for each that holds a candidate, and how many those are."""
    masked, _ = mask_candidates(messages)
    held = [new is not old for new, old in zip(masked, messages, strict=True)]
    done = (
        msgspec.structs.replace(message, text=WITHHELD) if kept_back else message
        for message, kept_back in zip(messages, held, strict=True)
    )
    return tuple(done), sum(held)


def _mask(text: str, *, opened: bool) -> tuple[Masked, bool]:
    result, count, still = _once(text, opened=opened)
    total, passes = count, 1
    while count and passes < _PASSES:
        result, count, _ = _once(result, opened=False)
        total, passes = total + count, passes + 1
    return Masked(result, total), still


def _once(text: str, *, opened: bool) -> tuple[str, int, bool]:
    from continuity.privacy.recognition import recognised  # its rules compile when they are needed, not at a start

    plain, origin = visible(text)
    spans, still = recognised(plain, opened=opened)
    result, count = replaced(text, placed(spans, origin))
    return result, count, still
