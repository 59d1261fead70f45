"""Wherever Tau is killed around a call of the agent's, the next start calls it unknown, repeats nothing, and lists it.

One session is killed at four points, one after the other; what each left is judged at the end.
"""

from __future__ import annotations

import hashlib
import json
import signal
from collections.abc import Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from continuity.evolve import fold
from continuity.state import OpenCall
from journal.events import ToolAnswered, ToolCalled
from journal.reader import open_reader
from tests.fakes import sudden_death
from tests.fakes.scenario import HOLD, Logged, Scenario, until
from tests.fakes.scripted_model import Body, Json, Reply, default_answer, messages_of, purpose_of
from tests.replay.kit import run

pytestmark = pytest.mark.timeout(300)  # five Tau processes are played before the first test

POINTS = ("before it was on disk", "before it was sent", "before its answer", "before its answer was on disk")
SENT = POINTS[2:]


def mark(point: str) -> str:
    """What the note written at `point` holds; the relay logs it."""
    return hashlib.sha256(point.encode()).hexdigest()


def agent(body: Body) -> str | Reply:
    said = messages_of(body)
    if purpose_of(body) == "agent" and said[-1][0] == "user" and said[-1][1] in POINTS:
        point = said[-1][1]
        note: dict[str, Json] = {"project": "main", "directory": "d", "title": point, "content": mark(point)}
        return Reply("", tool=("bm_write_note", note))
    return default_answer(body)


class Played(NamedTuple):
    """What was left by a session that was killed at every point and then went on."""

    called: dict[str, ToolCalled]
    """The call of each point, as far as it is on disk."""
    open_after: dict[str, tuple[OpenCall, ...]]
    """The calls that replay called open when the Tau of each point was dead."""
    at_last: tuple[OpenCall, ...]
    answered: tuple[ToolAnswered, ...]
    writes: dict[str, tuple[Logged, ...]]
    notes: dict[str, list[Path]]
    listed: list[dict[str, Any]]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Generator[Played]:
    root = tmp_path_factory.mktemp("bridged")
    with Scenario(root, agent, capture_knowledge=False, auto_recall=False, discovery_seconds=60) as scenario:
        sudden_death.install(scenario.home)
        yield play(scenario)


def play(scenario: Scenario) -> Played:
    session_id: str | None = None
    after: dict[str, tuple[OpenCall, ...]] = {}
    for point in POINTS:
        session_id = killed(scenario, session_id, point)
        after[point] = fold(scenario.rows(session_id)).calls
    assert session_id is not None
    with scenario.tau(session_id) as tau:
        tau.prompt("Go on.")
        tau.prompt("And on.")
        assert tau.quit() == 0
    until(lambda: all(found(scenario, point) for point in SENT) or None, "the notes' files")
    return Played(
        calls(scenario, session_id),
        after,
        fold(scenario.rows(session_id)).calls,
        scenario.events(session_id, ToolAnswered),
        {point: scenario.writes(mark(point)) for point in POINTS},
        {point: found(scenario, point) for point in POINTS},
        run("unproven", scenario.journal(session_id), "--json").json,
    )


def killed(scenario: Scenario, session_id: str | None, point: str) -> str:
    """Let Tau die at `point` of a call that the agent makes; returns the session's id."""
    with scenario.tau(session_id) as tau:
        if session_id is None:
            tau.prompt("Hello.")
        named = tau.session_id
        match POINTS.index(point):
            case 0:
                sudden_death.die_at(scenario.home, "tool-called.v1")
            case 1:
                sudden_death.die_at(scenario.home, "tool-called.v1", recorded=True)
            case 2:
                scenario.hold(HOLD)
            case _:
                sudden_death.die_at(scenario.home, "tool-answered.v1")
        lines = len(scenario.log())
        tau.begin(point)
        if point == POINTS[2]:
            scenario.wait_log("answer-held", after=lines)
            tau.kill()
        else:
            assert tau.wait_ended(timeout=90) == -signal.SIGKILL
        scenario.release(HOLD)
        sudden_death.die_at(scenario.home, None)
    return named


def calls(scenario: Scenario, session_id: str) -> dict[str, ToolCalled]:
    """Return the calls on disk by the title of the note they were aimed at."""
    with open_reader(scenario.journal(session_id)) as reader:
        made = [row.event for row in reader.verified(1) if isinstance(row.event, ToolCalled)]
        return {json.loads(reader.body(call.target_sha256) or "{}")["title"]: call for call in made}


def found(scenario: Scenario, point: str) -> list[Path]:
    return [path for path in scenario.notes() if mark(point) in path.read_text(encoding="utf-8")]


def test_a_call_that_was_not_on_disk_was_not_sent(played: Played) -> None:
    assert POINTS[0] not in played.called
    assert played.writes[POINTS[0]] == ()
    assert played.notes[POINTS[0]] == []
    assert played.open_after[POINTS[0]] == ()


def test_a_call_on_disk_that_never_left_is_open_and_stored_nothing(played: Played) -> None:
    assert played.called[POINTS[1]].name == "write_note"
    assert played.writes[POINTS[1]] == ()
    assert played.notes[POINTS[1]] == []


@pytest.mark.parametrize("point", SENT)
def test_a_call_that_left_was_on_disk_before_and_left_once(played: Played, point: str) -> None:
    (write,) = played.writes[point]
    journals = write["journals"]
    assert isinstance(journals, list)
    assert [seen["newest"] for seen in journals if isinstance(seen, dict)] == [ToolCalled.__struct_config__.tag]
    assert len(played.notes[point]) == 1


@pytest.mark.parametrize("point", POINTS[1:])
def test_a_call_without_an_answer_is_unknown_to_the_next_start_and_not_before(played: Played, point: str) -> None:
    call_id = played.called[point].call_id
    assert [call.unknown for call in played.open_after[point] if call.call_id == call_id] == [False]
    assert [call.unknown for call in played.at_last if call.call_id == call_id] == [True]


def test_no_call_got_an_answer_nobody_saw(played: Played) -> None:
    assert played.answered == ()


def test_every_unknown_call_is_listed_as_unproven_the_oldest_first(played: Played) -> None:
    wanted = [(played.called[point].call_id, "write_note", "in_doubt") for point in POINTS[1:]]
    assert [(each["reference"], each["tool"], each["status"]) for each in played.listed] == wanted
