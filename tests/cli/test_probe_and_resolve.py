"""A person settles one open thing from a shell: each read is shown, a decision is kept with its reason, nothing is sent twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped] # it ships no types
import pytest

from continuity.cli.shapes import ResolveView
from continuity.cli.texts import print_json
from continuity.commands import Observe
from continuity.privacy import mask
from continuity.shell.desk import kept
from continuity.shell.ledger import Ledger
from journal.events import (
    CaptureResolved,
    SessionOpened,
    ToolAnswered,
    ToolCalled,
    ToolResolved,
    WriteAnswered,
    WriteIntended,
)
from journal.ids import CallId, ConnectionId, Sha256, WriterId
from journal.lock import JournalLock, holder
from journal.reader import open_reader
from journal.row import WriterRecord
from tests.facts import PROCESS
from tests.fakes.checkouts import executable
from tests.fakes.clock import FakeClock
from tests.fakes.memory_server import FakeMemory
from tests.fakes.permissions import permissions_bind
from tests.replay.kit import Ran
from tests.replay.kit import run as run_command
from tests.shell.left_behind import STORED, SWALLOWED, killed
from tests.shell.rig import names, recorded, replayed

PULL_REQUEST = '{"number": 7, "state": "OPEN", "headRefName": "feature"}'

SCHEMAS = Path(__file__).parents[2] / "schemas" / "cli"
OTHER = WriterRecord(writer=WriterId("another"), process=PROCESS)


class Person:
    """Somebody with a journal that a killed session left, and a memory server in their settings."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.memory = FakeMemory(root / "server")
        self.path = root / "state" / "session.journal"
        (root / "tau").mkdir()
        self.set(project="another", timeout_seconds=10)

    def set(self, **settings: Any) -> None:
        command, arguments = self.memory.command
        told = {"command": command, "args": arguments, **settings}
        (self.root / "tau" / "continuity.json").write_text(json.dumps(told))

    @property
    def environment(self) -> dict[str, str]:
        return {"TAU_HOME": str(self.root / "tau"), "CONTINUITY_HOME": str(self.root / "state")}

    def left(self, fault: Sequence[Any], **settings: Any) -> str:
        """Let a session be killed in its second write; returns what names that."""
        killed_one = lambda: killed(self.root, list(fault), **settings)  # noqa: E731 - anyio takes no keywords
        assert anyio.run(killed_one) == self.path
        (capture,) = replayed(self.path).pending
        return capture.capture_id[:10]

    def run(self, *words: str) -> Ran:
        return run_command(*words, env=self.environment)

    @property
    def writes(self) -> int:
        return self.memory.calls()["write_note"]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    made = Person(tmp_path)
    monkeypatch.chdir(tmp_path / "tau")  # nothing inside the folder one works in is ever run
    return made


def valid(command: str, told: Any) -> Any:
    jsonschema.validate(told, json.loads((SCHEMAS / f"{command}.json").read_text()))
    return told


# -- probe -------------------------------------------------------------------


def test_a_probe_shows_its_reads_and_records_what_they_prove(person: Person) -> None:
    reference = person.left(STORED)
    ran = person.run("probe", reference)
    assert (ran.code, person.writes) == (0, 2)
    first, read, through, verdict = ran.out.splitlines()
    assert first.startswith(f"{reference}  main: tau/checkpoints/tau-checkpoint-")
    assert read.startswith("  at its address: ")
    assert through == "  the server it was sent through is gone; the project is local"
    assert verdict == "present_same: it is stored as it was sent"
    assert not replayed(person.path).pending
    assert recorded(person.path, SessionOpened)[-1].reason == "settle"


def test_a_probe_that_proves_an_absence_says_what_may_be_decided(person: Person) -> None:
    reference = person.left(SWALLOWED)
    ran = person.run("probe", reference)
    assert ran.code == 0
    assert "absent_final: it is not stored" in ran.out
    assert len([line for line in ran.out.splitlines() if line.startswith("  ")]) == 4
    assert f"`continuity resolve {reference}`" in ran.err
    assert [capture.status for capture in replayed(person.path).captures] == ["lost"]


