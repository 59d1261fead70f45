"""One sitting: kill after kill in one session, each settled by the next start, then everything read once more."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import anyio
import msgspec
import psutil

from continuity.memory.connection import connect
from continuity.memory.notes import identify, read_note
from continuity.memory.server import ServerSpec, child_environment
from continuity.shell.ledger import replay
from continuity.state import Capture, State
from journal.errors import JournalError
from journal.events import Event
from journal.reader import open_reader
from tests.fakes.basic_memory import ARGS, COMMAND, START_SECONDS, BasicMemoryHome
from tests.fakes.tau_process import TauTrouble
from tools.killcourt import docket
from tools.killcourt.docket import Account, Evidence, Found, Killed, Phase
from tools.killcourt.plan import Kill, Sitting
from tools.killcourt.stages import Headless, Mistrial, Stage, WholeTau, passed, until
from tools.killcourt.writer import PROJECT

LATE_SECONDS = 40.0
"""How long the last start of a sitting is given to close what is open; some absences stay so."""
_PATIENCE = 2
"""After so many reads of an open absence the next kill goes on; it is read again later."""

type Tell = Callable[[str], None]


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a sitting's own record: a kill or a mistrial, and what was searched meanwhile."""

    killed: Killed | None = None
    mistrial: str | None = None
    number: int
    searched: Mapping[str, docket.Said] = {}


class Trial:
    """A sitting as it goes on; everything it learns is on disk at once, so it can be continued after any end."""

    def __init__(self, folder: Path, sitting: Sitting, seed: int, tell: Tell) -> None:
        self._sitting = sitting
        self._tell = tell
        self._record = folder / "facts.jsonl"
        self._stage: Stage = (
            WholeTau(folder) if sitting.stage == "tau" else Headless(folder, f"court-{seed}-{sitting.number}")
        )

    def hear(self, stopped: Callable[[], bool]) -> Evidence | None:
        """Do the kills that are left and return the evidence; None if it was stopped before the end."""
        try:
            done = {facts.number for facts in self._facts()}
            for kill in self._sitting.kills:
                if stopped():
                    return None
                if kill.number not in done:
                    self._try(kill)
            return self._close()
        finally:
            self._stage.close()

    def _try(self, kill: Kill) -> None:
        try:
            killed = self._round(kill)
        except (Mistrial, TauTrouble, JournalError, OSError, psutil.Error) as error:
            why = f"kill {kill.number}: {str(error).splitlines()[0]}"
            self._tell(f"mistrial, {why}")
            self._note(Facts(number=kill.number, mistrial=why))
            with contextlib.suppress(TauTrouble, OSError):
                self._stage.kill()
        else:
            self._tell(f"kill {kill.number}: {killed.victim} {kill.anchor}+{kill.delay_ms:.0f} ms -> {killed.phase}")
            self._note(Facts(number=kill.number, killed=killed))

    # -- one kill ------------------------------------------------------------

    def _round(self, kill: Kill) -> Killed:
        """Bring the writer up, let it settle what the kill before left, and kill again."""
        self._bring_up()
        if self._connected():
            self._settle(_PATIENCE)
        if kill.warm or not self._connected():
            self._live_turn()
        stage = self._stage
        log_before, begun_before = len(stage.log.look()), len(self._accounts())
        server = stage.log.server(0)
        if server is None:
            raise Mistrial("no server to kill")
        stage.speak()
        self._wait_anchor(kill, log_before)
        time.sleep(kill.delay_ms / 1000)
        self._strike(kill, server)
        return self._aftermath(kill, log_before, begun_before)

    def _bring_up(self) -> None:
        stage = self._stage
        known = len(stage.log.look())
        if not stage.alive:
            stage.start()
        elif self._connected():
            return
        elif not self._reconnect():
            return  # its next prompt does
        for called in ("list_memory_projects", "tools/list"):  # after both the writer counts it as up
            stage.log.wait_passed(known, "answer", called, every=0.05)

    def _reconnect(self) -> bool:
        """Ask until a server is started: the writer may not have noticed yet that it lost the one before."""
        while not self._connected():
            if not self._stage.reconnect():
                return False
            with contextlib.suppress(Mistrial):
                until(lambda: True if self._connected() else None, "a server", seconds=1.0)
        return True

    def _connected(self) -> bool:
        return self._stage.log.server(0) is not None

    def _live_turn(self) -> None:
        """A whole turn that nobody disturbs; an old doubt of a writer that lost its server is settled here."""
        begun = len(self._accounts())
        self._stage.speak()
        until(lambda: True if len(self._accounts()) > begun else None, "a capture", every=0.1)
        self._settle(_PATIENCE)

    def _wait_anchor(self, kill: Kill, after: int) -> None:
        log = self._stage.log
        match kill.anchor:
            case "turn":
                pass
            case "ready":
                self._stage.wait_ready()
            case "sent":
                log.wait_passed(after, "request", "write_note")
            case "answered":
                log.wait_passed(after, "answer", "write_note")

    def _strike(self, kill: Kill, server: psutil.Process) -> None:
        """Kill the server with its whole group, the writer alone, or both, one right after the other."""
        strokes: list[Callable[[], None]] = []
        if kill.victim != "writer":
            strokes.append(lambda: _kill_group(server))
        if kill.victim != "server":
            strokes.append(self._stage.kill)
        for stroke in strokes if kill.server_first else reversed(strokes):
            stroke()
        if kill.victim != "writer":
            self._wait_server_gone()

    def _aftermath(self, kill: Kill, log_before: int, begun_before: int) -> Killed:
        begun = self._accounts()[begun_before:]
        account = begun[-1] if begun else None
        notes = self._stage.memory.notes
        return Killed(
            number=kill.number,
            victim=kill.victim,
            anchor=kill.anchor,
            delay_ms=kill.delay_ms,
            warm=kill.warm,
            capture=account.capture if account else None,
            phase=_phase(account, self._stage.log.look()[log_before:]),
            on_disk=any((notes / path).exists() for path in (account.paths if account else ())),
        )

    def _wait_server_gone(self) -> None:
        """A killed process is there until the kernel has come round to it."""
        until(lambda: True if not self._connected() else None, "the server's end")

    # -- settling ------------------------------------------------------------

    def _settle(self, patience: int, seconds: float = 120.0) -> None:
        """Wait until the writer owes nothing but absences that were read `patience` times."""
        until(lambda: True if _quiet(self._states(), patience) else None, "rest", seconds=seconds, every=0.1)

    def _states(self) -> Sequence[State]:
        path = self._stage.journal
        return [branch.state for branch in replay(path)[0].values()] if path.exists() else []

    def _events(self) -> Iterator[Event]:
        path = self._stage.journal
        if path.exists():
            with open_reader(path) as reader:
                for branch in reader.branches:
                    yield from (row.event for row in reader.verified(branch.branch) if row.branch == branch.branch)

    def _accounts(self) -> tuple[Account, ...]:
        return docket.accounts(self._events())

    # -- the end -------------------------------------------------------------

    def _close(self) -> Evidence:
        """One more life settles the last kill; then a server of the court's own reads every note there is."""
        mistrials: list[str] = []
        try:
            self._bring_up()
            if not self._connected():
                self._live_turn()
            with contextlib.suppress(Mistrial):  # what is still open then is shown as open
                self._settle(1_000, LATE_SECONDS)
            self._stage.quit()
        except (Mistrial, TauTrouble, OSError) as error:
            mistrials.append(f"the last start: {str(error).splitlines()[0]}")
        self._note(Facts(number=-1))
        self._stage.close()
        self._wait_server_gone()
        accounts = self._accounts()
        read = anyio.run(_read, self._stage.memory, accounts)
        facts = self._facts()
        return Evidence(
            sitting=self._sitting.number,
            stage=self._sitting.stage,
            kills=tuple(one.killed for one in facts if one.killed is not None),
            mistrials=(*(one.mistrial for one in facts if one.mistrial is not None), *mistrials),
            accounts=accounts,
            asked=docket.asked(self._stage.log.look()),
            found=(*read, *docket.files(self._stage.memory.notes)),
            searched={capture: said for one in reversed(facts) for capture, said in one.searched.items()},
        )

    # -- the record ----------------------------------------------------------

    def _note(self, facts: Facts) -> None:
        complete = msgspec.structs.replace(facts, searched=dict(self._stage.searched))
        with self._record.open("ab") as file:
            file.write(msgspec.json.encode(complete) + b"\n")

    def _facts(self) -> list[Facts]:
        lines = self._record.read_bytes().split(b"\n")[:-1] if self._record.exists() else []
        return [msgspec.json.decode(line, type=Facts) for line in lines]


