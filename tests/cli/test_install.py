"""Installing leads Tau to a whole set of packages or leaves everything as it was."""

from __future__ import annotations

import fcntl
import signal
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from continuity.cli import shim
from continuity.cli.doctor.tau import Surroundings
from continuity.cli.installing import folders
from continuity.cli.installing.fetching import find_uv
from continuity.cli.installing.marks import HALF_MARK, MARK
from continuity.cli.installing.own import own
from continuity.cli.shim import Lead, source
from tests.fakes.permissions import permissions_bind
from tests.fakes.scenario import until
from tests.fakes.tau_machine import LIBRARY, TAG, TauMachine, program, tau_machine

ROOT = Path(__file__).parents[2]
LOG = "fetching.log"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TauMachine:
    made = tau_machine(tmp_path)
    monkeypatch.chdir(tmp_path / "work")
    return made


def files(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def the_installation(machine: TauMachine) -> Path:
    (folder,) = machine.installed()
    assert machine.leads_to() == folder
    return folder


# -- what it makes -------------------------------------------------------------------


def test_a_dry_run_says_all_it_would_do_and_does_nothing(machine: TauMachine) -> None:
    before = files(machine.root)
    ran = machine.run("install", "--dry-run")
    assert (ran.code, ran.err) == (0, "")
    folder = machine.packages / f"{TAG}-{own(ROOT).digest}"
    uv, locked = machine.root / "bin" / "uv", ROOT / "continuity" / "cli" / "locked.txt"
    for said in (machine.python, f"make {folder}\n", uv, locked, f"make {machine.places.shim}\n", "Tau 0.4.8"):
        assert str(said) in ran.out
    assert files(machine.root) == before


def test_it_puts_every_file_of_ours_beside_the_libraries_and_leads_tau_there(machine: TauMachine) -> None:
    ran = machine.run("install", "--yes")
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "done; Tau loads it at its next start, or after /reload")
    folder = the_installation(machine)
    assert folder.name == f"{TAG}-{own(ROOT).digest}"
    assert set(own(ROOT).contents) | {LIBRARY, MARK} == {
        name for name, content in files(folder).items() if content is not None
    }
    assert f"tau_continuity-{own(ROOT).version}.dist-info/METADATA" in own(ROOT).contents
    (asked,) = machine.installers
    assert f"--python {machine.python} --target " in asked
    assert "--require-hashes --no-deps --only-binary :all: -r " in asked


