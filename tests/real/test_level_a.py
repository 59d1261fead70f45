"""On a host that announces, every boundary leaves its timeline, no work is lost to one, and no session file is opened."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Sequence
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from syrupy.assertion import SnapshotAssertion
from tau_coding import CodingSession
from tau_coding.extensions import ExtensionAPI, ExtensionContext

from continuity.capture import RECEIPT_NAMESPACE
from journal.events import (
    BranchForked,
    CheckpointReferenced,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    Event,
    SessionOpened,
    SynthesisFailed,
    WriteAnswered,
)
from journal.reader import open_reader
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, briefs, lived, sound
from tests.fakes.scripted_model import Reply, ScriptedModel
from tests.fakes.story import is_brief
from tests.fakes.walk import (
    BOUNDARIES,
    ENDS,
    FOLDING,
    KNOWN,
    TURNS,
    Life,
    Tale,
    at_home,
    but_once,
    knows_all,
    live,
    said,
    worked,
)
from tests.shell.rig import recorded


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Tale(TURNS)) as scripted:
        yield scripted


@pytest.fixture
def scene(tmp_path: Path, model: ScriptedModel) -> Generator[FakeScenario]:
    with at_home(tmp_path, model, announced=True) as made:
        made.set(compaction_wait_seconds=20)
        yield made


def history(one: Lived) -> Sequence[Event]:
    with open_reader(one.path()) as reader:
        return [row.event for row in reader.verified(1)]


def order(one: Lived, *kinds: type[Event]) -> list[type[Event]]:
    """Return which of `kinds` were recorded, in the order in which they were."""
    return [type(event) for event in history(one) if isinstance(event, kinds)]


async def receipts(one: Lived) -> list[tuple[object, object]]:
    """Return status and tip of each receipt in the session, oldest first."""
    found = [e for e in await one.live.entries() if e.type == "custom" and e.namespace == RECEIPT_NAMESPACE]
    return [(e.data["status"], e.data["source_tip"]) for e in found]


# -- boundaries ----------------------------------------------------------------


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return anyio.run(partial(live, tmp_path_factory.mktemp("life"), announced=True))


@pytest.mark.parametrize("boundary", [*BOUNDARIES, *ENDS])
def test_a_boundary_leaves_its_timeline_and_asks_the_model_for_nothing_more(
    life: Life, snapshot: SnapshotAssertion, boundary: str
) -> None:
    assert life.chapters[boundary].lines == snapshot


@pytest.mark.parametrize("boundary", FOLDING)
def test_what_a_compaction_folds_is_saved_before_and_back_after_it(life: Life, boundary: str) -> None:
    chapter = life.chapters[boundary]
    kinds = (WriteAnswered, CompactionEnded, CheckpointReferenced)
    assert [type(event) for event in chapter.events if isinstance(event, kinds)] == [*kinds]
    (brief,) = chapter.briefs
    assert [fact for fact in (*KNOWN, chapter.fact) if fact not in brief] == []


def test_every_note_was_sent_once(life: Life) -> None:
    answered = [e for chapter in life.chapters.values() for e in chapter.events if isinstance(e, WriteAnswered)]
    assert {event.outcome for event in answered} == {"accepted"}
    assert life.scene.memory.calls()["write_note"] == len(answered)


def test_every_opening_names_the_level(life: Life) -> None:
    opened = [e for chapter in life.chapters.values() for e in chapter.events if isinstance(e, SessionOpened)]
    assert {event.level for event in opened} == {"A"}


def test_our_code_opens_no_session_file_at_any_boundary(life: Life) -> None:
    assert [each for each in life.opened if each.name == life.file.name] != []
    assert [each for each in life.opened if ".jsonl" in each.name and each.by_us] == []


async def test_the_brief_stands_before_the_prompt_in_its_first_call(scene: FakeScenario, model: ScriptedModel) -> None:
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    async with lived(scene) as one:
        await one.settle()
        await one.prompt("hello")
        (call,) = model.requests_for("agent")
        assert [role for role, _ in call.messages] == ["system", "user", "user"]
        assert "Mend the foghorn." in call.messages[1][1]
        assert call.messages[2][1] == "hello"
        await one.prompt("and on")
        assert sum(is_brief(text) for _, text in model.requests_for("agent")[-1].messages) == 1


async def test_a_compaction_waits_no_longer_than_its_bound_and_the_capture_goes_on(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(compaction_wait_seconds=0.2)
    async with lived(scene) as one:
        await worked(one)
        with model.holding("synthesis"):
            await one.live.tau.compact()
            assert model.requests_for("synthesis") != ()
            assert order(one, WriteAnswered, CompactionEnded) == [CompactionEnded]
        await one.settle()
        await one.prompt("go on")
        knows_all(model)


async def test_a_compaction_interrupted_while_it_waits_leaves_its_capture_going_on(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    async with lived(scene) as one:
        await worked(one)
        with model.holding("synthesis"):
            compaction = asyncio.ensure_future(one.live.tau.compact())
            await anyio.to_thread.run_sync(model.wait_for, "synthesis")
            compaction.cancel()
            await asyncio.wait({compaction})
        await one.settle()
        assert compaction.cancelled()
        assert [event.aborted for event in history(one) if isinstance(event, CompactionEnded)] == [True]
        assert order(one, WriteAnswered) == [WriteAnswered]
        await one.prompt("go on")
        assert briefs(one.live) == []


async def test_a_server_that_hangs_holds_up_a_compaction_and_a_prompt_no_longer_than_their_bounds(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(recall_wait_seconds=0.5, compaction_wait_seconds=0.5, exit_timeout_seconds=0.5, timeout_seconds=60)
    async with lived(scene) as one:
        await worked(one)
        scene.memory.faults(write_note=["wedge"])
        with anyio.fail_after(20):  # a call may take 60
            await one.live.tau.compact()
            await one.prompt("go on")
        assert order(one, WriteAnswered, CompactionEnded) == [CompactionEnded]
        assert model.requests_for("agent")[-1].messages[-1][1] == "go on"


# -- what is in the session ----------------------------------------------------


async def test_a_receipt_is_there_before_the_note_is_sent_and_once_it_is_stored(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(cadence="every")
    async with lived(scene) as one:
        await one.saved("one")
        tip = (await said(one, "assistant"))[-1].id
        assert await receipts(one) == [("pending", tip), ("confirmed", tip)]
        path, file = one.path(), one.live.file
    assert sound(path, file)


async def test_no_receipt_is_put_on_a_path_without_its_tip(scene: FakeScenario, model: ScriptedModel) -> None:
    scene.set(cadence="every")
    async with lived(scene) as one:
        with model.holding("synthesis"):
            await one.prompt("one")
            await anyio.to_thread.run_sync(model.wait_for, "synthesis")
            await one.live.tau.branch_to_entry((await said(one, "user"))[0].id)
        await one.settle()
        assert order(one, WriteAnswered) == [WriteAnswered]
        assert await receipts(one) == []


async def test_summaries_are_the_hosts_own(scene: FakeScenario, model: ScriptedModel) -> None:
    """Where Tau's own configuration no longer leads to the model, only the host can ask it."""
    scene.set(cadence="every")
    async with lived(scene) as one:
        (scene.home.home / "catalog.toml").unlink()
        (scene.home.home / "providers.json").unlink()
        await one.saved("one")
        assert len(model.requests_for("synthesis")) == 1


