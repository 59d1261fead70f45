"""Journals that killed processes left behind, made by the real session against the fake server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from continuity.shell.unattended import Left, Pick, Visitor
from continuity.state import Capture
from journal.ids import BranchId, CaptureId
from tests.fakes.host import Conversation
from tests.shell.rig import Rig, rig, until

STORED = ["store", "hold"]
"""A write that takes effect, and whose answer never comes."""
SWALLOWED = ["silent"]
"""A write that never takes effect, and whose answer never comes."""


async def killed(root: Path, fault: list[Any], name: str = "session", **settings: Any) -> Path:
    """Return the journal of a session that saved once and was killed while its second write was under way."""
    conversation = Conversation(name)
    async with rig(root, **settings) as process:
        process.memory.faults()
        talk = await process.open(conversation, name)
        await talk.saved("one")
        process.memory.faults(write_note=fault)
        before = process.memory.calls()["write_note"]
        await talk.turn("two")
        await until(lambda: process.memory.calls()["write_note"] > before, "the write")
        if "store" in fault:
            await until(lambda: len(process.memory.notes) > before, "the note")
        path = talk.path
        await process.kill()
        process.memory.faults()
    return path


def visitor(process: Rig, reason: Any = "settle") -> Visitor:
    return Visitor(reason, "tests 1", "0", process.writer, process.clock)


def everything(found: Left) -> list[tuple[BranchId, Capture]]:
    return [(branch, capture) for branch, state in found.states.items() for capture in state.pending]


def only(identity: CaptureId) -> Pick:
    return lambda found: [(branch, capture) for branch, capture in everything(found) if capture.capture_id == identity]