def test_what_is_still_open_exits_1_and_its_json_says_why(person: Person) -> None:
    reference = person.left(SWALLOWED)
    person.memory.faults(source="cloud")
    ran = person.run("probe", reference, "--json")
    told = valid("probe", ran.json)
    assert ran.code == 1
    assert (told["verdict"], told["project_source"], told["settled"], told["recorded"]) == (
        "absent_open",
        "cloud",
        False,
        True,
    )
    assert {read["by"] for read in told["reads"]} == {"address", "title", "id_search"}


def test_with_a_live_owner_a_probe_reads_names_it_and_records_nothing(person: Person) -> None:
    reference = person.left(STORED)
    before = names(person.path)
    with JournalLock.acquire(person.path, OTHER):
        ran = person.run("probe", reference)
        as_json = person.run("probe", reference, "--json")
    assert (ran.code, as_json.code) == (1, 1)
    assert "present_same" in ran.out
    assert "not recorded: process 10 has this journal open since 20" in ran.err
    assert "`/bm-pending`" in ran.err
    told = valid("probe", as_json.json)
    assert (told["recorded"], told["owner"]["pid"]) == (False, 10)
    assert names(person.path) == before


def test_a_server_that_cannot_be_started_leaves_everything_as_it_is(person: Person) -> None:
    reference = person.left(STORED)
    before = names(person.path)
    person.memory.faults(initialize="exit")
    down = person.run("probe", reference)
    person.set(command="/nowhere/bm")
    absent = person.run("probe", reference)
    assert (down.code, absent.code) == (3, 3)
    assert "cannot be asked: exited" in down.err
    assert "not-found" in absent.err
    assert names(person.path) == before


@pytest.mark.parametrize(
    ("reference", "said"),
    [("ffffffffff", "nothing open is named"), ("a", "4 characters at least")],
)
def test_a_reference_that_names_nothing_is_misuse(person: Person, reference: str, said: str) -> None:
    person.left(STORED)
    ran = person.run("probe", reference)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_a_long_reference_is_not_repeated_whole(person: Person) -> None:
    ran = person.run("probe", "f" * 100_000)
    assert ran.code == 2
    assert "' and 99,936 characters more" in ran.err
    assert len(ran.err) < 1_000


def test_a_journal_that_cannot_be_read_is_named_and_may_hold_what_is_meant(person: Person) -> None:
    reference = person.left(STORED)
    broken = person.path.with_name("broken.journal")
    broken.write_bytes(b"no journal")
    assert person.run("probe", "ffffffffff").code == 3
    found = person.run("probe", reference)
    assert found.code == 0
    assert f"warning: {broken} was passed over" in found.err
    assert broken.read_bytes() == b"no journal"


def test_a_folder_that_cannot_be_looked_into_is_named_and_may_hold_what_is_meant(person: Person) -> None:
    closed = person.root / "state" / "closed"
    closed.parent.mkdir()
    closed.mkdir(mode=0)
    with permissions_bind():
        ran = person.run("probe", "ffffffffff")
    assert (ran.code, ran.out) == (3, "")
    assert f"warning: {closed} was passed over: Permission denied" in ran.err


def test_where_no_journal_was_ever_made_nothing_is_open(person: Person) -> None:
    ran = person.run("probe", "ffffffffff")
    assert (ran.code, ran.out) == (2, "")
    assert "nothing is open" in ran.err
    assert not person.path.parent.exists()


def test_one_journal_can_be_named(person: Person) -> None:
    reference = person.left(STORED)
    elsewhere = person.root / "elsewhere"
    elsewhere.mkdir()
    assert person.run("probe", reference, "--in", str(elsewhere)).code == 2
    assert person.run("probe", reference, "--in", str(person.path)).code == 0


# -- resolve -----------------------------------------------------------------


def reason_of(path: Path, digest: Sha256) -> str | None:
    with open_reader(path) as reader:
        return reader.body(digest)


