"""One process's memory without a host: a real owner, a real link to a fake server, real journals, and the actors between.

Nothing here waits by the clock: `settle` returns when a session owes nothing that can be done now.
"""

from __future__ import annotations

import os
import secrets
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from continuity.evolve import fold
from continuity.memory.inventory import Inventory
from continuity.memory.server import ServerSpec
from continuity.places import Places
from continuity.shell.desk import Desk
from continuity.shell.link import MemoryLink
from continuity.shell.opening import Host
from continuity.shell.owner import Owner
from continuity.shell.session import Prompted, Session
from continuity.shell.settings import Settings
from continuity.state import State
from continuity.tau.status_command import status
from journal.codec import TAGS
from journal.events import Event
from journal.ids import EntryId, SessionId, WriterId
from journal.reader import open_reader
from journal.row import WriterRecord
from journal.store import Journal
from tests.facts import PROCESS
from tests.fakes.clock import FakeClock
from tests.fakes.host import Conversation, Listener, ScriptedMind
from tests.fakes.memory_server import FakeMemory

BOUND = 20.0
"""Seconds after which whatever a test waits for has not come."""

HOST = Host(name="host", version="1", level="B", extension="0.1.0")


class Talk:
    """One session and the conversation it is about."""

    def __init__(self, session: Session, conversation: Conversation) -> None:
        self.session = session
        self.conversation = conversation

    @property
    def state(self) -> State:
        state = self.session.state
        assert state is not None, "no journal yet"
        return state

    @property
    def page(self) -> str:
        """The status page as it is now."""
        desk = self.session.desk
        return status(self.session, desk.link, None, desk.clock.now_ms())

    async def prompt(self, text: str) -> Prompted:
        entry = self.conversation.user(text)
        return await self.session.prompted(entry, characters=len(text), typed=True)

    async def turn(self, text: str, answer: str = "Done.") -> Prompted:
        """One prompt, its answer, and the rest after it."""
        prompted = await self.prompt(text)
        await self.session.settled(self.conversation.assistant(answer), interrupted=False)
        return prompted

    async def settle(self) -> None:
        """Wait until nothing is owed that can be done now."""
        assert await self.session.runner.drained(BOUND), "something is still owed"

    async def saved(self, text: str) -> EntryId:
        """One turn, captured and confirmed; returns its tip."""
        await self.turn(text)
        await self.settle()
        assert self.state.checkpoint is not None
        return self.state.checkpoint.source_tip

    @property
    def path(self) -> Path:
        ledger = self.session.desk.ledger
        assert ledger is not None
        return ledger.path

    def events[E: Event](self, kind: type[E], branch: int = 1) -> list[E]:
        return recorded(self.path, kind, branch)


def recorded[E: Event](path: Path, kind: type[E], branch: int = 1) -> list[E]:
    """Return the events of one type in a branch's history on disk, oldest first."""
    with open_reader(path) as reader:
        return [row.event for row in reader.verified(branch) if isinstance(row.event, kind)]


def names(path: Path, branch: int = 1) -> list[str]:
    """Return the tags of a branch's history on disk, without their versions."""
    with open_reader(path) as reader:
        return [TAGS[type(row.event)].partition(".")[0] for row in reader.verified(branch)]


def replayed(path: Path, branch: int = 1) -> State:
    """Return the state that replay gives."""
    with open_reader(path) as reader:
        return fold(reader.verified(branch))


