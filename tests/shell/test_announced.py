"""What a host announces is acted on at once: a brief goes in once, a look makes no branch, a receipt follows its capture."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from continuity.shell.announced import AnnouncedSession
from continuity.shell.recalling import Composed
from continuity.shell.runner import REST_MS
from journal.events import BranchForked, CaptureBegun, CompactionEnded, CompactionStarted, WorkSettled, WriteAnswered
from journal.ids import EntryId
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, Rig, Talk, recorded, replayed, rig

PATIENT = {"characters": 100_000, "minutes": 60}
STARTED, ENDED = CompactionStarted(reason="manual"), CompactionEnded(reason="manual", aborted=False)


class Announced(Talk):
    """A session of an announcing host, and what its host would pass on."""

    def __init__(self, session: AnnouncedSession, conversation: Conversation) -> None:
        super().__init__(session, conversation)
        self.ours = session

    async def given(self, text: str) -> Composed | None:
        """A person gives the host `text`; returns the brief that the host puts in before it."""
        before = await self.ours.asked(None, text)
        self.ours.given = before is not None
        return before.brief if before is not None else None

    async def compact(self, *, seconds: float = BOUND) -> str | None:
        """A whole compaction; returns the brief that goes in at its end."""
        await self.ours.compacting(STARTED, None, seconds)
        self.conversation.compact()
        composed = await self.ours.compacted(ENDED, None)
        if composed is not None:
            await self.session.delivered(composed)
        return composed.brief.text if composed is not None else None


@asynccontextmanager
async def announced(root: Path, **settings: Any) -> AsyncGenerator[tuple[Rig, Announced]]:
    async with rig(root, cadence=PATIENT, **settings) as process:
        talk = process.session(Conversation(), kind=AnnouncedSession)
        assert isinstance(talk.session, AnnouncedSession)
        made = Announced(talk.session, talk.conversation)
        await made.session.start("startup")
        await process.link.up(BOUND)
        await made.turn("what was said")
        await made.settle()
        yield process, made


async def test_a_prompt_that_had_its_brief_before_it_gets_no_other(tmp_path: Path) -> None:
    async with announced(tmp_path) as (process, talk):
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        talk.conversation.compact()
        await talk.session.note(ENDED)
        composed = await talk.given("go on")
        assert composed is not None
        assert composed.how == "appended"
        assert (await talk.prompt("go on")).brief is None
        assert (await talk.prompt("and on")).brief is not None  # it was never said to be delivered


async def test_what_comes_too_late_for_the_host_goes_in_with_the_prompt_and_once(tmp_path: Path) -> None:
    async with announced(tmp_path) as (process, talk):
        process.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
        talk.conversation.compact()
        await talk.session.note(ENDED)
        await talk.settle()
        asked = partial(talk.ours.asked, None, "go on")
        assert await process.owner.call("input", asked, within=0) is None
        brief = (await talk.prompt("go on")).brief
        assert brief is not None
        talk.conversation.brief(brief.brief.sha256)
        await talk.session.delivered(brief)
        await process.owner.drain(BOUND)
        assert await talk.given("and on") is None
        assert (await talk.prompt("and on")).brief is None


async def test_a_compaction_ends_with_what_it_folded(tmp_path: Path) -> None:
    async with announced(tmp_path) as (_, talk):
        brief = await talk.compact()
        assert brief is not None
        assert "Wire the foghorn." in brief
        assert (await talk.given("go on")) is None


async def test_what_is_not_saved_in_time_comes_with_the_next_prompt(tmp_path: Path) -> None:
    async with announced(tmp_path) as (process, talk):
        process.memory.put("tasks/lamp.md", "Fill the lamp.", type="task", status="active")
        process.mind.gate = anyio.Event()
        assert await talk.compact(seconds=0.05) is None
        process.mind.gate.set()
        await talk.settle()
        composed = await talk.given("go on")
        assert composed is not None
        assert [text in composed.brief.text for text in ("Wire the foghorn.", "Fill the lamp.")] == [True, True]


async def test_with_the_switch_off_a_compaction_waits_for_nothing(tmp_path: Path) -> None:
    async with announced(tmp_path, checkpoint_on_compact=False) as (process, talk):
        process.mind.gate = anyio.Event()
        await talk.session.request("command")
        await process.mind.arrived.wait()
        with anyio.fail_after(5):
            await talk.ours.compacting(STARTED, None, 60)
        process.mind.gate.set()


@pytest.mark.parametrize("answered", [True, False])
async def test_a_compaction_interrupts_a_turn_that_has_no_answer_and_no_other(tmp_path: Path, answered: bool) -> None:
    async with announced(tmp_path) as (_, talk):
        tip = talk.conversation.user("one more")
        if answered:
            tip = talk.conversation.assistant("Done.")
        await talk.ours.compacting(STARTED, tip, BOUND)
        assert [settled.interrupted for settled in talk.events(WorkSettled)] == [False, not answered]


async def test_a_move_in_the_tree_captures_what_is_left_and_makes_no_branch(tmp_path: Path) -> None:
    async with announced(tmp_path) as (_, talk):
        left = talk.conversation.tip
        talk.conversation.go_to(None)
        await talk.ours.moved(None)
        await talk.settle()
        assert [(begun.reason, begun.source_tip) for begun in talk.events(CaptureBegun)] == [("left-branch", left)]
        assert talk.session.desk.ledger is not None
        assert list(talk.session.desk.ledger.states) == [1]


async def test_a_compaction_at_a_place_that_was_only_looked_at_begins_a_branch_there(tmp_path: Path) -> None:
    async with announced(tmp_path) as (_, talk):
        looked_at = talk.conversation.tip
        await talk.turn("what is left behind")
        left = talk.conversation.tip
        talk.conversation.go_to(looked_at)
        await talk.ours.moved(None)
        await talk.compact()
        assert [e.aborted for e in talk.events(CompactionEnded, branch=2)] == [False]
        assert talk.events(CompactionEnded) == []
        ledger = talk.session.desk.ledger
        assert ledger is not None
        assert {trail.branch: trail.tips[-1][1] for trail in ledger.trails} == {1: left, 2: looked_at}


async def test_coming_back_to_the_tip_captures_nothing(tmp_path: Path) -> None:
    async with announced(tmp_path) as (_, talk):
        await talk.ours.moved(None)
        await talk.settle()
        assert talk.events(CaptureBegun) == []
        assert talk.events(BranchForked) == []


async def test_a_receipt_follows_its_capture_from_intent_to_answer(tmp_path: Path) -> None:
    mirrored: list[tuple[object, object, EntryId]] = []

    async def mirror(receipt: Mapping[str, str | int | None], tip: EntryId) -> bool:
        mirrored.append((receipt["status"], receipt["file_path"], tip))
        return True

    async with announced(tmp_path) as (_, talk):
        talk.session.desk.mirror = mirror
        await talk.session.request("command")
        await talk.settle()
        (answered,) = talk.events(WriteAnswered)
        tip = talk.conversation.tip
        assert mirrored == [("pending", None, tip), ("confirmed", answered.file_path, tip)]


async def test_a_refused_write_is_not_mirrored_as_stored(tmp_path: Path) -> None:
    statuses: list[object] = []

    async def mirror(receipt: Mapping[str, str | int | None], tip: EntryId) -> bool:
        statuses.append(receipt["status"])
        return True

    async with announced(tmp_path) as (process, talk):
        process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
        talk.session.desk.mirror = mirror
        await talk.session.request("command")
        await talk.settle()
        assert statuses == ["pending"]


async def test_a_quit_while_the_intent_is_mirrored_leaves_it_as_not_sent(tmp_path: Path) -> None:
    mirroring = anyio.Event()

    async def mirror(receipt: Mapping[str, str | int | None], tip: EntryId) -> bool:
        mirroring.set()
        await anyio.sleep_forever()
        return True

    async with announced(tmp_path) as (process, talk):
        talk.session.desk.mirror, path = mirror, talk.path
        await talk.session.request("command")
        with anyio.fail_after(BOUND):
            await mirroring.wait()
    (answered,) = recorded(path, WriteAnswered)
    assert (answered.outcome, answered.code) == ("not-sent", "interrupted")
    assert process.memory.calls()["write_note"] == 0
    assert [capture.status for capture in replayed(path).captures] == ["ready"]


async def test_a_mirror_that_fails_leaves_the_capture_to_be_sent_later(tmp_path: Path) -> None:
    failures = ["broken"]

    async def mirror(receipt: Mapping[str, str | int | None], tip: EntryId) -> bool:
        if failures:
            raise RuntimeError(failures.pop())
        return True

    async with announced(tmp_path) as (process, talk):
        talk.session.desk.mirror = mirror
        await talk.session.request("command")
        await talk.settle()
        process.clock.advance(REST_MS)
        await talk.settle()
        assert [answered.outcome for answered in talk.events(WriteAnswered)] == ["not-sent", "accepted"]
        assert process.memory.calls()["write_note"] == 1
