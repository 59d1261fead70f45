"""Before Tau's own screen: commands answer, saves disturb nothing, and when the person has left nothing of ours is there."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import anyio
import pytest
from tau_coding.tui.app import TreePickerScreen

from continuity.tau.pages import SCREEN_WIDTH
from continuity.tau.resident import resident
from journal.events import Event, SynthesisFailed, SynthesisFinished, WorkSettled
from journal.reader import open_reader
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scripted_model import Json, ScriptedModel
from tests.fakes.story import Story, Turn, briefs_in
from tests.fakes.tui import Person, on_screen
from tests.shell.rig import BOUND, until

FIRST = Turn("Objective: keep the lamp lit", "Decision: oil, because there is no wind")
LONG = "x" * 50_000
NOTE = re.compile(r"tau-checkpoint-[0-9a-f]+\.md")
SAVED = re.compile(rf"Checkpoint saved: tau/checkpoints/({NOTE.pattern})")
SELDOM: Json = {"characters": 60_000, "minutes": 60}
"""Two long messages make a checkpoint due, and the turn that brought the second has settled by then."""


@dataclass
class Seen:
    """What one person saw, and what was there when they had gone."""

    status: str = ""
    room: int = 0
    """Columns that this page had beside Tau's scroll bar."""
    told: Sequence[str] = ()
    said_after: str = ""
    """What was written once the screen had given the terminal back."""
    briefs: Sequence[tuple[str, ...]] = ()
    """Of each call of the agent, those that came with its newest prompt."""
    parts: int = 0
    """Calls of the model for the first checkpoint, none of them answered when all was done that a person does meanwhile."""
    events: Sequence[Event] = ()
    """Of the first session."""
    restarts: int = 0
    """Servers that were started after the first prompt."""
    quit_seconds: float = 0.0
    left: Sequence[object] = ()
    """Tasks and processes that were not there before."""


class Afternoon:
    """Somebody's work before the screen, from the first prompt to the last."""

    def __init__(self, scene: FakeScenario, model: ScriptedModel) -> None:
        self.scene = scene
        self.model = model
        self.seen = Seen()

    async def live(self, person: Person) -> None:
        """Work, and leave."""
        self.person, self.serving = person, resident()
        link = self.serving.link
        assert link is not None
        assert await link.up(BOUND)
        servers = len(self.scene.log("start"))
        await self.prompt(FIRST.prompt)
        await self.interrupted_prompt()
        await self.prompt(LONG)
        with self.model.holding("synthesis"):
            await self.meanwhile()
        await person.hears("Checkpoint saved")
        await self.prompt("go on")
        await person.enter("/bm-status")
        self.seen.status, self.seen.room = await person.page(), person.room
        await self.elsewhere()
        self.seen.told, self.seen.restarts = tuple(person.told), len(self.scene.log("start")) - servers
        self.leaves_at = time.monotonic()
        await person.press("ctrl+d")

    async def interrupted_prompt(self) -> None:
        """Escape while the model is silent."""
        with self.model.holding("agent"):
            await self.prompt("This takes too long", answered=False)
            await self.person.press("escape")
            await self.rested()

    async def meanwhile(self) -> None:
        """What a person does while a checkpoint waits for the model."""
        person = self.person
        await self.prompt(LONG)
        await self.asked("synthesis", 1)
        await person.press("escape")
        await person.enter("/bm-checkpoint")
        await person.enter("/tree")
        await person.sees(TreePickerScreen)
        await person.press("escape")
        await self.prompt("What next?")
        await person.enter("/compact")
        await person.hears("Compacted")
        self.seen.parts = len(self.model.requests_for("synthesis"))

    async def elsewhere(self) -> None:
        """A reload, and another session."""
        (first,) = self.serving.sessions
        await self.person.enter("/reload")
        await self.prompt("after the reload")
        await self.person.enter("/new")
        await until(
            lambda: self.serving.sessions and first not in self.serving.sessions, "the end of the first session"
        )
        await self.prompt("something else")

    async def prompt(self, text: str, *, answered: bool = True) -> None:
        """Give a prompt; see that the model is asked, and that Tau is at rest again."""
        before = len(self.model.requests_for("agent"))
        await self.person.enter(text)
        await self.asked("agent", before + 1)
        if answered:
            await self.rested()

    async def rested(self) -> None:
        app = self.person.app
        await until(lambda: not app.state.running and not app.session.is_running, "Tau's rest")

    async def asked(self, purpose: str, count: int) -> None:
        await until(lambda: sum(one.purpose == purpose for one in self.model.requests) >= count, f"{purpose} {count}")


