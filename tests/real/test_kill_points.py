"""Wherever Tau is killed around a write, the next start knows what is owed, settles it by reading, and writes nothing twice."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Generator
from pathlib import Path
from typing import NamedTuple

import pytest

from continuity.evolve import fold
from continuity.state import Capture, State
from journal.events import CaptureBegun, CaptureProbed, WriteAnswered, WriteIntended
from journal.ids import CaptureId
from tests.fakes import sudden_death
from tests.fakes.scenario import HOLD, HOLD_REQUEST, Logged, Scenario
from tests.fakes.tau_process import TauProcess

pytestmark = pytest.mark.timeout(240)  # each test lives through two servers, which a busy machine starts slowly

SETTLED = ("present_same", "present_edited", "present_twin", "absent_final", "conflicted")


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scenario]:
    with Scenario(tmp_path_factory.mktemp("killed")) as made:
        sudden_death.install(made.home)
        yield made


class Killed(NamedTuple):
    """A session whose Tau is gone, and the capture that was under way."""

    session_id: str
    capture_id: CaptureId
    state: State
    """What replay of the journal gives at that moment."""
    log_lines: int
    """Lines the relay had written by then."""

    @property
    def capture(self) -> Capture:
        found = self.state.capture(self.capture_id)
        assert found is not None
        return found


def saved_once(scenario: Scenario, tau: TauProcess) -> str:
    """Begin a session and wait until its first checkpoint is confirmed; returns the session's id."""
    tau.prompt("Objective: keep the lamp lit")
    session_id = tau.session_id
    scenario.wait_event(session_id, WriteAnswered, lambda event: event.outcome == "accepted")
    return session_id


def buried(scenario: Scenario, session_id: str) -> Killed:
    captures = scenario.events(session_id, CaptureBegun)
    state = fold(scenario.rows(session_id))
    return Killed(session_id, captures[-1].capture_id, state, len(scenario.log()))


def killed_in_the_relay(scenario: Scenario, switch: str, what: str) -> Killed:
    """Kill Tau while the relay holds the second checkpoint's write at `switch`."""
    with scenario.tau() as tau:
        session_id = saved_once(scenario, tau)
        after = len(scenario.log())
        with scenario.holding(switch):
            tau.prompt("Unfinished: the foghorn")
            scenario.wait_log(what, after=after)
            tau.kill()
            return buried(scenario, session_id)


def killed_at(scenario: Scenario, tag: str) -> Killed:
    """Let Tau die in the second checkpoint when it is about to record the event `tag`."""
    with scenario.tau() as tau:
        session_id = saved_once(scenario, tau)
        sudden_death.die_at(scenario.home, tag)
        try:
            tau.prompt("Unfinished: the foghorn")
            assert tau.wait_ended() == -signal.SIGKILL
        finally:
            sudden_death.die_at(scenario.home, None)
    return buried(scenario, session_id)


def probed(scenario: Scenario, killed: Killed, *wanted: str) -> CaptureProbed:
    """Wait for a probe of the capture with one of the verdicts `wanted`, or with any; returns the newest."""

    def matches(event: CaptureProbed) -> bool:
        return event.capture_id == killed.capture_id and (not wanted or event.verdict in wanted)

    return scenario.wait_event(killed.session_id, CaptureProbed, matches)


def verdicts(scenario: Scenario, killed: Killed) -> list[str]:
    probes = scenario.events(killed.session_id, CaptureProbed)
    return [probe.verdict for probe in probes if probe.capture_id == killed.capture_id]


def goes_on(scenario: Scenario, tau: TauProcess, killed: Killed) -> None:
    """Fail unless the session's next turn is captured and confirmed like any other."""
    tau.prompt("Next: wire the foghorn")
    scenario.wait_event(
        killed.session_id,
        WriteAnswered,
        lambda event: event.outcome == "accepted" and event.capture_id not in known_captures(killed),
    )
    assert tau.quit() == 0
    state = fold(scenario.rows(killed.session_id))
    assert state.checkpoint is not None
    assert state.checkpoint.capture_id not in known_captures(killed)
    assert not state.pending


