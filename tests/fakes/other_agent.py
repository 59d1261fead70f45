"""Another agent at the same notes: speaks plain MCP to a real server of its own, and uses nothing of ours."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from typing import Self, cast

from tests.fakes.basic_memory import ARGS, COMMAND, BasicMemoryHome
from tests.fakes.scripted_model import Json

_CLIENT: Mapping[str, Json] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "another agent", "version": "1"},
}


class OtherAgent:
    """One server process; use as a context manager. Calls block and raise on an error of the server's."""

    def __init__(self, memory: BasicMemoryHome) -> None:
        self._process = subprocess.Popen(
            [COMMAND, *ARGS],
            cwd=memory.root,
            env=memory.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._last_id = 0
        self._ask("initialize", _CLIENT)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=30)

    def call(self, tool: str, **arguments: Json) -> Mapping[str, Json]:
        """Call one tool and return its JSON."""
        arguments = {"project": "main", "output_format": "json", **arguments}
        answer = self._ask("tools/call", {"name": tool, "arguments": arguments})
        content = _object(answer.get("structuredContent"))
        if answer.get("isError"):
            raise AssertionError(f"{tool} was refused: {answer.get('content')}")
        return _object(content.get("result", content))

    def write(self, note_type: str, title: str, text: str, *, folder: str, **metadata: Json) -> Mapping[str, Json]:
        """Write one note of a type other agents read."""
        return self.call(
            "write_note", title=title, directory=folder, content=text, note_type=note_type, metadata=metadata
        )

    def _ask(self, method: str, params: Mapping[str, Json]) -> Mapping[str, Json]:
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": dict(params)})
        stdout = self._process.stdout
        while stdout is not None and (line := stdout.readline()):
            answer = _object(json.loads(line))
            if answer.get("id") == self._last_id and "method" not in answer:
                if "error" in answer:
                    raise AssertionError(f"{method} failed: {answer['error']}")
                return _object(answer.get("result"))
        raise AssertionError(f"the server ended before it answered {method}")

    def _send(self, message: Json) -> None:
        stdin = self._process.stdin
        if stdin is None:
            raise AssertionError("the server has no stdin")
        stdin.write(json.dumps(message).encode() + b"\n")
        stdin.flush()


def _object(value: object) -> dict[str, Json]:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else {}
