"""Takes hold of a session's journal and keeps it on the branch that the host's path is on. It settles and saves nothing."""

from __future__ import annotations

from functools import partial

import anyio.to_thread
import msgspec

from continuity.commands import Fork, Notice, OpenSession, Request
from continuity.lineage import ForkAt, Stay, choose
from continuity.offrecord import entered
from continuity.places import Places
from continuity.shell.desk import Desk
from continuity.shell.ledger import Ledger
from continuity.shell.opening import Guard, Host, blocked, header, journal_path, opening, tell_torn
from continuity.shell.pausing import Pausing
from continuity.shell.ports import PathView
from continuity.shell.runner import Runner
from journal.errors import JournalError, JournalLocked
from journal.events.lifecycle import OpenReason
from journal.ids import EntryId
from journal.row import WriterRecord


class Second(msgspec.Struct, frozen=True):
    """What is known of the process that has the session open before this one."""

    holder: WriterRecord | None


class Holding:
    """One session's hold of its journal, and of its place there."""

    def __init__(self, desk: Desk, places: Places, host: Host, runner: Runner, pausing: Pausing) -> None:
        self._desk = desk
        self._places = places
        self._host = host
        self._runner = runner
        self._pausing = pausing
        self.reason: OpenReason = "startup"
        self.blocked: str | None = None
        """Why nothing can be recorded, in words for a person; None while all is well."""
        self.second: Second | None = None
        """Another process has this session open, so nothing is recorded here until it lets go."""
        self.placed = False
        """The branch being written is known to be the path's: all that says so is recorded."""
        self._prompt: EntryId | None = None
        """The message that the run under way began with, if it is known: what comes before it was there already."""

    def guarded(self) -> Guard:
        """Return what takes the errors of a journal that cannot be used; it is said, and the session goes on."""
        return Guard(self._refused)

    def _refused(self, error: JournalError) -> None:
        """A journal that is locked may be free at the next prompt; one that cannot be used is left as it is.

        What befalls one that is open is trouble: every later boundary tries again.
        """
        self.second = Second(error.holder) if isinstance(error, JournalLocked) else None
        why = blocked(error) if self._desk.ledger is None else None
        if why is None:
            self._desk.unrecorded(error)
            return
        self.blocked = why
        self._desk.voice.say("journal", f"Continuity: {why}.", "warning")

    # -- the journal ---------------------------------------------------------

    async def take(self, view: PathView, *, make: bool) -> Ledger | None:
        """Go on in the session's journal if there is one; it is made at the first prompt, and not before.

        Raises:
            JournalError: It cannot be used now; what is open stays so.
        """
        if view.root is None:
            return None  # whose journal it would be is not known yet
        desk = self._desk
        path = await anyio.to_thread.run_sync(journal_path, self._places, desk.session_id, view.root)
        found = path.exists()
        if found:
            ledger = await Ledger.open(path, desk.writer, desk.clock)
        elif make:
            ledger = await Ledger.create(path, header(desk.session_id, view.root), desk.writer, desk.clock)
        else:
            return None
        if self.blocked is not None:
            ended = "Continuity: the other process has let go of this session; saving goes on here."
            usable = "Continuity can use this session's journal now."
            desk.voice.say("journal", ended if self.second is not None else usable)
        desk.ledger, self.blocked, self.second, self.placed = ledger, None, None, False
        paused = self._pausing.recorded
        if found:
            await self._go_on(ledger, view, self._chosen(ledger, view), paused=paused)
        await self.open(ledger, self.reason)
        await self._enter(view, paused=paused)
        await desk.flush()
        await self._runner.adopter.placed(ledger, view, opened=found or len(view.public) > 1)
        await self.notice_compaction(ledger, view)
        self.placed = True
        return ledger

    async def open(self, ledger: Ledger, reason: OpenReason) -> None:
        """Record the opening on the current branch, and on every other that still owes something."""
        command = self._opening(reason)
        await ledger.apply(command, tip=None)
        for branch, state in ledger.states.items():
            owes = state.captures or state.calls or state.gathered.owed is not None or state.behind
            if branch != ledger.current and owes:
                await ledger.apply(command, tip=None, branch=branch)

    def _opening(self, reason: OpenReason) -> OpenSession:
        desk = self._desk
        return opening(reason, host=self._host, profile=desk.profile, settings=desk.settings, writer=desk.writer)

    # -- lineage -------------------------------------------------------------

    def goes_on(self, prompt: EntryId | None = None) -> None:
        """The path goes on, with `prompt` if that is known: where it is, is to be recorded before anything else."""
        self.placed, self._prompt = False, prompt

    async def place(self, ledger: Ledger, view: PathView) -> None:
        """Continue the branch the path is on; a branch that is left is captured, always.

        Raises:
            JournalError: It is not known where what follows belongs; `placed` says so.
        """
        self.placed = False
        if ledger.state.closed:  # it could not be recorded before, nor what follows it
            await self.open(ledger, self.reason)
            await self._desk.flush()
        before, paused = ledger.current, self._pausing.recorded
        chosen = self._chosen(ledger, view)
        if not isinstance(chosen, Stay) or chosen.branch != before:
            await ledger.apply(Request(reason="left-branch"), tip=None, branch=before)
        await self._go_on(ledger, view, chosen, paused=paused)
        if ledger.current != before:
            await ledger.apply(self._opening("branch"), tip=None)
            self._runner.recaller.stale(ledger.current)
        await self._enter(view, paused=paused)
        await self._runner.adopter.placed(ledger, view)
        await self.notice_compaction(ledger, view)
        self.placed = True

    def _chosen(self, ledger: Ledger, view: PathView) -> Stay | ForkAt:
        return choose(view.path, ledger.trails, ledger.current)

    async def _go_on(self, ledger: Ledger, view: PathView, chosen: Stay | ForkAt, *, paused: bool) -> None:
        """Go to the branch the path continues, or begin one: with its place goes what of the path is off the record."""
        tell_torn(self._desk.voice, view)
        if isinstance(chosen, Stay):
            ledger.current = chosen.branch
            return
        left = ledger.states[chosen.parent].off
        then = partial(entered, path=view.path, seen=view.before(self._prompt), paused=paused, left=left)
        await ledger.fork(chosen.parent, chosen.position, Fork(reason="path-left", left_tip=chosen.left_tip), then=then)

    async def _enter(self, view: PathView, *, paused: bool) -> None:
        await self._pausing.enter(view.path, seen=view.before(self._prompt), paused=paused)

    async def notice_compaction(self, ledger: Ledger, view: PathView) -> None:
        """Record the compactions on the path that were not; several may have come between two boundaries."""
        if await ledger.apply(Notice(entries=view.compactions), tip=None):
            self._runner.recaller.stale(ledger.current)