def known_captures(killed: Killed) -> set[str]:
    checkpoint = killed.state.checkpoint
    return {killed.capture_id, *([checkpoint.capture_id] if checkpoint else [])}


def written_once(scenario: Scenario, killed: Killed) -> None:
    """Fail unless one `write_note` of the capture was passed on, and its intent was on disk before."""
    (write,) = scenario.writes(killed.capture_id)
    (seen,) = looked_into(write, scenario.journal(killed.session_id))
    assert seen["newest_of_capture"] == WriteIntended.__struct_config__.tag
    assert seen["submitted"] is True


def looked_into(write: Logged, journal: Path) -> list[Logged]:
    journals = write["journals"]
    assert isinstance(journals, list)
    return [seen for seen in journals if isinstance(seen, dict) and seen["path"] == str(journal)]


def test_killed_before_the_intent_the_checkpoint_is_written_by_the_next_start(scenario: Scenario) -> None:
    killed = killed_at(scenario, "write-intended.v1")
    assert (killed.capture.status, killed.capture.intent) == ("ready", None)
    assert not scenario.writes(killed.capture_id)
    with scenario.tau(killed.session_id) as tau:
        scenario.wait_event(killed.session_id, WriteAnswered, lambda event: event.capture_id == killed.capture_id)
        assert verdicts(scenario, killed) == []
        written_once(scenario, killed)
        goes_on(scenario, tau, killed)


def test_killed_before_sending_the_absence_stays_open_until_the_old_server_is_gone(scenario: Scenario) -> None:
    with contextlib.ExitStack() as held:
        with scenario.tau() as tau:
            session_id = saved_once(scenario, tau)
            after = len(scenario.log())
            held.enter_context(scenario.holding(HOLD_REQUEST))
            tau.prompt("Unfinished: the foghorn")
            scenario.wait_log("request-held", after=after)
            wake = held.enter_context(stopped(last_relay(scenario)))
            tau.kill()
            killed = buried(scenario, session_id)
        assert killed.capture.status == "intended"
        with scenario.tau(killed.session_id) as tau:
            first = probed(scenario, killed)
            assert (first.verdict, first.writing_server, first.index_proven) == ("absent_open", "alive", True)
            wake()
            last = probed(scenario, killed, *SETTLED)
            assert (last.verdict, last.writing_server) == ("absent_final", "gone")
            assert set(verdicts(scenario, killed)[:-1]) == {"absent_open"}
            assert not scenario.writes(killed.capture_id)
            held.close()
            goes_on(scenario, tau, killed)


def last_relay(scenario: Scenario) -> int:
    """Return the pid of the relay started last; it leads the process group of its server."""
    pid = [line["relay"] for line in scenario.log() if line["what"] == "start"][-1]
    assert isinstance(pid, int)
    return pid


@contextlib.contextmanager
def stopped(relay: int) -> Generator[Callable[[], None]]:
    """Stop a relay, so that its server does not learn that the host is gone; yields what lets it go on."""

    def wake() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(relay, signal.SIGCONT)

    os.kill(relay, signal.SIGSTOP)
    try:
        yield wake
    finally:
        wake()


def test_killed_with_the_answer_held_the_note_is_found_by_the_first_read(scenario: Scenario) -> None:
    killed = killed_in_the_relay(scenario, HOLD, "answer-held")
    assert killed.capture.status == "intended"
    settled_by_reading(scenario, killed)


def test_killed_with_the_answer_in_hand_the_note_is_found_by_the_first_read(scenario: Scenario) -> None:
    killed = killed_at(scenario, "write-answered.v1")
    assert killed.capture.status == "intended"
    settled_by_reading(scenario, killed)


def settled_by_reading(scenario: Scenario, killed: Killed) -> None:
    with scenario.tau(killed.session_id) as tau:
        assert probed(scenario, killed).verdict == "present_same"
        reached = [verdict for verdict in verdicts(scenario, killed) if verdict != "unreachable"]
        assert reached[0] == "present_same"
        written_once(scenario, killed)
        settled = fold(scenario.rows(killed.session_id)).checkpoint
        assert settled is not None
        assert (settled.capture_id, settled.evidence) == (killed.capture_id, "read")
        goes_on(scenario, tau, killed)
    written_once(scenario, killed)
