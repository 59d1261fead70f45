"""A writing server is gone only when that is proven: zombies are dead, numbers are reused, other machines are unseen."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import msgspec
import pytest

from continuity.memory.liveness import Member, Place, Sight, group_state, here, identify, judge, parse_stat, pseudonym
from journal.events.lifecycle import Process

OURS = Process(machine="m", boot="b", pid_namespace="n", pid=40, process_group=40, started=1000)
HOME = Place("m", "b", "n")
LEADER = Member(pid=40, group=40, session=40, started=1000, dead=False)
CHILD = Member(pid=41, group=40, session=40, started=1005, dead=False)


def seen(*members: Member, exists: bool = True) -> Sight:
    return Sight(exists=exists, members=members)


def test_a_leader_that_runs_is_alive() -> None:
    assert judge(OURS, seen(LEADER)) == "alive"


def test_a_child_outlives_its_leader() -> None:
    assert judge(OURS, seen(CHILD)) == "alive"


def test_a_child_that_left_the_group_is_found_by_its_session() -> None:
    assert judge(OURS, seen(CHILD._replace(group=41), exists=False)) == "alive"


def test_zombies_are_dead() -> None:
    assert judge(OURS, seen(LEADER._replace(dead=True), CHILD._replace(dead=True))) == "gone"


def test_a_group_the_kernel_does_not_know_is_gone() -> None:
    assert judge(OURS, seen(exists=False)) == "gone"


def test_a_number_used_again_later_is_not_ours() -> None:
    assert judge(OURS, seen(LEADER._replace(started=9000), CHILD._replace(started=9001))) == "gone"


def test_a_group_that_exists_but_is_hidden_from_us_is_unknown() -> None:
    assert judge(OURS, seen(exists=True)) == "unknown"


@pytest.mark.parametrize(
    ("place", "state"),
    [
        (Place("m", "later", "n"), "gone"),
        (Place("other", "later", "n"), "unknown"),
        (Place("other", "b", "n"), "unknown"),
        (Place("m", "b", "other"), "unknown"),
        (Place("m", "later", "other"), "unknown"),
        (Place("", "later", "n"), "unknown"),
        (Place("m", "", "n"), "unknown"),
        (Place("m", "b", ""), "unknown"),
    ],
)
def test_elsewhere_only_a_restart_of_the_same_machine_is_proof(place: Place, state: str) -> None:
    assert group_state(OURS, place) == state


def test_a_journal_names_a_machine_without_telling_its_id() -> None:
    assert pseudonym("secret") == pseudonym("secret") != pseudonym("another")
    assert "secret" not in pseudonym("secret")
    assert pseudonym("") == ""


def test_a_machine_without_an_id_is_known_by_its_boot() -> None:
    nameless = msgspec.structs.replace(identify(os.getpid()), machine="", process_group=os.getpgrp())
    assert group_state(nameless, here()._replace(machine="")) == "alive"


def test_a_name_with_brackets_and_spaces_does_not_shift_the_fields() -> None:
    text = "7 (a) b) (c) S 1 40 40 0 -1 0 0 0 0 0 0 0 0 0 20 0 3 0 1234 0 0"
    assert parse_stat(7, text) == Member(pid=7, group=40, session=40, started=1234, dead=False)


def test_a_leader_whose_threads_work_on_is_no_zombie() -> None:
    line = "7 (x) Z 1 40 40 0 -1 0 0 0 0 0 0 0 0 0 20 0 {} 0 1234 0 0"
    assert not parse_stat(7, line.format(2)).dead
    assert parse_stat(7, line.format(1)).dead


@pytest.fixture
def family() -> Iterator[subprocess.Popen[bytes]]:
    """A leader that started a child in its group and says so."""
    script = "import subprocess, sys; c = subprocess.Popen(['sleep', '60']); print(c.pid, flush=True); c.wait()"
    popen = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True)
    yield popen
    with contextlib.suppress(ProcessLookupError):
        os.killpg(popen.pid, signal.SIGKILL)
    popen.communicate()


def test_a_real_group_lives_until_its_last_member_ended(family: subprocess.Popen[bytes]) -> None:
    assert family.stdout is not None
    child = int(family.stdout.readline())
    process = identify(family.pid)
    assert group_state(process) == "alive"
    family.kill()
    family.wait()
    assert group_state(process) == "alive"
    os.kill(child, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while group_state(process) == "alive" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert group_state(process) == "gone"


def test_a_zombie_nobody_reaped_yet_is_gone() -> None:
    popen = subprocess.Popen([sys.executable, "-c", ""], start_new_session=True)
    process = identify(popen.pid)
    deadline = time.monotonic() + 10
    while group_state(process) == "alive" and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(popen.pid, 0)
    assert group_state(process) == "gone"
    popen.wait()
