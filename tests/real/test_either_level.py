"""What holds on a host that announces holds on stock Tau: the same tests, lived on both."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Generator
from pathlib import Path

import anyio.to_thread
import pytest

from continuity.evolve import fold
from journal.events import SessionOpened, ToolAnswered, WriteAnswered
from journal.ids import WriterId
from journal.lock import JournalLock
from journal.reader import open_reader
from journal.row import WriterRecord
from tests.facts import PROCESS
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, lived, sound
from tests.fakes.repair import leave_a_call_open
from tests.fakes.scripted_model import Body, Json, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.walk import TURNS, Tale, at_home, back_home
from tests.real.test_boundaries import child_session
from tests.shell.rig import recorded

NOTE: dict[str, Json] = {"project": "main", "directory": "d", "title": "asked-for", "content": "by the agent"}
OTHER = "other"


def agent(body: Body) -> str | Reply:
    """Writes a note when it is asked to, and is the usual story otherwise."""
    if purpose_of(body) == "agent" and messages_of(body)[-1] == ("user", "write it"):
        return Reply("", tool=("bm_write_note", NOTE))
    return Tale(TURNS)(body)


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(agent) as scripted:
        yield scripted


@pytest.fixture(params=["A", "B"])
def level(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def scene(tmp_path: Path, model: ScriptedModel, level: str) -> Generator[FakeScenario]:
    with at_home(tmp_path, model, announced=level == "A") as made:
        made.set(cadence="every", exit_timeout_seconds=5)
        yield made


def status(one: Lived) -> str:
    return one.live.tau.handle_command("/bm-status").message or ""


# -- models --------------------------------------------------------------------


def second_provider(scene: FakeScenario) -> None:
    """Another provider, of one model, is what new sessions begin with."""
    home = scene.home.home
    catalog, chosen = (home / "catalog.toml").read_text(), json.loads((home / "providers.json").read_text())
    told = catalog[catalog.index("[[providers]]") :].replace("scripted", OTHER).replace("Scripted", "Other")
    (home / "catalog.toml").write_text(f"{catalog}\n{told}")
    chosen["provider_preferences"][OTHER] = {"default_model": OTHER, "max_retries": 0}
    (home / "providers.json").write_text(json.dumps(chosen | {"default_provider": OTHER}))


async def test_each_session_is_summarised_by_its_own_model_when_a_new_one_begins_with_another(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    second_provider(scene)
    before = len(model.requests_for("synthesis"))
    async with lived(scene) as one:
        left = one.session_id
        with model.holding("synthesis"):
            await one.prompt("Decision: of the first")
            await anyio.to_thread.run_sync(model.wait_for, "synthesis", before + 1)
            await one.live.tau.new_session()
        await one.saved("Decision: of the second")
        assert one.live.tau.provider_name == OTHER
        await one.alone()
        asked = [(str(r.body["model"]), r.messages[-1][1]) for r in model.requests_for("synthesis")[before:]]
        assert {name for name, text in asked if "of the second" in text} == {OTHER}
        assert {name for name, text in asked if "of the second" not in text} == {"scripted"}
        assert [answer.outcome for answer in recorded(one.path(left), WriteAnswered)] == ["accepted"]


# -- one boundary after the other ----------------------------------------------


async def test_going_back_to_the_first_message_stays_in_the_sessions_journal(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        entries = await one.live.entries()
        first = next(e for e in entries if e.type == "message" and e.message.role == "user")
        await one.live.tau.branch_to_entry(first.id)
        await one.saved("another beginning")
        path, session_id = one.path(), one.session_id
    async with lived(scene, session_id) as two:
        await two.saved("go on")
    assert scene.home.journals() == (path,)


async def test_a_prompt_cancelled_by_the_person_at_any_moment_leaves_a_session_that_goes_on(
    scene: FakeScenario,
) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        for turns in (1, 3, 10, 30, 60, 100, 200):
            await interrupted(one.prompt(f"cut after {turns}"), turns)
            await one.saved(f"whole again after {turns}")
        state = one.ours.state
        with open_reader(one.path()) as reader:
            assert fold(reader.verified(1)) == state
        path, file = one.path(), one.live.file
    assert sound(path, file)


async def interrupted(run: Coroutine[object, object, None], turns: int) -> None:
    """Run it in a task of its own and cancel that after `turns` turns of the loop, as a host does."""
    task = asyncio.ensure_future(run)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})


# -- ends ----------------------------------------------------------------------


async def test_an_exit_that_waits_in_vain_ends_in_time_and_the_next_start_saves_what_it_left(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(exit_timeout_seconds=0.3)
    with model.holding("synthesis"):
        async with lived(scene) as one:
            await one.prompt("one")
            path, session_id, file = one.path(), one.session_id, one.live.file
    assert recorded(path, WriteAnswered) == []
    async with lived(scene, session_id) as two:
        await two.settle()
        assert [answer.outcome for answer in recorded(path, WriteAnswered)] == ["accepted"]
    assert sound(path, file)


async def test_an_exit_cancelled_while_it_waits_leaves_nothing_running_and_nothing_lost(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.set(exit_timeout_seconds=0.5, cadence={"characters": 1_000_000, "minutes": 60})
    asked = len(model.requests_for("synthesis"))
    with model.holding("synthesis"):
        async with lived(scene) as one:
            await one.prompt("one")
            path, session_id, owner = one.path(), one.session_id, one.serving.owner
            leaving = asyncio.ensure_future(one.live.tau.aclose())
            await anyio.to_thread.run_sync(model.wait_for, "synthesis", asked + 1)
            leaving.cancel()
            await asyncio.wait({leaving})
            assert (leaving.cancelled(), owner.alive) == (True, False)
    async with lived(scene, session_id) as two:
        await two.settle()
    assert [answer.outcome for answer in recorded(path, WriteAnswered)] == ["accepted"]


async def test_nothing_is_written_for_a_session_that_nobody_used(scene: FakeScenario) -> None:
    async with lived(scene):
        pass
    assert scene.home.journals() == ()


async def test_no_task_of_ours_is_left_after_quitting(scene: FakeScenario) -> None:
    before = {task for task in asyncio.all_tasks() if not task.done()}
    async with lived(scene) as one:
        await one.prompt("one")
    left = {task for task in asyncio.all_tasks() if not task.done()} - before
    assert [task for task in left if "continuity" in repr(task)] == []


# -- several -------------------------------------------------------------------


async def test_a_session_that_another_process_has_open_goes_on_and_is_saved_once_that_ended(
    scene: FakeScenario,
) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        path, session_id, file = one.path(), one.session_id, one.live.file
    other = JournalLock.acquire(path, WriterRecord(writer=WriterId("f" * 32), process=PROCESS))
    async with lived(scene, session_id) as two:
        await two.prompt("two")
        await two.serving.owner.drain(5)
        assert "another process has this session open" in (two.said("journal") or "")
        assert two.ours.state is None
        other.release()
        await two.saved("three")
    assert sound(path, file)


# -- without a file ------------------------------------------------------------


async def test_a_session_without_an_id_has_its_calls_on_record_and_says_that_nothing_is_saved(
    scene: FakeScenario,
) -> None:
    async with lived(scene) as parent:
        child = await child_session(scene)
        await child.emit_pending_session_start()
        _ = [event async for event in child.prompt("write it")]
        (adhoc,) = scene.home.journals()
        assert [answer.outcome for answer in recorded(adhoc, ToolAnswered)] == ["accepted"]
        assert [(opened.reason, opened.level) for opened in recorded(adhoc, SessionOpened)] == [("ad-hoc", "C")]
        shown = child.handle_command("/bm-status").message or ""
        assert "C: no session file, so nothing is saved or recalled" in shown
        assert adhoc.name in shown
        assert adhoc.name not in status(parent)
        assert "nothing is saved or recalled" in (parent.said("level") or "")
        await child.aclose()


async def test_a_session_that_is_kept_nowhere_says_so_on_stock_tau_and_is_saved_where_the_host_tells_it(
    scene: FakeScenario, level: str
) -> None:
    async with lived(scene) as parent:
        child = await child_session(scene, session_id="kept-nowhere")
        await child.emit_pending_session_start()
        _ = [event async for event in child.prompt("one")]
        shown = child.handle_command("/bm-status").message or ""
        assert ("no session file, so nothing is saved" in shown) == (level == "B")
        assert ("announces compactions" in shown) == (level == "A")
        assert [path.stem for path in scene.home.journals()] == (["kept-nowhere"] if level == "A" else [])
        assert ("has no file" in (parent.said("level") or "")) == (level == "B")
        await child.aclose()


# -- levels --------------------------------------------------------------------


async def test_a_session_goes_on_at_the_other_level_when_tau_was_replaced(
    tmp_path: Path, model: ScriptedModel, level: str
) -> None:
    other = "B" if level == "A" else "A"
    with at_home(tmp_path, model, announced=level == "A") as scene:
        scene.set(cadence="every")
        async with lived(scene) as one:
            await one.saved("Decision: before")
            path, session_id, file = one.path(), one.session_id, one.live.file
    with back_home(scene, announced=other == "A"):
        async with lived(scene, session_id) as two:
            await two.saved("Decision: after")
            assert f"level        {other}: " in status(two)
            assert two.ours.state is not None
            assert two.ours.state.branch == 1
    assert [(event.reason, event.level) for event in recorded(path, SessionOpened)] == [
        ("startup", level),
        ("startup", other),
    ]
    assert [answer.outcome for answer in recorded(path, WriteAnswered)] == ["accepted", "accepted"]
    assert sound(path, file)


async def test_a_history_that_tau_repaired_in_its_middle_loses_nothing(
    scene: FakeScenario, level: str, model: ScriptedModel
) -> None:
    """Stock Tau's file still shows which entries are copies of which; a path alone does not, and is a branch then."""
    async with lived(scene) as one:
        await one.saved("one")
        await one.saved("Decision: before the repair")
        path, session_id, file = one.path(), one.session_id, one.live.file
    leave_a_call_open(file, before="before the repair")
    async with lived(scene, session_id) as two:
        await two.saved("go on")
        assert "tau.session-history-repair" in file.read_text(encoding="utf-8")
        assert "before the repair" in model.requests_for("synthesis")[-1].messages[-1][1]
    with open_reader(path) as reader:
        assert len(reader.branches) == (2 if level == "A" else 1)
    assert sound(path, file)
