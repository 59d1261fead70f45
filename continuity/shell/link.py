"""Keeps one memory server reachable: starts it when wanted, says truly whether it is up, ends it. It calls no tool twice."""

from __future__ import annotations

import importlib
from collections.abc import Callable
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

PAUSE_SECONDS = 5.0
"""The least time between two attempts to start a server that would not start."""


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
    ) -> None:
        self.spec = spec
        self._timeout = timeout_seconds
        self._keep = keep
        self._wanted = anyio.Event()
        self._changed = anyio.Event()
        self._retired = anyio.CancelScope()
        self._listeners: list[Callable[[], None]] = []
        self.status: LinkStatus = "idle"
        self.error: str | None = None
        """Why it is down, in one of our own words."""
        self.connection: MemoryConnection | None = None
        self.inventory: Inventory | None = None
        self.projects = Projects()

    def want(self) -> None:
        """Ask for a connection; returns at once, and does nothing while one is up or coming."""
        if self.connection is None:
            self._wanted.set()

    def listen(self, listener: Callable[[], None]) -> None:
        """Call `listener` after every change of status."""
        self._listeners.append(listener)

    def unlisten(self, listener: Callable[[], None]) -> None:
        """Stop calling `listener`."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    async def up(self, seconds: float) -> MemoryConnection | None:
        """Return the connection, waiting at most `seconds` for one that is coming; None when there is none."""
        self.want()
        with anyio.move_on_after(seconds):
            while self.connection is None and self.status != "down":
                await self._changed.wait()
        return self.connection

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
            await self._serve_once()
            if self.status == "down":
                await anyio.sleep(PAUSE_SECONDS)
            self._wanted = anyio.Event()

    async def _serve_once(self) -> None:
        if isinstance(self.spec, CommandRefused):
            self._become("down", self.spec.reason)
            return
        self._become("connecting", None)
        await anyio.to_thread.run_sync(importlib.import_module, "continuity.memory.connection")
        from continuity.memory.connection import connect  # it brings mcp: imported off the loop, and only when wanted

        try:
            async with connect(self.spec, seconds=self._timeout) as connection:
                await self._greeted(connection)
                await connection.wait_lost()
            self._become("idle", "lost")
        except ConnectFailed as error:
            self._become("down", error.reason)
        except CallFailed as error:
            self._become("down", error.code)
        finally:
            self.connection = None

    async def _greeted(self, connection: MemoryConnection) -> None:
        """Learn what the server offers and where its projects live, then count as up."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._list_projects, connection)
            group.start_soon(self._list_tools, connection)
        self.connection = connection
        self._become("up", None)

    async def _list_projects(self, connection: MemoryConnection) -> None:
        self.projects = await list_memory_projects(connection, self._timeout)

    async def _list_tools(self, connection: MemoryConnection) -> None:
        """A server that cannot list its tools can still be written to."""
        try:
            self.inventory = await connection.list_tools(self._timeout)
            self._keep(self.inventory)
        except (CallFailed, OSError):
            self.inventory = None

    def _become(self, status: LinkStatus, error: str | None) -> None:
        self.status, self.error = status, error
        if status != "up":
            self.connection = None
        self._changed.set()
        self._changed = anyio.Event()
        for listener in tuple(self._listeners):
            listener()
