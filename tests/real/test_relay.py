"""The relay in front of a memory server stops time at the place asked for, and stays a true witness of who lives."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from pathlib import Path

import pytest

from tests.fakes import relay
from tests.fakes.basic_memory import ARGS, COMMAND, BasicMemoryHome

CAPTURE = "ab" * 32
SCHEMA = Path(__file__).parents[2] / "journal" / "schema.sql"
SERVER = """\
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message.get("method") == "tools/call":
        open(sys.argv[1], "a").write(line)
    if "id" in message:
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}), flush=True)
"""


class Host:
    """Tau's place: speaks JSON-RPC lines to the relay."""

    def __init__(self, folder: Path, *command: str, environment: Mapping[str, str] = os.environ) -> None:
        self.folder = folder
        server = command or (sys.executable, "-c", SERVER, str(folder / "reached"))
        self.process = subprocess.Popen(
            [sys.executable, relay.__file__, str(folder), *server],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, relay.JOURNALS_ENV: str(folder / "*.journal")},
            start_new_session=True,
        )

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def write(self, number: int = 1) -> None:
        arguments = {
            "title": "held",
            "directory": "kept",
            "content": "text",
            "project": "main",
            "metadata": {"capture_id": CAPTURE},
        }
        params = {"name": "write_note", "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})

    def send(self, message: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self) -> object:
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())

    def leave(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def log(self) -> list[dict[str, object]]:
        path = self.folder / relay.LOG
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def logged(self, what: str) -> dict[str, object]:
        return until(lambda: next((line for line in self.log() if line["what"] == what), None))

    def reached(self) -> bool:
        return (self.folder / "reached").exists()


def until[T](look: Callable[[], T | None], *, seconds: float = 10) -> T:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found is not None:
            return found
        time.sleep(0.01)
    raise TimeoutError("it never came")


@pytest.fixture
def host(tmp_path: Path) -> Generator[Host]:
    made = Host(tmp_path)
    try:
        yield made
    finally:
        made.end()


def test_an_answer_held_back_has_reached_the_server(host: Host, tmp_path: Path) -> None:
    (tmp_path / relay.HOLD).touch()
    host.write()
    assert host.logged("answer-held")["tool"] == "write_note"
    assert host.reached()
    (tmp_path / relay.HOLD).unlink()
    assert host.answer() == {"jsonrpc": "2.0", "id": 1, "result": {}}


def test_a_request_held_back_when_its_sender_dies_never_reaches_the_server(host: Host, tmp_path: Path) -> None:
    (tmp_path / relay.HOLD_REQUEST).touch()
    host.write()
    host.logged("request-held")
    host.leave()
    host.logged("request-dropped")
    assert host.process.wait(10) == 0
    assert not host.reached()


def test_a_request_held_back_goes_on_when_let(host: Host, tmp_path: Path) -> None:
    (tmp_path / relay.HOLD_REQUEST).touch()
    host.write()
    host.logged("request-held")
    assert not host.reached()
    (tmp_path / relay.HOLD_REQUEST).unlink()
    host.answer()
    assert host.reached()


def test_initialize_can_be_held_back(host: Host, tmp_path: Path) -> None:
    (tmp_path / relay.HOLD_INITIALIZE).touch()
    host.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}})
    assert host.logged("answer-held")["tool"] == "initialize"
    (tmp_path / relay.HOLD_INITIALIZE).unlink()
    host.answer()


def test_relay_and_server_are_one_group_and_end_with_the_host_even_while_holding(host: Host, tmp_path: Path) -> None:
    started = host.logged("start")
    assert started["group"] == host.process.pid == os.getpgid(int(str(started["server"])))
    (tmp_path / relay.HOLD).touch()
    host.write()
    host.logged("answer-held")
    host.leave()
    assert host.process.wait(10) == 0
    assert [line["what"] for line in host.log()][-3:] == ["host-eof", "answer-dropped", "server-exit"]


def test_it_looks_into_the_journal_before_it_passes_a_write_on(host: Host, tmp_path: Path) -> None:
    path = tmp_path / "s.journal"
    with sqlite3.connect(path) as database:
        database.executescript(SCHEMA.read_text())
        database.execute("INSERT INTO branches VALUES (1, NULL, 0, ?)", (bytes(32),))
        payload = json.dumps({"capture_id": CAPTURE, "attempt": 1})
        for position, kind in enumerate(("capture-begun.v1", "write-intended.v1", "gap.v1"), 1):
            body = payload if kind != "gap.v1" else "{}"
            database.execute(
                "INSERT INTO events VALUES (?, 1, ?, 0, NULL, NULL, ?, ?, ?)",
                (position, position, kind, body, bytes(32)),
            )
    database.close()
    host.write()
    host.answer()
    passed = next(line for line in host.log() if line["what"] == "passed" and line["direction"] == "request")
    assert passed["capture"] == CAPTURE
    assert passed["journals"] == [
        {"path": str(path), "newest": "gap.v1", "newest_of_capture": "write-intended.v1", "submitted": True}
    ]


@pytest.mark.long
def test_in_front_of_the_real_server_a_note_exists_while_its_answer_is_held(tmp_path: Path) -> None:
    memory = BasicMemoryHome(tmp_path / "memory")
    host = Host(tmp_path, COMMAND, *ARGS, environment=memory.environment())
    try:
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        host.send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
        host.answer()
        host.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        (tmp_path / relay.HOLD).touch()
        host.write()
        held = until(lambda: next((line for line in host.log() if line["what"] == "answer-held"), None), seconds=60)
        assert (held["tool"], held["error"]) == ("write_note", False)
        until(lambda: next(iter(memory.notes.glob("kept/*.md")), None))
        host.leave()
        assert host.process.wait(60) == 0
    finally:
        host.end()
