"""One memory server for the length of a setup, asked from the terminal's thread. What is written is on disk first.

The server runs in an empty folder, so nothing where we are can steer it, and it
is gone when the block ends, whatever ends it.
"""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import click
from anyio.from_thread import BlockingPortal, start_blocking_portal
from msgspec.structs import replace

from continuity.cli.doctor.answers import TROUBLES
from continuity.cli.doctor.asking import schemas_in
from continuity.cli.doctor.checks import of_command
from continuity.cli.doctor.facts import Command
from continuity.cli.setup.facts import Here, Served
from continuity.cli.setup.plan import SCHEMA_FOLDER
from continuity.commands import CommandRejected
from continuity.console import say
from continuity.memory import notes
from continuity.memory.connection import MemoryConnection
from continuity.memory.errors import CommandRefused
from continuity.memory.inventory import Inventory, InventoryCache, inventory_key
from continuity.memory.server import ServerSpec
from continuity.notes import ENTITIES, Entity, schema_note
from continuity.shell import noting
from continuity.shell.adhoc import AdHoc
from continuity.shell.config import Loaded
from continuity.shell.desk import Desk
from continuity.shell.link import MemoryLink
from continuity.shell.online import visitor
from continuity.shell.serving import server_spec, serving
from continuity.shell.settings import Settings
from continuity.state import Capture
from journal.errors import JournalError
from journal.events.writes import Verdict

START_SECONDS = 40.0
"""Most that a server may take to start."""
ANSWER_SECONDS = 10.0
"""Most that one question may take."""


class Unreached(NamedTuple):
    """Why no server can be asked, and what helps."""

    what: str
    remedy: str


class Wish(NamedTuple):
    """A note to be written, and the project it belongs in."""

    project: str
    note: noting.Note


class Fate(NamedTuple):
    """What is known of one note that was wished for."""

    capture: Capture | None = None
    """As the journal has it; null where it has none, and then this note was not sent."""
    read: Verdict | None = None
    """What the newest read of it proved."""
    known: noting.Known | None = None
    """What became of the same words before, which are not sent again."""
    trouble: CommandRejected | JournalError | None = None
    """Why nothing more was done for it."""

    @property
    def sent(self) -> bool:
        """Whether it may have reached the server."""
        return self.capture is not None and self.capture.status not in ("begun", "ready")


class Written(NamedTuple):
    """What was written to which journal: the fates of the notes wished for, as far as it got."""

    journal: Path | None
    fates: tuple[Fate, ...]


type Tell = Callable[[Wish, Fate], None]


