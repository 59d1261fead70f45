"""The journal follows the conversation's tree: a branch that is left is captured, a fork owes nothing, an answer goes home."""

from pathlib import Path

import anyio

from journal.events import BranchForked, CaptureBegun, CaptureRequested, SessionOpened, WorkSettled, WriteAnswered
from journal.ids import BranchId
from tests.fakes.host import Conversation
from tests.shell.rig import Talk, names, recorded, replayed, rig, until

PATIENT = {"characters": 100_000, "minutes": 60}
SECOND = BranchId(2)


def current(talk: Talk) -> BranchId:
    ledger = talk.session.desk.ledger
    assert ledger is not None
    return ledger.current


async def test_a_path_that_was_left_is_captured_and_the_new_one_is_a_fork(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=PATIENT) as process:
        talk = await process.open()
        await talk.turn("one")
        kept = talk.conversation.tip
        await talk.turn("a wrong turn")
        left = talk.conversation.tip
        talk.conversation.go_to(kept)
        await talk.turn("a better turn")
        await talk.settle()
        assert [asked.reason for asked in talk.events(CaptureRequested)] == ["left-branch"]
        assert [begun.source_tip for begun in talk.events(CaptureBegun)] == [left]
        (forked,) = recorded(talk.path, BranchForked, 2)
        assert (forked.left_tip, forked.kept_tip) == (left, kept)
        assert current(talk) == SECOND


async def test_a_fork_inherits_the_confirmed_checkpoint_and_no_owed_work(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        process.memory.faults(write_note=[{"error": "disk full"}])
        await talk.turn("a wrong turn")
        await until(lambda: len(talk.events(WriteAnswered)) == 2, "an outcome")
        await talk.settle()
        talk.conversation.go_to(kept)
        await talk.prompt("a better turn")
        assert talk.state.checkpoint is not None
        assert talk.state.checkpoint.source_tip == kept
        assert (talk.state.captures, talk.state.gathered.tip) == ((), None)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        assert [c.status for c in ledger.states[BranchId(1)].captures] == ["in_doubt"]


async def test_the_handoff_of_a_fork_reads_only_what_is_on_its_path(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        await talk.saved("a wrong turn")
        talk.conversation.go_to(kept)
        await talk.saved("a better turn")
        assert "a better turn" in process.mind.asked[-1]
        assert "a wrong turn" not in process.mind.asked[-1]
        assert talk.state.checkpoint is not None
        assert process.memory.calls()["write_note"] == 3


async def test_an_answer_that_comes_after_the_move_is_recorded_where_its_intent_is(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        process.memory.faults(write_note=["hold", "store"])
        await talk.turn("a wrong turn")
        await until(lambda: names(talk.path)[-1] == "write-intended", "the intent")
        talk.conversation.go_to(kept)
        await talk.prompt("a better turn")
        assert current(talk) == SECOND
        process.memory.release()
        await talk.settle()
        assert [answer.outcome for answer in talk.events(WriteAnswered)] == ["accepted", "accepted"]
        assert len(recorded(talk.path, WriteAnswered, 2)) == 1


async def test_going_back_to_a_branch_goes_on_in_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        first = await talk.saved("on the first")
        talk.conversation.go_to(kept)
        await talk.saved("on the second")
        talk.conversation.go_to(first)
        await talk.saved("on the first again")
        assert current(talk) == BranchId(1)
        assert talk.events(SessionOpened)[-1].reason == "branch"
        assert talk.state == replayed(talk.path)
        ledger = talk.session.desk.ledger
        assert ledger is not None
        assert len(ledger.states) == 2


async def test_a_path_that_shares_nothing_forks_before_everything(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        root = talk.conversation.receipt({})
        await talk.saved("the first way")
        talk.conversation.go_to(root)
        await talk.saved("from the beginning")
        assert talk.state.checkpoint is not None
        assert [settled.messages for settled in recorded(talk.path, WorkSettled, 2)] == [2]
        assert "the first way" not in process.mind.asked[-1]


async def test_looking_at_another_branch_without_a_prompt_changes_nothing(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        tip = await talk.saved("two")
        before = names(talk.path)
        talk.conversation.go_to(kept)
        talk.conversation.go_to(tip)
        assert names(talk.path) == before
        await talk.saved("three")
        assert current(talk) == BranchId(1)


async def test_a_path_that_moved_while_nobody_ran_is_found_by_the_next_start(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        kept = await talk.saved("one")
        await talk.saved("two")
    conversation.go_to(kept)
    conversation.user("another way, in a process without us")
    conversation.assistant("Done.")
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        assert current(talk) == SECOND
        await talk.settle()
        assert "another way" in process.mind.asked[-1]


async def test_a_capture_under_way_goes_on_while_the_path_moves(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        process.mind.gate = anyio.Event()
        await talk.turn("a wrong turn")
        await until(lambda: len(process.mind.asked) == 2, "a question to the model")
        talk.conversation.go_to(kept)
        await talk.prompt("a better turn")
        process.mind.gate.set()
        await talk.settle()
        assert [answer.outcome for answer in talk.events(WriteAnswered)] == ["accepted", "accepted"]
