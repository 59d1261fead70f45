"""What a prompt is about, as words that a search may be asked for. It keeps no sentence, and no credential that is recognised."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from continuity.privacy import PLACEHOLDER, cut_point, mask_words
from continuity.privacy.quoting import printable

MOST_WORDS = 12
"""Words of one topic: the first of the prompt that say something."""

READ_CHARS = 4_000
"""How much of a prompt is looked at: what it is about stands at its beginning, pasted text behind it."""

_BEHIND_CHARS = 4_000
"""A credential is shorter than this."""
_LONGEST_WORD = 40
"""What is longer is a digest or encoded data, not a word."""
_SHORTEST_WORD = 3
"""In letters of ASCII; elsewhere two can be a word."""

_SAY_NOTHING = frozenset(
    """
    about above after again all also and any are around because been before being below between both but can cannot
    come could did does doing done don down during each else ever every few for from further get give goes going got
    had has have having hello her here hers him his how into its itself just keep know let like look make many may me
    mean might more most much must need never new next not now off once one only other our ours out over own per
    http https please put rather really same say see shall she should show some still such sure take tell than thank thanks that
    the their them then there these they thing things think this those through too try under until use using very want
    was way well were what when where whether which while who whom whose why will with within without would yes yet
    you your yours www
    """.split()
)
"""English words that stand in any prompt. Other languages need none: a word found nowhere costs nothing."""

_IN_WORDS = frozenset("LNM")
"""Categories of characters that make a word: letters, numbers and the marks on them."""


def topic_of(prompt: str, *, candidates: bool = True) -> tuple[str, ...]:
    """Return the words that say what `prompt` is about, each once, in lower case and in their order.

    No credential is among them, nor, with `candidates`, what may be one.
    They hold letters and numbers alone, so that no search engine takes one for an operator, a phrase or a filter.
    """
    plain = PLACEHOLDER.sub(" ", _beginning(prompt, candidates=candidates))
    words = dict.fromkeys(word for word in _words(plain) if _says_something(word))
    return tuple(words)[:MOST_WORDS]


def _beginning(prompt: str, *, candidates: bool) -> str:
    """Return the beginning of `prompt`, masked with what stands behind it: half a credential is not recognised."""
    read = prompt[: READ_CHARS + _BEHIND_CHARS]
    text = mask_words(printable(read), candidates=candidates).text
    whole = len(text) if read == prompt else len(text) - _BEHIND_CHARS
    return text[: cut_point(text, 0, max(1, min(READ_CHARS, whole)))]


def _words(text: str) -> Iterator[str]:
    """Yield the runs of letters and numbers, composed, so that an accent written apart is the same letter."""
    folded = unicodedata.normalize("NFC", text).lower()
    spaced = "".join(char if unicodedata.category(char)[0] in _IN_WORDS else " " for char in folded)
    yield from spaced.split()


def _says_something(word: str) -> bool:
    shortest = _SHORTEST_WORD if word.isascii() else 2
    return shortest <= len(word) <= _LONGEST_WORD and word not in _SAY_NOTHING
