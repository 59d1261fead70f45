"""What lives as long as the process, whatever Tau reloads: the owner, the server, the sessions. It knows no rule."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.from_thread

from continuity.memory.errors import CommandRefused
from continuity.memory.inventory import Inventory
from continuity.memory.liveness import identify
from continuity.memory.server import ServerSpec
from continuity.places import Places
from continuity.profile import Profile
from continuity.shell.adhoc import AdHoc
from continuity.shell.announced import AnnouncedSession
from continuity.shell.clock import SystemClock
from continuity.shell.config import Loaded
from continuity.shell.desk import Desk
from continuity.shell.erasing import Erasure, Rule, tidy
from continuity.shell.interrupting import interruptible
from continuity.shell.link import MemoryLink
from continuity.shell.opening import Host
from continuity.shell.owner import Owner
from continuity.shell.rest import at_rest, load_rules
from continuity.shell.runner import SAVING
from continuity.shell.serving import keep_inventory
from continuity.shell.session import Session
from continuity.shell.settings import Settings
from continuity.shell.sweeping import Sweep, Visits, Work, work_of
from continuity.shell.unattended import Visitor
from continuity.tau import host
from continuity.tau.adapters import FileSource, HostMirror, HostModel, SessionModel, ToldSource
from continuity.tau.host import Context, Tau
from continuity.tau.host.insertion import Outstanding
from continuity.tau.host.model_call import ModelCall, snapshot
from continuity.tau.presence import Presence, about_unsaved, failure, unsaved
from journal.events.lifecycle import Level
from journal.ids import SessionId, WriterId
from journal.row import WriterRecord

SWEEP_WAITS_SECONDS = 60.0
"""How long what the session itself owes goes before a sweep."""

WAIT_TOLD_SECONDS = 1.0
"""How long an exit waits for a save before a person is told."""


class Configuration(NamedTuple):
    """What the user set, as one generation of the extension found it."""

    loaded: Loaded
    places: Places
    home: Path
    server: ServerSpec | CommandRefused

    def profile(self, cwd: Path) -> Profile:
        """Return how work in `cwd` is filed."""
        return self.loaded.settings.profile(cwd, self.home)


class Resident:
    """One process's memory: at most one server, one session a session id, one voice."""

    def __init__(self) -> None:
        self.presence = Presence()
        self.owner = Owner(self._failed, self._let_go)
        self.outstanding = Outstanding()
        self.models = ModelCall()
        self.clock = SystemClock()
        self.writer = WriterRecord(writer=WriterId(secrets.token_hex(16)), process=identify(os.getpid()))
        self.version = version("tau-continuity")
        self.link: MemoryLink | None = None
        self.listed: Callable[[Inventory], tuple[str, str] | None] | None = None
        """Returns what is to be said of what the server offers; asked in a thread, whenever the server says so."""
        self.sessions: dict[SessionId, Session] = {}
        named = f"{host.HOST_NAME} {host.host_version()}"[:200]
        self.adhoc = AdHoc(self.writer, self.clock, self.presence, host=named, version=self.version)
        self._users: set[object] = set()
        self._yielded = False
        self._swept: dict[Work, MemoryLink] = {}
        self._visits = Visits(self.sessions.__contains__)
        self._forgot: tuple[bool, int | None] | None = None

    def use(self, configured: Configuration) -> MemoryLink:
        """Return the link to the server the settings name; another one ends when the settings name another."""
        spec = configured.server
        if self.link is not None and self.link.spec == spec:
            self.link.timeout_seconds = configured.loaded.settings.timeout_seconds
            return self.link
        if self.link is not None:
            self.link.retire()
        keep = partial(self._listed, configured.places, spec)
        link = MemoryLink(spec, configured.loaded.settings.timeout_seconds, keep, at_rest)
        self.link = link
        for session in self.sessions.values():
            session.runner.relink(link)
        self.owner.spawn("rules", load_rules, daemon=True)
        self.owner.spawn("memory", link.run, daemon=True)
        return link

    def _listed(self, places: Places, spec: ServerSpec | CommandRefused, inventory: Inventory) -> None:
        """Keep what the server offers for the next start, and tell of it; called in a thread, for it writes to disk."""
        news = self.listed(inventory) if self.listed is not None else None
        if news is not None:
            anyio.from_thread.run_sync(self.presence.say, *news)
        keep_inventory(places, spec, inventory)

    def session(self, context: Context, configured: Configuration, level: Level) -> Session | None:
        """Return the session `context` is about, known or new; None where it has no id (level C)."""
        if context.session_id is None or self.link is None:
            return None
        known = self.sessions.get(SessionId(context.session_id))
        if known is None or known.runner.closed:
            session_id = SessionId(context.session_id)
            after = known.gone if known else self._visits.free(session_id)
            return self._new(session_id, context, configured, after, level)
        known.returned()  # now: it may be about to let go
        known.desk.settings = configured.loaded.settings
        known.desk.profile = configured.profile(Path(context.cwd))
        return known

    def _new(
        self,
        session_id: SessionId,
        context: Context,
        configured: Configuration,
        after: anyio.Event | None,
        level: Level,
    ) -> Session:
        desk = Desk(
            session_id=session_id,
            profile=configured.profile(Path(context.cwd)),
            settings=configured.loaded.settings,
            clock=self.clock,
            writer=self.writer,
            link=self.use(configured),
            source=ToldSource(),
            model=self._model(context, configured.loaded.settings),
            voice=self.presence,
        )
        about = Host(name=host.HOST_NAME, version=host.host_version(), level=level, extension=self.version)
        made = AnnouncedSession if level == "A" else Session
        session = made(desk, configured.places, about, self.owner.spawn, after=after)
        self.sessions[session_id] = session
        self.owner.spawn(f"session {session_id}", session.runner.run, daemon=True)
        return session

    def follow(self, session: Session, context: Context, tau: Tau) -> bool:
        """Take over what may have changed since the last boundary; False while the session has no file."""
        desk = session.desk
        noted = self._model(context, desk.settings)
        asks_host = desk.settings.summary_model is None and host.powers(context, tau).summarizes
        desk.model = HostModel(tau, desk.session_id, noted) if asks_host else noted
        if isinstance(session, AnnouncedSession) and isinstance(desk.source, ToldSource):
            desk.mirror = HostMirror(tau, desk.session_id)
            desk.source.tell(host.told_path(context))
            desk.source.ask = partial(host.told_now, tau, desk.session_id)
            return True
        if isinstance(desk.source, FileSource):
            return True
        path = host.session_file_path(context)
        if path is None:
            return False
        desk.source = FileSource(path)
        return True

    def enter(self, user: object) -> None:
        """Count `user`, one open session of the host's, among those we serve."""
        self._users.add(user)

    def left(self, user: object) -> bool:
        """Stop serving `user`; tell whether it was the last."""
        self._users.discard(user)
        return not self._users

    def yielded(self, context: Context) -> None:
        """Another extension serves the session `context` is about; what we began there is finished behind us."""
        self._yielded = True
        known = self.sessions.get(SessionId(context.session_id or ""))
        if known is not None and not known.runner.closed:
            self.leave(known)

    def returns(self) -> bool:
        """Tell, once, that we stood down before."""
        stood, self._yielded = self._yielded, False
        return stood

    def leave(self, session: Session) -> None:
        """The host went to another session: let this one finish behind us, then forget it."""

        async def finish() -> None:
            await session.end_when_idle()
            if session.runner.closed and self.sessions.get(session.desk.session_id) is session:
                del self.sessions[session.desk.session_id]

        session.left()  # now: the host may come back before the job begins
        self.owner.spawn("leave", partial(session.leave, lambda: self.owner.spawn("left", finish, daemon=True)))

    def sweep(self, session: Session, places: Places) -> None:
        """Settle what killed sessions of the same work left open, behind everything else; once for a work and a server."""
        work, link = work_of(session.desk.profile), session.desk.link
        if work is None or self._swept.get(work) is link:
            return
        self._swept[work] = link
        sweep = Sweep(places.state, work, self._visitor(session), self._visits)

        async def run() -> None:
            await link.first_up()
            await session.runner.drained(SWEEP_WAITS_SECONDS)
            await sweep.run(link, self.presence)

        self.owner.spawn("sweep", run, daemon=True)

    def forget(self, session: Session, places: Places) -> None:
        """Erase kept texts as the settings say: the session's own, and once a process those nobody has open."""
        settings = session.desk.settings
        rule, known = Rule.of(settings, self.clock.now_ms()), (settings.keep_bodies, settings.retention_days)
        if rule.idle:
            return
        new, self._forgot = self._forgot != known, known

        async def run() -> None:
            await tidy(session.desk)
            if new:
                await Erasure(places.state, rule, self._visitor(session), self._visits).run()

        self.owner.spawn("erasing", run, daemon=True)

    def _visitor(self, session: Session) -> Visitor:
        return Visitor("sweep", session.host.recorded, self.version, self.writer, self.clock)

    def _model(self, context: Context, settings: Settings) -> SessionModel:
        """The session's own model, or the one the settings name for summaries."""
        own = snapshot(context)
        if settings.summary_model is None:
            return SessionModel(self.models, own)
        provider, _, model = settings.summary_model.partition("/")
        return SessionModel(self.models, own.using(provider, model))

    async def quit(self, seconds: float) -> None:
        """End everything: what is owed within `seconds` and until Ctrl-C, then the server and every task, whatever happened."""
        sessions = [session for session in self.sessions.values() if not session.runner.closed]
        self.presence.ending()
        try:
            with anyio.move_on_after(seconds) as wait, interruptible(wait.cancel):
                async with anyio.create_task_group() as beside:
                    beside.start_soon(self._tell_wait, sessions, seconds)
                    await self._drained(sessions, seconds)
                    beside.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                await self.owner.close()
                try:
                    for session in sessions:
                        self._tell_unsaved(session)
                    await self._let_go()
                finally:
                    self.presence.end()

    async def _let_go(self) -> None:
        """Close every journal; also where the loop ended and nobody quit, or this process would keep them locked."""
        still_open = [session.close for session in self.sessions.values() if not session.runner.closed]
        for close in (*still_open, self.adhoc.close):
            try:
                await close("quit")
            except Exception as error:  # noqa: BLE001 - becomes a notice: one that fails keeps no other locked
                self._failed("close", error)

    async def _drained(self, sessions: Sequence[Session], seconds: float) -> None:
        async with anyio.create_task_group() as group:
            for session in sessions:
                group.start_soon(session.ending, seconds)
        await self.owner.drain(seconds)
        for session in sessions:  # what a job kept meanwhile: a person's words, in print mode
            if session.desk.ledger is not None:
                await session.runner.drained(seconds, SAVING)

    async def _tell_wait(self, sessions: Sequence[Session], seconds: float) -> None:
        await anyio.sleep(WAIT_TOLD_SECONDS)
        if any(session.unsaved for session in sessions):
            self.presence.waits(seconds)

    def _tell_unsaved(self, session: Session) -> None:
        told = unsaved(session)
        if told is not None:
            self.presence.say(about_unsaved(session), told, "warning")

    def _failed(self, name: str, error: Exception) -> None:
        self.presence.say("failure", failure(name, error), "error")


_living: dict[asyncio.AbstractEventLoop, Resident] = {}


def resident() -> Resident:
    """Return this loop's resident; site packages are not imported anew on a reload, so it survives one."""
    loop = asyncio.get_running_loop()
    for other in [one for one in _living if one.is_closed()]:
        del _living[other]
    if loop not in _living or not _living[loop].owner.alive:
        _living[loop] = Resident()
    return _living[loop]
