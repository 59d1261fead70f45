"""Drives a real Tau as a child process; every wait is bounded, and a failure shows what Tau said last."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Self, cast

from tests.fakes.scripted_model import Json
from tests.fakes.tau_home import TauHome

type Event = Mapping[str, Json]

_STARTED_WITHIN = 30.0
_DONE_WITHIN = 60.0
_ENDED_WITHIN = 30.0
_NOTICE = "[extension:"
_FAILED = re.compile(r"Continuity: .* failed \(\w+\)")
"""How a notice of ours says it; Tau's own diagnostics of extensions are seen by nobody outside it."""


class TauTrouble(AssertionError):
    """Tau did not do what the test waits for."""

    def __init__(self, what: str, stderr: str) -> None:
        super().__init__(f"{what}\n--- stderr, last lines ---\n{stderr}")


def tau_executable() -> str:
    """Return the `tau` beside this interpreter."""
    return str(Path(sys.executable).parent / "tau")


def tau_print(
    home: TauHome, text: str, *options: str, environment: Mapping[str, str] | None = None, timeout: float = 60.0
) -> subprocess.CompletedProcess[str]:
    """Run `tau -p text`; slash commands work here and not over RPC."""
    try:
        return subprocess.run(
            [tau_executable(), *options, "-p", text],
            cwd=home.cwd,
            env=home.environment(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        said: object = error.stderr
        last = said.decode(errors="replace")[-4000:] if isinstance(said, bytes) else str(said)
        raise TauTrouble(f"tau -p {text[:40]!r} took more than {timeout} s", last) from error


def start_print(home: TauHome, text: str, *options: str) -> subprocess.Popen[str]:
    """Start `tau -p text` in a session of its own and leave it running; what it prints is read with `communicate`."""
    return subprocess.Popen(
        [tau_executable(), *options, "-p", text],
        cwd=home.cwd,
        env=home.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    )


DISCLOSED = "Continuity saves masked summaries of this conversation after every turn to project main (local)"


def disclosed_in_order(said: str) -> bool:
    """Whether it was told once that we save, with the way to stop it, and before anything was said to be saved."""
    found = [said.find(part) for part in (DISCLOSED, "/bm-pause stops it in this session", "Checkpoint saved: ")]
    return said.count(DISCLOSED) == 1 and -1 < found[0] < found[1] < found[2]


def failures(said: str) -> list[str]:
    """What is said there of a handler or a job of ours that failed."""
    return [line for line in said.splitlines() if _FAILED.search(line)]


class TauProcess:
    """A `tau --mode rpc` with its own process group; blocking calls, safe from one thread."""

    def __init__(
        self,
        home: TauHome,
        *,
        session_id: str | None = None,
        environment: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        resumed = ("--session", session_id) if session_id is not None else ()
        self._process = subprocess.Popen(
            [tau_executable(), "--mode", "rpc", *resumed, *options],
            cwd=home.cwd,
            env=home.environment(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        self._news = threading.Condition()
        self._events: list[Event] = []
        self._stderr: deque[str] = deque(maxlen=400)
        self._last_id = 0
        self._readers = (
            self._spawn(self._process.stdout, self._take_event),
            self._spawn(self._process.stderr, self._take_stderr),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def events(self) -> tuple[Event, ...]:
        """Every line Tau wrote on stdout, responses included."""
        with self._news:
            return tuple(self._events)

    @property
    def stderr(self) -> str:
        with self._news:
            return "".join(self._stderr)

    @property
    def notices(self) -> tuple[str, ...]:
        """What extensions told the person, as "level] text"."""
        return tuple(line[len(_NOTICE) :] for line in self.stderr.splitlines() if line.startswith(_NOTICE))

    def call(self, command: str, *, timeout: float = _DONE_WITHIN, **arguments: Json) -> Mapping[str, Json]:
        """Send one RPC command and return its data; an error answer raises."""
        answer = self._answer(self._send(command, arguments), command, timeout)
        if answer.get("success") is not True:
            raise TauTrouble(f"{command} was refused: {answer.get('error')}", self.stderr[-4000:])
        data = answer.get("data")
        return data if isinstance(data, dict) else {}

    def wait_until_ready(self) -> Mapping[str, Json]:
        """Wait for Tau to answer at all; returns its state."""
        return self.call("get_state", timeout=_STARTED_WITHIN)

    def prompt(self, text: str, *, timeout: float = _DONE_WITHIN) -> tuple[Event, ...]:
        """Send a prompt and wait until its run has settled; returns the run's events."""
        start = self.begin(text, timeout=timeout)
        return self.wait_settled(start, timeout=timeout)

    def begin(self, text: str, *, timeout: float = _DONE_WITHIN) -> int:
        """Send a prompt and wait only until Tau took it; returns the mark for `wait_settled`."""
        start = len(self.events)
        self.call("prompt", message=text, timeout=timeout)
        return start

    def begin_unanswered(self, text: str) -> int:
        """Send a prompt and wait for nothing: Tau answers only once its first event is out."""
        start = len(self.events)
        self._send("prompt", {"message": text})
        return start

    def wait_settled(self, start: int = 0, *, timeout: float = _DONE_WITHIN) -> tuple[Event, ...]:
        """Wait for the first settled run after event number `start`; returns the events up to there."""
        return self.wait_event(lambda event: event.get("type") == "agent_settled", "settled", start, timeout=timeout)

    def wait_event(
        self, matches: Callable[[Event], bool], what: str, start: int = 0, *, timeout: float = _DONE_WITHIN
    ) -> tuple[Event, ...]:
        """Wait for an event that `matches`; returns the events from `start` up to and including it."""
        deadline = time.monotonic() + timeout
        looked = start
        with self._news:
            while True:
                for position in range(looked, len(self._events)):
                    if matches(self._events[position]):
                        return tuple(self._events[start : position + 1])
                looked = len(self._events)
                self._wait(deadline, what)

    def wait_notice(self, part: str, *, timeout: float = _DONE_WITHIN) -> str:
        """Wait until an extension has told the person something that contains `part`."""
        deadline = time.monotonic() + timeout
        while True:
            found = next((notice for notice in self.notices if part in notice), None)
            if found is not None:
                return found
            with self._news:
                self._wait(deadline, f"notice with {part!r}")

    def state(self) -> Mapping[str, Json]:
        return self.call("get_state")

    @property
    def session_id(self) -> str:
        return str(self.state()["sessionId"])

    @property
    def session_file(self) -> Path:
        return Path(str(self.state()["sessionFile"]))

    def compact(self) -> Mapping[str, Json]:
        """Compact by hand; Tau needs more than 20,000 estimated tokens for it."""
        return self.call("compact")

    def abort(self) -> None:
        """Stop what runs, as Escape does before the screen."""
        self.call("abort")

    def fork_messages(self) -> tuple[tuple[str, str], ...]:
        """Return (entry id, text) of the user messages one can go back to."""
        messages = self.call("get_fork_messages").get("messages")
        found = [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
        return tuple((str(message.get("entryId")), str(message.get("text"))) for message in found)

    def fork(self, entry_id: str) -> None:
        """Go back, in place, to before the user message `entry_id`."""
        self.call("fork", entryId=entry_id)

    def quit(self, *, timeout: float = _ENDED_WITHIN) -> int:
        """Close Tau's stdin, which is how one leaves; returns its exit code. Nothing of ours may have failed by then."""
        stdin = self._process.stdin
        if stdin is not None:
            with contextlib.suppress(OSError):
                stdin.close()
        code = self._ended(timeout)
        if failed := failures(self.stderr):
            raise TauTrouble(f"an extension failed: {failed}", self.stderr[-4000:])
        return code

    def signalled(self, number: signal.Signals) -> int:
        """Send Tau itself a signal that ends it; returns its exit code."""
        self._process.send_signal(number)
        return self._ended(_ENDED_WITHIN)

    def kill(self) -> int:
        """SIGKILL Tau itself and nothing else: its children are left to notice."""
        return self.signalled(signal.SIGKILL)

    def wait_ended(self, *, timeout: float = _ENDED_WITHIN) -> int:
        """Wait for an end that comes from elsewhere; returns the exit code."""
        return self._ended(timeout)

    def _ended(self, timeout: float) -> int:
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired as error:
            trouble = TauTrouble(f"Tau did not end within {timeout} s", self.stderr[-4000:])
            os.kill(self.pid, signal.SIGKILL)
            self._process.wait(_ENDED_WITHIN)
            raise trouble from error
        for reader in self._readers:
            reader.join(2.0)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                # A child of Tau may hold the other end; what it still says is not ours to wait for.
                with contextlib.suppress(OSError):
                    pipe.close()
        return code

    def _send(self, command: str, arguments: Mapping[str, Json]) -> str:
        self._last_id += 1
        request_id = f"r{self._last_id}"
        line = json.dumps({"id": request_id, "type": command, **arguments}) + "\n"
        stdin = self._process.stdin
        if stdin is None or stdin.closed:
            raise TauTrouble(f"{command} after the end", self.stderr[-4000:])
        try:
            stdin.write(line)
            stdin.flush()
        except OSError as error:
            raise TauTrouble(f"Tau is gone, cannot send {command}", self.stderr[-4000:]) from error
        return request_id

    def _answer(self, request_id: str, command: str, timeout: float) -> Event:
        def matches(event: Event) -> bool:
            return event.get("type") == "response" and event.get("id") == request_id

        return self.wait_event(matches, f"answer to {command}", timeout=timeout)[-1]

    def _wait(self, deadline: float, what: str) -> None:
        left = deadline - time.monotonic()
        if left <= 0 or not self._readers[0].is_alive():
            why = "in time" if left <= 0 else f"(Tau ended, exit code {self._process.poll()})"
            raise TauTrouble(f"no {what} {why}", "".join(self._stderr)[-4000:])
        self._news.wait(min(left, 0.5))

    def _spawn(self, pipe: IO[str] | None, take: Callable[[str], None]) -> threading.Thread:
        def read() -> None:
            if pipe is not None:
                with contextlib.suppress(ValueError, OSError):
                    for line in pipe:
                        take(line)

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def _take_event(self, line: str) -> None:
        try:
            event = cast("Event", json.loads(line))
        except ValueError:
            event = {"type": "not-json", "line": line}
        with self._news:
            self._events.append(event)
            self._news.notify_all()

    def _take_stderr(self, line: str) -> None:
        with self._news:
            self._stderr.append(line)
            self._news.notify_all()
