"""What is ready and cannot be sent is not tried over and over, is made anew where that helps, and holds back nothing else."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from continuity.capture import PublicMessage
from continuity.due import SYNTHESIS_BACKOFF_MS
from continuity.shell.ledger import Ledger
from continuity.shell.runner import REST_MS
from journal.events import BranchForked, CaptureSuperseded, SynthesisFailed, WriteIntended
from journal.ids import EntryId
from journal.row import FIRST_BRANCH, Record
from tests.facts import intended
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, Rig, Talk, rig


@asynccontextmanager
async def ready(root: Path) -> AsyncGenerator[tuple[Rig, Talk, Ledger]]:
    """A process whose one capture is ready to be sent, and whose server can be started by now."""
    async with rig(root) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.turn("light the lamp")
        await talk.settle()
        assert [capture.status for capture in talk.state.captures] == ["ready"]
        ledger = talk.session.desk.ledger
        assert ledger is not None
        process.memory.faults()
        yield process, talk, ledger


async def test_a_finished_handoff_whose_text_was_erased_is_made_anew_and_saved(tmp_path: Path) -> None:
    async with ready(tmp_path) as (process, talk, ledger):
        digest = talk.state.captures[0].handoff_sha256
        assert digest is not None
        await ledger.journal.append(FIRST_BRANCH, [], expected=talk.state.position, erase=[digest])
        assert await process.link.up(BOUND)
        await talk.settle()
        (failed,) = talk.events(SynthesisFailed)
        assert (failed.error, failed.model_calls) == ("body-missing", 0)
        assert [capture.status for capture in talk.state.captures] == ["begun"]
        process.clock.advance(SYNTHESIS_BACKOFF_MS[1])
        await talk.settle()
        assert talk.state.checkpoint is not None
        assert len(process.mind.asked) == 2


async def elsewhere(talk: Talk, ledger: Ledger) -> None:
    """Put an intent for the same capture on a branch that this process does not follow."""
    capture = talk.state.captures[0]
    tip = capture.source_tip
    forked = BranchForked(reason="path-left", left_tip=tip, kept_tip=None)
    sent = intended(capture.capture_id, tip)
    records = [Record(event=event, at_ms=1, tip=tip, cause=None) for event in (forked, sent)]
    await ledger.journal.fork(FIRST_BRANCH, 1, records)


async def test_a_capture_that_another_branch_submitted_is_said_once_and_not_tried_over_and_over(tmp_path: Path) -> None:
    async with ready(tmp_path) as (process, talk, ledger):
        await elsewhere(talk, ledger)
        assert await process.link.up(BOUND)
        for _ in range(3):
            await talk.settle()
        assert process.memory.calls()["write_note"] == 0
        assert talk.events(WriteIntended) == []
        assert len([text for topic, text, _ in process.voice.notices if topic.startswith("submitted:")]) == 1
        assert process.voice.on("journal") == []


async def test_a_capture_that_another_branch_submitted_gives_way_to_the_next(tmp_path: Path) -> None:
    async with ready(tmp_path) as (process, talk, ledger):
        await elsewhere(talk, ledger)
        assert await process.link.up(BOUND)
        await talk.settle()
        await talk.turn("and the foghorn")
        process.clock.advance(REST_MS)
        await talk.settle()
        assert len(talk.events(CaptureSuperseded)) == 1
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == talk.conversation.tip
        assert process.memory.calls()["write_note"] == 1


class Forgotten(Conversation):
    """A conversation whose file went away, or is shorter than it was."""

    known: int | None = None

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        return (await super().messages(tip))[: self.known]


async def test_a_tip_that_cannot_be_read_is_not_saved_as_if_it_had_been(tmp_path: Path) -> None:
    conversation = Forgotten()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        first = await talk.saved("one")
        for known in (0, 3):
            conversation.known = known
            await talk.turn("two, and important")
            process.clock.advance(SYNTHESIS_BACKOFF_MS[-1])
            await talk.settle()
            assert talk.state.checkpoint is not None
            assert talk.state.checkpoint.source_tip == first
        assert {failed.error for failed in talk.events(SynthesisFailed)} == {"nothing-to-read"}
        assert len(process.mind.asked) == 1
        conversation.known = None
        process.clock.advance(SYNTHESIS_BACKOFF_MS[-1])
        await talk.settle()
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip != first


async def test_where_a_session_saves_to_is_told_to_each_session_once(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        one = await process.open(Conversation("a"), name="one")
        two = await process.open(Conversation("b"), name="two")
        for talk in (one, two, one, two):
            await talk.saved("light the lamp")
        assert len(process.voice.on("destination:one")) == len(process.voice.on("destination:two")) == 1