async def lived(scene: FakeScenario, model: ScriptedModel) -> Seen:
    """Live an afternoon, and look at what is there afterwards."""
    before, afternoon = asyncio.all_tasks(), Afternoon(scene, model)
    seen = afternoon.seen
    seen.said_after = await on_screen(scene.home, afternoon.live)
    seen.quit_seconds = time.monotonic() - afternoon.leaves_at
    tasks = asyncio.all_tasks() - before  # the screen's own clocks among them, which stop by themselves
    _, pending = await asyncio.wait(tasks, timeout=1) if tasks else (tasks, tasks)
    seen.left = (*pending, *scene.processes())
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Generator[Seen]:
    with ScriptedModel(Story((FIRST,))) as model, pytest.MonkeyPatch.context() as patch:
        root = tmp_path_factory.mktemp("screen")
        scene = FakeScenario(root, model, cadence=SELDOM, recall_wait_seconds=BOUND, summary_chunk_chars=50_000)
        scene.memory.put("tasks/lamp.md", "Fill the lamp.", type="task", status="active")
        for name, value in scene.home.environment().items():
            patch.setenv(name, value)
        patch.chdir(scene.home.cwd)
        found = anyio.run(lived, scene, model)
        found.briefs = [briefs_in(request) for request in model.requests_for("agent")]
        first = min(scene.home.journals(), key=lambda path: path.stat().st_ctime_ns)
        with open_reader(first) as reader:
            found.events = [row.event for row in reader.verified(1)]
        yield found


def test_what_memory_knows_is_in_the_first_call_of_the_first_prompt(seen: Seen) -> None:
    (brief,) = seen.briefs[0]
    assert "Fill the lamp." in brief


def test_the_status_page_names_the_save_that_is_proven(seen: Seen) -> None:
    saved = [SAVED.findall(notice) for notice in seen.told]
    (shown,) = NOTE.findall(seen.status)
    assert [shown] in saved


def test_beside_the_scroll_bar_of_a_usual_terminal_no_line_of_a_page_is_folded_again(seen: Seen) -> None:
    assert seen.room == SCREEN_WIDTH
    assert max(map(len, seen.status.splitlines())) <= seen.room


def test_a_checkpoint_by_command_is_acknowledged_and_then_proven(seen: Seen) -> None:
    told = "\n".join(seen.told)
    assert -1 < told.find("A checkpoint is being made") < told.find("Checkpoint saved: ")


def test_while_a_checkpoint_is_made_a_prompt_a_compaction_and_the_tree_do_not_wait_for_it(seen: Seen) -> None:
    assert seen.parts == 1
    assert not [notice for notice in seen.told if notice.startswith("Wait")]


def test_escape_cancels_no_checkpoint_and_is_on_record_where_it_stopped_the_model(seen: Seen) -> None:
    assert not [event for event in seen.events if isinstance(event, SynthesisFailed)]
    assert any(isinstance(event, SynthesisFinished) for event in seen.events)
    assert [event.interrupted for event in seen.events if isinstance(event, WorkSettled)].count(True) == 1


def test_after_the_compaction_the_next_prompt_knows_what_was_folded(seen: Seen) -> None:
    (brief,) = seen.briefs[5]
    assert "keep the lamp lit" in brief


def test_a_reload_and_a_new_session_keep_the_server(seen: Seen) -> None:
    assert seen.restarts == 0


def test_a_save_of_the_exit_is_told_once_the_screen_is_gone(seen: Seen) -> None:
    assert len(SAVED.findall(seen.said_after)) == 1
    assert not set(SAVED.findall(seen.said_after)) & set(SAVED.findall("\n".join(seen.told)))


def test_leaving_is_bounded_and_leaves_nothing(seen: Seen) -> None:
    assert seen.left == ()
    assert seen.quit_seconds < BOUND
    assert not [notice for notice in seen.told if "failed" in notice]
