"""Judges which extensions beside us bring Basic Memory to the same Tau, and what a person is told then. It looks at nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import PurePath
from typing import NamedTuple

WRITES = "bm_write_note"
"""The tool that every bridge to Basic Memory offers, under the name that Basic Memory's own extension gives it."""


class Beside(NamedTuple):
    """Another extension of the same Tau, as far as is known when it is asked for."""

    path: PurePath
    from_project: bool
    """Whether the folder one works in brought it; Tau runs such a one only where the person trusts that folder."""
    tools: frozenset[str] = frozenset()
    """What it offers to the agent, if it was set up already."""
    dropped: frozenset[str] = frozenset()
    """What it would offer, had no other extension tools of these names: the host keeps the first of a name."""
    mirrors: bool = False
    """Whether its code names the entries in which receipts are mirrored: it saves by the contract that we keep to."""


def rivals(others: Iterable[Beside]) -> tuple[Beside, ...]:
    """Return those that would save and recall the same sessions. What a file is called is no reason."""
    return tuple(other for other in others if other.mirrors or WRITES in other.tools | other.dropped)


def lent(found: Iterable[Beside]) -> frozenset[str]:
    """Return the tools that stay ours to answer for: without them the agent had none of these names."""
    return frozenset[str]().union(*(other.dropped for other in found))


def stands_down(found: Sequence[Beside], ours: PurePath | None) -> str:
    """Say why we save and recall nothing beside `found`, and which file to remove; `ours` is the one that loads us."""
    named = " and ".join(_named(other) for other in found)
    them = "that" if len(found) == 1 else "those"
    us = f"or {ours}" if ours is not None else "or ours (`continuity uninstall`)"
    return (
        f"Continuity stands down: {named} {'brings' if len(found) == 1 else 'bring'} Basic Memory to this Tau too, "
        f"so Continuity saves and recalls nothing. Keep one: remove {them}, {us}, then /reload."
    )


def loaded_twice(first: PurePath | None, second: PurePath | None) -> str:
    """Say that `first` serves and `second` does nothing."""
    if first == second:
        return f"Continuity: {first or 'its extension'} sets Continuity up twice; the second time does nothing."
    return (
        f"Continuity is loaded twice: by {first}, which works, and by {second}, which does nothing. Remove one of them."
    )


def _named(other: Beside) -> str:
    return f"{other.path}, which this project brings along," if other.from_project else str(other.path)