def _quiet(states: Sequence[State], patience: int) -> bool:
    return all(state.gathered.tip is None and all(_rests(c, patience) for c in state.captures) for state in states)


def _rests(capture: Capture, patience: int) -> bool:
    if capture.status == "in_doubt":
        return capture.probes >= patience
    return capture.status in ("conflicted", "lost", "refused")


def _kill_group(server: psutil.Process) -> None:
    if server.is_running():
        with contextlib.suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)


def _phase(account: Account | None, lines: Sequence[Mapping[str, object]]) -> Phase:
    """How far a write had come: by the journal, and by what passed the relay."""
    if account is None or not account.intents:
        return "before the intent"
    if "accepted" in account.outcomes:
        return "recorded"
    if any(passed(line, "answer", "write_note") for line in lines):
        return "answered"
    return "sent" if any(passed(line, "request", "write_note") for line in lines) else "intended"


async def _read(home: BasicMemoryHome, accounts: Sequence[Account]) -> tuple[Found, ...]:
    """Read every address there may be a note at, through a server that wrote none of them."""
    env = child_environment(home.environment(), {})
    spec = ServerSpec(command=COMMAND, args=ARGS, env=env, cwd=str(home.root))
    found: list[Found] = []
    async with connect(spec, seconds=START_SECONDS) as connection:
        for path in sorted({path for account in accounts for path in account.paths}):
            note = await read_note(connection, PROJECT, path, 30.0)
            if note.outcome == "found":
                body = docket.body_digest(note.content or "")
                at = note.file_path or path
                found.append(Found(path=at, capture=identify(note).capture_id, body=body, by="read"))
            elif note.outcome != "missing":
                raise Mistrial(f"{path} could not be read: {note.code}")
    return tuple(found)