def test_what_may_still_land_can_be_abandoned_with_a_reason_that_is_kept_masked(person: Person) -> None:
    reference = person.left(SWALLOWED)
    ran = person.run("resolve", reference, "--abandon", "--reason", "token ghp_" + "a" * 36, "--yes")
    assert ran.code == 0
    assert ran.out == f"{reference}: abandoned, by your decision\n"
    assert "sent, and no answer was recorded" in ran.err
    (decision,) = recorded(person.path, CaptureResolved)
    assert decision.decision == "abandon"
    assert (
        reason_of(person.path, decision.reason_sha256) == mask("token ghp_" + "a" * 36).text != "token ghp_" + "a" * 36
    )
    assert names(person.path)[-3:] == ["session-opened", "capture-resolved", "session-closed"]
    assert not replayed(person.path).captures


def test_a_lost_note_is_written_again_once_as_a_new_attempt_from_the_text_that_is_kept(person: Person) -> None:
    reference = person.left(SWALLOWED, scope="the lighthouse", checkpoint_folder="lamps")
    assert person.run("probe", reference).code == 0
    ran = person.run("resolve", reference, "--rewrite", "--reason", "proven lost", "--yes", "--json")
    told = valid("resolve", ran.json)
    assert ran.code == 0
    assert (told["outcome"], told["attempt"], told["evidence"], told["owed"]) == ("accepted", 2, "answered", False)
    first, lost, again = recorded(person.path, WriteIntended)
    assert (again.capture_id, again.attempt, again.mode) == (lost.capture_id, 2, "create")
    assert person.writes == 3
    note = person.memory.notes[told["file_path"]]
    assert told["file_path"].startswith("lamps/")
    assert note["frontmatter"]["capture_id"] == lost.capture_id != first.capture_id
    assert note["frontmatter"]["scope"] == "the lighthouse"
    state = replayed(person.path)
    assert state.checkpoint is not None
    assert (state.checkpoint.capture_id, state.checkpoint.evidence) == (lost.capture_id, "answered")


def test_a_note_written_again_tells_the_times_of_its_session_and_not_those_of_today(person: Person) -> None:
    reference = person.left(SWALLOWED)
    person.run("probe", reference)
    person.run("resolve", reference, "--rewrite", "--reason", "lost", "--yes")
    lost, again = recorded(person.path, WriteIntended)[-2:]
    with open_reader(person.path) as reader:
        before, after = (json.loads(reader.body(each.metadata_sha256) or "") for each in (lost, again))
    for name in ("started", "ended", "cwd", "scope", "session_id", "source_tip", "trigger"):
        assert before.get(name) == after.get(name), name


def test_a_note_written_again_tells_the_checkout_its_work_was_done_on(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(person.root / "bin" / "gh", f"#!/bin/sh\necho '{PULL_REQUEST}'\n")
    monkeypatch.setenv("PATH", str(person.root / "bin"), prepend=":")
    checkout = person.root / "work"
    checkout.mkdir()
    git(checkout, "init", "-q", "-b", "feature")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "one")
    git(checkout, "remote", "add", "origin", "git@github.com:ada/lamp.git")
    filed = {"kind": "coding", "root": str(checkout), "repository": "ada/lamp", "project": "main"}
    reference = person.left(SWALLOWED, repositories=(filed,))
    git(checkout, "switch", "-q", "-c", "another")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "two")
    person.run("probe", reference)
    told = person.run("resolve", reference, "--rewrite", "--reason", "lost", "--yes", "--json").json
    first, lost, again = recorded(person.path, WriteIntended)
    with open_reader(person.path) as reader:
        before, after = (json.loads(reader.body(each.metadata_sha256) or "") for each in (lost, again))
    for name in ("branch", "git_sha", "repo_root", "repository", "pull_request_number", "pull_request_state"):
        assert before[name] == after[name], name
    assert first.note_type == again.note_type == "coding_session"
    assert person.memory.notes[told["file_path"]]["frontmatter"]["branch"] == "feature"


def git(checkout: Path, *words: str) -> None:
    somebody = ("-c", "user.email=ada@example.org", "-c", "user.name=Ada")
    subprocess.run(["git", *somebody, *words], cwd=checkout, check=True, capture_output=True)


