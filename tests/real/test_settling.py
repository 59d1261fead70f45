"""What killed sessions left open is settled with the real server: by the next session, by `probe`, and by a person's word."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from typing import Any

import pytest

from continuity.evolve import fold
from continuity.memory.liveness import group_state
from continuity.state import Capture
from journal.events import CaptureProbed, CaptureResolved, SessionOpened, WriteAnswered, WriteIntended
from tests.fakes import sudden_death
from tests.fakes.scenario import HOLD_REQUEST, Scenario, until

pytestmark = pytest.mark.timeout(240)  # four servers, which a busy machine starts slowly


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scenario]:
    # The bound is for a busy machine, where a server takes longer to start than a person would wait.
    with Scenario(tmp_path_factory.mktemp("settled"), timeout_seconds=120) as made:
        sudden_death.install(made.home)
        yield made


def open_one(scenario: Scenario, session_id: str) -> Capture:
    (capture,) = fold(scenario.rows(session_id)).pending
    return capture


def killed_after_storing(scenario: Scenario) -> str:
    """Let a Tau die with the server's answer in hand; returns the session."""
    with scenario.tau() as tau:
        tau.prompt("Objective: keep the lamp lit")
        scenario.wait_event(tau.session_id, WriteAnswered, lambda event: event.outcome == "accepted")
        session_id = tau.session_id
        sudden_death.die_at(scenario.home, "write-answered.v1")
        try:
            tau.prompt("Unfinished: the foghorn")
            assert tau.wait_ended() == -signal.SIGKILL
        finally:
            sudden_death.die_at(scenario.home, None)
    return session_id


def settling_session(scenario: Scenario, earlier: str) -> str:
    """Let another session begin and settle the earlier one; it is killed before its own write leaves. Returns its id."""
    with scenario.tau() as tau:
        tau.prompt("Objective: mend the pier")
        session_id = tau.session_id
        scenario.wait_event(session_id, WriteAnswered, lambda event: event.outcome == "accepted")
        scenario.wait_event(earlier, CaptureProbed)
        after = len(scenario.log())
        with scenario.holding(HOLD_REQUEST):
            tau.prompt("Unfinished: the planks")
            scenario.wait_log("request-held", after=after)
            tau.kill()
            server = open_one(scenario, session_id).intent
            assert server is not None
            assert server.server is not None
            process = server.server.process
            until(lambda: True if group_state(process) == "gone" else None, "the end of its server")
    return session_id


def continuity(scenario: Scenario, *words: str) -> tuple[int, Any]:
    done = subprocess.run(
        [sys.executable, "-c", "from continuity.cli import main; main()", *words, "--json"],
        cwd=scenario.home.cwd,
        env=scenario.home.environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def notes_of(scenario: Scenario, capture: Capture) -> list[str]:
    return [path.name for path in scenario.notes() if capture.capture_id in path.read_text(encoding="utf-8")]


def test_what_was_left_open_is_settled_by_whoever_comes_by_and_written_once(scenario: Scenario) -> None:
    first = killed_after_storing(scenario)
    stored = open_one(scenario, first)

    second = settling_session(scenario, first)
    assert [probe.verdict for probe in scenario.events(first, CaptureProbed)] == ["present_same"]
    assert [event.reason for event in scenario.events(first, SessionOpened)] == ["startup", "sweep"]
    assert len(scenario.writes(stored.capture_id)) == 1

    lost = open_one(scenario, second)
    code, probed = continuity(scenario, "probe", lost.capture_id[:10])
    assert (code, probed["verdict"], probed["settled"]) == (0, "absent_final", True)
    assert notes_of(scenario, lost) == []

    code, resolved = continuity(
        scenario, "resolve", lost.capture_id[:10], "--rewrite", "--reason", "it never left", "--yes"
    )
    assert (code, resolved["outcome"], resolved["attempt"], resolved["evidence"]) == (0, "accepted", 2, "answered")
    assert len(notes_of(scenario, lost)) == 1
    assert len(scenario.writes(lost.capture_id)) == 1
    assert [event.decision for event in scenario.events(second, CaptureResolved)] == ["rewrite"]
    assert [event.attempt for event in scenario.events(second, WriteIntended)][-2:] == [1, 2]
    assert fold(scenario.rows(second)).pending == ()
