"""One made-up person with a real Tau, a real memory server behind the relay and a scripted model, in one folder.

It moves the pieces and reads what they left: switches and log of the relay, rows of the journals, requests of the
model. It judges nothing; that is for whoever plays a scenario.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self, cast

import msgspec

from continuity.places import places
from journal.events import Event
from journal.ids import SessionId
from journal.reader import open_reader
from journal.row import Row
from tests.fakes import relay
from tests.fakes.basic_memory import ARGS, COMMAND, BasicMemoryHome
from tests.fakes.relay import HOLD, HOLD_INITIALIZE, HOLD_REQUEST
from tests.fakes.scripted_model import Answer, Json, ScriptedModel
from tests.fakes.story import Story
from tests.fakes.tau_home import make_tau_home, relayed
from tests.fakes.tau_process import TauProcess

__all__ = ["HOLD", "HOLD_INITIALIZE", "HOLD_REQUEST", "Logged", "Scenario", "until"]

PROJECT = "main"
_WITHIN = 60.0

type Logged = Mapping[str, Json]
"""One line of the relay's log."""


def until[T](look: Callable[[], T | None], what: str, *, seconds: float = _WITHIN) -> T:
    """Return what `look` finds, looking again until it finds something; `what` names it when it never comes."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(0.02)
    raise TimeoutError(f"{what} did not come within {seconds:.0f} s")


class Scenario:
    """Everything of one person, under `root`; use as a context manager. Tau processes are started with `tau`."""

    def __init__(self, root: Path, answer: Answer | None = None, *, shim: bool = True, **settings: Json) -> None:
        self.root = root
        self.memory = BasicMemoryHome(root / "memory")
        self.switches = root / "relay"
        self.model = ScriptedModel(answer or Story())
        state = places(root / "tau").state
        env = self.memory.environment({}) | {relay.JOURNALS_ENV: str(state / "**" / "*.journal")}
        self._settings: dict[str, Json] = {
            **relayed(self.switches, COMMAND, *ARGS),
            "env": cast("Json", env),
            "project": PROJECT,
            "cadence": "every",
            **settings,
        }
        self.home = make_tau_home(root, self.model.url, settings=self._settings, shim=shim)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.model.close()

    def set(self, **settings: Json) -> None:
        """Change the person's settings for every Tau started from now on."""
        self._settings |= settings
        self.home.write_settings(**self._settings)

    def tau(self, session_id: str | None = None) -> TauProcess:
        """Start a Tau in the person's folder, for a new session or an old one."""
        return TauProcess(self.home, session_id=session_id)

    def journal(self, session_id: str) -> Path:
        """Return where the journal of a session is."""
        return places(self.home.home).journal(SessionId(session_id))

    def rows(self, session_id: str, branch: int = 1) -> tuple[Row, ...]:
        """Return the verified history of one branch as it is on disk now; nothing before the journal is made."""
        path = self.journal(session_id)
        if not path.exists():
            return ()
        with open_reader(path) as reader:
            return tuple(reader.verified(branch))

    def events[E: Event](self, session_id: str, kind: type[E], branch: int = 1) -> tuple[E, ...]:
        """Return the events of one type in a branch's history, oldest first."""
        return tuple(row.event for row in self.rows(session_id, branch) if isinstance(row.event, kind))

    def wait_event[E: Event](
        self,
        session_id: str,
        kind: type[E],
        matches: Callable[[E], bool] = lambda _: True,
        *,
        seconds: float = _WITHIN,
    ) -> E:
        """Wait until an event of `kind` that `matches` is on disk; returns the newest."""

        def look() -> E | None:
            found = [event for event in self.events(session_id, kind) if matches(event)]
            return found[-1] if found else None

        return until(look, f"{kind.__name__} in the journal", seconds=seconds)

    # -- the relay -----------------------------------------------------------

    def hold(self, switch: str = HOLD) -> None:
        """Let the relay stop at `switch` from the next line on."""
        (self.switches / switch).touch()

    def release(self, switch: str = HOLD) -> None:
        """Let it go on."""
        (self.switches / switch).unlink(missing_ok=True)

    @contextmanager
    def holding(self, switch: str = HOLD) -> Generator[None]:
        """Hold `switch` for the length of the block."""
        self.hold(switch)
        try:
            yield
        finally:
            self.release(switch)

    def log(self) -> tuple[Logged, ...]:
        """Return the relay's log so far, of every server there was."""
        path = self.switches / relay.LOG
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        return tuple(cast("Logged", msgspec.json.decode(line)) for line in lines)

    def wait_log(self, what: str, *, after: int = 0, seconds: float = _WITHIN, **facts: Json) -> Logged:
        """Wait for a line of the relay's log, past the first `after` lines, that says `what` with these facts."""

        def look() -> Logged | None:
            wanted = {"what": what, **facts}
            return next((line for line in self.log()[after:] if wanted.items() <= line.items()), None)

        return until(look, f"{what} {facts} in the relay's log", seconds=seconds)

    def writes(self, capture_id: str) -> tuple[Logged, ...]:
        """Return the `write_note` requests for one capture that were passed on to a server."""
        wanted = {"what": "passed", "direction": "request", "tool": "write_note", "capture": capture_id}
        return tuple(line for line in self.log() if wanted.items() <= line.items())

    def wait_recalled(self, *, after: int = 0, seconds: float = _WITHIN) -> None:
        """Wait until the server started last, past line `after` of the log, was asked by the recall and owes no answer."""

        def look() -> bool | None:
            log = self.log()[after:]
            started = max((n for n, line in enumerate(log) if line["what"] == "start"), default=len(log))
            passed = [line for line in log[started:] if line["what"] == "passed" and line["id"] is not None]
            asked = sum(line["direction"] == "request" for line in passed)
            recalled = any(line["tool"] == "search_notes" for line in passed)
            return True if recalled and 2 * asked == len(passed) else None

        until(look, "the recall's answers in the relay's log", seconds=seconds)

    # -- the journal's own lock ----------------------------------------------

    @contextmanager
    def nothing_recorded(self, session_id: str) -> Generator[None]:
        """Keep the journal from being appended to for the length of the block, as a slow disk would."""
        database = sqlite3.connect(self.journal(session_id), isolation_level=None)
        with contextlib.closing(database):
            database.execute("BEGIN IMMEDIATE")
            try:
                yield
            finally:
                database.execute("ROLLBACK")

    # -- the notes -----------------------------------------------------------

    def notes(self) -> Sequence[Path]:
        """Return the Markdown files of the project, oldest path first."""
        return sorted(self.memory.notes.rglob("*.md"))
