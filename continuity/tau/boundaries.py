"""Turns Tau's notifications into the session's boundaries and back; every handler returns in milliseconds or is bounded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from continuity.checkout import around
from continuity.memory.inventory import Inventory
from continuity.shell.announced import AnnouncedSession
from continuity.shell.desk import Desk
from continuity.shell.link import MemoryLink
from continuity.shell.recalling import Composed
from continuity.shell.session import Prompted, Session
from continuity.tau import host
from continuity.tau.adapters import ToldSource, details_of
from continuity.tau.entries import MessageKey
from continuity.tau.host import Context, HostGone, Message, Reason, Tau
from continuity.tau.host.insertion import Insertion
from continuity.tau.presence import failure
from continuity.tau.resident import Configuration, Resident
from continuity.tau.standing import rival
from journal.events import CompactionEnded, CompactionStarted
from journal.events.lifecycle import CompactionReason, OpenReason

_OPENINGS: dict[str, OpenReason] = {
    "startup": "startup",
    "reload": "reload",
    "new": "new",
    "resume": "resume",
    "branch": "branch",
}
PROMPT_SECONDS = 1.0
"""How long a prompt waits for its boundary beyond the wait for recall; a busy journal goes on without it."""

NO_FILE = (
    "Continuity: this session has no file, so nothing is saved or recalled; memory tools work, and calls "
    "that change something are recorded in a journal of this process."
)

ENDED = (
    "Continuity was ended from outside in this Tau: nothing is recorded, saved or recalled any more. "
    "What is on record stays; /reload begins anew."
)
"""What is said, once by itself and by every command, when the task that everything of ours runs under is gone."""

_FAILED = frozenset({"aborted", "error"})
"""How a run's last message ends when there is no answer. One cut by its length shows that the model is there."""
_COMPACTIONS: dict[str, CompactionReason] = {"manual": "manual", "threshold": "threshold", "overflow": "overflow"}


