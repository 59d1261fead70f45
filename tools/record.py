"""Records journals of real runs as the texts in `tests/journals`: `python -m tools.record [NAME...]`.

Every recording is a session of a real Tau with a real memory server, exported without bodies. Before 0.1.0 a changed
shape of an event is a reason to record all of them again; afterwards only new names are added.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from rich.console import Console

from journal.events import CaptureProbed, WriteAnswered
from journal.interchange import export_lines
from journal.reader import open_reader
from tests.fakes import sudden_death
from tests.fakes.scenario import HOLD, HOLD_REQUEST, Scenario
from tests.fakes.story import Story, Turn
from tests.fakes.tau_process import TauProcess
from tools.demo.__main__ import perform
from tools.demo.narrator import Narrator
from tools.demo.play import Play
from tools.demo.steps import STEPS

FOLDER = Path(__file__).parent.parent / "tests" / "journals"
SCOPE = "parcels"
"""Named, so that no journal holds the folder it was recorded in."""
PADDING = "x" * 60_000

FIRST = Turn("Objective: keep the lamp lit\nNext: order oil", "Verified: the lamp burns")
SECOND = Turn("Decision: buy rape oil, because it smokes least\nUnfinished: the foghorn", "Noted.")
THIRD = Turn("Done: the foghorn\nNext: paint the tower", "Noted.")


def demo() -> Path:
    """Play the demo; its first session is the recording."""
    root = _folder()
    with Play(root, Narrator(len(STEPS), Console(file=io.StringIO())), scope=SCOPE) as play:
        perform(play)
        return play.journal


def clean(scenario: Scenario) -> str:
    """Two turns, each saved, and an ordinary end."""
    with scenario.tau() as tau:
        scenario.wait_recalled()
        session_id = _saved(scenario, tau, FIRST, 1)
        _saved(scenario, tau, SECOND, 2)
        tau.quit()
    return session_id


def compaction(scenario: Scenario) -> str:
    """The conversation outgrows the context and is compacted; the next prompt notices."""
    with scenario.tau() as tau:
        session_id = _saved(scenario, tau, FIRST, 1)
        for number in (2, 3):
            _saved(scenario, tau, Turn(PADDING, ""), number)
        tau.compact()
        _saved(scenario, tau, SECOND, 4)
        tau.quit()
    return session_id


def branched(scenario: Scenario) -> str:
    """The user goes back in the tree and takes another way."""
    with scenario.tau() as tau:
        session_id = _saved(scenario, tau, FIRST, 1)
        _saved(scenario, tau, SECOND, 2)
        entry_id, _ = tau.fork_messages()[-1]
        tau.fork(entry_id)
        tau.prompt(THIRD.prompt)
        tau.quit()
    return session_id


def before_the_intent(scenario: Scenario) -> str:
    """Tau dies when it is about to record the intent."""
    return _resumed(scenario, _dies_at(scenario, "write-intended.v1"))


def before_sending(scenario: Scenario) -> str:
    """Tau dies with its intent on disk and the request still in the relay: it is never sent."""
    return _resumed(scenario, _killed(scenario, HOLD_REQUEST, "request-held", "request-dropped"), "absent_final")


def answer_held(scenario: Scenario) -> str:
    """Tau dies while the relay holds the answer of a server that has accepted the note."""
    return _resumed(scenario, _killed(scenario, HOLD, "answer-held", "answer-dropped"), "present_same")


def before_the_answers_row(scenario: Scenario) -> str:
    """Tau dies with the answer in hand, when it is about to record it."""
    return _resumed(scenario, _dies_at(scenario, "write-answered.v1"), "present_same")


PLAYS: Mapping[str, Callable[[Scenario], str]] = {
    "clean-session": clean,
    "compaction": compaction,
    "branched": branched,
    "killed-before-the-intent": before_the_intent,
    "killed-before-sending": before_sending,
    "killed-with-the-answer-held": answer_held,
    "killed-before-the-answers-row": before_the_answers_row,
}
DEMO = "demo"


def _saved(scenario: Scenario, tau: TauProcess, turn: Turn, number: int) -> str:
    """Play a turn and wait until `number` checkpoints were answered; returns the session's id."""
    tau.prompt(turn.prompt)
    session_id = tau.session_id

    def enough(_: WriteAnswered) -> bool:
        return len(scenario.events(session_id, WriteAnswered)) >= number

    scenario.wait_event(session_id, WriteAnswered, enough)
    return session_id


def _killed(scenario: Scenario, switch: str, reached: str, lost: str) -> str:
    """Kill Tau at the second checkpoint, when the relay has `reached` its switch; what it held is `lost`."""
    with scenario.tau() as tau:
        session_id = _saved(scenario, tau, FIRST, 1)
        with scenario.holding(switch):
            tau.prompt(SECOND.prompt)
            scenario.wait_log(reached)
            tau.kill()
            scenario.wait_log(lost)
    return session_id


def _dies_at(scenario: Scenario, tag: str) -> str:
    """Let Tau die in the second checkpoint, when it is about to record the event `tag`."""
    sudden_death.install(scenario.home)
    with scenario.tau() as tau:
        session_id = _saved(scenario, tau, FIRST, 1)
        sudden_death.die_at(scenario.home, tag)
        tau.prompt(SECOND.prompt)
        tau.wait_ended()
    sudden_death.die_at(scenario.home, None)
    return session_id


def _resumed(scenario: Scenario, session_id: str, verdict: str | None = None) -> str:
    """Resume, wait for the verdict, go on, and leave."""
    before = len(scenario.log())
    with scenario.tau(session_id) as tau:
        tau.wait_until_ready()
        if verdict is not None:
            scenario.wait_event(session_id, CaptureProbed, lambda probe: probe.verdict == verdict)
        scenario.wait_recalled(after=before)
        tau.prompt(THIRD.prompt)
        tau.quit()
    return session_id


def record(name: str) -> Path:
    """Play `name` and write its text; returns where it is."""
    if name == DEMO:
        journal = demo()
    else:
        with Scenario(_folder(), Story((FIRST, SECOND, THIRD)), scope=SCOPE, exit_timeout_seconds=30) as scenario:
            journal = scenario.journal(PLAYS[name](scenario))
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.jsonl"
    with open_reader(journal) as reader:
        path.write_bytes(b"".join(export_lines(reader)))
    return path


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="continuity-recording-")).resolve()


def main() -> int:
    parser = argparse.ArgumentParser(prog="record", description="Record journals of real runs; all, or those named.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join((DEMO, *PLAYS))}")
    names: list[str] = parser.parse_args().names or [DEMO, *PLAYS]
    unknown = [name for name in names if name != DEMO and name not in PLAYS]
    if unknown:
        parser.error(f"no such recording: {', '.join(unknown)}")
    for name in names:
        path = record(name)
        print(f"{path.relative_to(FOLDER.parent.parent)}  {path.read_bytes().count(b'"record":"event"')} events")
    return 0


if __name__ == "__main__":
    sys.exit(main())
