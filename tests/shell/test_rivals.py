"""Who saves what another process saved already recognises it, once and without a false word, and never writes over it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from continuity.capture import content_digest
from continuity.due import PROBE_SPACING_MS
from journal.events import CaptureProbed, WriteAnswered
from tests.fakes.host import HANDOFF, Conversation
from tests.fakes.memory_server import FakeMemory
from tests.shell.rig import Rig, Talk, names, rig

BODY = "## Objective\n\nThe same, in a rival's words."


@asynccontextmanager
async def two_at_one_tip(root: Path) -> AsyncGenerator[tuple[tuple[Rig, Talk], tuple[Rig, Talk]]]:
    """Two processes of two machines, one project, one session whose newest turn neither has saved; each has its own model."""
    conversation = Conversation()
    manual = {"characters": 100_000, "minutes": 60}
    async with (
        rig(root / "one", server=root / "server", cadence=manual) as one,
        rig(root / "two", server=root / "server", cadence=manual) as two,
    ):
        one.mind.answer = lambda _: HANDOFF.format(next="Wire the foghorn.")
        two.mind.answer = lambda _: HANDOFF.format(next="Connect the foghorn.")
        first, second = await one.open(conversation), await two.open(conversation)
        entry = conversation.user("light the lamp")
        for talk in (first, second):
            await talk.session.prompted(entry, characters=14, typed=True)
        tip = conversation.assistant("Done.")
        for talk in (first, second):
            await talk.session.settled(tip, interrupted=False)
        yield (one, first), (two, second)


async def test_two_processes_that_quit_at_one_tip_leave_one_note_and_both_know_it_saved(tmp_path: Path) -> None:
    async with two_at_one_tip(tmp_path) as ((one, first), (two, second)):
        drained: list[bool] = []

        async def quits(talk: Talk) -> None:
            drained.append(await talk.session.ending(10))

        async with anyio.create_task_group() as group:
            group.start_soon(quits, first)
            group.start_soon(quits, second)
        assert drained == [True, True]
        assert len(one.memory.notes) == 1
        for talk in (first, second):
            assert talk.state.checkpoint is not None
            assert not talk.session.unsaved
        evidence = {talk.state.checkpoint.evidence for talk in (first, second) if talk.state.checkpoint}
        assert evidence == {"answered", "adopted"}
        said = [text for process in (one, two) for _, text, _ in process.voice.notices]
        assert not any("fail" in text.lower() for text in said)
        assert sum("another process saved the same" in text for text in said) == 1


def taken(memory: FakeMemory, path: str, **identity: str) -> None:
    memory.put(path, BODY, content_digest=content_digest(BODY), **identity)


async def test_a_capture_that_a_rival_wrote_is_adopted_though_the_index_lags_and_not_spoken_of_again(
    tmp_path: Path,
) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        process.mind.gate = anyio.Event()
        await talk.turn("light the lamp")
        await process.mind.arrived.wait()
        (capture,) = talk.state.captures
        path = f"tau/checkpoints/tau-checkpoint-{capture.capture_id[:20]}.md"
        taken(process.memory, path, capture_id=capture.capture_id, source_tip=capture.source_tip)
        process.memory.faults(index="lag")
        process.mind.gate.set()
        await talk.settle()
        assert [a.code for a in talk.events(WriteAnswered)] == ["NOTE_ALREADY_EXISTS"]
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["present_twin"]
        assert talk.state.checkpoint is not None
        assert (talk.state.checkpoint.path, talk.state.checkpoint.evidence) == (path, "adopted")
        assert process.memory.notes[path]["content"] == BODY
        assert talk.state.pending == ()
    for _ in range(2):
        async with rig(tmp_path) as process:
            talk = await process.open(conversation)
            assert process.voice.notices == []
            assert path in talk.page


async def test_the_note_is_read_where_the_server_says_that_it_exists(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open(Conversation())
        process.mind.gate = anyio.Event()
        await talk.turn("light the lamp")
        await process.mind.arrived.wait()
        (capture,) = talk.state.captures
        path = "Tau/Checkpoints/Kept under another name.md"
        taken(process.memory, path, capture_id=capture.capture_id, source_tip=capture.source_tip)
        process.memory.faults(index="lag", exists_at=path)
        process.mind.gate.set()
        await talk.settle()
        assert [a.file_path for a in talk.events(WriteAnswered)] == [path]
        assert [probe.verdict for probe in talk.events(CaptureProbed)] == ["present_twin"]
        assert talk.state.checkpoint is not None
        assert (talk.state.checkpoint.path, talk.state.checkpoint.moved) == (path, True)


async def test_a_server_that_names_a_path_with_nothing_there_does_not_hide_our_own_address(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open(Conversation())
        process.mind.gate = anyio.Event()
        await talk.turn("light the lamp")
        await process.mind.arrived.wait()
        (capture,) = talk.state.captures
        path, named = f"tau/checkpoints/tau-checkpoint-{capture.capture_id[:20]}.md", "named.md"
        taken(process.memory, named)
        taken(process.memory, path, capture_id=capture.capture_id, source_tip=capture.source_tip)
        process.memory.faults(index="lag", exists_at=named)
        process.mind.gate.set()
        await talk.settle()
        (probe,) = talk.events(CaptureProbed)
        assert [seen.file_path for seen in probe.observations] == [named, path]
        assert probe.verdict == "present_twin"


async def test_a_stranger_at_the_address_is_named_once_and_no_start_speaks_of_it_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        process.mind.gate = anyio.Event()
        await talk.turn("light the lamp")
        await process.mind.arrived.wait()
        (capture,) = talk.state.captures
        path = f"tau/checkpoints/tau-checkpoint-{capture.capture_id[:20]}.md"
        taken(process.memory, path, capture_id="f" * 64, source_tip="elsewhere")
        process.mind.gate.set()
        await talk.settle()
        assert process.voice.on("settle") == [
            f"A save met another note at {path}; nothing was overwritten. See /bm-pending."
        ]
        assert [c.status for c in talk.state.captures] == ["conflicted"]
    for _ in range(2):
        async with rig(tmp_path) as process:
            talk = await process.open(conversation)
            before = names(talk.path).count("capture-probed")
            process.clock.advance(PROBE_SPACING_MS[-1])
            await talk.settle()
            assert process.voice.notices == []
            assert names(talk.path).count("capture-probed") == before
            assert process.memory.notes[path]["content"] == BODY
