"""What the doctor says is so on the machine it is run on: it finds each fault, runs nothing of the checkout, changes nothing."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import msgspec
import pytest

from continuity.cli.doctor.asking import Bounds, ask
from continuity.cli.doctor.facts import Asked, Trouble, Unsaved
from continuity.cli.doctor.findings import DoctorView
from continuity.cli.doctor.machine import unsaved
from continuity.cli.doctor.tau import Surroundings, find_tau, interpreter_of
from continuity.cli.installing.marks import mark
from continuity.cli.installing.own import own
from continuity.cli.shim import PACKAGES, Lead, source
from continuity.memory.errors import CommandRefused
from continuity.memory.inventory import Inventory, InventoryCache, inventory_key
from continuity.memory.server import ServerSpec, child_environment
from continuity.notes import Entity
from continuity.places import places
from continuity.shell.config import environment
from journal import filesystem
from journal.lock import JournalLock
from journal.row import WriterRecord
from tests.facts import PROCESS, SAVED, WRITER, begun, finished, opened, settled
from tests.fakes.journals import recorded
from tests.fakes.memory_server import FakeMemory
from tests.fakes.permissions import permissions_bind
from tests.replay.kit import Ran, run

ROOT = Path(__file__).parents[2]
TOLD = '{"python":[3,13,0],"tau":"0.4.8","level":"B","loading":""}'
TAGGED = TOLD[:-1] + ',"tag":"cpython-313-x"}'
MADE = (opened(), settled(), begun(), finished())
BASIC_MEMORY = "basic_memory-0.24.1.dist-info"
WELL = {
    "python": "ok", "tau": "ok", "extension": "ok", "loading": "ok", "rivals": "ok", "settings": "ok", "project": "ok",
    "memory": "ok", "state": "ok", "unsaved": "ok", "tools": "ok",
}  # fmt: skip


class Machine(NamedTuple):
    """A user's machine in one folder, on which all is well until a test spoils it."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def work(self) -> Path:
        """The checkout that the command is run in."""
        return self.root / "work"

    @property
    def tau_home(self) -> Path:
        return self.home / ".tau"

    @property
    def shim(self) -> Path:
        return self.tau_home / "extensions" / "continuity" / "extension.py"

    @property
    def state(self) -> Path:
        return places(self.tau_home).state

    @property
    def tau_python(self) -> Path:
        return self.root / "tau" / "bin" / "python"

    @property
    def environ(self) -> dict[str, str]:
        found = (self.home / ".local" / "bin", self.root / "tau" / "bin", self.root / "bm" / "bin")
        return {"HOME": str(self.home), "PATH": ":".join(map(str, found))}

    def settings(self, **settings: Any) -> None:
        write(self.tau_home / "continuity.json", msgspec.json.encode({"project": "main"} | settings).decode())

    def doctor(self, *words: str, **env: str) -> Ran:
        return run("doctor", *words, env=self.environ | env)

    def results(self, **env: str) -> dict[str, str]:
        return results(self.doctor("--json", **env))


def results(ran: Ran) -> dict[str, str]:
    return {check["name"]: check["result"] for check in ran.json["checks"]}


def write(path: Path, text: str, mode: int = 0o644) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def program(path: Path, text: str) -> Path:
    return write(path, f"#!/bin/sh\n{text}\n", 0o755)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    found = Machine(tmp_path)
    program(found.tau_python, f"echo '{TOLD}'")
    write(found.home / ".local" / "bin" / "tau", f"#!{found.tau_python}\nimport tau\n", 0o755)
    program(found.root / "bm" / "bin" / "bm", "exit 1")
    (found.root / "bm" / "lib" / "python3.12" / "site-packages" / BASIC_MEMORY).mkdir(parents=True)
    write(found.shim, source(Lead(ROOT)))
    found.settings()
    found.work.mkdir()
    monkeypatch.chdir(found.work)
    return found


