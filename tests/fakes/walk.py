"""One session walked through every boundary a host has, the same way on a host that announces and on stock Tau.

A chapter is one boundary and the prompt after it. What is said in a chapter before its boundary is something new, and
enough that there is something to fold. The bulk of it is thought and not said, so that a capture stays one question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from tau_agent.session import SessionEntry

from journal.events import Event
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, Timeline, lived, sound
from tests.fakes.memory_server import FakeMemory
from tests.fakes.opened_files import Opened, opened_files
from tests.fakes.repair import leave_a_call_open
from tests.fakes.scripted_model import Answer, Body, Json, Purpose, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.story import Story, Turn, is_brief
from tests.fakes.tau687 import announce
from tests.shell.rig import until

TURNS = (
    Turn("Objective: keep the lamp lit", "Decision: oil, because there is no wind"),
    Turn("What next?", "Next: mend the foghorn"),
)
KNOWN = ("keep the lamp lit", "oil, because there is no wind", "mend the foghorn")
THOUGHT = Reply("Thought.", reasoning="x" * 50_000)
"""Two of them are as much as Tau keeps of the newest messages."""
MUCH = Reply("Much.", tokens=(90_000, 5))
"""An answer after which the context counts as large."""
OVERFLOW = Reply("maximum context length exceeded", status=400)
REPAIR = "tau.session-history-repair"
LOOKS_UP = Reply("", tool=("bm_read_note", {"identifier": "of old"}))
NO = Reply("no", status=500)
PATIENT: Json = {"characters": 1_000_000, "minutes": 60}
"""Nothing but a boundary makes a checkpoint due."""
ROOMY = 1_000_000
"""A context in which nothing is compacted that nobody wants compacted."""


class Tale(Story):
    """The story, told by a model that thinks long when it is asked to."""

    def __call__(self, body: Body) -> str | Reply:
        thinks = purpose_of(body) == "agent" and messages_of(body)[-1][1].startswith("think")
        return THOUGHT if thinks else super().__call__(body)


class Chapter(NamedTuple):
    """What a boundary left."""

    lines: list[str]
    """Its timeline."""
    events: list[Event]
    """In the order of each branch."""
    fact: str
    """What was said last before it."""
    briefs: list[str]
    """What the model was told of memory in the last call after it."""


class Walk:
    """A session on its way."""

    def __init__(self, one: Lived, model: ScriptedModel) -> None:
        self.one = one
        self.model = model
        self.timeline = Timeline(one, model)

    def goes_on(self, two: Lived) -> None:
        """The session was opened again."""
        self.one = self.timeline.one = two

    async def prompt(self, text: str = "go on") -> None:
        await self.one.prompt(text)
        await self.timeline.note("prompt")

    async def outpaced(self) -> None:
        """A prompt, and then what it made due: no capture is faster than a prompt."""
        with self.model.holding("synthesis"):
            await self.one.prompt("go on")
        await self.timeline.note("prompt")

    async def work(self, fact: str, *, foldable: bool) -> None:
        """Say something new, and think so much that there is something to fold."""
        for text in (f"Decision: {fact}", *(("think", "think again") if foldable else ())):
            await self.one.prompt(text)
        await self.one.alone()

    def chapter(self, fact: str = "") -> Chapter:
        """Return what was left since the timeline began anew."""
        briefs = [text for _, text in self.model.requests_for("agent")[-1].messages if is_brief(text)]
        return Chapter([*self.timeline.lines], [*self.timeline.events], fact, briefs)


class Life(NamedTuple):
    """A session that crossed every boundary."""

    chapters: Mapping[str, Chapter]
    opened: list[Opened]
    """Files, by whomever."""
    scene: FakeScenario
    path: Path
    file: Path


type Boundary = Callable[[Walk], Awaitable[None]]


async def worked(one: Lived) -> None:
    """Enough of a session that there is something to compact."""
    for text in (*(turn.prompt for turn in TURNS), "think", "think again"):
        await one.prompt(text)
    await one.settle()


def knows_all(model: ScriptedModel) -> None:
    """The newest call of the agent has one brief, with everything that was said before the compaction."""
    (brief,) = [text for _, text in model.requests_for("agent")[-1].messages if is_brief(text)]
    assert [fact for fact in KNOWN if fact not in brief] == []


def but_once(reply: Reply, *, purpose: str, holding: str = "") -> Answer:
    """Tell the story, but for one `reply` to a request of `purpose` whose newest message holds `holding`."""
    story, replies = Tale(TURNS), iter([reply])

    def answer(body: Body) -> str | Reply:
        meant = purpose_of(body) == purpose and holding in messages_of(body)[-1][1]
        return next(replies, None) or story(body) if meant else story(body)

    return answer


def compacts_above(one: Lived, *, tokens: int | None) -> None:
    """Set Tau's own threshold, which a person sets in its configuration."""
    vars(one.live.tau)["_auto_compact_token_threshold"] = tokens