class Memory:
    """The server that was reached, and the journal of what is written through it."""

    def __init__(
        self, portal: BlockingPortal, link: MemoryLink, connection: MemoryConnection, spec: ServerSpec
    ) -> None:
        self._portal = portal
        self._link = link
        self._connection = connection
        self._spec = spec

    @property
    def served(self) -> Served:
        """What it says of itself."""
        projects = self._link.projects
        return Served(
            server=self._connection.server,
            tools=len(self._link.inventory.tools) if self._link.inventory is not None else 0,
            projects=projects.projects if projects.code is None else None,
        )

    def missing(self, project: str) -> tuple[Entity, ...] | None:
        """Return the types of which the project has no schema note; None if it could not be asked."""
        return _waited(self._portal, lambda: self._missing(project))

    async def _missing(self, project: str) -> tuple[Entity, ...] | None:
        """A search that finds none is no proof, so each note's own address is read too."""
        found = await schemas_in(self._connection, project, ANSWER_SECONDS)
        if found is None:
            return None
        missing: list[Entity] = []
        for entity in ENTITIES:
            if entity in found:
                continue
            path = f"{SCHEMA_FOLDER}/{schema_note(entity).title}.md"
            there = await notes.read_note(self._connection, project, path, ANSWER_SECONDS)
            if there.outcome == "unreachable":
                return None
            if there.outcome == "missing":
                missing.append(entity)
        return tuple(missing)

    def keep_tools(self, here: Here) -> bool | None:
        """Keep the list of tools for the next start; tell whether it is another than was kept, None if there is none.

        Raises:
            OSError: What was kept before is still there.
        """
        live = self._link.inventory
        if live is None or not live.complete:
            return None
        cache, key = InventoryCache(here.places.state), inventory_key(self._spec)
        kept: Inventory | None = cache.load(key).inventory
        if kept is not None and kept.digest == live.digest:
            return False
        return cache.save(key, live)

    def write(self, here: Here, settings: Settings, wishes: Sequence[Wish], tell: Tell) -> Written:
        """Write each note once, its intent on disk first, and read it back; `tell` of each as soon as that is known.

        What cannot be recorded, or is refused, ends it: the notes after that one are not sent.
        """
        return _waited(self._portal, lambda: self._write(here, settings, wishes, tell))

    async def _write(self, here: Here, settings: Settings, wishes: Sequence[Wish], tell: Tell) -> Written:
        comes = visitor()
        adhoc = AdHoc(comes.writer, comes.clock, _Nobody(), host=comes.host, version=comes.version)
        profile = settings.profile(here.cwd, here.home)
        fates: list[Fate] = []
        try:
            for wish in wishes:
                try:
                    desk = await adhoc.desk(self._link, here.places, replace(profile, project=wish.project), settings)
                    fate = await self._written(desk, wish.note)
                except (CommandRejected, JournalError) as error:
                    fate = Fate(trouble=error)
                fates.append(fate)
                tell(wish, fate)
                if fate.trouble is not None:
                    break
            return Written(adhoc.path, tuple(fates))
        finally:
            with anyio.CancelScope(shield=True), suppress(JournalError):  # what was recorded is on disk all the same
                await adhoc.close("setup")

    async def _written(self, desk: Desk, note: noting.Note) -> Fate:
        """Keep, send and read one note.

        Raises:
            CommandRejected, JournalError: It was not kept, so it was not sent.
        """
        if await self._link.up(START_SECONDS) is None:
            return Fate()
        kept = await noting.keep(desk, note, reason="setup")
        if not isinstance(kept, noting.Kept):
            return Fate(known=kept)
        identity = kept.identity
        try:
            capture, read = await noting.settle_now(desk, identity, seconds=desk.settings.timeout_seconds)
        except (CommandRejected, JournalError) as error:
            return Fate(desk.ledger.state.capture(identity) if desk.ledger is not None else None, trouble=error)
        return Fate(capture, read)


class _Nobody:
    """Setup itself says what became of each note."""

    def say(self, topic: str, text: str, level: str = "info") -> None:
        del topic, text, level

    def at_once(self, topic: str, text: str, level: str = "info") -> None:
        del topic, text, level

    def answer(self, text: str, level: str = "info") -> None:
        del text, level


@contextmanager
def reached(here: Here, settings: Settings) -> Generator[Memory | Unreached]:
    """Have the server that the settings name, or the reason why it is not there."""
    spec = server_spec(Loaded(settings, None, ()), here.places, here.environ, home=here.home, cwd=here.cwd)
    if isinstance(spec, CommandRefused):
        found = of_command(Command(settings.command, None, refused=spec.reason))
        yield Unreached(found.found, found.remedy or "")
        return
    with tempfile.TemporaryDirectory(prefix="continuity-setup-") as nowhere, start_blocking_portal() as portal:
        elsewhere = replace(spec, cwd=nowhere)
        with _ended(portal.wrap_async_context_manager(serving(elsewhere, START_SECONDS))) as link:
            connection = _waited(portal, lambda: link.up(START_SECONDS))
            yield Memory(portal, link, connection, elsewhere) if connection is not None else _unreached(link)


@contextmanager
def _ended(server: AbstractContextManager[MemoryLink]) -> Generator[MemoryLink]:
    """Have the server for the block. Its end is bounded, and Ctrl-C does not break that off: it would leave it behind.

    Once somebody pressed it there is nothing left that it could end.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        with server as link:
            try:
                yield link
            except (click.Abort, KeyboardInterrupt):
                before = signal.SIG_IGN
                say("", "Ending the memory server ...")
                raise
            finally:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
    finally:
        signal.signal(signal.SIGINT, before)


def _waited[T](portal: BlockingPortal, job: Callable[[], Awaitable[T]]) -> T:
    """Wait for `job` in the loop's thread. At Ctrl-C it is cancelled, and records what is known before it ends.

    Raises:
        click.Abort: At Ctrl-C. A KeyboardInterrupt that went on into the loop would end it before that.
    """
    future = portal.start_task_soon(job)
    try:
        return future.result()
    except KeyboardInterrupt:
        future.cancel()
        raise click.Abort from None


def _unreached(link: MemoryLink) -> Unreached:
    what, remedy = TROUBLES.get(
        link.error or "timeout", ("cannot be asked", "`continuity doctor --online` looks closer")
    )
    return Unreached(f"the memory server {what}", remedy)
