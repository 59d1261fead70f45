"""One Tau process with the real owner, link, sessions and runner in it, and its death at any moment.

Real: everything of ours from the boundaries down, `Owner`, `MemoryLink`,
`Session`, `Runner`, `Ledger`, the journal's store, lock and reader, SQLite.
Not real: the host that calls the boundaries, the server behind `connect`, the
model, the kernel's list of processes, threads, time and randomness; see `stage`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import anyio

from continuity.memory.inventory import Inventory
from continuity.memory.server import ServerSpec
from continuity.places import places
from continuity.shell.desk import Desk
from continuity.shell.link import MemoryLink
from continuity.shell.opening import Host
from continuity.shell.owner import Owner
from continuity.shell.session import Session
from continuity.shell.settings import Settings
from journal import disk
from journal.errors import JournalError
from journal.events.lifecycle import OpenReason
from journal.ids import EntryId, SessionId, WriterId
from journal.row import WriterRecord
from journal.store import Journal
from tests.simulation.host import Kind, Model, SessionFile, Source, Voice
from tests.simulation.machine import InLine, Kernel
from tests.simulation.server import Memory
from tests.simulation.world import ACTOR, World

LONGEST_PROMPT = 5.0
"""Seconds a prompt may be held, the disk's own apart: `recall_wait_seconds`, and some for everything else."""

_SPEC = ServerSpec(command="bm", args=(), env={}, cwd="state")


