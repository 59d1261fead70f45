"""Where a kill happens: a headless writer or a whole Tau, each beside a real server behind the relay. It judges nothing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol, cast

import psutil

from continuity.places import places
from journal.ids import SessionId
from tests.fakes.basic_memory import BasicMemoryHome
from tests.fakes.relay import LOG
from tests.fakes.scenario import Scenario
from tests.fakes.scripted_model import Body, Reply, purpose_of
from tests.fakes.story import Story
from tests.fakes.tau_process import TauProcess

ROOT = Path(__file__).resolve().parents[2]
STEP_SECONDS = 60.0
"""The longest one step of a round may take; two cores may be busy with something else."""
_LOOK_SECONDS = 0.001

type Line = Mapping[str, object]


class Mistrial(Exception):
    """The harness, not what it judges, failed; the kill does not count, and is counted apart."""


def until[T](look: Callable[[], T | None], what: str, *, seconds: float = STEP_SECONDS, every: float = 0.02) -> T:
    """Return what `look` finds, looking again until it finds something.

    Raises:
        Mistrial: It did not come in time.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(every)
    raise Mistrial(f"{what} did not come within {seconds:.0f} s")


def passed(line: Line, direction: str, called: str) -> bool:
    """Tell whether a line of the log says that such a message was passed on."""
    return line.get("what") == "passed" and line.get("direction") == direction and line.get("tool") == called


class RelayLog:
    """What passed between writers and servers of one sitting."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOG
        self._read = 0
        self.lines: list[Line] = []

    def look(self) -> list[Line]:
        """Return every whole line written so far."""
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._read)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            self._read += len(whole)
            self.lines += [cast("Line", json.loads(line)) for line in whole.splitlines()]
        return self.lines

    def wait_passed(self, after: int, direction: str, called: str, *, every: float = _LOOK_SECONDS) -> None:
        """Wait until a request to `called`, or the answer to one, was passed on, past the first `after` lines."""

        def look() -> Line | None:
            return next((line for line in self.look()[after:] if passed(line, direction, called)), None)

        until(look, f"a {called} {direction}", every=every)

    def server(self, after: int) -> psutil.Process | None:
        """Return the newest relay started past the first `after` lines, which leads the server's group, if it lives."""
        started = [line for line in self.look()[after:] if line.get("what") == "start"]
        pid = started[-1].get("group") if started else None
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid) if isinstance(pid, int) else None
            if process is not None and str(self._path.parent) in process.cmdline():
                return process  # it remembers its start, so another process with its number is never taken for it
        return None


class Stage(Protocol):
    """One sitting's writer, whichever kind it is. Blocking; used from one thread."""

    root: Path
    log: RelayLog
    searched: dict[str, str]
    """What the rule "search by metadata" said first, by capture."""

    @property
    def memory(self) -> BasicMemoryHome: ...
    @property
    def journal(self) -> Path: ...
    @property
    def alive(self) -> bool: ...
    def start(self) -> None: ...
    def reconnect(self) -> bool:
        """Have the writer start a server again; False if only a prompt can."""
        ...

    def speak(self) -> None: ...
    def wait_ready(self) -> None: ...
    def kill(self) -> None: ...
    def quit(self) -> None: ...
    def close(self) -> None: ...


class Headless:
    """Drives `tools.killcourt.writer`."""

    def __init__(self, root: Path, session_id: str) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.log = RelayLog(root / "relay")
        self.searched: dict[str, str] = {}
        self.memory = BasicMemoryHome(root / "memory")
        self.journal = places(root / "tau").journal(SessionId(session_id))
        self._session_id = session_id
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = threading.Event()
        self._ended = threading.Event()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        command = [sys.executable, "-m", "tools.killcourt.writer", str(self.root), self._session_id]
        with (self.root / "writer.err").open("ab") as errors:
            self._process = subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        self._ended = threading.Event()
        threading.Thread(target=self._listen, args=(self._process, self._ended), daemon=True).start()

    def reconnect(self) -> bool:
        self._tell("want")
        return True

    def speak(self) -> None:
        self._ready.clear()
        self._tell("turn")

    def wait_ready(self) -> None:
        if not self._ready.wait(STEP_SECONDS):
            raise Mistrial("the handoff was not made")

    def kill(self) -> None:
        """Kill the process itself and nothing else: the server is left to notice."""
        process = self._process
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait(STEP_SECONDS)

    def quit(self) -> None:
        self._tell("quit")
        process = self._process
        if process is not None:
            try:
                process.wait(STEP_SECONDS)
            except subprocess.TimeoutExpired as error:
                raise Mistrial("the writer did not end") from error

    def close(self) -> None:
        """Leave nothing behind, whatever happened."""
        process = self._process
        if process is None:
            return
        self.kill()
        process.wait(STEP_SECONDS)
        self._ended.wait(STEP_SECONDS)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def _tell(self, what: str) -> None:
        process = self._process
        if process is None or process.stdin is None:
            raise Mistrial(f"no writer to tell {what}")
        try:
            process.stdin.write(json.dumps({"do": what}).encode() + b"\n")
            process.stdin.flush()
        except OSError as error:
            raise Mistrial(f"the writer is gone, cannot tell {what}") from error

    def _listen(self, process: subprocess.Popen[bytes], ended: threading.Event) -> None:
        with (self.root / "writer.jsonl").open("ab") as record:
            for line in process.stdout or ():
                record.write(line)
                with contextlib.suppress(ValueError):
                    self._hear(cast("Line", json.loads(line)))
        ended.set()

    def _hear(self, said: Line) -> None:
        if said.get("what") == "ready":
            self._ready.set()
        elif said.get("what") == "searched":
            self.searched.setdefault(str(said["capture"]), str(said["said"]))


class WholeTau:
    """Drives a real `tau --mode rpc` with our extension; its scripted model tells when the handoff is made."""

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self._ready = threading.Event()
        self._story = Story()
        self._scene = Scenario(root, self._answer)
        self._tau: TauProcess | None = None
        self._named = root / "session"
        self._turns = 0
        self.log = RelayLog(self._scene.switches)
        self.searched: dict[str, str] = {}

    @property
    def memory(self) -> BasicMemoryHome:
        return self._scene.memory

    @property
    def journal(self) -> Path:
        return self._scene.journal(self._named.read_text(encoding="utf-8"))

    @property
    def alive(self) -> bool:
        return self._tau is not None and psutil.pid_exists(self._tau.pid)

    def start(self) -> None:
        known = self._named.read_text(encoding="utf-8") if self._named.exists() else None
        self._tau = self._scene.tau(known)
        self._tau.wait_until_ready()
        self._named.write_text(self._tau.session_id, encoding="utf-8")

    def reconnect(self) -> bool:
        return False

    def speak(self) -> None:
        if self._tau is None:
            raise Mistrial("no Tau to speak to")
        self._ready.clear()
        self._turns += 1
        self._tau.begin_unanswered(f"Objective: live through kill {self._turns}.\nNext: the one after {self._turns}.")

    def wait_ready(self) -> None:
        if not self._ready.wait(STEP_SECONDS):
            raise Mistrial("the handoff was not made")

    def kill(self) -> None:
        if self._tau is not None:
            os.kill(self._tau.pid, signal.SIGKILL)
            self._tau.wait_ended()
            self._tau = None

    def quit(self) -> None:
        if self._tau is not None:
            self._tau.quit()
            self._tau = None

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.kill()
        self._scene.model.close()

    def _answer(self, body: Body) -> str | Reply:
        made = self._story(body)
        if purpose_of(body) == "synthesis":
            self._ready.set()
        return made