@pytest.mark.parametrize("leave", ["reload", "new_session"])
async def test_a_summary_under_way_survives_what_replaces_the_extension(
    scene: FakeScenario, model: ScriptedModel, leave: str
) -> None:
    scene.set(cadence="every")
    async with lived(scene) as one:
        left = one.session_id
        with model.holding("synthesis"):
            await one.prompt("one")
            await anyio.to_thread.run_sync(model.wait_for, "synthesis")
            await getattr(one.live.tau, leave)()
        await one.alone()
        assert [answer.outcome for answer in recorded(one.path(left), WriteAnswered)] == ["accepted"]


async def test_a_summary_that_fails_once_the_host_went_on_is_asked_for_again_without_it(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(cadence="every")
    async with lived(scene) as one:
        left = one.session_id
        with model.holding("synthesis"):
            await one.prompt("one")
            await anyio.to_thread.run_sync(model.wait_for, "synthesis")
            await one.live.tau.new_session()
            model.answer = but_once(Reply("no", status=500), purpose="synthesis")
        await one.alone()
        assert [answer.outcome for answer in recorded(one.path(left), WriteAnswered)] == ["accepted"]
        assert recorded(one.path(left), SynthesisFailed) == []


# -- hosts that offer less -----------------------------------------------------

_STOCK = {name: getattr(CodingSession, name) for name in ("compact_detailed", "branch_to_entry")}


async def test_a_host_that_cannot_summarise_is_of_the_level_and_its_model_is_asked_over_a_way_of_our_own(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(cadence="every")
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(ExtensionContext, "summarize")
        async with lived(scene) as one:
            await one.saved("one")
            assert len(model.requests_for("synthesis")) == 1
            assert [event.level for event in recorded(one.path(), SessionOpened)] == ["A"]


async def test_a_host_that_only_tells_its_path_is_taken_for_stock_tau(scene: FakeScenario) -> None:
    scene.set(cadence="every")
    with pytest.MonkeyPatch.context() as patch:
        patch.delattr(ExtensionAPI, "append_message")
        async with lived(scene) as one:
            await one.saved("one")
            assert [event.level for event in recorded(one.path(), SessionOpened)] == ["B"]
            assert "level        B: stock Tau" in (one.live.tau.handle_command("/bm-status").message or "")


async def test_a_compaction_that_is_not_announced_is_noticed_and_what_it_folded_is_back(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CodingSession, "compact_detailed", _STOCK["compact_detailed"])
        async with lived(scene) as one:
            await worked(one)
            await one.live.tau.compact()
            await one.prompt("go on")
            await one.settle()
            assert order(one, CompactionStarted, CompactionNoticed) == [CompactionNoticed]
            await one.prompt("and on")
            knows_all(model)


async def test_a_move_that_is_not_announced_is_a_branch_with_the_next_prompt(scene: FakeScenario) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CodingSession, "branch_to_entry", _STOCK["branch_to_entry"])
        async with lived(scene) as one:
            await one.prompt("one")
            await one.prompt("a wrong turn")
            await one.settle()
            await one.live.tau.branch_to_entry((await said(one, "user"))[1].id)
            await one.prompt("a better turn")
            await one.settle()
            assert [forked.reason for forked in recorded(one.path(), BranchForked, 2)] == ["path-left"]
            assert order(one, WriteAnswered) == [WriteAnswered]
