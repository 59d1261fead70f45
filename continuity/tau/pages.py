"""A page that a person asked for: returned at once where it is quickly made, for a host keeps that on the screen.

A notice vanishes after some seconds, which is no way to show a whole note. What takes longer follows as one all the same.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from types import MappingProxyType

from continuity.state import Capture, Evidence

AT_ONCE_SECONDS = 0.3
"""How long a command may hold the host, which is less than a person notices."""

SCREEN_WIDTH = 60
"""Columns of the host's box for what a command answers, beside its scroll bar, in a terminal of 80; wider ones add few."""

_HERE = "\ue000"
"""Stands, while a line is folded, where a word may be broken; nothing that is shown has it."""

_LABEL = re.compile(r" *(?:\S+(?: \S+)* {2,})*")
"""What stands before the text of a line: its indentation, and names in columns of their own."""


def begun[Page](work: Callable[[], Page], seconds: float = AT_ONCE_SECONDS) -> Future[Page]:
    """Begin `work` in a thread of its own and wait for it at most `seconds`; it goes on if it takes longer.

    `work` must touch nothing but files: everything else belongs to the loop that waits here.
    """
    page: Future[Page] = Future()
    Thread(target=_made, args=(page, work), name="continuity-page", daemon=True).start()
    with suppress(TimeoutError):
        page.exception(seconds)
    return page


def _made[Page](page: Future[Page], work: Callable[[], Page]) -> None:
    try:
        page.set_result(work())
    except BaseException as error:  # noqa: BLE001 - handed over whole to whoever asks for the result
        page.set_exception(error)


def fitted(text: str, width: int | None) -> str:
    """Return `text` with no line wider than `width`; what does not fit goes on under the text of its line.

    Without a `width` it stays as it is: a path that is copied from a terminal must be in one piece.
    """
    if width is None:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _folded(line, width))


def _folded(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    label = _LABEL.match(line)
    before = label.group() if label is not None else ""
    hung = before if len(before) <= width // 2 else ""
    under = " " * len(hung) if hung.strip() else f"{hung}  "
    words = (_breakable(word, width - len(under)) for word in line[len(hung) :].split(" "))
    folded = textwrap.TextWrapper(width, hung, under, break_on_hyphens=False, break_long_words=False)
    pieces = (piece.replace(f"{_HERE} ", "").replace(_HERE, "") for piece in folded.wrap(" ".join(words)))
    return [part for number, piece in enumerate(pieces) for part in _alone(piece, hung if number == 0 else "", width)]


def _breakable(word: str, room: int) -> str:
    """A path that is too long for a line is broken after a folder, not within a name."""
    return word if len(word) <= room else word.replace("/", f"/{_HERE} ").removesuffix(f"{_HERE} ")


def _alone(piece: str, label: str, width: int) -> list[str]:
    """A name that is too long for its column stays in one piece: on a line of its own, further to the left."""
    if len(piece) <= width:
        return [piece]
    name = piece[len(label) :].strip()
    return [*([label.rstrip()] if label.strip() else []), f"{'':{max(0, width - len(name))}}{name}"]


_EVIDENCE: Mapping[Evidence, str] = MappingProxyType(
    {
        "answered": "the server answered that it stored it",
        "adopted": "a receipt from elsewhere says so",
        "read": "it was read back",
        "on_disk": "its file was read",
        "indexed": "it was found by search",
    }
)


def how_known(stored: Capture) -> str:
    """Return in words how it is known that a capture is stored: by a person's word, or by the highest proof there is."""
    if stored.accepted:
        return "a person accepted it"
    return _EVIDENCE[stored.evidence] if stored.evidence is not None else "none"
