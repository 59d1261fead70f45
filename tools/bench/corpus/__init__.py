"""Labelled texts with and without credentials, made from a seed by what vendors publish; it knows nothing of our masking.

`positives` and `lookalikes` are pure functions of their seed. Formats come from their vendors and from no rule of ours,
so that the masking is measured and not repeated; whoever writes its rules looks at results, not in here. No whole value
stands in the source: each is put together from an alphabet.
"""

from __future__ import annotations

from collections.abc import Iterable

from tools.bench.corpus import assignments, blocks, evasions, services, vendors
from tools.bench.corpus.lookalikes import GUISES
from tools.bench.corpus.samples import Drawn, Guise, Kind, Lookalike, Positive, held_out, repeatable
from tools.bench.corpus.vendors import Format

__all__ = ["FORMATS", "GUISES", "KINDS", "Format", "Lookalike", "Positive", "lookalikes", "positives"]

KINDS: tuple[Kind, ...] = (*vendors.KINDS, *services.KINDS, *assignments.KINDS, *blocks.KINDS, *evasions.KINDS)
FORMATS: tuple[Format, ...] = (*vendors.FORMATS, *services.FORMATS)
"""The formats that are told by themselves, each with the expression that finds its values."""

DEFINITE_COUNT = 6
CANDIDATE_COUNT = 9
"""Samples a kind; names and sentences have more ways of being written than formats have."""
LOOKALIKE_COUNT = 27
_TRIES = 40
"""So many draws a wanted sample; a kind that cannot vary as much is a mistake here."""


def positives(seed: int) -> tuple[Positive, ...]:
    """Return the texts with credentials, kind by kind, the same for the same seed and no two alike.

    Raises:
        LookupError: A kind has not enough different texts in it; that is a mistake of this package.
    """
    apart = held_out([kind.name for kind in KINDS])
    return tuple(
        Positive(kind.name, drawn.text, drawn.secrets, kind.definite, kind.name in apart)
        for kind in KINDS
        for drawn in _positives_of(kind, seed)
    )


def lookalikes(seed: int) -> tuple[Lookalike, ...]:
    """Return the texts without credentials, kind by kind, the same for the same seed and no two alike.

    Raises:
        LookupError: A kind has not enough different texts in it; that is a mistake of this package.
    """
    return tuple(
        Lookalike(guise.name, text, f"{guise.name}/{index}" in apart)
        for guise in GUISES
        for apart in (held_out([f"{guise.name}/{index}" for index in range(LOOKALIKE_COUNT)]),)
        for index, text in enumerate(_lookalikes_of(guise, seed))
    )


def _positives_of(kind: Kind, seed: int) -> tuple[Drawn, ...]:
    count = DEFINITE_COUNT if kind.definite else CANDIDATE_COUNT
    draws = kind.draw(repeatable(seed, kind.name))
    return _different(kind.name, count, (next(draws) for _ in range(count * _TRIES)))


def _lookalikes_of(guise: Guise, seed: int) -> tuple[str, ...]:
    chance = repeatable(seed, guise.name)
    return _different(guise.name, LOOKALIKE_COUNT, (guise.draw(chance) for _ in range(LOOKALIKE_COUNT * _TRIES)))


def _different[T](name: str, count: int, draws: Iterable[T]) -> tuple[T, ...]:
    found: dict[T, None] = {}
    for drawn in draws:
        found[drawn] = None
        if len(found) == count:
            return tuple(found)
    raise LookupError(f"{name} has only {len(found)} different texts, {count} are wanted")
