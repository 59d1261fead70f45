"""Keeps one memory server reachable: starts it when wanted, says truly whether it is up, ends it. It calls no tool twice."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.to_thread

from continuity.memory.errors import CallFailed, CommandRefused, ConnectFailed
from continuity.memory.inventory import Inventory
from continuity.memory.notes import Projects, list_memory_projects
from continuity.memory.server import ServerSpec
from journal.events import MemoryConnected
from journal.ids import ProjectName

if TYPE_CHECKING:
    from continuity.memory.connection import MemoryConnection

type LinkStatus = Literal["idle", "connecting", "up", "down"]

_BRINGS_SDK = "continuity.memory.connection"

REST_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0)
"""How long a server that would not start, or did not live, is left alone, by how often that happened in a row."""

LIVED_SECONDS = 60.0
"""A server that was up this long is not blamed for its end: another one is started as soon as it is wanted."""

LISTING_SECONDS = 10.0
"""How long the listing of a server's tools may keep a connection from counting as up."""

RELIST_SECONDS = 5.0
"""How often a server can have its tools listed again by saying that they changed."""

HEADLESS_SECONDS = 1.0
"""How soon a server answers of which what we started has ended; else it is no server any more."""

LISTED_SECONDS = 60.0
"""For so long a list of projects is believed by whoever is about to write to one of them."""