def test_what_may_still_land_is_not_written_again(person: Person) -> None:
    reference = person.left(STORED)
    before = names(person.path)
    ran = person.run("resolve", reference, "--rewrite", "--reason", "impatience", "--yes")
    assert ran.code == 1
    assert "it may still land: only a lost or refused write is repeated" in ran.err
    assert (names(person.path), person.writes) == (before, 2)


def test_nothing_is_accepted_that_nobody_read(person: Person) -> None:
    reference = person.left(STORED)
    before = names(person.path)
    ran = person.run("resolve", reference, "--accept", "--reason", "I believe it", "--yes")
    assert ran.code == 1
    assert "no note was read that could be accepted" in ran.err
    assert f"`continuity probe {reference}`" in ran.err
    assert names(person.path) == before


def test_a_conflict_that_was_read_can_be_accepted(person: Person) -> None:
    reference = person.left(SWALLOWED)
    (capture,) = replayed(person.path).pending
    person.memory.put(capture.path or "", "Somebody's own note.")
    assert person.run("probe", reference).code == 1
    assert person.run("resolve", reference, "--accept", "--reason", "it is mine too", "--yes").code == 0
    assert not replayed(person.path).pending
    assert person.memory.notes[capture.path or ""]["content"] == "Somebody's own note."


def test_a_decision_without_a_server_is_recorded_and_the_write_is_owed_by_the_session(person: Person) -> None:
    reference = person.left(SWALLOWED)
    person.run("probe", reference)
    person.memory.faults(initialize="exit")
    ran = person.run("resolve", reference, "--rewrite", "--reason", "lost", "--yes", "--json")
    assert (ran.code, valid("resolve", ran.json)["owed"]) == (3, True)
    assert "the decision is recorded" in ran.err
    assert "tau --session session" in ran.err
    assert f"`continuity resolve {reference} --rewrite` tries again" in ran.err
    assert [(capture.status, capture.attempt) for capture in replayed(person.path).captures] == [("ready", 2)]


def decided(person: Person, **settings: Any) -> str:
    """A rewrite that was decided while no server could be reached."""
    reference = person.left(SWALLOWED, **settings)
    person.run("probe", reference)
    person.memory.faults(initialize="exit")
    assert person.run("resolve", reference, "--rewrite", "--reason", "lost", "--yes").code == 3
    return reference


def test_what_is_decided_and_was_not_sent_is_sent_later_without_a_second_decision(person: Person) -> None:
    reference = decided(person, scope="the lighthouse")
    (item,) = person.run("unproven", "--json").json
    assert (item["status"], item["unproven"], item["choices"]) == ("ready", False, ["abandon"])
    assert f"`continuity resolve {reference} --rewrite`" in item["next_step"]
    before = names(person.path)
    assert person.run("resolve", reference, "--rewrite", "--yes").code == 3
    assert names(person.path) == before
    person.memory.faults()
    ran = person.run("resolve", reference, "--rewrite", "--yes", "--json")
    assert (ran.code, valid("resolve", ran.json)["attempt"]) == (0, 2)
    assert len(recorded(person.path, CaptureResolved)) == 1
    lost, again = recorded(person.path, WriteIntended)[-2:]
    with open_reader(person.path) as reader:
        earlier, later = (json.loads(reader.body(each.metadata_sha256) or "") for each in (lost, again))
    for name in ("started", "ended", "cwd", "scope"):
        assert earlier.get(name) == later.get(name), name
    assert person.run("unproven", "--json").json == []


def test_what_is_decided_and_was_not_sent_can_still_be_let_go_of_and_nothing_else(person: Person) -> None:
    reference = decided(person)
    before = names(person.path)
    read = person.run("probe", reference)
    assert (read.code, "there is nothing to read" in read.err) == (1, True)
    accepted = person.run("resolve", reference, "--accept", "--reason", "x", "--yes")
    assert (accepted.code, "it can only be let go of" in accepted.err) == (1, True)
    assert person.run("resolve", reference, "--abandon", "--yes").code == 2
    assert names(person.path) == before
    assert person.run("resolve", reference, "--abandon", "--reason", "the work moved on", "--yes").code == 0
    assert not replayed(person.path).captures