async def said(one: Lived, role: str) -> list[SessionEntry]:
    """Return the messages of `role` in the session, on whatever path."""
    return [e for e in await one.live.entries() if e.type == "message" and e.message.role == role]


async def escaped(run: Coroutine[object, object, object], arrived: Callable[[], object]) -> None:
    """Run it in a task of its own, and cancel that as a person's Escape does, once `arrived`."""
    task = asyncio.ensure_future(run)
    await until(lambda: arrived() or task.done(), "what is escaped from")
    assert not task.done()
    task.cancel()
    await asyncio.wait({task})


def asks_once_more(model: ScriptedModel, purpose: Purpose) -> Callable[[], bool]:
    """Tell whether the model was asked again since now."""
    asked = len(model.requests_for(purpose))
    return lambda: len(model.requests_for(purpose)) > asked


# -- boundaries ----------------------------------------------------------------


async def _manual(walk: Walk) -> None:
    await walk.one.live.tau.compact()
    await walk.timeline.note("compaction")


async def _detailed(walk: Walk) -> None:
    await walk.one.live.tau.compact_detailed("the foghorn above all")
    await walk.timeline.note("compaction")


async def _before_a_prompt(walk: Walk) -> None:
    walk.model.answer = but_once(MUCH, purpose="agent", holding="much")
    await walk.prompt("much")
    compacts_above(walk.one, tokens=50_000)


async def _after_a_prompt(walk: Walk) -> None:
    compacts_above(walk.one, tokens=50_000)
    walk.model.answer = but_once(MUCH, purpose="agent", holding="much")
    await walk.prompt("much")


async def _overflow(walk: Walk) -> None:
    walk.model.answer = but_once(OVERFLOW, purpose="agent", holding="one too many")
    await walk.prompt("one too many")


async def _failed(walk: Walk) -> None:
    walk.model.answer = but_once(NO, purpose="compaction")
    with pytest.raises(RuntimeError):
        await walk.one.live.tau.compact()
    await walk.timeline.note("compaction that failed")


async def _failed_overflow(walk: Walk) -> None:
    story = but_once(OVERFLOW, purpose="agent", holding="one too many")
    walk.model.answer = lambda body: NO if purpose_of(body) == "compaction" else story(body)
    await walk.prompt("one too many")


async def _failed_after_a_prompt(walk: Walk) -> None:
    compacts_above(walk.one, tokens=50_000)
    story = but_once(MUCH, purpose="agent", holding="much")
    walk.model.answer = lambda body: NO if purpose_of(body) == "compaction" else story(body)
    await walk.prompt("much")


async def _escape_from_a_compaction(walk: Walk) -> None:
    with walk.model.holding("compaction"):
        await escaped(walk.one.live.tau.compact(), asks_once_more(walk.model, "compaction"))
    await walk.timeline.note("escape")


async def _nothing_to_fold(walk: Walk) -> None:
    with pytest.raises(ValueError, match="Not enough context"):
        await walk.one.live.tau.compact()
    await walk.timeline.note("compaction with nothing to fold")


async def _move(walk: Walk) -> None:
    await walk.one.live.tau.branch_to_entry((await said(walk.one, "user"))[1].id)
    await walk.timeline.note("move")


async def _summarised_move(walk: Walk) -> None:
    await walk.one.live.tau.branch_to_entry((await said(walk.one, "assistant"))[0].id, summarize=True)
    await walk.timeline.note("move")


async def _look(walk: Walk) -> None:
    newest = (await said(walk.one, "assistant"))[-1]
    await walk.one.live.tau.branch_to_entry((await said(walk.one, "assistant"))[0].id)
    await walk.one.live.tau.branch_to_entry(newest.id)
    await walk.timeline.note("there and back")


async def _reload(walk: Walk) -> None:
    await walk.one.live.tau.reload()
    await walk.timeline.note("reload")


async def _new_and_resume(walk: Walk) -> None:
    first = walk.one.session_id
    await walk.one.live.tau.new_session()
    await walk.one.begun()
    await walk.prompt("elsewhere")
    await walk.one.live.tau.resume(first)
    await walk.one.begun()  # else the start may find the prompt that follows, and tell of it before its answer


async def _repair(walk: Walk) -> None:
    first, file = walk.one.session_id, walk.one.live.file
    await walk.one.live.tau.new_session()
    await walk.one.alone()
    leave_a_call_open(file)
    await walk.one.live.tau.resume(first)
    await walk.one.begun()
    repaired = [e for e in await walk.one.live.entries() if e.type == "custom" and e.namespace == REPAIR]
    assert len(repaired) == 1


