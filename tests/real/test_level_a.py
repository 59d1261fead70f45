"""On a host that announces, every boundary leaves its timeline, no work is lost to one, and no session file is opened."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from syrupy.assertion import SnapshotAssertion
from tau_agent.session import SessionEntry

from continuity.capture import RECEIPT_NAMESPACE
from journal.events import CheckpointReferenced, CompactionEnded, Event, WriteAnswered
from journal.reader import open_reader
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, Timeline, briefs, lived, sound
from tests.fakes.opened_files import opened_by_us, opened_files
from tests.fakes.scripted_model import Answer, Body, Json, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.story import Story, Turn, is_brief
from tests.fakes.tau687 import announce

LONG = "x" * 50_000
TURNS = (
    Turn("Objective: keep the lamp lit", "Decision: oil, because there is no wind"),
    Turn("What next?", "Next: mend the foghorn"),
)
KNOWN = ("keep the lamp lit", "oil, because there is no wind", "mend the foghorn")
PATIENT: Json = {"characters": 1_000_000, "minutes": 60}
"""Nothing but a boundary makes a checkpoint due."""

MUCH = Reply("Much.", tokens=(90_000, 5))
"""An answer after which the context counts as large."""


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story(TURNS)) as scripted:
        yield scripted


@pytest.fixture
def scene(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> FakeScenario:
    announce(monkeypatch)
    made = FakeScenario(tmp_path, model, recall_wait_seconds=10, compaction_wait_seconds=20, cadence=PATIENT)
    for name, value in made.home.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.home.cwd)
    return made


async def worked(one: Lived) -> None:
    """Enough of a session that there is something to compact."""
    for text in (*(turn.prompt for turn in TURNS), LONG, LONG):
        await one.prompt(text)
    await one.settle()


def but_once(reply: Reply, *, purpose: str, holding: str = "") -> Answer:
    """Tell the story, but for one `reply` to a request of `purpose` whose newest message holds `holding`."""
    story, replies = Story(TURNS), iter([reply])

    def answer(body: Body) -> str | Reply:
        meant = purpose_of(body) == purpose and holding in messages_of(body)[-1][1]
        return next(replies, None) or story(body) if meant else story(body)

    return answer


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


async def said(one: Lived, role: str) -> list[SessionEntry]:
    return [e for e in await one.live.entries() if e.type == "message" and e.message.role == role]


# -- the life of a session -----------------------------------------------------


async def test_a_session_from_start_to_quit(
    scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion
) -> None:
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    async with lived(scene) as one:
        timeline = Timeline(one, model)
        await one.prompt(TURNS[0].prompt)
        await timeline.note("prompt")
        await one.prompt(TURNS[1].prompt)
        await timeline.note("another prompt")
        path, file = one.path(), one.live.file
    timeline.read("quit")
    assert timeline.lines == snapshot
    assert sound(path, file)


async def test_reload_new_and_resume(scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion) -> None:
    scene.set(auto_recall=False)  # what a session recalls of one that was just left is a matter of moments
    async with lived(scene) as one:
        timeline, first = Timeline(one, model), one.session_id
        await one.prompt("one")
        await one.settle()
        await one.live.tau.reload()
        await timeline.note("reload")
        await one.prompt("two")
        await timeline.note("prompt")
        await one.live.tau.new_session()
        await one.prompt("elsewhere")
        await timeline.note("new")
        await one.live.tau.resume(first)
        await one.prompt("three")
        await timeline.note("resume")
    assert timeline.lines == snapshot


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


# -- compactions ---------------------------------------------------------------


async def test_a_manual_compaction(scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion) -> None:
    async with lived(scene) as one:
        timeline = Timeline(one, model)
        await worked(one)
        await timeline.note("work")
        await one.live.tau.compact()
        await timeline.note("compaction")
        await one.prompt("go on")
        await timeline.note("prompt")
        assert order(one, WriteAnswered, CompactionEnded, CheckpointReferenced) == [
            WriteAnswered,
            CompactionEnded,
            CheckpointReferenced,
        ]
    assert timeline.lines == snapshot


async def test_a_detailed_compaction(scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion) -> None:
    async with lived(scene) as one:
        await worked(one)
        timeline = Timeline(one, model)
        await one.live.tau.compact_detailed("the foghorn above all")
        await timeline.note("compaction")
    assert timeline.lines == snapshot


async def test_a_compaction_before_a_prompt(
    scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion
) -> None:
    async with lived(scene) as one:
        await worked(one)
        model.answer = but_once(MUCH, purpose="agent", holding="much")
        await one.prompt("much")
        compacts_above(one, tokens=50_000)
        await one.settle()
        timeline = Timeline(one, model)
        await one.prompt("go on")
        await timeline.note("prompt with a compaction before it")
        knows_all(model)
    assert timeline.lines == snapshot


async def test_a_compaction_after_a_prompt(
    scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion
) -> None:
    async with lived(scene) as one:
        await worked(one)
        timeline = Timeline(one, model)
        compacts_above(one, tokens=50_000)
        model.answer = but_once(MUCH, purpose="agent", holding="much")
        await one.prompt("much")
        await timeline.note("prompt with a compaction after it")
        await one.prompt("go on")
        await timeline.note("prompt")
        knows_all(model)
    assert timeline.lines == snapshot


async def test_a_compaction_that_an_overflow_forces(
    scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion
) -> None:
    async with lived(scene) as one:
        await worked(one)
        timeline = Timeline(one, model)
        refusal = Reply("maximum context length exceeded", status=400)
        model.answer = but_once(refusal, purpose="agent", holding="one too many")
        await one.prompt("one too many")
        await timeline.note("prompt that overflowed")
        knows_all(model)
    assert timeline.lines == snapshot


def compacts_above(one: Lived, *, tokens: int) -> None:
    """Set Tau's own threshold, which a person sets in its configuration."""
    vars(one.live.tau)["_auto_compact_token_threshold"] = tokens


