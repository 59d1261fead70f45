"""Stands between Tau and the real memory server, logs every JSON-RPC line, and can stop time at chosen places.

    python relay.py FOLDER COMMAND...

FOLDER holds the log (`relay.jsonl`) and the switches. A switch is a file;
while it exists, the relay waits:

    HOLD              the answer to `write_note` is kept back (accepted, not yet answered)
    HOLD_REQUEST      a `write_note` request is kept back (intent on disk, nothing sent); dropped if Tau dies
    HOLD_INITIALIZE   the answer to `initialize` is kept back (a hung server)

`CONTINUITY_RELAY_JOURNALS` may name the journals (a glob): at every
`write_note` the relay looks into them, read-only, before it passes anything
on, and logs each one's newest event, the newest of this capture, and whether
its submission is recorded.

The server stays in the relay's process group and gets EOF when the relay's
stdin ends, so whoever asks whether the writing server lives gets a true
answer. It uses nothing but the standard library and nothing of ours.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import queue
import re
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, cast

_POLL_SECONDS = 0.005
_CAPTURE = re.compile(r"\b[0-9a-f]{64}\b")
HOLD, HOLD_REQUEST, HOLD_INITIALIZE = "HOLD", "HOLD_REQUEST", "HOLD_INITIALIZE"
LOG = "relay.jsonl"
JOURNALS_ENV = "CONTINUITY_RELAY_JOURNALS"


class Relay:
    """Two directions, each in a thread; the main thread waits for the server to end."""

    def __init__(self, folder: Path, command: list[str]) -> None:
        self._folder = folder
        self._log = (folder / LOG).open("a", buffering=1, encoding="utf-8")
        self._mutex = threading.Lock()
        self._host_gone = threading.Event()
        self._asked: dict[object, str] = {}
        self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.note("start", relay=os.getpid(), server=self._server.pid, group=os.getpgid(0), command=command)

    def run(self) -> int:
        """Pass lines both ways until the server has ended; returns its exit code."""
        threading.Thread(target=self._requests, daemon=True).start()
        answers = threading.Thread(target=self._answers, daemon=True)
        answers.start()
        code = self._server.wait()
        answers.join(1.0)
        self.note("server-exit", code=code)
        return code

    def note(self, what: str, **more: object) -> None:
        line = json.dumps({"at_ns": time.time_ns(), "what": what, **more})
        with self._mutex:
            self._log.write(line + "\n")

    def _read(self, lines: queue.SimpleQueue[bytes | None]) -> None:
        for line in sys.stdin.buffer:
            lines.put(line)
        self.note("host-eof")
        self._host_gone.set()
        lines.put(None)

    def _requests(self) -> None:
        server = _pipe(self._server.stdin)
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, args=(lines,), daemon=True).start()
        with contextlib.suppress(OSError):
            while (line := lines.get()) is not None:
                if self._admitted(line):
                    server.write(line)
                    server.flush()
        with contextlib.suppress(OSError):
            server.close()

    def _admitted(self, line: bytes) -> bool:
        """Log a request, hold it if told to; False if its sender died meanwhile: then it was never sent."""
        message = _decoded(line)
        tool = _tool_of(message)
        if "id" in message and "method" in message:
            self._asked[message["id"]] = tool or str(message["method"])
        seen = self._intent(message) if tool == "write_note" else {}
        facts = {"direction": "request", "method": message.get("method"), "tool": tool, "id": message.get("id"), **seen}
        if tool == "write_note" and self._hold(HOLD_REQUEST, "request-held", **facts) and self._host_gone.is_set():
            self.note("request-dropped", **facts)
            return False
        self.note("passed", **facts)
        return True

    def _answers(self) -> None:
        for line in _pipe(self._server.stdout):
            message = _decoded(line)
            asked = self._asked.pop(message.get("id"), None) if "method" not in message else None
            error = "error" in message or bool(_object(message.get("result")).get("isError"))
            facts: dict[str, object] = {"direction": "answer", "tool": asked, "id": message.get("id"), "error": error}
            switch = {"write_note": HOLD, "initialize": HOLD_INITIALIZE}.get(asked or "")
            held = switch is not None and self._hold(switch, "answer-held", **facts)
            if self._host_gone.is_set() or not _sent(line):
                self.note("answer-dropped", **facts, held=held)
            else:
                self.note("passed", **facts)

    def _hold(self, switch: str, what: str, **facts: object) -> bool:
        """Wait while the switch is there and the host lives; tell whether it was there at all."""
        path = self._folder / switch
        if not path.exists():
            return False
        self.note(what, **facts)
        while path.exists() and not self._host_gone.is_set():
            time.sleep(_POLL_SECONDS)
        return True

    def _intent(self, message: dict[str, object]) -> dict[str, object]:
        """Return what the journals say about the capture named in a `write_note` before it is passed on."""
        arguments = _object(_object(message.get("params")).get("arguments"))
        capture = _object(arguments.get("metadata")).get("capture_id")
        if not isinstance(capture, str):
            found = _CAPTURE.search(json.dumps(arguments))
            capture = found.group(0) if found else None
        paths = sorted(glob.glob(os.environ.get(JOURNALS_ENV, ""), recursive=True))  # noqa: PTH207 - an absolute glob
        return {"capture": capture, "journals": [_look(path, capture) for path in paths]}


def _look(path: str, capture: str | None) -> dict[str, object]:
    """Return the newest event of `capture` in one journal, and whether its submission is recorded."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=2)) as database:
            return {
                "path": path,
                "newest": _scalar(database, "SELECT type FROM events ORDER BY id DESC LIMIT 1"),
                "newest_of_capture": _scalar(
                    database,
                    "SELECT type FROM events WHERE json_extract(payload, '$.capture_id') = ? ORDER BY id DESC LIMIT 1",
                    capture,
                ),
                "submitted": bool(_scalar(database, "SELECT count(*) FROM submissions WHERE capture = ?", capture)),
            }
    except sqlite3.Error as error:
        return {"path": path, "unreadable": type(error).__name__}


def _sent(line: bytes) -> bool:
    try:
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    except OSError:
        return False
    return True


def _scalar(database: sqlite3.Connection, query: str, *values: str | None) -> object:
    row = database.execute(query, values).fetchone()
    return None if row is None else row[0]


def _decoded(line: bytes) -> dict[str, object]:
    try:
        return _object(json.loads(line))
    except ValueError:
        return {}


def _object(value: object) -> dict[str, object]:
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def _tool_of(message: dict[str, object]) -> str | None:
    name = _object(message.get("params")).get("name") if message.get("method") == "tools/call" else None
    return name if isinstance(name, str) else None


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("the server has no pipe")
    return pipe


if __name__ == "__main__":
    # The threads may still wait at a switch or for a host that says nothing more.
    os._exit(Relay(Path(sys.argv[1]), sys.argv[2:]).run())
