"""One made-up person's home at a place that may be shown, and a session in it of which one save was cut off. It draws nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from continuity.places import places
from journal.events import WriteAnswered, WriteIntended
from journal.ids import SessionId
from journal.reader import open_reader
from tests.fakes.basic_memory import ARGS, COMMAND, BasicMemoryHome
from tests.fakes.relay import HOLD_REQUEST
from tests.fakes.scenario import until
from tests.fakes.scripted_model import ScriptedModel, provider_files
from tests.fakes.story import Story
from tests.fakes.tau_home import SHIM, TauHome, relayed
from tests.fakes.tau_process import TauProcess
from tools.demo.script import FIRST, FOURTH, TURNS

SECONDS = 60
"""How long anything of it may take on a busy machine."""


class AdasHome(TauHome):
    """Everything of hers is where it is on any machine: what lies beside her home is not shown."""

    @property
    def home(self) -> Path:
        return self.root / ".tau"

    @property
    def cwd(self) -> Path:
        return self.root / "parcels"

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        return super().environment() | {"HOME": str(self.root), **(extra or {})}


class Stage(NamedTuple):
    """What a picture is taken of."""

    home: AdasHome
    model: ScriptedModel
    session_id: str


@contextmanager
def stage(root: Path) -> Generator[Stage]:
    """Make the home, work there, and lose the process that was saving; all of it is removed at the end."""
    root.mkdir(parents=True)
    try:
        with ScriptedModel(Story(TURNS)) as model:
            home = AdasHome(root)
            home.cwd.mkdir()
            provider_files(model.url, home.home)
            beside = root / ".beside"
            memory = BasicMemoryHome(root / ".memory").environment({})
            relay = relayed(beside, COMMAND, *ARGS)
            home.write_settings(**relay, env={**memory}, project="main", cadence="every", recall_wait_seconds=30)
            home.write_extension("continuity", SHIM)
            yield Stage(home, model, _cut_off(home, beside))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _cut_off(home: AdasHome, beside: Path) -> str:
    """One turn that is saved, and one whose save never reaches the server; returns the session."""
    with TauProcess(home) as tau:
        tau.prompt(FIRST.prompt)
        session_id = tau.session_id
        until(lambda: _has(home, session_id, WriteAnswered) == 1 or None, "the first save", seconds=SECONDS)
        (beside / HOLD_REQUEST).touch()
        tau.prompt(FOURTH.prompt)
        until(lambda: _has(home, session_id, WriteIntended) == 2 or None, "the second intent", seconds=SECONDS)
        tau.kill()
    (beside / HOLD_REQUEST).unlink()
    return session_id


def _has(home: TauHome, session_id: str, kind: type[object]) -> int:
    path = places(home.home).journal(SessionId(session_id))
    if not path.exists():
        return 0
    with open_reader(path) as reader:
        return sum(isinstance(row.event, kind) for row in reader.verified(1))


def entered(home: TauHome) -> None:
    """Let this process be one of hers."""
    os.environ.clear()
    os.environ.update(home.environment())
    os.chdir(home.cwd)
