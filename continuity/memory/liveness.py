"""Tells whether anything of a process we started could still act. It signals nobody and guesses nothing.

A server may be a wrapper around another one, so the question is always about
the whole process group, and about the session it leads. A descendant that
began a session of its own is out of sight: nothing on Linux or macOS leads
from it back to us once its parent has ended.
"""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

from journal.events.lifecycle import Process

type GroupState = Literal["gone", "alive", "unknown"]

_LINUX = sys.platform == "linux"


class Place(NamedTuple):
    """Where a process is to be looked for. An empty field is one that could not be read."""

    machine: str
    boot: str
    pid_namespace: str


class Member(NamedTuple):
    """One process as the kernel lists it."""

    pid: int
    group: int
    session: int
    started: int
    dead: bool
    """A zombie: it holds its number and can do nothing."""


class Sight(NamedTuple):
    """What was seen of a group at one moment."""

    exists: bool
    """The kernel knows a process in the group, dead ones included."""
    members: tuple[Member, ...]
    """Those of the group and its session, and whoever now holds the leader's number."""


def group_state(process: Process, place: Place | None = None) -> GroupState:
    """Return whether anything of `process`'s group or session still lives, as far as it can be known from here."""
    place = here() if place is None else place
    if not _comparable(process, place):
        return _elsewhere(process, place)
    return judge(process, look(process.process_group))


def judge(process: Process, sight: Sight) -> GroupState:
    """Return what `sight`, taken on the process's own machine, boot and namespace, proves. Pure.

    The kernel does not give a number away while a group or a session still
    bears it. So a leader with another start time proves that ours has ended.
    """
    leader = next((member for member in sight.members if member.pid == process.process_group), None)
    if leader is not None and process.pid == process.process_group and leader.started != process.started:
        return "gone"
    if living(process, sight.members):
        return "alive"
    if sight.exists and not any(member.group == process.process_group for member in sight.members):
        return "unknown"
    return "gone"


def living(process: Process, members: Sequence[Member]) -> tuple[Member, ...]:
    """Return those of `members` that belong to `process`'s group, or to the session it leads, and are not dead."""
    leads = process.pid == process.process_group
    return tuple(
        member
        for member in members
        if not member.dead
        and (member.group == process.process_group or (leads and member.session == process.process_group))
    )


def look(group: int) -> Sight:
    """Return what can be seen of `group` now; a few milliseconds, for the process table is read."""
    members = tuple(m for m in _table() if group in {m.pid, m.group, m.session})
    return Sight(exists=_exists(group), members=members)


def identify(pid: int) -> Process:
    """Return what is needed to recognise `pid`, a process that has just been started as leader of its session.

    `started` is 0 where the kernel would not tell; such a process is never proven gone by a reused number.
    """
    place = here()
    member = _member(pid)
    return Process(
        machine=place.machine,
        boot=place.boot,
        pid_namespace=place.pid_namespace,
        pid=pid,
        process_group=pid,
        started=0 if member is None else member.started,
    )


def here() -> Place:
    """Return this machine, this boot and this process's pid namespace."""
    if _LINUX:
        return Place(
            machine=pseudonym(_first_line("/etc/machine-id")),
            boot=_first_line("/proc/sys/kernel/random/boot_id"),
            pid_namespace=_link("/proc/self/ns/pid"),
        )
    return Place(machine=pseudonym(_host_uuid()), boot=_boot_uuid(), pid_namespace="host")


def pseudonym(machine_id: str) -> str:
    """Return a machine's id as journals keep it: the same for the same machine, and nothing else can be read from it.

    machine-id(5) wants the id itself kept away from what may be passed on, as an exported journal may.
    """
    if not machine_id:
        return ""
    return hmac.new(machine_id.encode(), b"tau-continuity machine", hashlib.sha256).hexdigest()[:32]


def _comparable(process: Process, place: Place) -> bool:
    """The same kernel since the same start, seen through the same namespace. A machine id may be missing."""
    return (
        bool(place.boot and place.pid_namespace)
        and process.boot == place.boot
        and process.pid_namespace == place.pid_namespace
        and (process.machine == place.machine or not (process.machine and place.machine))
    )


def _elsewhere(process: Process, place: Place) -> GroupState:
    """A restart of the same machine ended everything on it; of another machine nothing is known."""
    same_machine = bool(place.machine) and process.machine == place.machine
    same_namespace = bool(place.pid_namespace) and process.pid_namespace == place.pid_namespace
    restarted = bool(place.boot and process.boot) and process.boot != place.boot
    return "gone" if same_machine and same_namespace and restarted else "unknown"


def _exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _table() -> Iterator[Member]:
    pids = _proc_pids() if _LINUX else psutil.pids()
    for pid in pids:
        member = _member(pid)
        if member is not None:
            yield member


def _proc_pids() -> list[int]:
    with os.scandir("/proc") as entries:
        return [int(entry.name) for entry in entries if entry.name.isdigit()]


def _member(pid: int) -> Member | None:
    return _from_proc(pid) if _LINUX else _from_psutil(pid)


def _from_proc(pid: int) -> Member | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return parse_stat(pid, text)


def parse_stat(pid: int, text: str) -> Member:
    """Read one line of `/proc/PID/stat` (see proc(5)). A name may hold spaces and brackets, so the last one counts.

    A leader whose main thread ended is shown as a zombie while its other
    threads work on; the count of threads tells them apart.
    """
    fields = text[text.rindex(")") + 2 :].split()
    state, group, session, threads, started = (
        fields[0],
        int(fields[2]),
        int(fields[3]),
        int(fields[17]),
        int(fields[19]),
    )
    return Member(pid, group, session, started, dead=state in "ZXx" and threads <= 1)


def _from_psutil(pid: int) -> Member | None:
    try:
        process = psutil.Process(pid)
        dead = process.status() in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
        return Member(pid, os.getpgid(pid), os.getsid(pid), int(process.create_time() * 1000), dead)
    except (psutil.Error, OSError):
        return None


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""


def _boot_uuid() -> str:
    """macOS: a fresh id of each start; empty where there is none."""
    value = ctypes.create_string_buffer(64)
    size = ctypes.c_size_t(len(value))
    try:
        failed = ctypes.CDLL(None).sysctlbyname(b"kern.bootsessionuuid", value, ctypes.byref(size), None, 0)
    except (AttributeError, OSError):
        return ""
    return "" if failed else value.value.decode("ascii", "replace")


def _host_uuid() -> str:
    """macOS: the id of this machine; empty where there is none."""
    value = (ctypes.c_ubyte * 16)()
    wait = (ctypes.c_long * 2)(1, 0)
    try:
        failed = ctypes.CDLL(None).gethostuuid(value, wait)
    except (AttributeError, OSError):
        return ""
    return "" if failed else bytes(value).hex()
