"""Memory that is away, dead, slow or mute costs one prompt its wait, and no other prompt anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, rig, until

LONG = 60.0
"""Longer than this test may take: whoever waits so long is noticed."""

READS = ("search_notes", "recent_activity", "build_context", "read_note")
AWAY: Mapping[str, Mapping[str, Any]] = {
    "never greets": {"initialize": "hang"},
    "ends at once": {"initialize": "exit"},
    "never answers": {name: ["silent"] for name in READS},
    "answers much later": {name: [{"sleep": LONG}] for name in READS},
}
CONNECTS = ("never answers", "answers much later")


@pytest.mark.parametrize("how", AWAY)
async def test_after_one_wait_in_vain_no_prompt_waits(tmp_path: Path, how: str) -> None:
    async with rig(tmp_path, timeout_seconds=120, recall_wait_seconds=0.05) as process:
        process.memory.faults(**AWAY[how])
        talk = process.session(Conversation())
        await talk.session.start("startup")
        status = "up" if how in CONNECTS else "down" if how == "ends at once" else "connecting"
        await until(lambda: process.link.status == status, status)
        await talk.turn("one")
        patient = process.settings.model_copy(update={"recall_wait_seconds": LONG})
        talk.session.desk.settings = patient
        with anyio.fail_after(BOUND):
            for text in ("two", "three"):
                assert (await talk.turn(text)).brief is None