class TauProcess:
    """A process of the host's with the extension in it."""

    def __init__(self, world: World, kernel: Kernel, memory: Memory, settings: Settings, number: int) -> None:
        self.world = world
        self.kernel = kernel
        self.memory = memory
        self.settings = settings
        self.number = number
        self.alive = True
        self.disk_seconds = 0.0
        self.files: list[InLine] = []
        self.identity = kernel.spawn()
        self.writer = WriterRecord(writer=WriterId(world.token_hex(16)), process=self.identity)
        self.sessions: dict[SessionId, Session] = {}
        self.sources: dict[SessionId, Source] = {}
        self.current: SessionId | None = None
        self.spoke: set[SessionId] = set()
        self.wishes: dict[SessionId, bool] = {}
        """What the person asked for last, by session: to be off the record or on it."""
        self.gone = False
        ACTOR.set(self)
        self.voice = Voice(world, self)
        self.owner = Owner(self._failed)
        self.link = MemoryLink(_SPEC, settings.timeout_seconds, _keep)
        self.owner.spawn("memory", self.link.run, daemon=True)

    def _failed(self, name: str, error: Exception) -> None:
        if self.alive and not isinstance(error, JournalError):
            self.world.fail(f"{name} raised {error!r}")

    # -- what the host does --------------------------------------------------

    @property
    def session(self) -> Session | None:
        return self.sessions.get(self.current) if self.current is not None else None

    @property
    def source(self) -> Source:
        assert self.current is not None
        return self.sources[self.current]

    def open(self, file: SessionFile, reason: OpenReason) -> None:
        """The host begins or takes up a session."""
        ACTOR.set(self)
        self.current = file.id
        known = self.sessions.get(file.id)
        if known is None or known.runner.closed:
            known = self._new(file, known.gone if known is not None else None)
        known.returned()
        self.owner.spawn("start", partial(known.start, reason))

    def _new(self, file: SessionFile, after: anyio.Event | None) -> Session:
        self.sources[file.id] = Source(self.world, file, self)
        desk = Desk(
            session_id=file.id,
            profile=self.settings.profile(Path("/work"), Path("/home")),
            settings=self.settings,
            clock=self.world,
            writer=self.writer,
            link=self.link,
            source=self.sources[file.id],
            model=Model(self.world, self),
            voice=self.voice,
        )
        host = Host(name="tau", version="0.4.8", level="B", extension="0.1.0")
        session = Session(desk, places(self.world.folder), host, self.owner.spawn, after=after)
        self.sessions[file.id] = session
        self.owner.spawn(f"session {file.id}", session.runner.run, daemon=True)
        return session

    def append(self, kind: Kind, text: str = "", data: Mapping[str, object] | None = None) -> EntryId:
        """The host persists an entry at the end of this process's path; what is said off the record is marked."""
        source = self.source
        if kind in ("user", "assistant"):
            self.spoke.add(source.file.id)
            text = self.world.marked(text) if self._off_the_record else text
        source.tip = source.file.append(source.tip, kind, text, data)
        return source.tip

    @property
    def _off_the_record(self) -> bool:
        """The person was told that this session is, and has not asked for anything else since."""
        session = self.session
        ledger = session.desk.ledger if session is not None else None
        wished = self.wishes.get(self.source.file.id, True)
        return wished and ledger is not None and session is not None and session.pausing.paused and ledger.state.paused

    def switch(self, *, off: bool) -> None:
        """The person goes off the record or back on it."""
        ACTOR.set(self)
        session = self.session
        if session is not None:
            name = session.desk.session_id
            self.wishes[name] = off
            anchor = self.source.tip if name in self.spoke else None
            self.owner.spawn("switch", partial(self._switched, session, off, anchor))

    async def _switched(self, session: Session, off: bool, anchor: EntryId | None) -> None:
        await session.switch(off=off, anchor=anchor)

    async def prompt(self, text: str) -> None:
        """A prompt is persisted, and the boundary is waited for, as the host does."""
        ACTOR.set(self)
        session = self.session
        if session is None:
            return
        anchor = self.append("user", text)
        began = self.world.now - self.disk_seconds
        prompted = await self.owner.call("prompt", partial(session.prompted, anchor, characters=len(text), typed=True))
        held = self.world.now - self.disk_seconds - began
        if self.alive and held > LONGEST_PROMPT:
            self.world.fail(f"a prompt was held for {held:.1f} s")
        if prompted is None or not self.alive:
            return
        if prompted.receipt is not None:
            self.append("receipt", data=prompted.receipt)
        if prompted.brief is not None:
            self.append("brief", prompted.brief.brief.sha256)
            self.owner.spawn("delivered", partial(session.delivered, prompted.brief))

    def settled(self, *, interrupted: bool) -> None:
        ACTOR.set(self)
        session = self.session
        if session is not None:
            anchor = self.source.tip
            self.owner.spawn("settled", partial(session.settled, anchor, interrupted=interrupted))

    def leave(self) -> None:
        """The host goes to another session: this one finishes behind it."""
        ACTOR.set(self)
        session = self.session
        if session is None:
            return
        session.left()
        finish = partial(self.owner.spawn, "left", session.end_when_idle, daemon=True)
        self.owner.spawn("leave", partial(session.leave, finish))

    # -- its end -------------------------------------------------------------

    async def quit(self, seconds: float) -> None:
        """As the host's quit: what is owed within the bound, then everything ends."""
        ACTOR.set(self)
        open_ones = [one for one in self.sessions.values() if not one.runner.closed]
        with anyio.move_on_after(seconds):
            async with anyio.create_task_group() as group:
                for one in open_ones:
                    group.start_soon(one.ending, seconds)
            await self.owner.drain(seconds)
        await self.owner.close()
        for one in open_ones:
            await one.close("quit")
        self.alive = False
        self.kernel.end_one(self.identity.pid)

    def kill(self, why: str) -> None:
        """It is gone between two steps: the disk and the lock are let go, its server is left alone."""
        if not self.alive:
            return
        self.alive = False
        self.world.tell(f"{why}: {self.number}")
        self.world.counts["killed"] += 1
        for file in self.files:
            file.cut()
        self.kernel.end_one(self.identity.pid)
        self._orphan_servers()
        for session in self.sessions.values():
            ledger = session.desk.ledger
            if ledger is not None:
                ledger._lock.release()  # pyright: ignore[reportPrivateUsage] # as the kernel does
                _forget(ledger.journal)

    def _orphan_servers(self) -> None:
        """A server that loses its client ends by itself: soon, late, never, or when its work is done."""
        connection = self.link.connection
        for server in self.memory.servers:
            if connection is not None and server.process == connection.process:
                seconds = self.world.dice.choice((0.5, 3.0, 20.0, 90.0, 1e9, None, None))
                server.leaving = seconds is None
                if seconds is not None:
                    asyncio.get_running_loop().call_later(seconds, server.end)

    async def unwind(self) -> None:
        """Let a dead process's tasks end; none of them can reach anything any more."""
        if self.gone:
            return
        self.gone = True
        await self.owner.close()
        task = self.owner._task  # pyright: ignore[reportPrivateUsage] # how it ended is nobody's concern now
        if not task.cancelled():
            task.exception()


def _forget(journal: Journal) -> None:
    """What a process remembers of its open files dies with it."""
    inside = vars(journal)
    if not inside["_closed"]:
        inside["_closed"] = True
        disk.note_closed(inside["_identity"])


def _keep(inventory: Inventory) -> None:
    """Nothing is cached here."""