async def _escape_from_the_model(walk: Walk) -> None:
    with walk.model.holding("agent"):
        await escaped(walk.one.prompt("too slow"), asks_once_more(walk.model, "agent"))
    await walk.timeline.note("escape")


async def _escape_from_a_tool(walk: Walk) -> None:
    walk.model.answer = but_once(LOOKS_UP, purpose="agent", holding="look it up")
    memory = walk.one.scene.memory
    assert isinstance(memory, FakeMemory)
    memory.faults(read_note=["silent"])
    asked = memory.calls()["read_note"]
    await escaped(walk.one.prompt("look it up"), lambda: memory.calls()["read_note"] > asked)
    memory.faults()
    await walk.timeline.note("escape")


async def _escape_while_captured(walk: Walk) -> None:
    asked = asks_once_more(walk.model, "synthesis")
    with walk.model.holding("synthesis"), walk.model.holding("agent"):
        walk.one.live.tau.handle_command("/bm-checkpoint")
        await until(asked, "a capture")
        await escaped(walk.one.prompt("too slow"), asks_once_more(walk.model, "agent"))
    await walk.timeline.note("escape")


FOLDING: Mapping[str, Boundary] = {
    "manual compaction": _manual,
    "detailed compaction": _detailed,
    "compaction before a prompt": _before_a_prompt,
    "compaction after a prompt": _after_a_prompt,
    "compaction an overflow forces": _overflow,
}
"""Boundaries that take what was said out of the context."""

OTHERS: Mapping[str, Boundary] = {
    "compaction that fails": _failed,
    "compaction for an overflow that fails": _failed_overflow,
    "compaction after a prompt that fails": _failed_after_a_prompt,
    "escape from a compaction": _escape_from_a_compaction,
    "escape from the model": _escape_from_the_model,
    "escape from a tool": _escape_from_a_tool,
    "escape while a capture runs": _escape_while_captured,
    "reload": _reload,
    "new session and resume": _new_and_resume,
    "repair of the history": _repair,
    "look about in the tree": _look,
    "move in the tree": _move,
    "move in the tree with a summary": _summarised_move,
}
"""Those that do not."""

BOUNDARIES: Mapping[str, Boundary] = {"nothing to fold": _nothing_to_fold, **FOLDING, **OTHERS}
"""In the order in which a life crosses them."""

ENDS = ("quit", "opened again")


# -- a life --------------------------------------------------------------------


async def live(root: Path, *, announced: bool) -> Life:
    """Cross every boundary, one after the other in one session, and open it once more."""
    with ScriptedModel(Tale(TURNS)) as model, at_home(root, model, announced=announced) as scene:
        chapters: dict[str, Chapter] = {}
        with opened_files() as opened:
            async with lived(scene, within=110) as one:
                walk = Walk(one, model)
                for turn in TURNS:
                    await one.prompt(turn.prompt)
                for name in BOUNDARIES:
                    chapters[name] = await _chapter(walk, name, late=not announced)
                session_id, path, file = one.session_id, one.path(), one.live.file
                walk.timeline.begin()
            walk.timeline.read("quit")
            chapters["quit"] = walk.chapter()
            walk.timeline.begin()
            async with lived(scene, session_id) as two:
                walk.goes_on(two)
                await two.begun()
                await walk.prompt()
            walk.timeline.read("quit")
            chapters["opened again"] = walk.chapter()
        assert sound(path, file)
    return Life(chapters, opened, scene, path, file)


async def _chapter(walk: Walk, name: str, *, late: bool) -> Chapter:
    """Cross one boundary; on a host that does not announce, what it left is known `late`, and a second prompt shows it."""
    fact = f"what was said before {name}"
    await walk.work(fact, foldable="compaction" in name)
    walk.timeline.begin()
    await BOUNDARIES[name](walk)
    if late and name in FOLDING:
        await walk.outpaced()
    await walk.prompt()
    walk.model.answer = Tale(TURNS)
    compacts_above(walk.one, tokens=None)
    return walk.chapter(fact)


@contextmanager
def at_home(root: Path, model: ScriptedModel, *, announced: bool) -> Generator[FakeScenario]:
    """Be in the home and the folder of a person whose host announces, or does not; the tools are known."""
    scene = FakeScenario(root, model, watched=False, context_window=ROOMY, recall_wait_seconds=10, cadence=PATIENT)
    with back_home(scene, announced=announced):
        scene.lists_its_tools()
        yield scene


@contextmanager
def back_home(scene: FakeScenario, *, announced: bool) -> Generator[None]:
    """Be there again, perhaps with another Tau."""
    with pytest.MonkeyPatch.context() as patch:
        if announced:
            announce(patch)
        for name, value in scene.home.environment().items():
            patch.setenv(name, value)
        patch.chdir(scene.home.cwd)
        yield
