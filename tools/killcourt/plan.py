"""Which kills there are: a pure function of seed and number, so that a run can be stopped and continued anywhere."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Literal

import msgspec

type Victim = Literal["server", "writer", "both"]
type Anchor = Literal["turn", "ready", "sent", "answered"]
"""What the delay counts from: the turn is spoken, the handoff is made, the call is at the server, its answer left it."""
type Stage = Literal["headless", "tau"]

LONGEST_DELAY_MS = 200.0
HEADLESS_IN_A_ROW = 4
"""After so many sittings with a headless writer comes one with a whole Tau."""
TAU_PART = 6
"""A sitting with a whole Tau is this many times shorter."""


class Kill(msgspec.Struct, frozen=True, kw_only=True):
    """One kill as it is planned."""

    number: int
    victim: Victim
    anchor: Anchor
    delay_ms: float
    warm: bool
    """A write that is let live comes first: it proves the index, and the next one is answered sooner."""
    server_first: bool
    """Who dies first when both do."""


class Sitting(msgspec.Struct, frozen=True, kw_only=True):
    """Kills of one session on one Basic Memory home; each one's successor is its judge."""

    number: int
    stage: Stage
    kills: tuple[Kill, ...]


def kill(seed: int, number: int) -> Kill:
    """Return kill `number` of `seed`, the same for ever."""
    chance = random.Random(f"killcourt {seed} {number}")  # noqa: S311 - repeatable, not secret
    return Kill(
        number=number,
        victim=chance.choices(("server", "writer", "both"), (4, 4, 2))[0],
        anchor=chance.choices(("turn", "ready", "sent", "answered"), (3, 2, 3, 2))[0],
        delay_ms=round(chance.uniform(0.0, LONGEST_DELAY_MS), 1),
        warm=chance.random() < 0.5,
        server_first=chance.random() < 0.5,
    )


def sittings(seed: int, kills: int, size: int, *, tau: bool = True) -> Iterator[Sitting]:
    """Yield the sittings of a run: `size` kills each, a shorter one with a whole Tau after every few."""
    number, first = 0, 0
    while first < kills:
        whole = tau and number % (HEADLESS_IN_A_ROW + 1) == HEADLESS_IN_A_ROW
        upto = min(kills, first + (max(1, size // TAU_PART) if whole else size))
        yield Sitting(
            number=number,
            stage="tau" if whole else "headless",
            kills=tuple(kill(seed, each) for each in range(first, upto)),
        )
        number, first = number + 1, upto
