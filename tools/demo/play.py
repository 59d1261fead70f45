"""The state of one play and the ways in which its steps act and prove. What the steps are is told elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NoReturn, Self, cast

from journal.events import WriteAnswered, WriteIntended
from tests.fakes import relay
from tests.fakes.scenario import Scenario, until
from tests.fakes.scripted_model import Json, Request
from tests.fakes.story import Story, Turn, briefs_in
from tests.fakes.tau_process import TauProcess
from tools.demo.narrator import Narrator, NotProven
from tools.demo.script import LOGS, TURNS, Planted, log_text

_PATIENT: Mapping[str, Json] = {"recall_wait_seconds": 15, "exit_timeout_seconds": 30}
"""A machine that is busy with something else makes the play slower, not another one."""


class Play:
    """One play in the folder `root`; use as a context manager, so that no Tau outlives it."""

    def __init__(self, root: Path, narrator: Narrator, **settings: Json) -> None:
        self.root = root
        self.narrator = narrator
        self.scenario = Scenario(root, Story(TURNS), shim=False, **_PATIENT, **settings)
        self.session_id = ""
        self.session_file = Path()
        self.doubted = ""
        """The capture id of the write that is interrupted."""
        self.brief = ""
        """The newest brief that a model got."""
        self._stack = ExitStack()
        self._tau: TauProcess | None = None
        for name in LOGS:
            (self.scenario.home.cwd / name).write_text(log_text(name), encoding="utf-8")

    def __enter__(self) -> Self:
        self._stack.enter_context(self.scenario)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def tau(self) -> TauProcess:
        """The Tau that runs now."""
        if self._tau is None:
            raise NotProven("no Tau was started", self.root)
        return self._tau

    @property
    def journal(self) -> Path:
        """The journal of the session that is killed and resumed."""
        return self.scenario.journal(self.session_id)

    @property
    def relay_log(self) -> Path:
        """What the relay saw."""
        return self.scenario.switches / relay.LOG

    def start(self, session_id: str | None = None) -> TauProcess:
        """Start the next Tau and wait until it answers."""
        self._tau = self._stack.enter_context(self.scenario.tau(session_id))
        self._tau.wait_until_ready()
        return self._tau

    def ask(self, turn: Turn) -> Request:
        """Play one turn and return its first model call; there must be one for each tool call, and one more."""
        before = len(self.scenario.model.requests)
        self.tau.prompt(turn.prompt)
        calls = [one for one in self.scenario.model.requests[before:] if one.purpose == "agent"]
        if len(calls) != len(turn.reads) + 1:
            self.fails(f"the prompt made {len(calls)} model calls, not {len(turn.reads) + 1}", self.journal)
        return calls[0]

    def saved(self, number: int) -> WriteIntended:
        """Wait until `number` checkpoints of the session were answered; return the intent of the newest."""

        def look() -> bool | None:
            answered = self.scenario.events(self.session_id, WriteAnswered)
            return True if sum(one.outcome == "accepted" for one in answered) >= number else None

        until(look, f"checkpoint {number}")
        return self.scenario.events(self.session_id, WriteIntended)[-1]

    def note(self, capture_id: str) -> tuple[Path, str]:
        """Return the file and the text of the note that carries `capture_id`."""

        def look() -> tuple[Path, str] | None:
            texts = ((path, path.read_text(encoding="utf-8")) for path in self.scenario.notes())
            return next(((path, text) for path, text in texts if f"capture_id: {capture_id}\n" in text), None)

        return until(look, f"the note of {capture_id[:12]} in {self.scenario.memory.notes}")

    def cli(self, *arguments: str) -> str:
        """Run the real `continuity` and return what it printed; anything but exit code 0 fails."""
        done = subprocess.run(
            [str(Path(sys.executable).parent / "continuity"), *arguments],
            cwd=self.scenario.home.cwd,
            env=self.scenario.home.environment(),
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=60,
            check=False,
        )
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            self.fails(f"continuity {arguments[0]} ended with {done.returncode}: {said}", self.journal)
        return done.stdout

    def cli_json(self, *arguments: str) -> Mapping[str, Json]:
        """Run it with `--json` and return the object it printed."""
        return cast("Mapping[str, Json]", json.loads(self.cli(*arguments, "--json")))

    # -- what is proven ------------------------------------------------------

    def proves(self, true: object, what: str, where: Path | None = None) -> None:
        """Tell `what`, or stop the play because it is not so."""
        if not true:
            self.fails(f"not so: {what}", where)
        self.narrator.proved(what)

    def fails(self, what: str, where: Path | None = None) -> NoReturn:
        """Stop the play."""
        raise NotProven(what, where or self.root)

    def proves_brief(self, request: Request, *facts: Iterable[Planted]) -> None:
        """Prove that the first model call of a prompt carries exactly one brief, and every fact in it."""
        briefs = briefs_in(request)
        self.proves(len(briefs) == 1, "the brief is in the prompt's first model call, and there was no other call")
        self.brief = briefs[0]
        for fact in (one for group in facts for one in group):
            if fact.text not in self.brief:
                self.narrator.shows("the brief", self.brief)
                self.fails(f"the brief lacks the {fact.what}: {fact.text!r}")
        told = ", ".join(fact.what for group in facts for fact in group)
        self.proves(facts, f"in its text: {told}")
