"""One session walked through every boundary a host has, the same way on a host that announces and on stock Tau."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple

import pytest
from tau_agent.session import SessionEntry

from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, Timeline, lived, sound
from tests.fakes.scripted_model import Answer, Body, Json, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.story import Story, Turn, is_brief

TURNS = (
    Turn("Objective: keep the lamp lit", "Decision: oil, because there is no wind"),
    Turn("What next?", "Next: mend the foghorn"),
)
KNOWN = ("keep the lamp lit", "oil, because there is no wind", "mend the foghorn")
LONG = "x" * 50_000
MUCH = Reply("Much.", tokens=(90_000, 5))
"""An answer after which the context counts as large."""
OVERFLOW = Reply("maximum context length exceeded", status=400)
PATIENT: Json = {"characters": 1_000_000, "minutes": 60}
"""Nothing but a boundary makes a checkpoint due."""


class Walk(NamedTuple):
    """A session on its way."""

    one: Lived
    model: ScriptedModel
    timeline: Timeline

    async def prompt(self, text: str = "go on") -> None:
        await self.one.prompt(text)
        await self.timeline.note("prompt")


type Boundary = Callable[[Walk], Awaitable[None]]


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


def compacts_above(one: Lived, *, tokens: int) -> None:
    """Set Tau's own threshold, which a person sets in its configuration."""
    vars(one.live.tau)["_auto_compact_token_threshold"] = tokens


def knows_all(model: ScriptedModel) -> None:
    """The newest call of the agent has one brief, with everything that was said before the compaction."""
    (brief,) = [text for _, text in model.requests_for("agent")[-1].messages if is_brief(text)]
    assert [fact for fact in KNOWN if fact not in brief] == []


async def said(one: Lived, role: str) -> list[SessionEntry]:
    """Return the messages of `role` in the session, on whatever path."""
    return [e for e in await one.live.entries() if e.type == "message" and e.message.role == role]


# -- one after the other -------------------------------------------------------


async def _manual(walk: Walk) -> None:
    await walk.one.live.tau.compact()
    await walk.timeline.note("compaction")
    await walk.prompt()


async def _detailed(walk: Walk) -> None:
    await walk.one.live.tau.compact_detailed("the foghorn above all")
    await walk.timeline.note("compaction")
    await walk.prompt()


async def _before_a_prompt(walk: Walk) -> None:
    walk.model.answer = but_once(MUCH, purpose="agent", holding="much")
    await walk.prompt("much")
    compacts_above(walk.one, tokens=50_000)
    await walk.prompt()


async def _after_a_prompt(walk: Walk) -> None:
    compacts_above(walk.one, tokens=50_000)
    walk.model.answer = but_once(MUCH, purpose="agent", holding="much")
    await walk.prompt("much")
    await walk.prompt()


async def _overflow(walk: Walk) -> None:
    walk.model.answer = but_once(OVERFLOW, purpose="agent", holding="one too many")
    await walk.prompt("one too many")
    await walk.prompt()


async def _failed(walk: Walk) -> None:
    walk.model.answer = but_once(Reply("no", status=500), purpose="compaction")
    with pytest.raises(RuntimeError):
        await walk.one.live.tau.compact()
    await walk.timeline.note("compaction that failed")
    await walk.prompt()


async def _failed_overflow(walk: Walk) -> None:
    story = but_once(OVERFLOW, purpose="agent", holding="one too many")
    walk.model.answer = lambda body: Reply("no", status=500) if purpose_of(body) == "compaction" else story(body)
    await walk.prompt("one too many")
    walk.model.answer = Story(TURNS)
    await walk.prompt()


async def _move(walk: Walk) -> None:
    await walk.one.live.tau.branch_to_entry((await said(walk.one, "user"))[1].id)
    await walk.timeline.note("move")
    await walk.prompt("a better turn")


async def _summarised_move(walk: Walk) -> None:
    await walk.one.live.tau.branch_to_entry((await said(walk.one, "assistant"))[0].id, summarize=True)
    await walk.timeline.note("move")
    await walk.prompt("a better turn")


async def _look(walk: Walk) -> None:
    newest = (await said(walk.one, "assistant"))[-1]
    await walk.one.live.tau.branch_to_entry((await said(walk.one, "assistant"))[0].id)
    await walk.one.live.tau.branch_to_entry(newest.id)
    await walk.timeline.note("there and back")
    await walk.prompt()


async def _reload(walk: Walk) -> None:
    await walk.one.live.tau.reload()
    await walk.timeline.note("reload")
    await walk.prompt()


async def _new_and_resume(walk: Walk) -> None:
    first = walk.one.session_id
    await walk.one.live.tau.new_session()
    await walk.one.begun()
    await walk.prompt("elsewhere")
    await walk.one.live.tau.resume(first)
    await walk.one.begun()  # else the start may find the prompt that follows, and tell of it before its answer
    await walk.prompt()


async def _quit(walk: Walk) -> None:
    await walk.one.live.tau.aclose()


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
    "move in the tree": _move,
    "move in the tree with a summary": _summarised_move,
    "look about in the tree": _look,
    "reload": _reload,
    "new session and resume": _new_and_resume,
    "quit": _quit,
}
"""Those that do not. After each the session goes on, but for the last."""


async def crossed(scene: FakeScenario, model: ScriptedModel, boundary: str) -> list[str]:
    """Live a session across one of `OTHERS`, to its end; return the timeline. Its journal must be sound."""
    # What a session recalls of one that was just left is a matter of moments.
    scene.set(auto_recall=boundary != "new session and resume")
    async with lived(scene) as one:
        await worked(one)
        timeline, path, file = Timeline(one, model), one.path(), one.live.file
        await OTHERS[boundary](Walk(one, model, timeline))
    timeline.read("quit")
    assert sound(path, file)
    return timeline.lines