def test_a_new_attempt_of_unknown_outcome_is_a_new_question(person: Person) -> None:
    reference = person.left(SWALLOWED)
    person.run("probe", reference)
    person.memory.faults(write_note=["store", "empty"])
    ran = person.run("resolve", reference, "--rewrite", "--reason", "lost", "--yes")
    assert ran.code == 1
    assert f"`continuity probe {reference}`" in ran.err
    assert "is being settled" not in ran.err  # nobody is there who would
    assert [answer.outcome for answer in recorded(person.path, WriteAnswered)] == ["accepted", "unknown"]
    person.memory.faults()
    assert person.run("probe", reference).code == 0


def test_an_erased_text_is_not_written_again_and_nothing_changes(person: Person) -> None:
    reference = person.left(SWALLOWED)
    person.run("probe", reference)
    digest = replayed(person.path).captures[0].handoff_sha256
    assert digest is not None
    anyio.run(erased, person.path, digest)
    before = names(person.path)
    ran = person.run("resolve", reference, "--rewrite", "--reason", "lost", "--yes")
    assert ran.code == 1
    assert "was erased" in ran.err
    assert names(person.path) == before


async def erased(path: Path, digest: Sha256) -> None:
    ledger = await Ledger.open(path, OTHER, FakeClock())
    state = ledger.state
    await ledger.journal.append(state.branch, [], expected=state.position, erase=[digest])
    await ledger.close()


def test_what_a_running_session_has_open_is_settled_there(person: Person) -> None:
    reference = person.left(STORED)
    before = names(person.path)
    with JournalLock.acquire(person.path, OTHER):
        ran = person.run("resolve", reference, "--abandon", "--reason", "enough", "--yes")
    assert ran.code == 1
    assert "`/bm-pending`" in ran.err
    assert names(person.path) == before


@pytest.mark.parametrize("reason", ["\u200b\u2800", "r" * 2_001], ids=["invisible", "too long"])
def test_a_reason_is_one_that_can_be_read_and_is_no_longer_than_a_reason(person: Person, reason: str) -> None:
    reference = person.left(STORED)
    before = names(person.path)
    ran = person.run("resolve", reference, "--abandon", "--reason", reason, "--yes")
    assert ran.code == 2
    assert "reason" in ran.err.splitlines()[0]
    assert names(person.path) == before


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--abandon",),
        ("--rewrite",),
        ("--abandon", "--reason", " "),
        ("--reason", "x"),
        ("--abandon", "--reason", "x"),
    ],
)
def test_a_decision_needs_a_choice_a_reason_and_somebody_who_agrees(person: Person, words: tuple[str, ...]) -> None:
    reference = person.left(STORED)
    before = names(person.path)
    assert person.run("resolve", reference, *words).code == 2
    assert names(person.path) == before


# -- calls -------------------------------------------------------------------


async def call_left(path: Path, *, answered: bool) -> None:
    digest, bodies = kept('{"identifier": "lamps/one.md"}')
    called = ToolCalled(
        call_id=CallId("5" * 32),
        name="edit_note",
        target_sha256=digest,
        writer=OTHER.writer,
        connection=ConnectionId("connection-9"),
    )
    ledger = await Ledger.open(path, OTHER, FakeClock())
    await ledger.apply(Observe(called), tip=None, bodies=bodies)
    if answered:
        unknown = ToolAnswered(call_id=called.call_id, outcome="unknown", code="timeout")
        await ledger.apply(Observe(unknown), tip=None)
    await ledger.close()


