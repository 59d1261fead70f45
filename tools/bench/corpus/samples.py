"""What a sample is, and which samples are held out; it knows no format of any credential."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import NamedTuple


class Positive(NamedTuple):
    """A text with credentials in it, as somebody might paste, log or commit it."""

    kind: str
    text: str
    secrets: tuple[str, ...]
    """Exact substrings of the text; none may be left after masking."""
    definite: bool
    """The format alone proves a credential; otherwise only its name or its surroundings say so."""
    held_out: bool
    """Whether the whole kind is kept apart: nobody tunes rules on it."""


class Lookalike(NamedTuple):
    """A text that resembles a credential or speaks of one, and holds none."""

    kind: str
    text: str
    held_out: bool
    """Whether this sample is kept apart; a third of each kind is."""


class Drawn(NamedTuple):
    """A text and the secrets in it."""

    text: str
    secrets: tuple[str, ...]


class Kind(NamedTuple):
    """A kind of credential, and how to go on drawing samples of it without end."""

    name: str
    definite: bool
    draw: Callable[[Random], Iterator[Drawn]]


class Guise(NamedTuple):
    """A kind of look-alike, and how to draw one."""

    name: str
    draw: Callable[[Random], str]


def each(name: str, draw: Callable[[Random], Drawn], *, definite: bool) -> Kind:
    """Return a kind whose samples are drawn one by one."""

    def endless(chance: Random) -> Iterator[Drawn]:
        while True:
            yield draw(chance)

    return Kind(name, definite, endless)


def held_out(names: Sequence[str]) -> frozenset[str]:
    """Return the third of `names` whose digests come first: chosen by no person, and the same for every seed."""
    ranked = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
    return frozenset(ranked[: round(len(ranked) / 3)])


def repeatable(seed: int, kind: str) -> Random:
    """Return the chance of one kind, which no other kind and no order of kinds disturbs."""
    return Random(f"privacy corpus {seed} {kind}")  # noqa: S311 - repeatable, and of no use to anyone
