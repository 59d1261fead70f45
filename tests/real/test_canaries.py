"""What people, models, tools and servers say goes no further than it must: no event, notice or cache of ours repeats it."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import NamedTuple

import pytest

from journal.events import OperationFailed, RecallFailed, SynthesisFailed, ToolAnswered, ToolCalled, WriteAnswered
from journal.interchange import export_lines
from journal.reader import open_reader
from tests.fakes import relay
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scenario import until
from tests.fakes.scripted_model import KEY_ENV, Body, Json, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.story import Story
from tests.fakes.tau_process import TauProcess
from tests.shell.rig import recorded

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
WORDS = ("canary-user", "canary-answer", "canary-title")
"""May stand, masked, in bodies: they are what a handoff or a call's target is made of. In no event."""
NOWHERE = {
    "secret": SECRET,
    "reasoning": "canary-reasoning",
    "tool argument": "canary-argument",
    "tool result": "canary-result",
    "bridged content": "canary-content",
    "bridged answer": "canary-stored",
    "server error": "canary-refusal",
    "server stderr": "canary-stderr",
    "model key": "canary-model-key",
    "model error": "canary-overloaded",
    "server environment": "canary-environment",
}


class Leftovers(NamedTuple):
    """What one session left behind."""

    stderr: str
    stdout_notices: str
    rows: str
    """Every column of every table but the bodies', and the export without them, as text."""
    running: bytes
    """Every file of the state folder while Tau ran, write-ahead logs included."""
    files: bytes
    session: str
    journal: Path


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Generator[Leftovers]:
    root = tmp_path_factory.mktemp("canaries")
    with ScriptedModel(answer) as model:
        yield play(FakeScenario(root, model, exit_timeout_seconds=1, timeout_seconds=5), model)


def answer(body: Body) -> str | Reply:
    said = messages_of(body)
    newest = said[-1][1]
    match purpose_of(body):
        case "synthesis" if "fail the handoff" in newest:
            return Reply(NOWHERE["model error"], status=500)
        case "agent" if newest.startswith("read"):
            command: dict[str, Json] = {"command": "echo canary-result # canary-argument", "description": "looks"}
            return Reply("", tool=("bash", command), reasoning=NOWHERE["reasoning"])
        case "agent" if newest.startswith("write"):
            note: dict[str, Json] = {
                "project": "main",
                "directory": "d",
                "title": f"canary-title {SECRET}",
                "content": NOWHERE["bridged content"],
            }
            return Reply("", tool=("bm_write_note", note), reasoning=NOWHERE["reasoning"])
        case "agent":
            return Reply(f"Decision: canary-answer, and {SECRET}", reasoning=NOWHERE["reasoning"])
        case _:
            return Story()(body)


def play(scene: FakeScenario, model: ScriptedModel) -> Leftovers:
    command, args = scene.memory.command
    loud = f"echo {NOWHERE['server stderr']} >&2; exec {command} {' '.join(args)}"
    scene.set(
        args=[relay.__file__, str(scene.switches), "/bin/sh", "-c", loud],
        env={"SOME_SETTING": NOWHERE["server environment"]},
    )
    refused = {"error": f"{NOWHERE['server error']}: {SECRET}"}
    scene.memory.faults(recent_activity=[refused])
    with TauProcess(scene.home, environment={KEY_ENV: NOWHERE["model key"]}) as tau:
        tau.prompt(f"Objective: canary-user, with {SECRET}")
        until(lambda: "Checkpoint saved" in tau.stderr or None, "a checkpoint")
        journal = scene.home.journals()[0]
        tau.prompt("read the file")
        scene.memory.faults(write_note=["store", {"error": f"{NOWHERE['bridged answer']} {NOWHERE['server error']}"}])
        tau.prompt("write the note")
        until(lambda: ("unknown" in outcomes(journal)) or None, "an unknown outcome")
        scene.memory.faults(write_note=[{"code": NOWHERE["server error"]}], search_notes=["rpc-error"])
        tau.prompt("and once more, fail the handoff")
        until(lambda: recorded(journal, SynthesisFailed) or None, "a failed synthesis")
        running = everything(scene.home.state)
        session = tau.session_file.read_text()
        notices = json.dumps([event for event in tau.events if "extension" in str(event.get("type"))])
        tau.quit()
        stderr = tau.stderr
    return Leftovers(stderr, notices, rows_of(journal), running, everything(scene.home.state), session, journal)


def outcomes(journal: Path) -> list[str]:
    return [event.outcome for event in recorded(journal, WriteAnswered)]


def everything(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def rows_of(path: Path) -> str:
    with open_reader(path) as reader:
        raw = [repr(row) for row in reader.rows()]
        other = [repr(reader.header), repr(reader.branches), repr(list(reader.submissions()))]
        return "\n".join([*raw, *other, *(line.decode() for line in export_lines(reader))])


def test_the_canaries_were_really_planted(left: Leftovers) -> None:
    for where in ("reasoning", "tool argument", "tool result", "bridged content", "bridged answer"):
        assert NOWHERE[where] in left.session
    for kind in (ToolCalled, ToolAnswered, SynthesisFailed, RecallFailed):
        assert recorded(left.journal, kind)
    assert "unknown" in outcomes(left.journal)
    assert b"canary-user" in left.files


@pytest.mark.parametrize("what", sorted(NOWHERE))
def test_no_file_of_ours_holds(left: Leftovers, what: str) -> None:
    assert NOWHERE[what].encode() not in left.running
    assert NOWHERE[what].encode() not in left.files


@pytest.mark.parametrize("what", [*sorted(NOWHERE.values()), *WORDS])
def test_no_event_and_no_export_without_bodies_holds(left: Leftovers, what: str) -> None:
    assert what not in left.rows


@pytest.mark.parametrize("what", [*sorted(NOWHERE.values()), *WORDS])
def test_no_notice_and_no_line_on_stderr_holds(left: Leftovers, what: str) -> None:
    assert what not in left.stderr
    assert what not in left.stdout_notices


def test_an_unforeseen_failure_is_named_by_its_class_alone(left: Leftovers) -> None:
    assert all(" " not in event.error for event in recorded(left.journal, OperationFailed))
    assert "Traceback" not in left.stderr
