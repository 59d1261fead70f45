"""One host session: takes its boundaries in order and hands them to the machine. It waits for no model and no server."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Literal

import anyio
import msgspec

from continuity.commands import Observed, Request, Settle
from continuity.offrecord import withheld
from continuity.places import Places
from continuity.privacy import mask_words
from continuity.shell.desk import Desk, kept
from continuity.shell.holding import Holding, Second
from continuity.shell.ledger import Ledger
from continuity.shell.mirroring import Receipt, unmirrored
from continuity.shell.opening import Host
from continuity.shell.pausing import Pausing, Switched
from continuity.shell.ports import PathView
from continuity.shell.recalling import Composed, delivered
from continuity.shell.runner import SAVING, Runner, Spawn
from continuity.shell.settling import Settling
from continuity.state import State
from continuity.topic import topic_of
from continuity.unstored import counted, unstored, waits_for
from journal.errors import JournalError
from journal.events import CompactionEnded, CompactionStarted, WorkBegun
from journal.events.lifecycle import OpenReason
from journal.events.recall import ANEW
from journal.ids import BranchId
from journal.row import Row

_LATER = "Memory is not connected yet; recall follows with a later prompt."

type Asked = Literal["due", "kept", "nothing", "paused", "unrecorded"]
"""What came of asking for a capture: it is due now, it was due before and is kept, there is nothing new or nothing on the
record, or it could not be recorded."""


class Prompted(msgspec.Struct, frozen=True):
    """What a prompt's boundary is to do with the host, if it can: mirror a receipt, insert a brief."""

    receipt: Receipt | None
    brief: Composed | None


