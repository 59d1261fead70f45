"""The machine under the processes: its kernel's list of processes, its boots, and a disk that can fail.

SQLite and the lock are real. In place of aiosqlite's thread each statement runs
in line, one virtual moment later, so that a process can die between any two of
them. Death closes the connection without a checkpoint: what was not committed
is gone and the log stays, as after SIGKILL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from continuity.memory.liveness import Member, Place, Sight
from journal import statements
from journal.events.lifecycle import Process
from tests.simulation.world import Actor, Died, World, turn

type DiskFault = Literal["full", "io", "busy", "held"]

_CODES = {
    "full": sqlite3.SQLITE_FULL,
    "io": sqlite3.SQLITE_IOERR,
    "busy": sqlite3.SQLITE_BUSY,
    "held": sqlite3.SQLITE_IOERR,
}
_WRITES = ("BEGIN", "INSERT", "COMMIT", "DELETE")


class Kernel:
    """One machine's processes. A dead one may stay as a zombie, and a free number may be given away again."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._members: list[Member] = []
        self._pid = 100
        self.machine = "machine-1"
        self.boots = 1

    @property
    def place(self) -> Place:
        return Place(self.machine, f"boot-{self.boots}", "namespace-1")

    def spawn(self, *, group: int | None = None) -> Process:
        """Start a process as leader of its own group, or as another member of `group`."""
        self._pid += 1
        leader = group or self._pid
        ticks = round(self._world.now * 100) + 1
        self._members.append(Member(self._pid, leader, leader, ticks, dead=False))
        place = self.place
        return Process(
            machine=place.machine,
            boot=place.boot,
            pid_namespace=place.pid_namespace,
            pid=self._pid,
            process_group=leader,
            started=ticks,
        )

    def end(self, group: int) -> None:
        """All of `group` ends at once; it may be reaped late, or its number be somebody else's soon after."""
        kept = [m for m in self._members if m.group != group]
        ended = [m for m in self._members if m.group == group]
        if self._world.chance(0.2):
            kept += [m._replace(dead=True) for m in ended]
        elif self._world.chance(0.1):
            kept.append(Member(group, group, group, round(self._world.now * 100) + 7, dead=False))
        self._members = kept

    def end_one(self, pid: int) -> None:
        """One process ends; the rest of its group lives on."""
        self._members = [m for m in self._members if m.pid != pid]

    def reboot(self) -> None:
        self._members = []
        self.boots += 1

    def look(self, group: int) -> Sight:
        members = tuple(m for m in self._members if group in {m.pid, m.group, m.session})
        return Sight(exists=any(m.group == group for m in members), members=members)


@dataclass
class Written:
    """What one transaction put into one journal."""

    path: str
    branches: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    rows: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])


class Disk:
    """The disk all processes share; while `fault` is set every write fails that way."""

    def __init__(self, world: World, committed: Callable[[Actor, Written], None]) -> None:
        self.world = world
        self.committed = committed
        self.fault: DiskFault | None = None

    def failing(self, sql: str) -> DiskFault | None:
        """How the statement fails, if it does."""
        if self.fault is not None and not self.world.calm:
            return self.fault
        if sql.startswith(("COMMIT", "INSERT INTO events")) and self.world.strikes("disk"):
            return self.world.dice.choice(("full", "io", "busy", "held"))
        return None


class InLine:
    """Stands for an aiosqlite connection: real SQLite, without the thread."""

    def __init__(self, owner: Actor, store: Disk, uri: str) -> None:
        self.owner = owner
        self._store = store
        self._uri = uri
        self._real: sqlite3.Connection | None = None
        self._open = Written(uri.removeprefix("file://").partition("?")[0])

    def __await__(self) -> Generator[Any, None, Self]:
        return self._opened().__await__()

    async def _opened(self) -> Self:
        await turn(self._store.world, self.owner, "open file")
        self._real = sqlite3.connect(self._uri, uri=True, isolation_level=None, timeout=0)
        return self

    async def execute_fetchall(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        if not self.owner.alive or self._real is None:
            raise Died
        if sql.startswith(_WRITES):
            world, began = self._store.world, self._store.world.now
            await turn(world, self.owner, f"disk {sql.partition(' ')[0]}", 2.0 if world.strikes("slow") else 0.01)
            self.owner.disk_seconds += world.now - began
            return self._written(self._real, sql, parameters)
        found = self._real.execute(sql, parameters).fetchall()
        if sql == "ROLLBACK":
            self._open = Written(self._open.path)
        return found

    def _written(self, real: sqlite3.Connection, sql: str, parameters: Sequence[Any]) -> list[Any]:
        """Carry out one statement. A held failure is one that SQLite reports of a commit that is on the disk."""
        fault = self._store.failing(sql)
        if fault is not None and fault != "held":
            raise _error(fault)
        found = real.execute(sql, parameters).fetchall()
        if sql.startswith(statements.INSERT_BRANCH[:20]):
            self._open.branches.append(tuple(parameters))
        if sql.startswith(statements.INSERT_EVENT):
            self._open.rows += [tuple(parameters[start : start + 8]) for start in range(0, len(parameters), 8)]
        if not real.in_transaction:
            self._tell()
            if fault is not None:
                raise _error(fault)
        return found

    def _tell(self) -> None:
        written, self._open = self._open, Written(self._open.path)
        if written.branches or written.rows:
            self._store.committed(self.owner, written)

    async def close(self) -> None:
        if not self.owner.alive:
            raise Died
        real, self._real = self._real, None
        if real is not None:
            real.close()

    def cut(self) -> None:
        """The process died: what it had not committed is gone, and nothing is tidied up."""
        if self._real is not None:
            self._real.setconfig(sqlite3.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, True)
            self._real.close()


def _error(fault: DiskFault) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError(f"simulated: {fault}")
    error.sqlite_errorcode = _CODES[fault]
    return error
