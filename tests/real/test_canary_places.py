"""A credential left in any of thirty places of a whole session with the real server is in nothing that we leave behind."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from continuity.capture import RECEIPT_NAMESPACE
from continuity.evolve import fold
from continuity.tau.entries import BRIEF_TYPE
from journal.events import BriefDelivered, SynthesisFinished, ToolAnswered
from journal.reader import open_reader
from tests.fakes.basic_memory import ARGS, COMMAND
from tests.fakes.canaries import SECRETS
from tests.fakes.other_agent import OtherAgent
from tests.fakes.scenario import HOLD, Scenario, until
from tests.fakes.scripted_model import KEY_ENV, Body, Json, Reply, messages_of, purpose_of
from tests.fakes.story import Story, is_brief
from tests.fakes.tau_home import TauHome, relayed
from tests.fakes.tau_process import TauProcess, tau_print
from tests.replay.kit import run

pytestmark = pytest.mark.timeout(400)

PAGES = "Read this: " + "log of the keeper, page by page. " * 1600


class Elsewhere(TauHome):
    """The person works in a folder whose name should not be seen."""

    @property
    def cwd(self) -> Path:
        return self.root / f"work-{SECRETS['folder worked in']}"


@dataclass
class Left:
    """What one whole life left behind, by what it is."""

    ours: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Everything that we wrote, said, sent to the model for a handoff, or put into context."""
    places: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Where the canaries were planted, to prove that they were."""
    outcomes: list[str] = field(default_factory=list[str])
    edited: str = ""
    """The note of ours that somebody wrote their own secret into: no note of ours any more."""


# -- the model ---------------------------------------------------------------------


def answer(body: Body) -> str | Reply:
    said = messages_of(body)
    newest = [text for role, text in said if role == "user" and not is_brief(text)][-1]
    match purpose_of(body):
        case "synthesis":
            found = Story()(body)
            assert isinstance(found, str)
            return found.replace(
                "## Decisions\n", f"## Decisions\n\n- Log in with {SECRETS['handoff the model wrote']}.", 1
            )
        case "name":
            return f"Lamp {SECRETS['session title']}"
        case "agent":
            return agent(newest, answered=said[-1][0] == "tool")
        case _:
            return Story()(body)


def agent(prompt: str, *, answered: bool) -> str | Reply:
    thought = f"I know {SECRETS['reasoning']}."
    if answered:
        return Reply(f"Decision: oil, with {SECRETS['assistant answer']}", reasoning=thought)
    if prompt.startswith("look"):
        command: dict[str, Json] = {
            "command": f"echo {SECRETS['tool output']} # {SECRETS['tool command']}",
            "description": "looks",
        }
        return Reply("", tool=("bash", command), reasoning=thought)
    if prompt.startswith("write"):
        note: dict[str, Json] = {
            "project": "main",
            "directory": "agents",
            "title": f"Log {SECRETS['target of a bridged call']}",
            "content": f"Use {SECRETS['argument of a bridged call']}.",
        }
        return Reply("", tool=("bm_write_note", note))
    if prompt.startswith("fail"):
        project: dict[str, Json] = {"project": SECRETS["server error"], "identifier": "x", "content": "y"}
        return Reply("", tool=("bm_edit_note", {**project, "operation": "append"}))
    if prompt.startswith("cut"):
        return Reply(f"It is half done, {SECRETS['cut answer']}", finish="length")
    return Reply(f"Decision: oil, with {SECRETS['assistant answer']}", reasoning=thought)


# -- the places --------------------------------------------------------------------


def planted(root: Path) -> Scenario:
    """Set the person up: a checkout with a branch and a pull request, a loud server, and settings that name secrets."""
    scenario = Scenario(root, answer, recall_wait_seconds=30, exit_timeout_seconds=60, timeout_seconds=60)
    scenario.home = Elsewhere(root)
    work = scenario.home.cwd
    work.mkdir()
    for command in (
        ["init", "-q", "-b", f"mend-{SECRETS['branch']}"],
        ["remote", "add", "origin", "https://github.com/keeper/lamp.git"],
        ["-c", "user.name=k", "-c", "user.email=k@example.org", "commit", "-q", "--allow-empty", "-m", "begin"],
    ):
        subprocess.run(["git", *command], cwd=work, check=True, capture_output=True)
    loud = f"echo {SECRETS['server stderr']} >&2; exec {COMMAND} {' '.join(ARGS)}"
    env = scenario.memory.environment({}) | {"LAMP_TOKEN": SECRETS["settings, the server's variables"]}
    coding = {"kind": "coding", "root": str(work), "repository": "keeper/lamp", "project": "main"}
    scenario.set(**relayed(scenario.switches, "/bin/sh", "-c", loud), env=dict(env), repositories=[dict(coding)])
    scenario.set(discovery_seconds=60)
    pull: Json = {
        "number": 7,
        "title": f"Mend it with {SECRETS['pull request title']}",
        "url": "https://github.com/keeper/lamp/pull/7",
        "state": "OPEN",
        "baseRefName": "main",
        "headRefName": f"mend-{SECRETS['branch']}",
    }
    gh = root / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(f"#!/bin/sh\necho asked >> {root / 'gh-asked'}\ncat <<'END'\n{json.dumps(pull)}\nEND\n")
    gh.chmod(0o755)
    return scenario


def kept_by_others(agent: OtherAgent) -> None:
    """What is in the same project: a task and a decision, each with a secret in another part of it."""
    owner = {"status": "active", "owner": SECRETS["metadata value"]}
    agent.write("task", f"Rotate {SECRETS['task title']}", "- [description] Rotate it.", folder="tasks", **owner)
    text = f"- [decision] Oil, bought with {SECRETS['decision body']}."
    agent.write("decision", "Oil", text, folder=f"of-{SECRETS['note path']}", status="open")


def edited(agent: OtherAgent, path: str) -> None:
    """Somebody writes into a checkpoint's note."""
    find = "## Unfinished work\n"
    line = f"{find}\n- Call them with {SECRETS['note edited by another agent']}.\n"
    agent.call("edit_note", identifier=path, operation="find_replace", find_text=find, content=line)