class MemoryLink:
    """The process's one memory connection, whatever session uses it.

    `run` is a job of the owner's; everything else may be called from any task
    on the same loop.
    """

    def __init__(
        self,
        spec: ServerSpec | CommandRefused,
        timeout_seconds: float,
        keep: Callable[[Inventory], None],
        at_rest: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Serve from `spec`; `keep` is called in a thread for each inventory that is another than the one before.

        `at_rest` returns once a host that has just been started has drawn its screen.
        """
        self.spec = spec
        self.timeout_seconds = timeout_seconds
        """The bound of each of its own calls; it follows the settings."""
        self._keep = keep
        self._at_rest = at_rest
        self._needed = anyio.Event()
        self._wanted = anyio.Event()
        self._changed = anyio.Event()
        self._at_once = False
        self._resting: anyio.CancelScope | None = None
        self._in_vain = 0
        self._retired = anyio.CancelScope()
        self._listeners: list[Callable[[], None]] = []
        self._status: LinkStatus = "idle"
        self._error: str | None = None
        """Why it is down, in one of our own words."""
        self._connection: MemoryConnection | None = None
        self.inventory: Inventory | None = None
        self._kept: Inventory | None = None
        self.projects = Projects()
        self._listed = 0.0

    def want(self, *, at_once: bool = False) -> None:
        """Ask for a connection; returns at once, and does nothing while one is up or coming.

        A server that failed is left alone for a while, unless a person or an
        agent needs it `at_once`.
        """
        if self.connection is not None or self.status == "connecting":
            return
        self._wanted.set()
        self._at_once = self._at_once or at_once
        if at_once and self._resting is not None:
            self._resting.cancel()
            self._resting = None

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every change of status."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Stop calling `listener`."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    async def up(self, seconds: float) -> MemoryConnection | None:
        """Return the connection, starting a server if there is none and waiting for it at most `seconds`; None if none came."""
        self.want(at_once=True)
        self._needed.set()
        with anyio.move_on_after(seconds):
            while self.coming:
                await self._changed.wait()
        return self.connection

    async def first_up(self) -> None:
        """Return once a server is up; none is started for it."""
        while self.connection is None:
            await self._changed.wait()

    @property
    def connection(self) -> MemoryConnection | None:
        """The connection, as long as a call could reach the server through it."""
        return None if self._connection is None or self._connection.lost else self._connection

    @property
    def status(self) -> LinkStatus:
        """What is true now; a server that stopped listening is not up, though its end may not be seen yet."""
        return "idle" if self._status == "up" and self.connection is None else self._status

    @property
    def error(self) -> str | None:
        """Why there is no server, as a code; None while one is up, is being started, or was never wanted."""
        return "lost" if self.status == "idle" and self._status == "up" else self._error

    @property
    def coming(self) -> bool:
        """Whether a server is being started, or is about to be."""
        asked = self._wanted.is_set() and self._resting is None
        return self.connection is None and (asked or self.status == "connecting")

    @property
    def expected(self) -> bool:
        """Whether a server can be counted on to come: it is coming, or the one that lived is replaced after a rest.

        One that would not start is tried again too, but nobody can say that it will come.
        """
        return self.coming or (self.connection is None and self._wanted.is_set() and self.status != "down")

    async def lacks(self, project: str) -> bool:
        """Whether the server says that `project` is none of its projects, or several.

        Asked again first if it does, for that may be mended, and now and then
        if it does not: a project may be renamed at any time.
        """
        stale = anyio.current_time() - self._listed >= LISTED_SECONDS
        if self.connection is not None and (stale or self.projects.lack(project)):
            await self._list_projects(self.connection)
        return self.projects.lack(project)

    async def unclear(self, names: Collection[str]) -> frozenset[str]:
        """Return those of `names` that name several projects; asked again first if one does, for that may be mended."""
        if self.connection is not None and any(map(self.projects.several, names)):
            await self._list_projects(self.connection)
        return frozenset(filter(self.projects.several, names))

    def described(self, project: ProjectName | None) -> MemoryConnected | None:
        """Return what is recorded of the connection that is up, for a session that writes to `project`."""
        connection = self.connection
        if connection is None:
            return None
        return MemoryConnected(
            connection=connection.id,
            server=connection.server,
            server_version=connection.version,
            inventory_sha256=self.inventory.digest if self.inventory else None,
            project_source=self.projects.source(project) if project else "unknown",
            project_sha256=self.projects.sha256(project) if project else None,
            process=connection.process,
        )

    def retire(self) -> None:
        """End `run` and the server with it: the settings name another."""
        self._retired.cancel()

    async def run(self) -> None:
        """Serve until cancelled or retired; the child is gone when this returns."""
        with self._retired:
            await self._serve()

    async def _serve(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted, self._at_once = anyio.Event(), False
            began = anyio.current_time()
            await self._serve_once()
            lived = self.status != "down" and anyio.current_time() - began >= LIVED_SECONDS
            self._in_vain = 0 if lived else self._in_vain + 1
            if not lived:
                await self._rest(REST_SECONDS[min(self._in_vain, len(REST_SECONDS)) - 1])

    async def _rest(self, seconds: float) -> None:
        if self._at_once:
            return
        with anyio.CancelScope() as self._resting:
            await anyio.sleep(seconds)
        self._resting = None

    async def _serve_once(self) -> None:
        if isinstance(self.spec, CommandRefused):
            self._become("down", self.spec.reason)
            return
        self._become("connecting", None)
        await self._host_rests()
        await anyio.to_thread.run_sync(importlib.import_module, _BRINGS_SDK)
        from continuity.memory.connection import connect

        try:
            async with connect(self.spec, seconds=self.timeout_seconds) as connection:
                await self._greeted(connection)
                await self._attend(connection)
            self._become("idle", "lost")
        except ConnectFailed as error:
            self._become("down", error.reason)
        except CallFailed as error:
            self._become("down", error.code)
        except Exception as error:  # noqa: BLE001 - said and recorded by whoever listens; the next attempt may do better
            self._become("down", f"unforeseen {type(error).__name__}"[:80])
        finally:
            self._connection = None

    async def _host_rests(self) -> None:
        """Let a host that draws its first screen come first, unless somebody waits for memory.

        Importing the SDK keeps the interpreter busy for half a second, also off the loop.
        """
        if self._at_rest is not None and _BRINGS_SDK not in sys.modules:
            async with anyio.create_task_group() as group:
                group.start_soon(self._until_needed, group.cancel_scope)
                await self._at_rest()
                group.cancel_scope.cancel()

    async def _until_needed(self, patience: anyio.CancelScope) -> None:
        await self._needed.wait()
        patience.cancel()

    async def _greeted(self, connection: MemoryConnection) -> None:
        """Learn what the server offers and where its projects live, then count as up.

        Raises:
            ConnectFailed: It did not live that long.
        """
        self.inventory = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._list_projects, connection)
            group.start_soon(self._list_tools, connection)
        if connection.lost:
            raise ConnectFailed("timeout" if connection.stalled else "exited")
        self._connection = connection
        self._become("up", None)

    async def _attend(self, connection: MemoryConnection) -> None:
        """Return when the server can be talked to no more; until then learn of new tools, and of what holds it in name alone."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._follow_tools, connection)
            group.start_soon(connection.give_up_headless, HEADLESS_SECONDS)
            await connection.wait_lost()
            group.cancel_scope.cancel()

    async def _follow_tools(self, connection: MemoryConnection) -> None:
        """List anew what the server says has changed; one that says so all the time is heard now and then."""
        while True:
            await connection.wait_tools_changed()
            await self._list_tools(connection)
            await anyio.sleep(RELIST_SECONDS)

    async def _list_projects(self, connection: MemoryConnection) -> None:
        self.projects = await list_memory_projects(connection, self.timeout_seconds)
        self._listed = anyio.current_time()

    async def _list_tools(self, connection: MemoryConnection) -> None:
        """A server that cannot list its tools can still be written to; and a listing without end keeps nobody waiting.

        What was listed before is known until it is listed again.
        """
        with suppress(CallFailed):
            self.inventory = await connection.list_tools(min(self.timeout_seconds, LISTING_SECONDS))
            await self._keep_new(self.inventory)

    async def _keep_new(self, inventory: Inventory) -> None:
        if inventory == self._kept:
            return
        with suppress(OSError):
            await anyio.to_thread.run_sync(self._keep, inventory)
            self._kept = inventory

    def _become(self, status: LinkStatus, error: str | None) -> None:
        self._status, self._error = status, error
        if status != "up":
            self._connection = None
        self._changed.set()
        self._changed = anyio.Event()
        for listener in tuple(self._listeners):
            listener()