def knows_all(model: ScriptedModel) -> None:
    """The newest call of the agent has one brief, with everything that was said before the compaction."""
    (brief,) = [text for _, text in model.requests_for("agent")[-1].messages if is_brief(text)]
    assert [fact for fact in KNOWN if fact not in brief] == []


async def test_a_compaction_that_fails_takes_nothing_and_brings_nothing(
    scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion
) -> None:
    async with lived(scene) as one:
        await worked(one)
        timeline = Timeline(one, model)
        model.answer = but_once(Reply("no", status=500), purpose="compaction")
        with pytest.raises(RuntimeError):
            await one.live.tau.compact()
        await timeline.note("compaction that failed")
        await one.prompt("go on")
        await timeline.note("prompt")
        assert briefs(one.live) == []
    assert timeline.lines == snapshot


async def test_a_compaction_with_nothing_to_fold_leaves_no_trace(scene: FakeScenario, model: ScriptedModel) -> None:
    async with lived(scene) as one:
        await one.prompt("one")
        await one.settle()
        before, asked = len(history(one)), len(model.requests)
        with pytest.raises(ValueError, match="Not enough context"):
            await one.live.tau.compact()
        await one.settle()
        assert (len(history(one)), len(model.requests)) == (before, asked)


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


# -- branches ------------------------------------------------------------------


@pytest.mark.parametrize("summarize", [False, True])
async def test_a_move_in_the_tree(
    scene: FakeScenario, model: ScriptedModel, snapshot: SnapshotAssertion, *, summarize: bool
) -> None:
    async with lived(scene) as one:
        await one.prompt("one")
        await one.prompt("a wrong turn")
        await one.settle()
        timeline = Timeline(one, model)
        await one.live.tau.branch_to_entry((await said(one, "user"))[-1].id, summarize=summarize)
        await timeline.note("move")
        await one.prompt("a better turn")
        await timeline.note("prompt")
        path, file = one.path(), one.live.file
    assert timeline.lines == snapshot
    assert sound(path, file)


async def test_looking_about_and_coming_back_makes_no_branch(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        for text in ("one", "two", "three"):
            await one.prompt(text)
        await one.settle()
        newest = (await said(one, "assistant"))[-1]
        await one.live.tau.branch_to_entry((await said(one, "assistant"))[0].id)
        await one.live.tau.branch_to_entry(newest.id)
        await one.prompt("four")
        await one.settle()
        with open_reader(one.path()) as reader:
            assert [branch.branch for branch in reader.branches] == [1]


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


async def test_our_code_opens_no_session_file(scene: FakeScenario) -> None:
    scene.set(cadence="every")
    with opened_files() as found:
        async with lived(scene) as one:
            await worked(one)
            await one.live.tau.compact()
            await one.live.tau.branch_to_entry((await said(one, "user"))[1].id)
            await one.saved("another way")
            name, session_id = one.live.file.name, one.session_id
        async with lived(scene, session_id) as two:
            await two.saved("go on")
    assert [each for each in found if each.name == name] != []
    assert opened_by_us(found, ".jsonl") == []


async def test_summaries_are_the_hosts_own(scene: FakeScenario, model: ScriptedModel) -> None:
    """Where Tau's own configuration no longer leads to the model, only the host can ask it."""
    scene.set(cadence="every")
    async with lived(scene) as one:
        (scene.home.home / "catalog.toml").unlink()
        (scene.home.home / "providers.json").unlink()
        await one.saved("one")
        assert len(model.requests_for("synthesis")) == 1


async def test_the_status_page_names_the_level(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        await one.prompt("one")
        assert "A: the host announces compactions and branches" in (
            one.live.tau.handle_command("/bm-status").message or ""
        )