def test_what_describes_a_stray_package_of_our_name_decides_nothing(
    machine: TauMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = tmp_path / "stray" / "tau_continuity-9.dist-info"
    stray.mkdir(parents=True)
    (stray / "METADATA").write_text("Metadata-Version: 2.1\nName: tau-continuity\nVersion: /../../ESCAPED\n")
    before = own(ROOT)
    monkeypatch.setattr(sys, "path", [str(stray.parent), *sys.path])
    assert own(ROOT) == before


def test_nobody_else_may_enter_what_tau_runs(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (machine.packages, the_installation(machine))]
    assert (modes, stat.S_IMODE(machine.places.shim.stat().st_mode)) == ([0o700, 0o700], 0o600)


def test_installing_twice_is_installing_once(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    before, written = files(machine.root), machine.places.shim.stat().st_mtime_ns
    again = machine.run("install", "--yes")
    assert (again.code, again.out, again.err) == (0, f"{machine.places.shim} is up to date\n", "")
    assert machine.run("install").code == 0
    assert (files(machine.root), machine.places.shim.stat().st_mtime_ns) == (before, written)


@pytest.mark.parametrize(("name", "edited"), [(LIBRARY, None), ("journal/disk.py", "edited")])
def test_a_file_that_is_gone_or_edited_is_a_reason_to_make_the_packages_anew(
    machine: TauMachine, name: str, edited: str | None
) -> None:
    machine.run("install", "--yes")
    folder, before = the_installation(machine), files(machine.packages)
    (folder / name).unlink()
    if edited is not None:
        (folder / name).write_text(edited)
    assert machine.run("install", "--yes").code == 0
    assert (the_installation(machine), files(machine.packages)) == (folder, before)
    assert len(machine.installers) == 2


def test_a_shim_that_is_gone_is_made_again_for_packages_that_are_there(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    machine.places.shim.unlink()
    assert machine.run("install", "--yes").code == 0
    assert (the_installation(machine), len(machine.installers)) == (machine.leads_to(), 1)


def test_without_a_person_to_ask_nothing_is_written(machine: TauMachine) -> None:
    ran = machine.run("install")
    assert (ran.code, "make " in ran.out, "--yes" in ran.err) == (2, True, True)
    assert not machine.tau_home.exists()


def test_libraries_that_tau_brings_in_another_version_are_named(machine: TauMachine) -> None:
    machine.has_tau(instead=("pydantic 2.11 and not 2.12",))
    assert (
        "of what Tau brings too, Tau's own is used: pydantic 2.11 and not 2.12\n" in machine.run("install", "--yes").out
    )


def test_a_checkout_is_led_to_as_it_is(machine: TauMachine) -> None:
    assert machine.run("install", "--editable", "--yes").code == 0
    assert (machine.leads_to(), machine.installed(), machine.installers) == (ROOT, [], [])
    assert machine.run("install", "--editable").out == f"{machine.places.shim} is up to date\n"


def test_a_tau_whose_own_environment_holds_this_program_is_led_to_it_as_it_is(machine: TauMachine) -> None:
    machine.has_tau(has=ROOT)
    assert machine.run("install", "--yes").code == 0
    assert (machine.leads_to(), machine.installed(), machine.installers) == (ROOT, [], [])
    assert machine.run("install").out == f"{machine.places.shim} is up to date\n"


def test_a_tau_whose_own_environment_holds_another_copy_is_not_led_there(machine: TauMachine) -> None:
    machine.has_tau(has=machine.root)
    assert machine.run("install", "--yes").code == 0
    assert machine.leads_to() == the_installation(machine)


# -- which Tau -----------------------------------------------------------------------


def test_without_tau_it_says_what_helps_and_writes_nothing(machine: TauMachine) -> None:
    machine.tau.unlink()
    ran = machine.run("install", "--yes")
    assert (ran.code, ran.out, machine.tau_home.exists()) == (1, "", False)
    assert ran.err == "error: Tau: not found on PATH\nhint: uv tool install tau-ai; nothing was written\n"


@pytest.mark.parametrize("option", ["--tau", "--python"])
def test_a_tau_that_is_not_on_the_path_can_be_named_and_the_notice_remembers(machine: TauMachine, option: str) -> None:
    elsewhere = machine.tau.rename(machine.root / "tau")
    named = elsewhere if option == "--tau" else machine.python
    assert machine.run("install", "--yes", option, str(named)).code == 0
    lead = shim.lead_at(machine.places.shim)
    assert lead is not None
    assert (lead.folder, lead.named) == (the_installation(machine), True)


def test_a_python_without_tau_is_refused(machine: TauMachine) -> None:
    other = program(
        machine.root / "python",
        """#!/bin/sh\necho '{"python":[3,13,0],"tag":"t","tau":null,"level":null,"loading":null}'\n""",
    )
    ran = machine.run("install", "--yes", "--python", str(other))
    assert (ran.code, machine.tau_home.exists()) == (1, False)
    assert f"{other} leads to no working Tau" in ran.err


def test_no_tau_and_no_uv_of_the_checkout_is_run(
    machine: TauMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work" / ".git").mkdir()
    (tmp_path / "work" / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "work" / "sub")
    for name in ("tau", "uv"):
        program(tmp_path / "work" / name, f"#!/bin/sh\ntouch {tmp_path / 'run'}\n")
    ran = machine.run("install", "--yes", PATH=f"{tmp_path / 'work'}:{machine.environ['PATH']}")
    assert (ran.code, (tmp_path / "run").exists(), len(machine.installers)) == (0, False, 1)


def test_tau_and_python_exclude_each_other(machine: TauMachine) -> None:
    assert machine.run("install", "--tau", "a", "--python", "b").code == 2


# -- what comes after ----------------------------------------------------------------


def test_a_new_python_gets_packages_of_its_own_and_the_earlier_ones_stay_for_a_tau_that_runs(
    machine: TauMachine,
) -> None:
    machine.run("install", "--yes")
    first = the_installation(machine)
    machine.has_tau(tag="cpython-314-made-up")
    ran = machine.run("install", "--yes")
    second = machine.leads_to()
    assert second is not None
    assert (ran.code, second.name[:19], machine.installed()) == (0, "cpython-314-made-up", [first, second])
    assert f"kept {first}, for a Tau that may still run from it\n" in ran.out


def test_older_packages_than_the_ones_before_are_removed(machine: TauMachine) -> None:
    for number in (312, 313, 314):
        machine.has_tau(tag=f"cpython-{number}-made-up")
        assert machine.run("install", "--yes").code == 0
    assert [each.name[:11] for each in machine.installed()] == ["cpython-313", "cpython-314"]


def test_what_is_no_installation_of_ours_is_not_removed_however_it_is_called(machine: TauMachine) -> None:
    for name in ("mine", "backup-202412010930", ".draft.abcd", ".old.abcd/photos-0123456789ab"):
        (machine.packages / name).mkdir(parents=True)
        (machine.packages / name / "mine").touch()
    before = files(machine.packages)
    for number in (312, 313, 314):
        machine.has_tau(tag=f"cpython-{number}-made-up")
        machine.run("install", "--yes")
    machine.run("uninstall", "--yes")
    assert files(machine.packages) == before | {".lock": b""}


# -- what goes wrong -----------------------------------------------------------------


def test_pip_is_asked_where_uv_fails(machine: TauMachine) -> None:
    fetching = f'while [ "$1" != --target ]; do shift; done; echo >"$2/{LIBRARY}"; exit 0'
    machine.has_uv("exit 2")
    machine.has_pip(fetching)
    assert machine.run("install", "--yes").code == 0
    assert (the_installation(machine) / LIBRARY).exists()
    assert not (machine.packages / LOG).exists()


@pytest.mark.parametrize(
    ("says", "told"),
    [
        ("Resolved 31 packages; error: dns error: failed to lookup address", "no package index was reached"),
        ("Resolved 31 packages; https://ada:secret@example.org: Hash mismatch for it", "not the one that was locked"),
        ("Resolved 31 packages; No space left on device (os error 28)", "there is no room"),
        ("Resolved 31 packages; it is broken", "the libraries could not be installed"),
    ],
)
def test_libraries_that_cannot_be_had_are_told_in_our_words_and_nothing_is_left(
    machine: TauMachine, says: str, told: str
) -> None:
    machine.has_uv(f'echo "half" >"$target/half.py"; echo "{says}" >&2; exit 1')
    machine.has_pip('echo "No module named pip" >&2; exit 1')
    ran = machine.run("install", "--yes")
    assert (ran.code, machine.installed(), machine.places.shim.exists(), told in ran.err) == (3, [], False, True)
    assert "secret" not in ran.err + ran.out
    log = machine.packages / LOG
    assert str(log) in ran.err
    assert (says in log.read_text(), stat.S_IMODE(log.stat().st_mode)) == (True, 0o600)


def test_that_there_is_no_installer_is_said_before_and_after_and_nothing_is_left(
    machine: TauMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("continuity.cli.installing.fetching._OUR_UVS", ())  # this checkout may have one
    (machine.root / "bin" / "uv").unlink()
    machine.has_pip('echo "No module named pip" >&2; exit 1')
    assert f"nothing can fetch: no uv, and no pip in {machine.python}:" in machine.run("install", "--dry-run").out
    ran = machine.run("install", "--yes", PATH=str(machine.root / "bin"))
    assert f"there is neither uv, nor pip in {machine.python}" in ran.err
    assert not machine.packages.exists()


def test_the_uv_beside_this_program_is_taken_though_it_lies_in_the_checkout(
    machine: TauMachine, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    ours = program(checkout / ".bootstrap" / "uv" / "bin" / "uv", "#!/bin/sh\n")
    around = Surroundings({"PATH": str(ours.parent), "HOME": str(checkout)}, checkout)
    assert (find_uv(around, checkout), find_uv(around, tmp_path)) == (str(ours), None)


def test_a_signal_that_ends_it_ends_the_installer_too(machine: TauMachine) -> None:
    machine.has_uv(f"echo $$ >{machine.root / 'pid'}; kill -TERM $PPID; exec sleep 60")
    assert ended(machine, "from continuity.cli import main; main(['install', '--yes'])") == 128 + signal.SIGTERM
    pid = int((machine.root / "pid").read_text())
    until(lambda: not lives(pid) or None, "the end of the installer")
    assert machine.installed() == []


def test_what_cannot_take_its_place_leaves_the_one_before_there(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    folder, before = the_installation(machine), files(machine.packages)
    with folders.alone(machine.packages), pytest.raises(OSError, match="No such file"):
        folders.put(machine.packages / "not-there", folder)
    assert files(machine.packages) == before


def test_one_that_was_moved_aside_by_a_killed_installation_is_put_back(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    folder, aside = the_installation(machine), machine.packages / ".old.abcd1234"
    aside.mkdir()
    (aside / HALF_MARK).touch()
    folder.rename(aside / folder.name)
    assert machine.run("install", "--yes").code == 0
    assert (machine.installed(), len(machine.installers)) == ([folder], 1)


def test_a_python_that_does_not_answer_is_no_reason_to_make_good_packages_anew(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    machine.places.shim.unlink()
    machine.has_tau(before_proof=f'[ -z "$4" ] || {{ touch {machine.root / "asked"}; exit 1; }}')
    ran = machine.run("install", "--yes")
    assert (ran.code, (machine.root / "asked").exists(), len(machine.installers)) == (3, True, 1)


def test_a_proof_that_fails_replaces_nothing_that_worked(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    before = files(machine.tau_home)
    machine.has_tau(
        tag="cpython-314-made-up", loading="ImportError: pydantic is too old", instead=("pydantic 1.0 and not 2.0",)
    )
    ran = machine.run("install", "--yes")
    assert ran.code == 3
    assert "ImportError: pydantic is too old; Tau brings pydantic 1.0 and not 2.0; everything is as it was" in ran.err
    assert files(machine.tau_home) == before


def test_packages_of_the_same_name_in_taus_python_are_a_fault_with_its_own_remedy(machine: TauMachine) -> None:
    machine.has_tau(loading="packages of the same name come before it: journal (/x)")
    assert "hint: remove them from Tau's Python" in machine.run("install", "--yes").err


def test_a_checkout_whose_libraries_are_missing_is_not_led_to(machine: TauMachine) -> None:
    machine.has_tau(loading="ModuleNotFoundError: mcp")
    ran = machine.run("install", "--editable", "--yes")
    assert (ran.code, machine.places.shim.exists()) == (3, False)
    assert f"uv pip install --python {machine.python} {ROOT}" in ran.err


def test_a_second_installation_at_the_same_time_is_told_and_does_nothing(machine: TauMachine) -> None:
    machine.packages.mkdir(parents=True)
    with (machine.packages / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)  # which only one that wants it for itself alone cannot share
        ran = machine.run("install", "--yes")
    assert (ran.code, machine.installed(), machine.installers) == (3, [], [])
    assert "another installation is at work" in ran.err


def test_a_folder_that_cannot_be_written_to_is_said(machine: TauMachine) -> None:
    machine.places.state.mkdir(parents=True)
    machine.places.state.chmod(0o500)
    with permissions_bind():
        ran = machine.run("install", "--yes")
    assert (ran.code, f"{machine.packages}: Permission denied" in ran.err) == (3, True)
    assert not machine.places.shim.exists()


def test_a_disk_that_is_full_leaves_nothing_behind(machine: TauMachine) -> None:
    limited = f"ulimit -f 40; exec {sys.executable} -c 'from continuity.cli import main; main()' install --yes"
    done = subprocess.run(
        ["/bin/sh", "-c", limited], env=machine.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert (done.returncode, machine.installed(), machine.places.shim.exists()) == (3, [], False)
    assert b": File too large\n" in done.stderr


@pytest.mark.parametrize("kind", ["all packages", "the folder"])
def test_a_link_in_the_way_is_not_written_through(machine: TauMachine, kind: str) -> None:
    elsewhere = machine.root / "elsewhere"
    elsewhere.mkdir()
    link = machine.packages if kind == "all packages" else machine.packages / f"{TAG}-{own(ROOT).digest}"
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    ran = machine.run("install", "--yes")
    assert (ran.code, f"{link}: a link is in the way" in ran.err) == (3, True)
    assert (list(elsewhere.iterdir()), machine.places.shim.exists()) == ([], False)


# -- killed --------------------------------------------------------------------------

KILLED_AT = """\
import os, signal, sys
left = {number}
def kill(event, arguments):
    global left
    left -= event == {event!r}
    if event == {event!r} and not left:
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(kill)
from continuity.cli import main
main(["install", "--yes"])
"""


def lives(pid: int) -> bool:
    """Whether the process is more than an entry that whoever inherited it has not read yet."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def ended(machine: TauMachine, script: str) -> int:
    """Run a program of ours in a process of its own; return how it ended."""
    environ = machine.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", script], env=environ, capture_output=True, check=False)
    assert done.stderr in (b"", b"fetching the libraries ...\n")
    return done.returncode


@pytest.mark.parametrize(
    ("event", "number", "whole"),
    [("os.mkdir", 9, False), ("os.rename", 1, False), ("os.link", 1, True)],
    ids=["while files are written", "before the packages have their name", "before tau is led to them"],
)
def test_killed_at_any_step_nothing_half_is_left_to_be_loaded_and_the_next_one_goes_on(
    machine: TauMachine, event: str, number: int, whole: bool
) -> None:
    assert ended(machine, KILLED_AT.format(event=event, number=number)) == -9
    assert machine.leads_to() is None
    assert [each.name.startswith(".draft.") for each in machine.installed()] == [not whole]
    assert machine.run("install", "--yes").code == 0
    assert (the_installation(machine) / LIBRARY).exists()
    assert len(machine.installers) == (1 if whole else 2)


def test_killed_in_its_proof_what_worked_before_works_on(machine: TauMachine) -> None:
    machine.run("install", "--yes")
    before = the_installation(machine)
    kill = f'case "$4" in *{".draft."}*) kill -9 $PPID;; esac'
    machine.has_tau(tag="cpython-314-made-up", before_proof=kill)
    assert ended(machine, "from continuity.cli import main; main(['install', '--yes'])") == -9
    assert machine.leads_to() == before
    assert (before / LIBRARY).exists()


# -- what is not ours ----------------------------------------------------------------


def test_a_shim_of_another_place_or_version_is_renewed(machine: TauMachine) -> None:
    machine.places.shim.parent.mkdir(parents=True)
    machine.places.shim.write_text(source(Lead(Path("/somewhere/else"))))
    assert f"renew {machine.places.shim}\n" in machine.run("install", "--dry-run").out
    assert machine.run("install", "--yes").out.endswith("done; Tau loads it at its next start\n")
    assert the_installation(machine).is_dir()


@pytest.mark.parametrize("option", ["--yes", "--dry-run"])
@pytest.mark.parametrize(
    "kind", ["another extension", "edited by hand", "a folder", "a link", "a linked folder", "a namesake"]
)
def test_what_is_not_ours_is_never_touched(machine: TauMachine, tmp_path: Path, kind: str, option: str) -> None:
    in_the_way(machine.places.shim, tmp_path, kind)
    before = files(tmp_path)
    ran = machine.run("install", option)
    assert (ran.code, "is never overwritten" in ran.err) == (1, True)
    assert files(tmp_path) == before


def in_the_way(path: Path, tmp_path: Path, kind: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    path.parent.parent.mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "extension.py").write_text(source(Lead(ROOT)))
    match kind:
        case "a linked folder":
            path.parent.symlink_to(elsewhere)
        case "a namesake":
            path.parent.with_suffix(".py").write_text("def setup(tau): ...\n")
        case "a folder":
            path.mkdir(parents=True)
        case _:
            path.parent.mkdir()
            if kind == "a link":
                path.symlink_to(elsewhere / "extension.py")
            else:
                path.write_text(
                    source(Lead(ROOT)) + "# mine\n" if kind == "edited by hand" else "def setup(tau): ...\n"
                )


def test_a_shim_that_cannot_be_looked_at_is_unreadable(machine: TauMachine) -> None:
    machine.tau_home.mkdir(mode=0)
    with permissions_bind():
        ran = machine.run("install", "--yes")
    assert (ran.code, ran.out, "Permission denied" in ran.err) == (3, "", True)


def test_a_folder_that_cannot_be_made_is_said(machine: TauMachine) -> None:
    machine.tau_home.write_text("a file where a folder belongs")
    ran = machine.run("install", "--yes")
    assert (ran.code, "Tau loads what it loaded before" in ran.err) == (3, True)