def environment(root: Path) -> Mapping[str, str]:
    path = TauHome(root).environment()["PATH"]
    return {
        "PATH": f"{root / 'bin'}:{path}",
        KEY_ENV: SECRETS["key the model is asked with"],
        "LIGHTHOUSE": SECRETS["environment"],
    }


# -- the play ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Generator[Left]:
    root = tmp_path_factory.mktemp("canary-places")
    with planted(root) as scenario:
        yield play(scenario, root)


def play(scenario: Scenario, root: Path) -> Left:
    left = Left()
    with OtherAgent(scenario.memory) as agent:
        kept_by_others(agent)
        session_id = worked(scenario, root, left)
        checkpoint = fold(scenario.rows(session_id)).checkpoint
        assert checkpoint is not None
        left.edited = str(checkpoint.path)
        edited(agent, left.edited)
    doubted = resumed(scenario, root, session_id, left)
    decided(scenario, root, doubted, left)
    misconfigured(scenario, root, left)
    told(scenario, root, session_id, left)
    collected(scenario, session_id, left)
    return left


def worked(scenario: Scenario, root: Path, left: Left) -> str:
    """The first session: everything is said, called, failed, cut and compacted in it."""
    with TauProcess(scenario.home, environment=environment(root)) as tau:
        url = f"postgres://keeper:{SECRETS['connection string']}@db.example/log"
        header = f"Authorization: Basic {SECRETS['header']}"
        tau.prompt(f"Objective: keep the lamp lit with {SECRETS['user message']}, {url}\n{header}")
        for prompt in ("look at it", "write it down", "fail at it", "cut it short", PAGES, PAGES):
            tau.prompt(prompt)
        session_id = tau.session_id
        saved(scenario, session_id, tau)
        tau.call("compact", customInstructions=f"Keep {SECRETS['compaction arguments']}.")
        tau.prompt("Go on.")
        saved(scenario, session_id, tau)
        left.ours["state folder while Tau ran"] = everything(scenario.home.state)
        assert tau.quit() == 0
        left.ours["what Tau's first run said of ours"] = "\n".join(tau.notices).encode()
    commanded(scenario, root, session_id, left)
    return session_id


def commanded(scenario: Scenario, root: Path, session_id: str, left: Left) -> None:
    """What a person asks for by command, with something left to be saved."""
    resumed_as = ("--session", session_id)
    scenario.set(cadence={"characters": 100_000, "minutes": 60}, summarize_on_shutdown=False)
    tau_print(scenario.home, "One thing more.", *resumed_as, environment=environment(root))
    scenario.set(cadence="every", summarize_on_shutdown=True)
    for name, place in (("bm-checkpoint", "checkpoint focus"), ("bm-remember", "words to be remembered")):
        words = f"/{name} the lamp, and {SECRETS[place]}"
        done = tau_print(scenario.home, words, *resumed_as, environment=environment(root))
        left.ours[f"what /{name} said"] = said(done)