def test_a_call_is_not_read_for_and_shows_what_it_was_aimed_at(person: Person) -> None:
    person.left(STORED)
    anyio.run(lambda: call_left(person.path, answered=True))
    ran = person.run("probe", "55555")
    assert ran.code == 1
    assert 'aimed at  {"identifier": "lamps/one.md"}' in ran.out
    told = valid("probe", person.run("probe", "55555", "--json").json)
    assert (told["kind"], told["tool"], told["target"]) == ("call", "edit_note", '{"identifier": "lamps/one.md"}')
    assert person.memory.calls()["initialize"] == 1


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("decision", ["accept", "abandon"])
def test_a_call_whose_process_is_gone_is_settled_by_a_person(person: Person, decision: str, answered: bool) -> None:
    person.left(STORED)
    anyio.run(lambda: call_left(person.path, answered=answered))
    assert person.run("resolve", "5555", "--rewrite", "--reason", "x", "--yes").code == 1
    ran = person.run("resolve", "5555", f"--{decision}", "--reason", "I looked", "--yes")
    assert ran.code == 0
    assert [event.decision for event in recorded(person.path, ToolResolved)] == [decision]
    assert replayed(person.path).calls == ()


def test_no_json_can_act_on_a_terminal(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    odd = "\x9b2J\u202e.md"
    view = ResolveView(
        path="p",
        session="s",
        journal="j",
        branch=1,
        reference="r",
        kind="capture",
        decision="rewrite",
        attempt=2,
        outcome="accepted",
        code=None,
        file_path=odd,
        evidence="answered",
        owed=False,
    )
    print_json(view)
    printed = capsysbinary.readouterr().out.decode()
    assert printed.replace("\n", "").isprintable()
    assert json.loads(printed)["file_path"] == odd


# -- interruptions -----------------------------------------------------------


def interrupted(person: Person, *words: str, when: Callable[[], bool]) -> int:
    """Run a command as a person does, and press Ctrl-C when something is so."""
    script = "from continuity.cli import main; main()"
    child = subprocess.Popen(
        [sys.executable, "-c", script, *words],
        env={"HOME": str(person.root), **person.environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with ExitStack() as stack:
        stack.callback(child.wait, 20)
        stack.callback(child.kill)
        while not when():
            assert child.poll() is None
        os.kill(child.pid, signal.SIGINT)
        return child.wait(20)


def servers(person: Person) -> list[str]:
    """Return the fake servers that still run for this person."""
    found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line for line in found if str(person.memory.folder) in line and "ps -eo" not in line]


def test_a_probe_that_is_interrupted_records_nothing_and_leaves_no_server(person: Person) -> None:
    reference = person.left(STORED)
    before, reads = names(person.path), person.memory.calls()["read_note"]
    person.memory.faults(read_note=["hold"])
    code = interrupted(person, "probe", reference, when=lambda: person.memory.calls()["read_note"] > reads)
    assert code != 0
    assert names(person.path) == before
    assert not holder(person.path).live
    assert servers(person) == []


def test_a_rewrite_that_is_interrupted_before_there_is_a_server_decides_nothing(person: Person) -> None:
    reference = person.left(SWALLOWED)
    person.run("probe", reference)
    before, starts = names(person.path), person.memory.calls()["initialize"]
    person.memory.faults(initialize="hang")
    words = ("resolve", reference, "--rewrite", "--reason", "lost", "--yes")
    assert interrupted(person, *words, when=lambda: person.memory.calls()["initialize"] > starts) != 0
    assert names(person.path) == before
    assert servers(person) == []
    person.memory.faults()
    assert person.run(*words).code == 0


def test_a_rewrite_that_is_interrupted_is_a_question_and_never_a_silence(person: Person) -> None:
    reference = person.left(SWALLOWED)
    person.run("probe", reference)
    person.memory.faults(write_note=["store", "hold"])
    writes = person.writes
    words = ("resolve", reference, "--rewrite", "--reason", "lost", "--yes")
    assert interrupted(person, *words, when=lambda: person.writes > writes) != 0
    assert names(person.path)[-3:] == ["write-intended", "write-answered", "session-closed"]
    assert [answer.outcome for answer in recorded(person.path, WriteAnswered)][-1] == "unknown"
    assert servers(person) == []
    person.memory.faults()
    assert person.run("probe", reference).code == 0
    assert person.writes == 3
