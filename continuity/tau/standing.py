"""Tells whether one generation of the extension serves or stands down: one serves a Tau, and none beside a rival."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from continuity.rivals import lent, loaded_twice, rivals, stands_down
from continuity.tau.host import Tau
from continuity.tau.host.beside import being_set_up, loading_of, others

_ours: WeakKeyDictionary[object, list[Path | None]] = WeakKeyDictionary()
"""The files that called our setup, in order, by what the extensions of one loading share."""
_served: WeakSet[object] = WeakSet()


def second(tau: Tau) -> str | None:
    """Return what to say where another setup of ours serves the Tau of `tau` already; None where none does."""
    loading, path = loading_of(tau), being_set_up(tau)
    ours = _ours.setdefault(loading, [])
    ours.append(path)
    return loaded_twice(ours[0], path) if loading in _served else None


def serve(tau: Tau) -> None:
    """Let no later setup serve the Tau of `tau`."""
    _served.add(loading_of(tau))


class Down(NamedTuple):
    """Why we save and recall nothing, for a person, and which of our tools go on all the same."""

    why: str
    lent: frozenset[str]


def rival(tau: Tau, *, at_setup: bool = False) -> Down | None:
    """Return why we stand down where another extension brings Basic Memory to this Tau; None where none does.

    `at_setup` some are only imported so far, and those of a project not even that: ask again once a session starts.
    """
    ours = _ours.get(loading_of(tau), [])
    found = rivals(others(tau, ours, at_setup=at_setup))
    return Down(stands_down(found, next(iter(ours), None)), lent(found)) if found else None
