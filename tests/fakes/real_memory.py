"""The real Basic Memory behind the shell of one or several processes: one server, and projects as they are needed."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio

from continuity.memory.calls import Json
from continuity.memory.inventory import Inventory
from continuity.memory.server import ServerSpec, child_environment
from continuity.shell.link import MemoryLink
from continuity.shell.owner import Owner
from tests.fakes.basic_memory import ARGS, COMMAND, START_SECONDS, BasicMemoryHome

SECONDS = 30.0


class RealMemory:
    """One running server. A project of it is a folder of this name beside the others."""

    def __init__(self, home: BasicMemoryHome, link: MemoryLink) -> None:
        self.home = home
        self.link = link
        self._count = itertools.count(1)

    async def project(self) -> str:
        """Make a project nobody has written to yet; returns its name."""
        name = f"project-{next(self._count)}"
        folder = self.home.root / name
        folder.mkdir()
        await self.call("create_memory_project", project_name=name, project_path=str(folder))
        return name

    async def call(self, tool: str, **arguments: Json) -> Any:
        """Call a tool as somebody else would; fails on a tool error."""
        connection = self.link.connection
        assert connection is not None
        answer = await connection.call_tool(tool, arguments, SECONDS)
        assert not answer.is_error, answer.texts
        return answer

    def files(self, project: str) -> dict[str, str]:
        """The Markdown files of a project that are there by now, by their path in it."""
        folder = self.home.root / project
        return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in folder.rglob("*.md")}

    async def until_files(self, project: str, count: int) -> dict[str, str]:
        """Wait until as many files are there: they follow the answer."""
        with anyio.fail_after(SECONDS):
            while len(self.files(project)) < count:  # noqa: ASYNC110 - nothing tells when a server has caught up
                await anyio.sleep(0.05)
        return self.files(project)


@asynccontextmanager
async def real_memory(root: Path, **settings: str) -> AsyncGenerator[RealMemory]:
    """Run the server for the length of the block; `settings` are variables of its environment."""
    home = BasicMemoryHome(root)
    failures: list[tuple[str, Exception]] = []
    owner = Owner(lambda name, error: failures.append((name, error)))
    env = child_environment(home.environment() | settings, {})
    link = MemoryLink(ServerSpec(command=COMMAND, args=ARGS, env=env, cwd=str(root)), SECONDS * 2, _keep_nothing)
    owner.spawn("memory", link.run, daemon=True)
    try:
        assert await link.up(START_SECONDS) is not None, link.error
        yield RealMemory(home, link)
    finally:
        await owner.close()
    assert failures == []


def _keep_nothing(inventory: Inventory) -> None:
    """Keep no inventory."""