class Session:
    """The boundaries of one session, one at a time and in the order in which they came."""

    def __init__(
        self, desk: Desk, places: Places, host: Host, spawn: Spawn, *, after: anyio.Event | None = None
    ) -> None:
        """Make the session's actor; `after` is set once an earlier one of the same session let go of the journal."""
        self.desk = desk
        self.host = host
        self.runner = Runner(desk, spawn)
        self.settling = Settling(desk, self.runner.wake)
        self.pausing = Pausing(desk)
        self.holding = Holding(desk, places, host, self.runner, self.pausing)
        self._guarded = self.holding.guarded
        self.gone = anyio.Event()
        """Set when this one let go of the journal for good."""
        self._after = after
        self._anchor: object | None = None
        self._turn = anyio.Lock()
        self._begun = anyio.Event()
        self._left = False
        self._told_late = False
        self.orienting = anyio.Lock()
        """Held while a person has memory asked anew: the second of two sees what the first put in."""

    # -- boundaries ----------------------------------------------------------

    async def start(self, reason: OpenReason) -> None:
        """Lock, verify and replay the journal there is, settle lineage, and connect in the background."""
        try:
            await self._start(reason)
        finally:
            self.runner.begun = True
            self._begun.set()

    async def _start(self, reason: OpenReason) -> None:
        if self._after is not None:
            await self._after.wait()
        async with self._turn:
            if self.runner.closed:
                return  # the process ends, or another actor of this session takes over
            if reason == "reload" and not self.begun:
                reason = "resume"  # we are new here, so nothing that was known is kept
            if not self.begun or reason != "reload" or self.desk.ledger is not None:  # nothing open is not reloaded
                self.holding.reason = reason
            self._want_server(at_once=True)
            with self._guarded():
                if self.desk.ledger is not None:
                    await self.holding.open(self.desk.ledger, reason)
                else:
                    await self._take_hold(await self.desk.source.view(None), prompted=False)
                    self._tell_kept()
            self.runner.wake()

    def _tell_kept(self) -> None:
        """A session that is taken up again says once what it still owes."""
        ledger = self.desk.ledger
        left = unstored(ledger.states.values(), live=True) if ledger is not None else None
        if left is not None and self.desk.profile.project is not None:
            kept_here = f"{counted(left.texts)} of this session {'is' if left.texts == 1 else 'are'} kept"
            self.desk.voice.say("kept", f"{kept_here} and not stored yet: {waits_for(left)}.")

    @asynccontextmanager
    async def _boundary(self) -> AsyncGenerator[None]:
        """One boundary after the other, and none before the start."""
        await self._begun.wait()
        async with self._turn:
            try:
                yield
            finally:
                self.runner.wake()

    async def prompted(self, anchor: object, *, characters: int, typed: bool) -> Prompted:
        """A prompt is on disk and the model has not been asked yet."""
        async with self._boundary():
            self._anchor, self.pausing.running = anchor, True
            self.holding.goes_on()
            view = await self.desk.source.view(anchor)
            self.holding.goes_on(view.tip if typed and view.certain and view.unanswered else None)
            with self._guarded():
                if self.desk.ledger is not None:
                    await self.holding.place(self.desk.ledger, view)
                elif self.blocked is None or self.second is not None:
                    await self._take_hold(view, prompted=True)
            ledger = self.desk.ledger
            if ledger is None:
                return Prompted(None, None)
            if self.holding.placed:  # else it would be told of a branch that is not the prompt's
                begun = WorkBegun(how="prompt" if typed else "custom", characters=characters)
                await self.desk.note(begun, tip=view.tip)
            self._want_server()
            self.runner.wake()
            return Prompted(unmirrored(ledger, view), await self._brief(ledger, view, typed=typed))

    async def settled(self, anchor: object | None, *, interrupted: bool) -> None:
        """The agent came to rest after the message `anchor`; `interrupted` when the model failed or was stopped."""
        async with self._boundary():
            self._anchor = anchor or self._anchor
            await self._hold_late()
            view = await self.desk.source.view(anchor)
            ledger = self.desk.ledger
            if ledger is None:
                self.desk.passed_by()
            self.pausing.rested(view.tip)
            if ledger is None:
                return
            with self._guarded():
                await self._settle(ledger, view, interrupted=interrupted and view.unanswered)
            self._want_server()

    async def request(self, reason: str, focus: str = "") -> Asked:
        """Make what was gathered due now, with a person's words on what to keep in view, and tell what came of it."""
        async with self._boundary():
            await self._hold_late()
            ledger = self.desk.ledger
            if self.pausing.paused:
                return "paused"
            if ledger is None:
                return "nothing"
            masked = mask_words(focus, candidates=self.desk.settings.mask_candidates).text
            digest, bodies = kept(masked) if masked else (None, {})
            try:
                rows = await ledger.apply(Request(reason=reason, focus_sha256=digest), tip=None, bodies=bodies)
            except JournalError as error:
                self.desk.unrecorded(error)
                return "unrecorded"
            if ledger.state.unsaved_tip is None:
                return "nothing"
            self._want_server(at_once=True)
            making = any(c.status == "begun" for c in ledger.state.captures)
            self.desk.asked = self.desk.asked or reason == "command"
            return "due" if rows or making else "kept"

    async def hold(self, *, make: bool = True) -> bool:
        """Have the journal for what a person wants, begun now if need be and to `make`; tell whether there is one."""
        async with self._boundary():
            await self._hold_late()
            if make and self.desk.ledger is None and self.blocked is None:
                with self._guarded():
                    await self._take_hold(await self.desk.source.view(None), prompted=True)
            return self.desk.ledger is not None

    async def stands(self) -> BranchId | None:
        """Bring the journal to where the host's path is by now, and tell the branch; None if that cannot be recorded."""
        async with self._boundary():
            ledger = self.desk.ledger
            if ledger is not None and not self.holding.placed:
                with self._guarded():
                    await self.holding.place(ledger, await self.desk.source.view(None))
            return ledger.current if ledger is not None and self.holding.placed else None

    async def switch(self, *, off: bool, anchor: object | None) -> Switched:
        """Go off the record, or on it again, after the message `anchor`: the newest one when the person asked."""
        async with self._boundary():
            await self._hold_late()
            return await (self.pausing.pause(anchor) if off else self.pausing.resume(anchor))

    async def note(self, fact: Observed) -> None:
        """Record what the host announced, after the boundaries before it."""
        async with self._boundary():
            ledger = self.desk.ledger
            if isinstance(fact, CompactionStarted) and ledger is not None:
                view = await self.desk.source.view(self._anchor)
                with self._guarded():  # what is folded was said: the run it cut short counts as it is
                    await self._settle(ledger, view, interrupted=view.unanswered)
            await self.desk.note(fact)
            if isinstance(fact, CompactionEnded) and not fact.aborted and ledger is not None:
                with self._guarded():  # now: the next prompt would take it for one that nobody announced
                    await self.holding.notice_compaction(ledger, await self.desk.source.view(None))

    async def delivered(self, composed: Composed) -> None:
        """The brief went into the model's context: record what was put there and from which notes."""
        await self.given_brief(composed)

    async def given_brief(self, composed: Composed) -> Row | None:
        """Record the same, and return its row if it is on disk."""
        fact, referenced = delivered(composed)
        digest, bodies = kept(composed.brief.text)
        bodies = bodies if digest == fact.brief_sha256 else {}
        rows = await self.desk.noted(fact, branch=composed.branch, bodies=bodies)
        if referenced is not None:
            await self.desk.note(referenced, branch=composed.branch)
        self.runner.recaller.given(composed.branch)
        return next(iter(rows or ()), None)

    def left(self) -> None:
        """The host went to another session: this one lets go of the journal once nothing is owed."""
        self._left = True

    def returned(self) -> None:
        """The host came back before this one let go of the journal: it stays."""
        self._left = False

    async def leave(self, wait: Callable[[], None]) -> None:
        """After `left`: what was gathered is captured here, and `wait` is called to see it end."""
        with self._guarded():
            await self.request("left-session")
        wait()

    async def end_when_idle(self) -> None:
        """Let go of the journal once nothing is owed, unless the host came back meanwhile."""
        await self.runner.drained(3600, SAVING)
        async with self._turn:
            if self._left:
                await self.close("left-session")

    async def close(self, reason: str) -> None:
        """Let go of the journal for good."""
        try:
            await self.runner.close(reason)
        finally:
            self.gone.set()

    async def ending(self, seconds: float) -> bool:
        """The host quits: capture what was gathered and wait for what is owed, at most `seconds`."""
        with self._guarded():
            await self.request("quit")
        if self.desk.ledger is None:
            return True
        return await self.runner.drained(seconds, SAVING)

    def _want_server(self, *, at_once: bool = False) -> None:
        """A server is needed only where something is written to."""
        if self.desk.profile.project is not None:
            self.desk.link.want(at_once=at_once)

    @property
    def begun(self) -> bool:
        """Whether the journal there is has been looked at."""
        return self._begun.is_set()

    @property
    def unsaved(self) -> bool:
        """Whether something the person wants saved is not known to be stored."""
        state, settings = self.state, self.desk.settings
        if self.desk.profile.project is None or (state is None and self.second is None):
            return False
        if (state.unsaved_tip if state is not None else self._anchor) is None:
            return state is not None and not state.drained
        captured = state is not None and bool(state.captures)
        return captured or (settings.capture_knowledge and settings.summarize_on_shutdown)

    @property
    def blocked(self) -> str | None:
        """Why nothing can be recorded, in words for a person; None while all is well."""
        return self.holding.blocked

    @property
    def second(self) -> Second | None:
        """Another process has this session open, so nothing is recorded here until it lets go."""
        return self.holding.second

    @property
    def state(self) -> State | None:
        """The state of the branch being written, or None without a journal."""
        return self.desk.ledger.state if self.desk.ledger else None

    # -- the journal ---------------------------------------------------------

    async def _take_hold(self, view: PathView, *, prompted: bool) -> Ledger | None:
        """Go on in the session's journal; what a start finds on the path is settled at once."""
        ledger = await self.holding.take(view, make=prompted)
        if ledger is not None and not prompted:
            await self._settle(ledger, view, interrupted=view.unanswered)
        return ledger

    async def _hold_late(self) -> None:
        """Go on in a journal that another process has let go of since, if there was a prompt of ours meanwhile."""
        if self.desk.ledger is not None or self.second is None or self._anchor is None:
            return
        view = await self.desk.source.view(self._anchor)
        with self._guarded():
            ledger = await self._take_hold(view, prompted=True)
            if ledger is not None:
                await self._settle(ledger, view, interrupted=view.unanswered)

    async def _settle(self, ledger: Ledger, view: PathView, *, interrupted: bool) -> None:
        """Count what is public, on the record and new on the path since the last settled tip."""
        if not self.holding.placed or self.pausing.owes:
            await self.holding.place(ledger, view)
        if view.tip is None:
            return
        new = view.since(ledger.state.settled_tip)
        whole = len(new) == len(view.public)
        off = withheld([message.entry_id for message in new], ledger.state.off, whole=whole)
        new = tuple(message for message in new if message.entry_id not in off)
        settle = Settle(
            tip=view.tip,
            messages=len(new),
            characters=sum(len(message.text) for message in new),
            interrupted=interrupted,
        )
        await ledger.apply(settle, tip=view.tip)

    # -- briefs --------------------------------------------------------------

    async def _brief(self, ledger: Ledger, view: PathView, *, typed: bool) -> Composed | None:
        """What is due now: with the server's answers if they come in time, else from what is kept here."""
        due, by_itself = ledger.state.recall.due, self.desk.settings.auto_recall
        if due is None or self.desk.profile.project is None or not (by_itself or due == ANEW):
            return None
        if self.desk.link.connection is not None:
            if self._told_late:
                self._told_late = False
                self.desk.voice.say("recall", "Memory is connected; recall goes on.")
        elif self.desk.link.error != "not-found":  # which is said already
            self._told_late = True
            self.desk.voice.say("recall", _LATER)
        asks = by_itself and typed and view.unanswered and not self.pausing.paused  # a topic leaves here, and is kept
        topic = topic_of(view.public[-1].text, candidates=self.desk.settings.mask_candidates) if asks else ()
        seconds = self.desk.settings.recall_wait_seconds
        return await self.runner.recaller.brief(ledger.current, ledger.state, view, topic=topic, seconds=seconds)
