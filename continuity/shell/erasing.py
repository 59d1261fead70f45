"""Erases kept texts as the person set it: what is not needed any more, or what is too old. It sends and reads no note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Self

import anyio.to_thread

from continuity import keeping
from continuity.commands import CommandRejected
from continuity.evolve import fold
from continuity.shell.desk import Desk
from continuity.shell.settings import Settings
from continuity.shell.sweeping import Visits
from continuity.shell.unattended import Left, MovedOn, Visitor, held, opened
from continuity.state import State
from journal.errors import JournalError
from journal.ids import SessionId, Sha256
from journal.lock import holder
from journal.reader import Reader, open_reader

DAY_MS = 86_400_000

MOST_ERASED = 10
"""Journals that one pass erases texts of; the next process goes on with those that are left.

Fewer than a sweep looks into: it takes those written last, and a journal that we wrote to is one of them.
"""

MOST_READ = 50
"""Journals that one pass replays to see what of their texts may go; the next day's goes on with those that are left."""

NOT_KEPT = "not-kept"
"""Reason of an erasure because `keep_bodies` is false."""

EXPIRED = "expired"
"""Reason of an erasure because of `retention_days`."""


class Rule(NamedTuple):
    """What the person set about kept texts, at one moment."""

    keep: bool
    before_ms: int | None
    """Texts named last before this are too old; None for no limit."""

    @classmethod
    def of(cls, settings: Settings, now_ms: int) -> Self:
        """Return the rule as the settings have it now."""
        days = settings.retention_days
        return cls(settings.keep_bodies, None if days is None else now_ms - days * DAY_MS)

    @property
    def idle(self) -> bool:
        """Whether every text may stay for ever."""
        return self.keep and self.before_ms is None

    @property
    def reason(self) -> str:
        """What the event says of why."""
        return EXPIRED if self.keep else NOT_KEPT

    def kept(self, reader: Reader) -> Kept:
        """Return what `reader` sees of the texts. Its rows are read only if some text may be too old. Blocking."""
        digests, first = reader.digests(), next(reader.rows(), None)
        if not digests or first is None or self.before_ms is None or first.at_ms >= self.before_ms:
            return Kept(digests, None, 0)
        rows = list(reader.rows())
        return Kept(digests, keeping.last_named(rows), max(row.at_ms for row in rows))

    def choose(self, kept: Kept, states: Iterable[State], *, closing: bool) -> tuple[Sha256, ...]:
        """Return the texts that go. Pure."""
        known = tuple(states)
        gone = () if self.keep else keeping.spare(kept.digests, known, closing=closing)
        if self.before_ms is None or kept.named is None:
            return gone
        old = keeping.expired(kept.digests, kept.named, known, before_ms=self.before_ms, newest_ms=kept.newest_ms)
        return tuple(dict.fromkeys((*gone, *old)))


class Kept(NamedTuple):
    """The texts beside one journal, when each was named last, and when anything was recorded last."""

    digests: tuple[Sha256, ...]
    named: Mapping[Sha256, int] | None
    """None where no text can be too old."""
    newest_ms: int


async def tidy(desk: Desk, *, closing: bool = False) -> None:
    """Erase what the settings do not let stay beside the session's own journal.

    What may go is looked for beside the session's work, and decided in its turn: a text may be named again meanwhile.

    Raises:
        JournalError: Nothing was erased, unless the error says otherwise.
    """
    ledger, rule = desk.ledger, Rule.of(desk.settings, desk.clock.now_ms())
    if ledger is None or rule.idle:
        return
    choose = partial(_chosen, ledger.path, rule, closing)
    if await anyio.to_thread.run_sync(choose, tuple(ledger.states.values())) and desk.ledger is ledger:
        await ledger.erase(choose, reason=rule.reason)


def _kept(path: Path, rule: Rule) -> Kept:
    with open_reader(path) as reader:
        return rule.kept(reader)


def _chosen(path: Path, rule: Rule, closing: bool, states: Sequence[State]) -> tuple[Sha256, ...]:
    return rule.choose(_kept(path, rule), states, closing=closing)


class Erasure:
    """One pass over the journals in `folder` that nobody has open."""

    def __init__(self, folder: Path, rule: Rule, visitor: Visitor, visits: Visits) -> None:
        self._folder = folder
        self._rule = rule
        self._visitor = visitor
        self._visits = visits
        self._read = 0

    async def run(self) -> int:
        """Erase what may go, journal by journal; return of how many journals texts were erased."""
        erased = 0
        if self._rule.idle:
            return erased
        for path in await anyio.to_thread.run_sync(self._in_turn):
            erased += await self._erased(path)
            if erased >= MOST_ERASED or self._read >= MOST_READ:
                break
        return erased

    def _in_turn(self) -> Sequence[Path]:
        """The longest untouched first; of more than one pass may read, each day's begins further on. Blocking."""
        found = sorted(self._folder.glob("*.journal"), key=_written)
        day = self._visitor.clock.now_ms() // DAY_MS
        start = day * MOST_READ % len(found) if len(found) > MOST_READ else 0
        return found[start:] + found[:start]

    async def _erased(self, path: Path) -> bool:
        """A journal that somebody has open, that moved on meanwhile or that cannot be read is left as it is."""
        try:
            planned = await anyio.to_thread.run_sync(self._planned, path)
            return planned is not None and await self._erase(planned)
        except (JournalError, MovedOn, CommandRejected):
            return False

    def _planned(self, path: Path) -> Left | None:
        """What is there; None where there is nothing to erase. Blocking."""
        if self._visits.occupied(SessionId(path.stem)) or holder(path).live:
            return None
        with open_reader(path) as reader:
            kept = self._rule.kept(reader)
            if not kept.digests or (self._rule.keep and kept.named is None):
                return None
            self._read += 1
            states = {row.branch: fold(reader.verified(row.branch)) for row in reader.branches}
            found = Left(path, reader.header, states, reader.last_branch())
        return found if self._rule.choose(kept, states.values(), closing=True) else None

    async def _erase(self, found: Left) -> bool:
        with self._visits.gate(found.header.session_id) as free:
            if not free:
                return False
            async with held(found, [found.last], self._visitor) as ledger:
                kept = await anyio.to_thread.run_sync(_kept, found.path, self._rule)  # our opening is no use of it
                async with opened(ledger, found.last, self._visitor):
                    ledger.current = found.last
                    choose = partial(self._rule.choose, kept, closing=True)
                    return await ledger.erase(choose, reason=self._rule.reason) > 0


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
