"""Which kept texts may go: what no branch needs, or what is older than a person wants. It erases nothing and reads none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import batched

from continuity.commands import CommandRejected, EraseBodies
from continuity.state import Capture, State
from journal.events import BodiesErased
from journal.ids import Sha256
from journal.row import RawRow

DIGESTS_AT_ONCE = 500
"""Texts that one event says were erased."""

_ERASED = "bodies-erased."
_DIGEST = re.compile('"([0-9a-f]{64})"')


def last_named(rows: Iterable[RawRow]) -> Mapping[Sha256, int]:
    """Return when each digest in `rows` was named last, in UTC ms. That it was erased names nothing."""
    found: dict[Sha256, int] = {}
    for row in rows:
        if not row.type.startswith(_ERASED):
            for digest in _DIGEST.findall(row.payload):
                found[Sha256(digest)] = max(row.at_ms, found.get(Sha256(digest), 0))
    return found


def owed(state: State) -> frozenset[Sha256]:
    """Return the texts that work under way is made from: without them it would have to be made anew, or given up."""
    made = (digest for capture in state.captures for digest in _made_from(capture))
    return frozenset(digest for digest in (*made, state.gathered.focus_sha256) if digest is not None)


def unstored(state: State) -> frozenset[Sha256]:
    """Return the texts of notes that are not known to be stored: no model made them, so nothing would bring them back."""
    own = (capture.handoff_sha256 for capture in state.captures if capture.kind != "checkpoint")
    return frozenset(digest for digest in own if digest is not None)


def _made_from(capture: Capture) -> Sequence[Sha256 | None]:
    progress = capture.progress.handoff_sha256 if capture.progress is not None else None
    return capture.handoff_sha256, capture.prior_sha256, capture.focus_sha256, progress, capture.metadata_sha256


def basis(state: State) -> frozenset[Sha256]:
    """Return the texts that the next synthesis starts from and a brief is made of until the server answers."""
    known = (state.handoff.sha256 if state.handoff else None, state.checkpoint and state.checkpoint.handoff_sha256)
    return frozenset(digest for digest in known if digest)


def spare(kept: Iterable[Sha256], states: Iterable[State], *, closing: bool) -> tuple[Sha256, ...]:
    """Return which of the `kept` texts the machine can do without.

    When the session is `closing`, or closed, and everything is stored, it needs none: the note has the text too.
    """
    known = tuple(states)
    stored = all(state.unsaved_tip is None and not state.captures for state in known)
    needed = _needed(known, with_basis=not (closing and stored))
    return tuple(digest for digest in kept if digest not in needed)


def expired(
    kept: Iterable[Sha256],
    named: Mapping[Sha256, int],
    states: Iterable[State],
    *,
    before_ms: int,
    newest_ms: int,
) -> tuple[Sha256, ...]:
    """Return which of the `kept` texts were named last before `before_ms` and may go.

    Work under way keeps its texts. The newest handoff stays as long as the journal is in use: until its newest row,
    `newest_ms`, is as old and nothing is pending.
    """
    known = tuple(states)
    disused = newest_ms < before_ms and not any(state.captures for state in known)
    needed = _needed(known, with_basis=not disused)
    return tuple(digest for digest in kept if named.get(digest, 0) < before_ms and digest not in needed)


def _needed(states: Sequence[State], *, with_basis: bool) -> frozenset[Sha256]:
    return frozenset(
        digest for state in states for digest in (owed(state) | basis(state) if with_basis else owed(state))
    )


def erase(state: State, command: EraseBodies) -> tuple[BodiesErased, ...]:
    """Return the events that say that the texts were erased.

    Raises:
        CommandRejected: Work under way is made from one of them.
    """
    if not owed(state).isdisjoint(command.digests):
        raise CommandRejected("erase-bodies", "work under way is made from a text among them")
    return erased(command.digests, command.reason)


def erased(digests: Sequence[Sha256], reason: str) -> tuple[BodiesErased, ...]:
    """Return the events that say `digests` were erased, so many in each as one line can well hold."""
    return tuple(BodiesErased(digests=part, reason=reason) for part in batched(digests, DIGESTS_AT_ONCE))
