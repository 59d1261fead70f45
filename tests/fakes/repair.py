"""Leaves a session file as a kill in the middle of a tool call does: Tau repairs such a history when it loads it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.fakes.scripted_model import Json

type Line = dict[str, Json]

CUT_OFF = "cut-off"


def leave_a_call_open(file: Path, *, before: str | None = None) -> None:
    """Put a tool call that was never answered at the end of the path that ends the file, or before a prompt with `before`."""
    lines: list[Line] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    answer = next(line for line in lines if "assistant" in json.dumps(line.get("message")))
    at = len(lines)
    if before is not None:
        at = next(n for n, line in enumerate(lines) if before in json.dumps(line.get("message")))
        lines[at] = {**lines[at], "parent_id": CUT_OFF}
    lines.insert(at, _open_call(answer, lines[at - 1]["id"]))
    file.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _open_call(answer: Line, parent: Json) -> Line:
    message = answer["message"]
    assert isinstance(message, dict)
    call: Json = {"type": "toolCall", "id": "call-1", "name": "read", "arguments": {"path": "x"}}
    return {
        **answer,
        "id": CUT_OFF,
        "parent_id": parent,
        "message": {**message, "content": [call], "stopReason": "toolUse"},
    }
