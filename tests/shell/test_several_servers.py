"""Where several servers watch one folder, what a read fails at is no verdict: nothing is written again, and reads go on."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest

from continuity.due import PROBE_SPACING_MS
from continuity.memory.connection import connect
from continuity.memory.server import ServerSpec
from journal.events import CaptureProbed
from tests.shell.rig import rig, until

PASSING = (
    "Error: Entity not found: tau/checkpoints",
    "[Errno 2] No such file or directory: 'note.md.tmp' -> 'note.md'",
)


@pytest.mark.parametrize("text", PASSING)
async def test_a_read_that_fails_in_passing_settles_nothing_and_is_made_again_and_no_write_is(
    tmp_path: Path, text: str
) -> None:
    async with rig(tmp_path) as process, connect(spec_of(process.link.spec), seconds=20) as others:
        talk = await process.open()
        failing = [{"error": text}]
        process.memory.faults(write_note=["store", "exit"], read_note=failing, search_notes=failing)
        await talk.turn("light the lamp")
        await until(lambda: talk.events(CaptureProbed), "a read that failed")
        assert {probe.verdict for probe in talk.events(CaptureProbed)} <= {"unreachable", "absent_open"}
        assert [capture.status for capture in talk.state.captures] == ["in_doubt"]
        process.memory.faults()

        def settled() -> bool:
            process.clock.advance(PROBE_SPACING_MS[1])
            talk.session.runner.wake()
            return talk.state.checkpoint is not None

        await until(settled, "the read that succeeds")
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.evidence == "read"
        assert process.memory.calls()["write_note"] == 1
        assert not others.lost
        assert len(psutil.Process().children(recursive=True)) == 2, "theirs and the one of ours"


def spec_of(spec: object) -> ServerSpec:
    """Another agent's server is started in the same way, on the same folder."""
    assert isinstance(spec, ServerSpec)
    return spec
