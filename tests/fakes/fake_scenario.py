"""One made-up person with a real Tau and, behind the relay, the fake memory server: for what the real one will not do."""

from __future__ import annotations

import json
import os
from pathlib import Path

import psutil

from continuity.memory.inventory import Inventory, InventoryCache, ListedTool, inventory_key
from continuity.memory.server import ServerSpec
from continuity.places import places
from continuity.shell.config import load_settings
from continuity.shell.serving import server_spec
from journal.ids import SessionId
from tests.fakes import relay
from tests.fakes.memory_server import TOOLS, FakeMemory
from tests.fakes.scripted_model import Json, ScriptedModel
from tests.fakes.tau_home import TauHome, make_tau_home, relayed
from tests.fakes.tau_process import TauProcess


class FakeScenario:
    """A Tau home whose memory is `memory`, with each turn captured unless told otherwise.

    Unless `watched` there is no relay: one process less to start, and no log of what passed.
    """

    def __init__(
        self, root: Path, model: ScriptedModel, *, watched: bool = True, context_window: int = 128_000, **settings: Json
    ) -> None:
        self.memory = FakeMemory(root / "server")
        self.switches = root / "relay"
        command, args = self.memory.command
        straight: dict[str, Json] = {"command": command, "args": [*args]}
        self._settings: dict[str, Json] = {
            **(relayed(self.switches, command, *args) if watched else straight),
            "project": "main",
            "cadence": "every",
            **settings,
        }
        self.home: TauHome = make_tau_home(root, model.url, settings=self._settings, context_window=context_window)

    def set(self, **settings: Json) -> None:
        """Change settings; a Tau that runs takes them over at its next reload."""
        self._settings |= settings
        self.home.write_settings(**self._settings)

    def journal(self, session_id: str) -> Path:
        return places(self.home.home).journal(SessionId(session_id))

    def tau(self, session_id: str | None = None) -> TauProcess:
        return TauProcess(self.home, session_id=session_id)

    def warm(self) -> None:
        """Run once, so that the tools are known without asking."""
        with self.tau() as tau:
            tau.wait_until_ready()
            tau.quit()

    def lists_its_tools(self) -> None:
        """Let the tools be known without asking, as after an earlier start; call it in this home's own environment."""
        found = places(self.home.home)
        spec = server_spec(load_settings(os.environ, Path.home()), found, os.environ, home=Path.home(), cwd=Path.cwd())
        assert isinstance(spec, ServerSpec)
        listed = tuple(
            ListedTool(
                name=tool["name"],
                schema=tool["inputSchema"],
                output_schema=tool.get("outputSchema"),
                read_only=tool["annotations"]["readOnlyHint"],
            )
            for tool in TOOLS
        )
        kept = Inventory(server="Fake Memory", version="1", tools=listed)
        assert InventoryCache(found.state).save(inventory_key(spec), kept)

    def log(self, what: str) -> list[dict[str, Json]]:
        """Return the relay's lines that say `what`."""
        path = self.switches / relay.LOG
        lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [line for line in lines if line["what"] == what]

    def processes(self) -> list[psutil.Process]:
        """Return the relays and servers that still live."""
        pids = [line[name] for line in self.log("start") for name in ("relay", "server")]
        return [psutil.Process(pid) for pid in pids if isinstance(pid, int) and _lives(pid)]


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