class Rig:
    """One process. `open` is a session's start; leaving the rig is the process's end.

    Its fake server keeps its notes in `server`; with a `link` it goes to whatever server that leads to. It runs in `cwd`,
    and whoever runs it has `root` as home folder.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        *,
        writer: str,
        server: Path | None = None,
        link: MemoryLink | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.memory = FakeMemory(server or root / "server")
        self.places = Places(root / "tau", root / "state")
        self.settings = settings
        self.clock = FakeClock()
        self.voice = Listener()
        self.mind = ScriptedMind()
        self.failures: list[tuple[str, Exception]] = []
        self.inventories: list[Inventory] = []
        self.writer = WriterRecord(writer=WriterId(writer), process=PROCESS)
        self.owner = Owner(lambda name, error: self.failures.append((name, error)))
        self.link = link or self._linked(root)
        self._home = root
        self._cwd = cwd or root / "work"
        self._talks: list[Talk] = []

    def _linked(self, root: Path) -> MemoryLink:
        command, args = self.memory.command
        spec = ServerSpec(command=command, args=tuple(args), env={"PATH": "/usr/bin:/bin"}, cwd=str(root))
        link = MemoryLink(spec, self.settings.timeout_seconds, self.inventories.append)
        self.owner.spawn("memory", link.run, daemon=True)
        return link

    def session(
        self,
        conversation: Conversation,
        name: str = "session",
        *,
        after: Talk | anyio.Event | None = None,
        kind: type[Session] = Session,
    ) -> Talk:
        """Make a session's actor, in the place of the one `after` or once that is set; it has not started."""
        desk = Desk(
            session_id=SessionId(name),
            profile=self.settings.profile(self._cwd, self._home),
            settings=self.settings,
            clock=self.clock,
            writer=self.writer,
            link=self.link,
            source=conversation,
            model=self.mind,
            voice=self.voice,
        )
        gone = after.session.gone if isinstance(after, Talk) else after
        session = kind(desk, self.places, HOST, self.owner.spawn, after=gone)
        self.owner.spawn("actor", session.runner.run, daemon=True)
        talk = Talk(session, conversation)
        self._talks.append(talk)
        return talk

    async def open(self, conversation: Conversation | None = None, name: str = "session") -> Talk:
        """Start a session and wait until the server, if one is wanted, is up and answered what could be asked."""
        talk = self.session(conversation or Conversation(), name)
        await talk.session.start("startup")
        if talk.session.desk.profile.project is not None:
            await self.link.up(BOUND)
            await talk.settle()
        return talk

    async def kill(self) -> None:
        """End as a killed process does: nothing more is recorded, and the locks are free."""
        for talk in self._talks:
            ledger = talk.session.desk.ledger
            talk.session.desk.ledger = None
            if ledger is not None:
                await ledger.close()
        await self.owner.close()

    async def end(self) -> None:
        with anyio.CancelScope(shield=True):
            await self.owner.close()
            for talk in self._talks:
                await talk.session.runner.close("quit")

    async def told(self, command: Callable[[], str | None]) -> str:
        """Type a command, and return its answer: at once, or what follows."""
        before = len(self.voice.answers)
        text = command()
        if text is not None:
            return text
        await until(lambda: len(self.voice.answers) > before, "an answer")
        return self.voice.answers[-1]


@asynccontextmanager
async def rig(
    root: Path, *, server: Path | None = None, link: MemoryLink | None = None, cwd: Path | None = None, **settings: Any
) -> AsyncGenerator[Rig]:
    """Run one process whose every wait is bounded; its settings capture each turn unless told otherwise."""
    chosen = {"project": "main", "cadence": "every", "timeout_seconds": 10.0, "recall_wait_seconds": 5.0, **settings}
    made = Rig(root, Settings.model_validate(chosen), writer=secrets.token_hex(8), server=server, link=link, cwd=cwd)
    with anyio.fail_after(60):
        try:
            yield made
        finally:
            await made.end()
    assert made.failures == []


@asynccontextmanager
async def unwritable(journal: Journal) -> AsyncGenerator[None]:
    """Make every append fail for the length of the block, as a file system does that turned read-only."""
    await journal._query("PRAGMA query_only = 1")  # pyright: ignore[reportPrivateUsage] # there is no failing disk here
    try:
        yield
    finally:
        await journal._query("PRAGMA query_only = 0")  # pyright: ignore[reportPrivateUsage] # see above


async def crash(process: Rig) -> None:
    """Kill the server and return when its end was seen."""
    connection = process.link.connection
    assert connection is not None
    os.killpg(connection.process.process_group, signal.SIGKILL)
    with anyio.fail_after(BOUND):
        await connection.wait_lost()


async def until(true: Callable[[], object], what: str = "it") -> None:
    """Wait until `true` is; for what no event tells of."""
    with anyio.move_on_after(BOUND):
        while not true():  # noqa: ASYNC110 - see above
            await anyio.sleep(0.005)
        return
    raise AssertionError(f"{what} did not come within {BOUND} s")