def files(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_on_a_machine_where_all_is_well_it_says_so_and_changes_nothing(machine: Machine) -> None:
    before = files(machine.root)
    ran, as_json = machine.doctor(), machine.doctor("--json")
    assert (ran.code, ran.err, ran.out.splitlines()[-1]) == (0, "", "all is well")
    assert (as_json.code, results(as_json)) == (0, WELL)
    assert msgspec.convert(as_json.json, DoctorView).online is False
    assert files(machine.root) == before


def no_tau(machine: Machine) -> None:
    (machine.home / ".local" / "bin" / "tau").unlink()


def tau_in_the_checkout(machine: Machine) -> None:
    (machine.home / ".local" / "bin" / "tau").rename(machine.work / "tau")


def old_python(machine: Machine) -> None:
    program(machine.tau_python, f"echo '{TOLD.replace('13', '11')}'")


def broken_tau(machine: Machine) -> None:
    program(machine.tau_python, """echo '{"python":[3,13,0],"tau":null,"level":null,"loading":null}'""")


def garbling_tau(machine: Machine) -> None:
    program(machine.tau_python, "echo Starting...")


def dying_tau(machine: Machine) -> None:
    program(machine.tau_python, "exit 3")


def unstartable_tau(machine: Machine) -> None:
    write(machine.tau_python, "#!/no/such/program\n", 0o755)


def unloadable(machine: Machine) -> None:
    program(machine.tau_python, f"echo '{TOLD.replace('""', '"ImportError: mcp"')}'")


def no_shim(machine: Machine) -> None:
    machine.shim.unlink()


def edited_shim(machine: Machine) -> None:
    machine.shim.write_text(machine.shim.read_text() + "\n")


def foreign_shim(machine: Machine) -> None:
    machine.shim.write_text("def setup(tau): ...\n")


def installed(machine: Machine, tag: str, digest: str | None = None) -> None:
    """What `continuity install` leaves: packages for such a Python, of this version or another, and a shim that leads there."""
    folder = places(machine.tau_home).packages / f"{tag}-{digest or own(ROOT).digest}"
    for name in PACKAGES:
        write(folder / name / "__init__.py", "")
    mark(folder, folder.name)
    machine.state.chmod(0o700)
    write(machine.shim, source(Lead(folder, tag)))
    program(machine.tau_python, f"echo '{TAGGED}'")


def namesake(machine: Machine) -> None:
    write(machine.shim.parent.with_suffix(".py"), "def setup(tau): ...\n")


def shim_to_a_gone_folder(machine: Machine) -> None:
    write(machine.shim, source(Lead(machine.root / "gone")))


def shim_to_another_copy(machine: Machine) -> None:
    for name in PACKAGES:
        write(machine.root / "copy" / name / "__init__.py", "")
    write(machine.shim, source(Lead(machine.root / "copy")))


def for_this_python(machine: Machine) -> None:
    installed(machine, "cpython-313-x")


def damaged(machine: Machine) -> None:
    installed(machine, "cpython-313-x")
    next(machine.state.glob("packages/*/journal/__init__.py")).write_text("edited")


def for_another_python(machine: Machine) -> None:
    installed(machine, "cpython-312-x")


def of_another_version(machine: Machine) -> None:
    installed(machine, "cpython-313-x", "0123456789ab")


def rival(machine: Machine) -> None:
    write(machine.tau_home / "extensions" / "basic-memory" / "pyproject.toml", '[project]\nname = "basic-memory-tau"\n')


def renamed_rival(machine: Machine) -> None:
    write(machine.tau_home / "extensions" / "notes" / "pyproject.toml", '[project]\nname = "basic-memory-tau"\n')


def rival_file(machine: Machine) -> None:
    write(machine.tau_home / "extensions" / "Basic Memory.py", "")


def unknown_key(machine: Machine) -> None:
    machine.settings(kapture=True)


def no_project(machine: Machine) -> None:
    machine.settings(project=None)


def no_bm(machine: Machine) -> None:
    (machine.root / "bm" / "bin" / "bm").unlink()


def bm_in_the_checkout(machine: Machine) -> None:
    machine.settings(command=str(program(machine.work / "bm", "exit 1")))


def relative_bm(machine: Machine) -> None:
    machine.settings(command="bin/bm")


def newer_bm(machine: Machine) -> None:
    packages = machine.root / "bm" / "lib" / "python3.12" / "site-packages"
    (packages / BASIC_MEMORY).rename(packages / "basic_memory-0.99.0.dist-info")


def stale_list(machine: Machine) -> None:
    spec = ServerSpec(command="/old/bm", args=(), env={}, cwd="/")
    InventoryCache(machine.state).save(inventory_key(spec), Inventory(server="s", version="1", tools=()))


def file_for_a_state_folder(machine: Machine) -> None:
    write(machine.state, "")


@pytest.mark.parametrize(
    ("spoil", "differs"),
    [
        (no_tau, {"tau": "fail", "loading": None}),
        (tau_in_the_checkout, {"tau": "fail", "loading": None}),
        (old_python, {"tau": "fail"}),
        (broken_tau, {"tau": "fail", "loading": None}),
        (garbling_tau, {"tau": "warn", "loading": None}),
        (dying_tau, {"tau": "warn", "loading": None}),
        (unstartable_tau, {"tau": "fail", "loading": None}),
        (unloadable, {"loading": "fail"}),
        (no_shim, {"extension": "fail"}),
        (edited_shim, {"extension": "fail"}),
        (foreign_shim, {"extension": "fail"}),
        (namesake, {"extension": "fail"}),
        (shim_to_a_gone_folder, {"extension": "fail"}),
        (shim_to_another_copy, {"extension": "warn"}),
        (for_this_python, {}),
        (damaged, {"extension": "fail"}),
        (for_another_python, {"extension": "fail"}),
        (of_another_version, {"extension": "warn"}),
        (rival, {"rivals": "warn"}),
        (renamed_rival, {"rivals": "warn"}),
        (rival_file, {"rivals": "warn"}),
        (unknown_key, {"settings": "fail", "project": None, "memory": None, "tools": None}),
        (no_project, {"project": "warn"}),
        (no_bm, {"memory": "fail", "tools": None}),
        (bm_in_the_checkout, {"memory": "fail", "tools": None}),
        (relative_bm, {"memory": "fail", "tools": None}),
        (newer_bm, {"memory": "warn"}),
        (stale_list, {"tools": "warn"}),
        (file_for_a_state_folder, {"state": "fail", "unsaved": None, "tools": "warn"}),
    ],
)
def test_one_fault_is_found_and_spoils_nothing_else(
    machine: Machine, spoil: Callable[[Machine], None], differs: dict[str, str | None]
) -> None:
    spoil(machine)
    ran = machine.doctor("--json")
    assert results(ran) == {name: word for name, word in (WELL | differs).items() if word is not None}
    assert ran.code == (1 if "fail" in differs.values() else 0)


def test_a_settings_file_that_is_named_and_not_there_is_found_by_its_name(machine: Machine) -> None:
    ran = machine.doctor(TAU_CONTINUITY_CONFIG=str(machine.root / "nowhere.json"))
    assert ran.code == 1
    assert f"{machine.root}/nowhere.json: does not exist" in ran.out


def test_a_setting_is_never_repeated(machine: Machine) -> None:
    machine.settings(timeout_seconds="s3cret")
    assert "s3cret" not in machine.doctor().out


def test_a_place_that_depends_on_the_checkout_is_a_fault(machine: Machine) -> None:
    assert machine.results(CONTINUITY_HOME="here") == {"python": "ok", "tau": "ok", "places": "fail"}


def test_a_folder_on_a_network_is_a_fault(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write(machine.root / "mounts", f"1 0 8:1 / / rw - ext4 /x rw\n2 1 0:4 / {machine.home} rw - nfs4 y rw\n")
    monkeypatch.setattr(filesystem, "TABLE", table)
    assert machine.results()["state"] == "fail"
    assert "is on nfs4" in machine.doctor().out


def test_a_folder_that_cannot_be_written_to_is_a_fault(machine: Machine) -> None:
    machine.state.mkdir(parents=True)
    machine.state.chmod(0o500)
    with permissions_bind():
        assert machine.results() == WELL | {"state": "fail"}


def test_what_may_not_be_looked_at_is_a_fault_and_no_traceback(machine: Machine) -> None:
    machine.tau_home.chmod(0)
    try:
        with permissions_bind():
            found = machine.results()
    finally:
        machine.tau_home.chmod(0o700)
    assert {name for name, word in found.items() if word == "fail"} == {"extension", "settings", "state"}


def test_work_that_was_never_stored_is_found_and_what_runs_or_cannot_be_read_costs_only_itself(
    machine: Machine,
) -> None:
    machine.state.mkdir(parents=True, mode=0o700)
    for name, events in (("saved", SAVED), ("left", MADE), ("running", MADE)):
        recorded(machine.state / f"{name}.journal", *events)
    write(machine.state / "torn.journal", "no journal", 0o600)
    with JournalLock.acquire(machine.state / "running.journal", WriterRecord(writer=WRITER, process=PROCESS)):
        before = files(machine.state)
        ran = machine.doctor()
        assert unsaved(machine.state) == Unsaved(sessions=2, running=1, unreadable=1)
        assert files(machine.state) == before
    assert "2 sessions hold work that is not stored yet; 1 journal could not be read" in ran.out
    assert machine.results() == WELL | {"unsaved": "warn"}


def test_the_newest_twenty_journals_are_looked_into(machine: Machine) -> None:
    machine.state.mkdir(parents=True, mode=0o700)
    os.utime(recorded(machine.state / "old.journal", *MADE), (1, 1))
    for number in range(20):
        os.utime(write(machine.state / f"{number}.journal", "", 0o600), (2, 2))
    assert unsaved(machine.state) == Unsaved(unreadable=20, newest=20)
    os.utime(write(machine.state / "old.journal-wal", "", 0o600), (3, 3))
    assert unsaved(machine.state) == Unsaved(sessions=1, unreadable=19, newest=20)


def test_a_damaged_list_of_tools_is_found(machine: Machine) -> None:
    env = child_environment(dict(environment()) | machine.environ, {})
    args = ("mcp", "--transport", "stdio")
    spec = ServerSpec(command=str(machine.root / "bm" / "bin" / "bm"), args=args, env=env, cwd="/")
    cache = InventoryCache(machine.state)
    cache.save(inventory_key(spec), Inventory(server="s", version="1", tools=()))
    assert "0 tools are listed" in machine.doctor().out
    cache.files()[0].write_text("{")
    assert machine.results() == WELL | {"tools": "warn"}


def test_a_python_of_tau_that_hangs_is_ended_with_its_children(machine: Machine) -> None:
    held = machine.root / "held"
    os.mkfifo(held)
    reading = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
    try:
        program(machine.tau_python, f"exec 3> {held}\necho begun >&3\n/bin/sleep 90 &\nwait")
        around = Surroundings(machine.environ, machine.work)
        assert find_tau(around, "", seconds=2).silence == "timeout"
        assert os.read(reading, 100) == b"begun\n"
        assert select.select([reading], [], [], 20)[0], "somebody still holds the pipe"
        assert os.read(reading, 100) == b""
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("head", "named"),
    [
        ("#!{python}\n", True),
        ("#! {python}\n", True),
        ("#!/usr/bin/env python\n", True),
        ("#!/usr/bin/env -S python\n", True),
        ("#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n", True),
        ("#!/bin/sh\n'''exec' {python} \"$0\" \"$@\"\n' '''\n", True),
        ("#!/bin/sh\nexec {python}\n", False),
        ("#!python\n", False),
        ("#!/bin/bash\n", False),
        ("#!/usr/bin/env bash\n", False),
        ("\x7fELF\n", False),
        ("", False),
    ],
)
def test_the_python_of_a_script_is_the_one_its_first_lines_name(machine: Machine, head: str, named: bool) -> None:
    script = write(machine.root / "script", head.format(python=machine.tau_python))
    around = Surroundings(machine.environ, machine.work)
    if named:
        assert interpreter_of(script, around) == str(machine.tau_python)
    else:
        with pytest.raises(CommandRefused):
            interpreter_of(script, around)


@pytest.mark.parametrize("below", [".", "sub/folder"])
def test_nothing_in_the_checkout_is_run_or_steers_what_is_run(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    trap = machine.root / "trap"
    (machine.work / ".git").mkdir()
    (machine.work / below).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(machine.work / below)
    for name in ("tau", "bm", "python", "uv", "git"):
        program(machine.work / name, f": > {trap}")
    for name in ("json", "sitecustomize", "usercustomize", "tau_coding", "continuity", "journal"):
        write(machine.work / f"{name}.py", f"open({str(trap)!r}, 'w')\n")
    for name in ("continuity.json", "basic-memory.json", ".env", ".tau/continuity.json"):
        write(machine.work / name, '{"project": "theirs", "command": "./bm"}')
    write(machine.home / ".local" / "bin" / "tau", f"#!{sys.executable}\n", 0o755)
    path = f"{machine.work}:.::{machine.environ['PATH']}"
    ran = machine.doctor("--json", PATH=path, PYTHONPATH=str(machine.work), VIRTUAL_ENV=str(machine.work))
    assert not trap.exists()
    assert results(ran) == WELL
    assert "theirs" not in ran.out


def test_a_tau_in_the_checkout_is_not_run_by_way_of_a_script_elsewhere(machine: Machine) -> None:
    trap = machine.root / "trap"
    inside = program(machine.work / "python", f": > {trap}")
    write(machine.home / ".local" / "bin" / "tau", f"#!{inside}\n", 0o755)
    assert machine.results()["tau"] == "warn"
    assert not trap.exists()


def test_without_being_told_it_starts_no_server(machine: Machine) -> None:
    fake = FakeMemory(machine.root / "fake")
    command, args = fake.command
    machine.settings(command=command, args=args)
    assert machine.doctor().code == 0
    assert fake.requests() == []


class Online(NamedTuple):
    """The machine with a memory server that may be spoilt."""

    machine: Machine
    fake: FakeMemory

    def results(self) -> dict[str, str]:
        return results(self.machine.doctor("--online", "--json"))


@pytest.fixture
def online(machine: Machine) -> Online:
    fake = FakeMemory(machine.root / "fake")
    command, args = fake.command
    machine.settings(command=command, args=args)
    return Online(machine, fake)


def test_a_server_is_asked_once_and_for_nothing_but_reads(online: Online) -> None:
    ran = online.machine.doctor("--online")
    assert "Fake Memory reports version 1 and offers 6 tools" in ran.out
    assert "main is local" in ran.out
    assert online.fake.calls()["initialize"] == 1
    assert {name for name in online.fake.calls() if not name.startswith("notifications/")} == {
        "initialize", "tools/list", "list_memory_projects", "search_notes",
    }  # fmt: skip
    assert not online.machine.state.exists()


@pytest.mark.parametrize(("fault", "trouble"), [("exit", "exited"), ("reject", "protocol")])
def test_a_server_that_ends_or_refuses_fails(online: Online, fault: str, trouble: Trouble) -> None:
    online.fake.faults(initialize=fault)
    assert online.results() == WELL | {"server": "fail"}
    assert asked(online, Bounds()) == Asked(trouble=trouble)


def asked(online: Online, bounds: Bounds) -> Asked:
    command, args = online.fake.command
    spec = ServerSpec(command=command, args=tuple(args), env=dict(environment()), cwd="/nowhere")
    return anyio.run(ask, spec, "main", online.machine.state, bounds)


@pytest.mark.parametrize(("fault", "trouble"), [("hang", "timeout"), ("garbage", "garbage")])
def test_a_server_that_hangs_or_garbles_is_given_up(online: Online, fault: str, trouble: Trouble) -> None:
    online.fake.faults(initialize=fault, stubborn=True)
    assert asked(online, Bounds(start=2.0)) == Asked(trouble=trouble)


def test_a_server_that_answers_no_question_is_given_up_and_what_it_said_is_kept(online: Online) -> None:
    online.fake.faults(list_memory_projects=["silent"])
    found = asked(online, Bounds(answer=2.0))
    assert (found.trouble, found.tools, found.projects, found.schemas) == (None, 6, None, None)


def test_a_server_that_dies_between_two_questions_has_said_nothing_of_projects(online: Online) -> None:
    online.fake.faults(list_memory_projects=["exit"])
    assert asked(online, Bounds()).projects is None


def test_a_server_that_does_not_list_its_tools_fails(online: Online) -> None:
    online.fake.faults(tools={"pages": [5]})
    assert asked(online, Bounds()) == Asked(trouble="unlisted")


def test_tools_that_are_others_than_those_kept_are_told(online: Online) -> None:
    command, args = online.fake.command
    env = child_environment(dict(environment()) | online.machine.environ, {})
    key = inventory_key(ServerSpec(command=command, args=tuple(args), env=env, cwd="/"))
    InventoryCache(online.machine.state).save(key, Inventory(server="s", version="1", tools=()))
    assert online.results() == WELL | {"server": "ok", "listing": "warn", "source": "ok", "schemas": "warn"}


def test_a_project_that_is_not_there_fails(online: Online) -> None:
    command, args = online.fake.command
    online.machine.settings(command=command, args=args, project="mian")
    ran = online.machine.doctor("--online")
    assert ran.code == 1
    assert "did you mean main?" in ran.out


def test_a_project_that_cannot_be_searched_is_only_looked_at(online: Online) -> None:
    online.fake.faults(index="required", source="cloud")
    assert online.results() == WELL | {"server": "ok", "source": "ok", "schemas": "warn"}


def test_a_schema_note_counts_however_its_type_is_spelled(online: Online) -> None:
    for number, entity in enumerate(("Session", "coding_session", "Task", "person", "")):
        online.fake.put(f"s/{number}.md", "x", type="schema", entity=entity)
    online.fake.put("s/other.md", "x", type="note", entity="decision")
    expected: frozenset[Entity] = frozenset({"session", "coding_session", "task"})
    assert asked(online, Bounds()).schemas == expected
    online.fake.faults(read_note=["rpc-error"])
    assert asked(online, Bounds()).schemas is None


def test_projects_that_are_not_told_are_looked_at(online: Online) -> None:
    online.fake.faults(list_memory_projects=["rpc-error"])
    found = online.results()
    assert (found["server"], found["projects"]) == ("ok", "warn")


def approved(root: Path) -> dict[str, str]:
    return {"root": str(root), "repository": "ada/one", "project": "main"}


def test_a_worktree_that_is_not_approved_is_told_from_one_that_is_and_only_where_checkouts_are_approved(
    machine: Machine,
) -> None:
    write(machine.work / ".git", "gitdir: elsewhere\n")
    assert "work" not in machine.results()
    machine.settings(repositories=[approved(machine.root / "home")])
    assert machine.results() == WELL | {"work": "warn"}
    machine.settings(repositories=[approved(machine.work)])
    assert machine.results() == WELL


def test_a_repository_inside_an_approved_checkout_is_named(machine: Machine) -> None:
    write(machine.work / ".git", "gitdir: elsewhere\n")
    machine.settings(repositories=[approved(machine.root)])
    (told,) = [check for check in machine.doctor("--json").json["checks"] if check["name"] == "work"]
    assert "a repository of its own inside the approved checkout of ada/one" in told["found"]


def test_an_approved_root_that_is_gone_is_named_by_its_key(machine: Machine) -> None:
    machine.settings(repositories=[approved(machine.work), approved(machine.root / "gone")])
    (told,) = [check for check in machine.doctor("--json").json["checks"] if check["name"] == "roots"]
    assert told["found"] == "no folder is where these say: repositories.1"
