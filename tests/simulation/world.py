"""What every model of the simulation shares: the seed's dice, the time, the count of steps and what happened lately.

A step is one thing done to the world: a transaction sent to a disk, a request
or an answer on a connection, a note that lands, a model's answer, a move of the
person. Before a step of a process that process may die; after every step all
invariants are checked.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections import Counter, deque
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Literal, Protocol

import anyio

BEGAN_MS = 1_700_000_000_000
_LATELY = 60

type Fault = Literal[
    "crash",
    "connect",
    "unsent",
    "refused",
    "lost",
    "late",
    "garbled",
    "failed_landed",
    "failed_clean",
    "lied",
    "unread",
    "lagging",
    "model",
    "disk",
    "slow",
    "cloud",
    "unlisted",
]

type Mixture = Mapping[Fault, float]
"""How often each fault comes, instead of what a seed would draw; one that is not named never comes."""

_SCALE: dict[Fault, float] = {
    "crash": 0.02,
    "disk": 0.03,
    "unread": 0.4,
    "slow": 0.3,
    "lied": 0.1,
    "refused": 0.4,
    "failed_clean": 0.4,
    "cloud": 0.3,
    "unlisted": 0.2,
}
"""How often each fault comes in a seed that has it at full strength; the others come nearly every time."""


class Broken(Exception):
    """An invariant does not hold: the machine was wrong about what is known."""


class Died(BaseException):
    """The process was killed here. No handler of the code under test may see this as an error of its own."""


class Actor(Protocol):
    """A simulated process, as the models of its surroundings know it."""

    number: int
    alive: bool
    disk_seconds: float
    """How long it waited for the disk so far."""

    def kill(self, why: str) -> None: ...


ACTOR: ContextVar[Actor] = ContextVar("simulated_process")
"""The process on whose behalf a task runs."""


class World:
    """One seed's world."""

    def __init__(self, seed: int, folder: Path, mixture: Mixture | None = None) -> None:
        self.seed = seed
        self.folder = folder
        self.dice = random.Random(seed)  # noqa: S311 -- repeatable on purpose
        self.steps = 0
        self.counts: Counter[str] = Counter()
        self.lately: deque[str] = deque(maxlen=_LATELY)
        self.watchers: list[Callable[[], None]] = []
        self.calm = False
        """No more faults: what is left is to be settled."""
        self.broken: Broken | None = None
        self.off_the_record: set[str] = set()
        """Words that no model and no note may ever hold."""
        self._digest = hashlib.sha256()
        drawn = {fault: self._rate(fault) for fault in _FAULTS}
        self._rates = drawn if mixture is None else {fault: mixture.get(fault, 0.0) for fault in _FAULTS}
        self._jumped_ms = 0
        self._hexes = 0

    def _rate(self, fault: Fault) -> float:
        """Each seed has its own mixture, and none of some faults: otherwise the frequent ones would hide the rare."""
        return self.dice.choice((0.0, 0.0, 0.1, 0.3, 1.0)) * _SCALE.get(fault, 0.8)

    # -- dice ----------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.dice.random() < probability

    def strikes(self, fault: Fault) -> bool:
        """Whether `fault` happens now."""
        rate = self._rates[fault]
        struck = rate > 0 and not self.calm and self.dice.random() < rate
        if struck:
            self.counts[f"fault {fault}"] += 1
        return struck

    def delay(self, seconds: float) -> float:
        """Some time up to `seconds`, in whole milliseconds."""
        return self.dice.randrange(1, max(2, round(seconds * 1000))) / 1000

    def token_hex(self, count: int) -> str:
        """What stands for randomness in the code under test."""
        self._hexes += 1
        return hashlib.sha256(f"{self.seed}:{self._hexes}".encode()).hexdigest()[: 2 * count]

    # -- time ----------------------------------------------------------------

    @property
    def now(self) -> float:
        """Seconds since the beginning; never jumps."""
        return asyncio.get_running_loop().time()

    def now_ms(self) -> int:
        """What the machine's clock shows. It jumps."""
        return BEGAN_MS + self._jumped_ms + round(self.now * 1000)

    def jump(self, milliseconds: int) -> None:
        self._jumped_ms = max(self._jumped_ms + milliseconds, -BEGAN_MS // 2)

    # -- steps ---------------------------------------------------------------

    def step(self, what: str) -> None:
        """Something happened: count it and look whether everything still holds."""
        self.steps += 1
        self.counts[what.partition(":")[0]] += 1
        self.tell(what)
        for watcher in self.watchers:
            watcher()

    def marked(self, text: str) -> str:
        """Return `text` with words of its own, said off the record."""
        words = f"off the record {self.steps}-{len(self.off_the_record)}"
        self.off_the_record.add(words)
        self.counts["off the record"] += 1
        return f"{text} {words}."

    def tell(self, what: str) -> None:
        line = f"{self.steps:6} {self.now:10.3f} {what}"
        self.lately.append(line)
        self._digest.update(line.encode())

    @property
    def trace(self) -> str:
        """Names everything that happened: the same seed has the same trace."""
        return self._digest.hexdigest()

    def fail(self, what: str) -> None:
        """Record the first broken invariant; whoever plays the world stops at the next step."""
        if self.broken is None:
            self.broken = Broken(what)
            self.tell(f"BROKEN: {what}")


_FAULTS: tuple[Fault, ...] = Fault.__value__.__args__


async def turn(world: World, actor: Actor, what: str, seconds: float = 0.01) -> None:
    """Be about to do `what` for `actor`, who may be interrupted or die before it is done.

    Raises:
        Died: It did.
    """
    if not actor.alive:
        raise Died
    world.step(f"{what}: {actor.number}")
    if world.strikes("crash"):
        actor.kill(f"crash before {what}")
    if not actor.alive:
        raise Died
    await anyio.sleep(world.delay(seconds))
    if not actor.alive:
        raise Died