def resumed(scenario: Scenario, root: Path, session_id: str, left: Left) -> str:
    """The session again: it recalls, and is killed with an answer held; returns what nobody knows the end of."""
    after = len(scenario.log())
    with TauProcess(scenario.home, session_id=session_id, environment=environment(root)) as tau:
        scenario.wait_recalled(after=after)  # so that it is known that somebody edited the note
        tau.prompt("And on.")
        saved(scenario, session_id, tau)
        after = len(scenario.log())
        with scenario.holding(HOLD):
            tau.prompt("And further.")
            scenario.wait_log("answer-held", after=after)
            tau.kill()
        left.ours["what Tau's second run said of ours"] = "\n".join(tau.notices).encode()
    (doubted,) = fold(scenario.rows(session_id)).pending
    return doubted.capture_id


def saved(scenario: Scenario, session_id: str, tau: TauProcess) -> None:
    def look() -> bool | None:
        state = fold(scenario.rows(session_id))
        done = not state.captures and state.gathered.tip is None and state.checkpoint is not None
        return True if done else None

    until(look, f"the last checkpoint; Tau said {tau.notices}")


def decided(scenario: Scenario, root: Path, doubted: str, left: Left) -> None:
    reason = f"It was {SECRETS['reason of a decision']}."
    done = continuity(scenario, root, "resolve", doubted[:12], "--abandon", "--reason", reason, "--yes")
    left.outcomes.append(f"resolve {done.returncode}")
    left.ours["what resolve said"] = said(done)


def misconfigured(scenario: Scenario, root: Path, left: Left) -> None:
    """A wrong key has the secret as its value; whoever tells of the settings tells of them while they are wrong."""
    scenario.set(tokne=SECRETS["settings, a wrong key"])
    done = tau_print(scenario.home, "/bm-status", environment=environment(root))
    assert "tokne" in done.stdout + done.stderr
    left.ours["what Tau said of wrong settings"] = said(done)
    left.ours["what doctor said of wrong settings"] = said(continuity(scenario, root, "doctor"))
    left.places["settings"] = scenario.home.settings_path.read_bytes()
    settings = json.loads(scenario.home.settings_path.read_text())
    del settings["tokne"]
    scenario.home.write_settings(**settings)


def told(scenario: Scenario, root: Path, session_id: str, left: Left) -> None:
    """What every command says of the journal."""
    journal = scenario.journal(session_id)
    tau_file = next(scenario.home.home.rglob(f"{session_id}.jsonl"))
    with open_reader(journal) as reader:
        rows = [f"{row.branch}@{row.position}" for row in reader.rows()]
    briefs = [row for row in scenario.rows(session_id) if isinstance(row.event, BriefDelivered)]
    commands: list[tuple[str, ...]] = [
        *((name, str(journal)) for name in ("log", "state", "branches", "unproven", "audit", "export")),
        *((name, str(journal), "--json") for name in ("log", "state", "branches", "unproven", "audit")),
        ("export", str(journal), "--bodies"),
        ("audit", str(journal), "--session", str(tau_file), "--notes", str(scenario.memory.notes)),
        ("unproven",),
        ("paths",),
        *(("show", str(journal), row) for row in rows),
        *(("why", row, "--in", str(journal)) for row in rows[::7]),
        *(("why", "--brief", session_id, "--at", row.digest[:16]) for row in briefs),
    ]
    for command in commands:
        done = run(*command, env=dict(scenario.home.environment(environment(root))))
        assert done.code in (0, 1), (command, done.err)
        left.ours[f"continuity {' '.join(command)}"] = (done.out + done.err).encode()


