"""A session whose host announces compactions and branches and takes a brief at rest. It waits for no answer beyond its bounds."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from continuity.capture import PublicMessage
from continuity.commands import Request
from continuity.lineage import Stay, choose
from continuity.shell.ledger import Ledger
from continuity.shell.ports import PathView
from continuity.shell.recalling import Composed
from continuity.shell.runner import Lane
from continuity.shell.session import Session
from journal.events import CompactionEnded, CompactionStarted
from journal.ids import EntryId

CAPTURING: frozenset[Lane] = frozenset({"capture"})


class Before(msgspec.Struct, frozen=True):
    """What goes before a prompt that is coming: a brief, or nothing."""

    brief: Composed | None


class AnnouncedSession(Session):
    """The boundaries that only an announcing host has (level A); all others are as on any host."""

    given = False
    """The prompt that is coming has its brief, or there was nothing to put in: its own boundary brings none.

    Set by whoever asked and put it in: one that stopped waiting has nothing to put in.
    """

    async def asked(self, anchor: object, text: str) -> Before | None:
        """A person gave `text`; it is not on the path yet. Return what goes before it, None if that is not known yet."""
        async with self._boundary():
            self.holding.goes_on()
            view = await self.desk.source.view(anchor)
            ledger = self.desk.ledger
            with self._guarded():
                if ledger is not None:
                    await self.holding.place(ledger, view)
                elif self.blocked is None or self.second is not None:
                    ledger = await self._take_hold(view, prompted=True)
            if ledger is None:
                return None  # its first entry is the prompt itself: then the prompt's own boundary brings the brief
            self._want_server()
            self.runner.wake()
            composed = await super()._brief(ledger, _going_on(view, text), typed=True)
            return Before(replace(composed, how="appended") if composed is not None else None)

    async def _brief(self, ledger: Ledger, view: PathView, *, typed: bool) -> Composed | None:
        given, self.given = self.given, False
        return None if given else await super()._brief(ledger, view, typed=typed)

    async def compacting(self, started: CompactionStarted, anchor: object, seconds: float) -> None:
        """Hold the compaction until what it folds is captured, at most `seconds`; afterwards the capture goes on."""
        async with self._boundary():
            self._anchor = anchor
        await self.note(started)
        if self.desk.settings.capture_knowledge and self.desk.settings.checkpoint_on_compact:
            await self.runner.drained(seconds, CAPTURING)

    async def compacted(self, ended: CompactionEnded, anchor: object) -> Composed | None:
        """Return what the context lost and memory has, once all of it came or the prompt that overflowed goes on at once.

        Otherwise the next prompt brings it, when more will have come.
        """
        await self.note(ended)
        async with self._boundary():
            ledger = self.desk.ledger
            if ended.aborted or ledger is None:
                return None
            self.given = False
            composed = await super()._brief(ledger, await self.desk.source.view(anchor), typed=False)
            wanted = composed is not None and (composed.complete or ended.reason == "overflow")
            return replace(composed, how="appended") if composed is not None and wanted else None

    async def moved(self, anchor: object) -> None:
        """The host went to another place in the session's tree: what is left behind is captured while nobody waits.

        A mere look makes no branch; what is recorded next does, if it goes on from there.
        """
        async with self._boundary():
            ledger = self.desk.ledger
            if ledger is None:
                return
            self.holding.goes_on()  # from elsewhere, if it does: a compaction there is none of the branch that is left
            view = await self.desk.source.view(anchor)
            chosen = choose(view.path, ledger.trails, ledger.current)
            if not isinstance(chosen, Stay) or chosen.branch != ledger.current:
                with self._guarded():
                    await ledger.apply(Request(reason="left-branch"), tip=None)


def _going_on(view: PathView, text: str) -> PathView:
    """The path as it will be with the prompt on it."""
    prompt = PublicMessage(entry_id=EntryId("prompt"), role="user", text=text, at_ms=0)
    return replace(view, public=(*view.public, prompt))