class TauBoundaries:
    """One generation of the extension: between Tau's events and the process's sessions."""

    def __init__(self, tau: Tau, resident: Resident, insertion: Insertion, configured: Configuration) -> None:
        self._tau = tau
        self._resident = resident
        self._insertion = insertion
        self._configured = configured
        self._anchor: MessageKey | None = None
        self._ended = False
        self._failed = False
        self._unfiled = False
        self._cwd = Path.cwd()
        self._session: Session | None = None
        self.listed: Callable[[Inventory], tuple[str, str] | None] | None = None
        """Returns what is to be said of what the server offers, beside what this generation offered."""
        self.late = False
        """Whether its tools were not to be had when they were to be offered."""
        self._down = rival(tau, at_setup=True)
        self._asked = False
        self._withheld = self._down is not None

    @property
    def down(self) -> str | None:
        """Why nothing is saved or recalled here although all is well: another extension does."""
        return self._down.why if self._down is not None else None

    def serves(self, tool: str) -> bool:
        """Whether a call of the agent's is ours: beside a rival only where the host dropped the rival's tool for ours."""
        return self._down is None or tool in self._down.lent

    async def session_started(self, reason: Reason, context: Context) -> None:
        """Hand over and return; replay, connection and recall go on in the background."""
        self._resident.enter(self)
        self._resident.presence.use(self._tau)
        self._resident.models.forget()  # other extensions may be others now, and their providers with them
        self._anchor, self._ended, self._unfiled, self._asked = None, False, False, False
        self._cwd = Path(context.cwd)
        if self._stands_down(context):
            return
        link = self._resident.use(self._configured)  # not at setup: whatever calls a reload off leaves all as it was
        self._resident.listed = self.listed
        if self.late:
            link.want()
        level = host.level(context, self._tau)
        if level == "C":
            self._session = None
            self._resident.presence.say("level", NO_FILE)
            return
        session = self._resident.session(context, self._configured, level)
        self._session = session
        if session is None:
            return
        self._resident.follow(session, context, self._tau)
        if reason == "branch" and isinstance(session, AnnouncedSession):
            self._resident.owner.spawn("branch", partial(session.moved, self._here(session)))
            return
        self._told_at_start(session)
        self._resident.owner.spawn("start", partial(self._start, session, _OPENINGS.get(reason, "startup")))

    def _stands_down(self, context: Context) -> bool:
        """Leave the session to another extension that brings Basic Memory; go on where there was one and is none."""
        say = self._resident.presence.say
        if self._yields(context):
            return True
        if self._resident.returns():
            say("rival", "Continuity saves and recalls again: no other extension brings Basic Memory to this Tau.")
        if self._withheld:
            say("tools", "Memory's tools are not offered yet; /reload offers them.")
        return False

    def _yields(self, context: Context) -> bool:
        """Leave the session to a rival, if there is one now."""
        self._down = rival(self._tau)
        if self._down is None:
            return False
        self._session = None
        self._resident.yielded(context)
        self._resident.presence.say("rival", self._down.why, "warning")
        return True

    def _ask_again(self, context: Context) -> None:
        """Once a session, before its first prompt: another extension's start may have come after ours."""
        if not self._asked and self._down is None:
            self._yields(context)
        self._asked = True

    def _told_at_start(self, session: Session) -> None:
        """Say what of this work's filing is not as a person may expect."""
        say, profile = self._resident.presence.say, session.desk.profile
        if profile.project is None:
            say(
                "project",
                "Continuity: no project is configured, so nothing is saved or recalled automatically. "
                f"Run `continuity setup`, or set `project` in {self._configured.places.settings}.",
            )
        surroundings = around(profile)
        if surroundings is not None:
            say("work", f"Continuity: {surroundings}.")

    async def _start(self, session: Session, reason: OpenReason) -> None:
        await session.start(reason)
        self._resident.sweep(session, self._configured.places)
        self._resident.forget(session, self._configured.places)

    @property
    def link(self) -> MemoryLink:
        """The one link of the process, which may be to another server since: another session may have new settings."""
        return self._resident.link or self._resident.use(self._configured)

    @property
    def anchor(self) -> MessageKey | None:
        """The newest message of this session that this generation saw."""
        return self._anchor

    @property
    def session(self) -> Session | None:
        """The session that is served; None for one that has no file, which stock Tau shows only once it ran (level C)."""
        return None if self._unfiled else self._session

    @property
    def apart(self) -> bool:
        """Whether calls that change something have no journal of the session's own to be recorded in."""
        session = self.session
        return session is None or session.second is not None

    async def recorder(self) -> Desk:
        """Return what such calls are recorded with: this process's own journal, made at the first of them.

        Raises:
            CommandRejected, JournalError: There is none; nothing may be sent.
        """
        configured = self._configured
        profile, settings = configured.profile(self._cwd), configured.loaded.settings
        return await self._resident.adhoc.desk(self.link, configured.places, profile, settings)

    async def session_ending(self, reason: Reason, context: Context) -> None:
        """Only a quit waits, and bounded; a reload keeps everything, another session is left to finish behind us.

        A host may hold several sessions at once; memory ends with the last of them.
        """
        last = self._resident.left(self)
        session = self._session
        if reason == "quit" and last:
            await self._resident.quit(self._configured.loaded.settings.exit_timeout_seconds)
        elif reason in ("quit", "new", "resume") and session is not None:
            self._resident.leave(session)

    def _here(self, session: Session) -> object | None:
        """What a look at the session ends at: the path that was just told, or the message that was just seen."""
        source = session.desk.source
        told = source.told if isinstance(source, ToldSource) else None
        return told or self._anchor

    async def input_given(self, text: str, context: Context, *, mid_run: bool) -> None:
        """An announcing host takes the brief before the prompt; stock Tau only at the prompt's `message_end`."""
        self._ask_again(context)
        session = self.session
        if mid_run or not isinstance(session, AnnouncedSession):
            return
        self._resident.follow(session, context, self._tau)
        before = await self._resident.owner.call(
            "input", partial(session.asked, self._here(session), text), within=self._prompt_seconds(session)
        )
        session.given = before is not None and (before.brief is None or await self._appended(session, before.brief))

    def _prompt_seconds(self, session: Session) -> float:
        return session.desk.settings.recall_wait_seconds + PROMPT_SECONDS

    async def _appended(self, session: Session, composed: Composed) -> bool:
        """Put a brief into an announcing host at rest; False when that could not be done."""
        try:
            placed = await host.append_brief(self._tau, composed.brief.text, details_of(composed))
        except HostGone:
            return False
        if placed:
            delivered = partial(session.delivered, composed)
            await self._resident.owner.call("delivered", delivered, within=PROMPT_SECONDS)
        return placed

    async def append(self, composed: Composed) -> bool:
        """Put a brief that a person asked for into an announcing host at rest; False when that could not be done."""
        try:
            return await host.append_brief(self._tau, composed.brief.text, details_of(composed))
        except HostGone:
            return False

    async def run_started(self, context: Context) -> None:
        """A run begins; whether it ends by itself is seen at its end."""
        self._ask_again(context)
        self._ended = self._failed = False

    async def retry_announced(self, context: Context) -> None:
        """The same prompt goes on."""

    async def message_ended(self, message: Message, context: Context) -> None:
        """The prompt's own message is the boundary: it is on disk, and the model has not been asked."""
        self._anchor = message.key
        self._failed = message.stop_reason in _FAILED
        if not self._insertion.takes(message):
            return
        self._resident.presence.turn()
        session = self._session
        self._unfiled = session is not None and not self._resident.follow(session, context, self._tau)
        if self._unfiled:
            self._resident.presence.say("level", NO_FILE)
        if session is None or self._unfiled:
            return
        if not self._resident.owner.alive:
            self._resident.presence.say("ended", ENDED, "warning")
        prompted = await self._resident.owner.call(
            "prompt",
            partial(
                session.prompted,
                self._here(session),
                characters=len(message.key.text),
                typed=message.key.role == "user",
            ),
            within=self._prompt_seconds(session),
        )
        if prompted is not None:
            await self._given(session, prompted, context)

    async def _given(self, session: Session, prompted: Prompted, context: Context) -> None:
        """Put in the brief, and then the receipt: the host may fail to write it, and then the next prompt mirrors it."""
        try:
            if prompted.brief is not None:
                brief = prompted.brief.brief
                self._insertion.put(brief.text, details_of(prompted.brief), context)
                self._resident.owner.spawn("delivered", partial(session.delivered, prompted.brief))
            if prompted.receipt is not None:
                await host.append_receipt(self._tau, prompted.receipt)
        except HostGone:
            return

    async def run_ended(self, context: Context) -> None:
        """The run ended by itself."""
        self._ended = True

    async def work_settled(self, context: Context) -> None:
        """Hand over and return: Tau counts as running while we are in here."""
        session = self.session
        if session is None or not self._resident.follow(session, context, self._tau):
            return
        settled = partial(session.settled, self._here(session), interrupted=self._failed or not self._ended)
        self._resident.owner.spawn("settled", settled)

    async def compaction_started(self, reason: str, context: Context) -> None:
        """An announcing host waits for the capture of what it folds, bounded; stock Tau announces overflows alone."""
        session, started = self.session, CompactionStarted(reason=_COMPACTIONS.get(reason, "unknown"))
        if isinstance(session, AnnouncedSession):
            self._resident.follow(session, context, self._tau)
            seconds = session.desk.settings.compaction_wait_seconds
            compacting = partial(session.compacting, started, self._here(session), seconds)
            await self._resident.owner.call("compaction", compacting, within=seconds)
        elif session is not None:
            self._resident.owner.spawn("compaction", partial(session.note, started))

    async def compaction_ended(self, reason: str, context: Context, *, aborted: bool) -> None:
        """What an announced compaction came to; an announcing host takes what the context lost at once."""
        session, ended = self.session, CompactionEnded(reason=_COMPACTIONS.get(reason, "unknown"), aborted=aborted)
        if isinstance(session, AnnouncedSession):
            self._resident.follow(session, context, self._tau)
            compacted = partial(session.compacted, ended, self._here(session))
            composed = await self._resident.owner.call("compacted", compacted, within=self._prompt_seconds(session))
            if composed is not None:
                await self._appended(session, composed)
        elif session is not None:
            self._resident.owner.spawn("compaction", partial(session.note, ended))

    def failed(self, boundary: str, error: Exception) -> None:
        """A handler of ours raised; Tau would hide it."""
        self._resident.presence.say("failure", failure(boundary, error), "error")
