"""A second process on one session is told, disturbs nothing, and goes on where it stands once the first let go."""

from pathlib import Path

import pytest

from continuity.tau.status_command import status
from journal.events import BranchForked, CaptureBegun, SessionOpened, WriteAnswered
from journal.ids import BranchId, EntryId
from journal.lock import JournalLock
from journal.reader import open_reader
from replay.audit import audit
from tests.fakes.host import Conversation
from tests.shell.rig import BOUND, Talk, names, recorded, rig, until

SECOND = BranchId(2)


class Window:
    """What one process sees of a session that two have open: the same entries, from a tip of its own."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self.tip = conversation.tip

    async def prompt(self, talk: Talk, text: str) -> EntryId:
        self.conversation.go_to(self.tip)
        entry = self.tip = self.conversation.user(text)
        await talk.session.prompted(entry, characters=len(text), typed=True)
        return entry

    async def settle(self, talk: Talk) -> EntryId:
        self.conversation.go_to(self.tip)
        entry = self.tip = self.conversation.assistant("Done.")
        await talk.session.settled(entry, interrupted=False)
        return entry


async def test_what_was_said_in_the_second_is_saved_in_its_own_branch_at_its_next_rest(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        talk = await first.open(conversation)
        await talk.saved("one")
        async with rig(tmp_path) as second:
            other, window = await second.open(conversation), Window(conversation)
            await window.prompt(other, "two, elsewhere")
            await talk.saved("two, here")
            path, before = talk.path, names(talk.path)
            await window.settle(other)
            await other.settle()
            assert names(path) == before
            await first.end()
            await window.prompt(other, "three, elsewhere")
            tip = await window.settle(other)
            await other.settle()
            assert other.state.branch == SECOND
            assert other.state.checkpoint is not None
            assert other.state.checkpoint.source_tip == tip
            assert len(recorded(path, BranchForked, 2)) == 1
            asked = "\n".join(second.mind.asked)
            assert "two, elsewhere" in asked
            assert "three, elsewhere" in asked
            assert "two, here" not in asked
        with open_reader(path) as reader:
            assert audit(reader).ok


async def test_the_lock_is_taken_at_a_rest_without_another_prompt(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        talk = await first.open(conversation)
        await talk.saved("one")
        path = talk.path
        async with rig(tmp_path) as second:
            other, window = await second.open(conversation), Window(conversation)
            await window.prompt(other, "two, elsewhere")
            assert other.session.blocked is not None
            await first.end()
            tip = await window.settle(other)
            await other.settle()
            assert not other.session.blocked
            assert not other.session.second
            assert other.state.checkpoint is not None
            assert other.state.checkpoint.source_tip == tip
            assert recorded(path, SessionOpened)[-1].writer == second.writer.writer


@pytest.mark.parametrize("end", ["quit", "leave", "command"])
async def test_the_lock_is_taken_at_the_end_and_by_command(tmp_path: Path, end: str) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        talk = await first.open(conversation)
        await talk.saved("one")
        path = talk.path
        async with rig(tmp_path, cadence={"characters": 100_000, "minutes": 60}) as second:
            other, window = await second.open(conversation), Window(conversation)
            await window.prompt(other, "two, elsewhere")
            tip = await window.settle(other)
            assert other.session.unsaved
            await first.end()
            if end == "quit":
                assert await other.session.ending(BOUND)
            elif end == "leave":
                other.session.left()
                await other.session.leave(lambda: None)
                await other.settle()
            else:
                assert await other.session.request("command") == "due"
                await other.settle()
            assert [begun.source_tip for begun in recorded(path, CaptureBegun)][-1] == tip
            assert not other.session.unsaved


async def test_a_second_process_that_only_looked_takes_nothing_and_has_nothing_to_save(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        talk = await first.open(conversation)
        await talk.saved("one")
        async with rig(tmp_path) as second:
            other = await second.open(conversation)
            await first.end()
            assert not other.session.unsaved
            assert await other.session.ending(BOUND)
            assert other.session.desk.ledger is None


async def test_an_intent_of_the_living_first_is_settled_by_nobody_else(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        talk = await first.open(conversation)
        await talk.saved("one")
        first.memory.faults(write_note=["hold", "store"])
        await talk.turn("two")
        await until(lambda: names(talk.path)[-1] == "write-intended", "the intent")
        path, before = talk.path, names(talk.path)
        async with rig(tmp_path, auto_recall=False) as second:
            reads = second.memory.calls()["read_note"]
            other, window = await second.open(conversation), Window(conversation)
            await window.prompt(other, "three, elsewhere")
            await window.settle(other)
            await other.settle()
            assert names(path) == before
            assert second.memory.calls()["read_note"] == reads
            assert second.memory.calls()["write_note"] == 2
            first.memory.release()
            await talk.settle()
            assert [answer.outcome for answer in recorded(path, WriteAnswered)] == ["accepted", "accepted"]


async def test_the_status_page_says_who_has_the_session_and_what_waits_for_it(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as first:
        talk = await first.open(conversation)
        await talk.saved("one")
        async with rig(tmp_path) as second:
            other = await second.open(conversation)
            page = status(other.session, second.link, None, 0, adhoc=Path("x-process-1.journal"))
            assert "another process has this session open; memory is read-only here" in page
            assert f"wait until process {first.writer.process.pid} ends" in page
            assert "those that may change something are recorded in x-process-1.journal" in page
    JournalLock.acquire(first.places.journal(talk.session.desk.session_id), first.writer).release()