def continuity(scenario: Scenario, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from continuity.cli import main; main()", *words],
        cwd=root,
        env=scenario.home.environment(environment(root)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def said(done: subprocess.CompletedProcess[str]) -> bytes:
    return (done.stdout + done.stderr).encode()


def collected(scenario: Scenario, session_id: str, left: Left) -> None:
    """Everything of ours that is left when all has ended, and the places the canaries were put in."""
    tau_file = next(scenario.home.home.rglob(f"{session_id}.jsonl"))
    lines = [json.loads(line) for line in tau_file.read_text(encoding="utf-8").split("\n") if line]
    mine = [one for one in lines if one.get("namespace") == RECEIPT_NAMESPACE or one.get("custom_type") == BRIEF_TYPE]
    assert {one["type"] for one in mine} == {"custom", "custom_message"}
    left.ours["state folder"] = everything(scenario.home.state)
    left.ours["our entries in Tau's session"] = json.dumps(mine).encode()
    for note in scenario.notes():
        name = str(note.relative_to(scenario.memory.notes))
        if "capture_id:" in note.read_text(encoding="utf-8") and name != left.edited:
            left.ours[f"note {name}"] = note.read_bytes()
    model = scenario.model
    asked = [request.messages for request in model.requests_for("synthesis")]
    left.ours["what the model was asked for handoffs"] = json.dumps(asked).encode()
    briefs = [text for request in model.requests_for("agent") for _, text in request.messages if is_brief(text)]
    left.ours["briefs"] = "\n".join(briefs).encode()
    left.places |= {
        "session": tau_file.read_bytes(),
        "title": tau_file.with_name("index.jsonl").read_bytes(),
        "notes": b"\n".join(f"{note}\n".encode() + note.read_bytes() for note in scenario.notes()),
        "requests": json.dumps([dict(request.body) for request in model.requests]).encode(),
        "keys": "\n".join(str(request.authorization) for request in model.requests).encode(),
        "checkout": str(list(scenario.home.cwd.rglob("*"))).encode(),
        "relay": (scenario.switches / "relay.jsonl").read_bytes(),
        "pull requests": (scenario.home.root / "bin" / "gh").read_bytes() * (scenario.home.root / "gh-asked").exists(),
    }
    left.outcomes += [event.outcome for event in scenario.events(session_id, ToolAnswered)]
    left.outcomes += [event.model or "" for event in scenario.events(session_id, SynthesisFinished)]


def everything(folder: Path) -> bytes:
    """Every byte of every file, and every name."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return b"\n".join(f"{path.relative_to(folder)}\n".encode() + path.read_bytes() for path in files)


# -- the verdict -----------------------------------------------------------------------

PLANTED_IN: Mapping[str, str] = {
    **dict.fromkeys(SECRETS, "session"),
    "session title": "title",
    "compaction arguments": "requests",
    "note edited by another agent": "notes",
    "task title": "notes",
    "decision body": "notes",
    "note path": "notes",
    "metadata value": "notes",
    "folder worked in": "checkout",
    "branch": "checkout",
    "pull request title": "pull requests",
    "settings, a wrong key": "settings",
    "settings, the server's variables": "settings",
    "server stderr": "settings",
    "handoff the model wrote": "",
    "checkpoint focus": "",
    "words to be remembered": "",
    "environment": "",
    "reason of a decision": "",
    "key the model is asked with": "keys",
}
"""Where each of them can be seen; the rest is handed over by the play itself and kept nowhere."""


def test_there_are_as_many_places_as_it_takes() -> None:
    assert len(SECRETS) == len(set(SECRETS.values())) >= 20
    assert set(PLANTED_IN) == set(SECRETS)


@pytest.mark.parametrize("place", sorted(place for place, where in PLANTED_IN.items() if where))
def test_the_canary_was_really_left_in(left: Left, place: str) -> None:
    assert SECRETS[place].encode() in left.places[PLANTED_IN[place]]


def test_everything_that_could_leak_was_really_made(left: Left) -> None:
    assert {"resolve 0", "accepted", "unknown"} <= set(left.outcomes)
    notes = b"".join(held for name, held in left.ours.items() if name.startswith("note "))
    for field_of_ours in ("cwd: ", "repo_root: ", "branch: mend-", "pull_request_title: Mend it with "):
        assert re.search(f"(?m)^{field_of_ours}.*\\[masked:".encode(), notes)
    briefs = left.ours["briefs"]
    for recalled in (b"Rotate [masked:", b"bought with [masked:", b"of-[masked:", b"Log in with [masked:"):
        assert recalled in briefs
    asked = left.ours["what the model was asked for handoffs"]
    assert b"Call them with [masked:" in asked
    assert b"with these words; they say what to keep in view:" in asked
    assert b"the lamp, and [masked:" in asked
    assert b"and [masked:" in notes


@pytest.mark.parametrize("place", sorted(SECRETS))
def test_nothing_of_ours_holds_what_was_left_in(left: Left, place: str) -> None:
    secret = SECRETS[place].encode()
    assert [name for name, held in left.ours.items() if secret in held] == []
