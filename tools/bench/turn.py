"""Measures what our handlers add to a turn of a real Tau session, whatever state memory is in; `make bench-turn` runs it.

Tau runs in this process, with a scripted model. Its own `append_entry` reads the whole session file; it is called at
most once a prompt, is taken out of the sum and shown apart.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
from tau_agent.messages import AgentMessage, AssistantMessage, TextContent, ToolCall, ToolResultMessage, UserMessage
from tau_agent.session.entries import MessageEntry
from tau_agent.session.jsonl import entry_to_json_line

from continuity.tau.resident import resident
from tests.fakes.memory_server import FakeMemory
from tests.fakes.scripted_model import Json, ScriptedModel
from tests.fakes.tau_home import TauHome, make_tau_home
from tests.fakes.tau_session import LiveSession, live_session
from tools.bench.pairs import machine
from tools.bench.stopwatch import Spent, Stopwatch, timed

GOAL_MS = 5.0
"""Most that our handlers add to a turn, as a median, while memory does not answer."""

ENTRIES = (10, 1_000, 10_000)
ANSWERS, GREETS_NOT, CALLS_NOT = "answers", "never greets", "greets, then never answers"
SERVERS = (ANSWERS, GREETS_NOT, CALLS_NOT)
READS = ("search_notes", "read_note", "build_context", "recent_activity", "list_memory_projects", "write_note")
_UP_SECONDS = 60.0
_SAVED_SECONDS = 10.0
_LONG = "what a tool put out, " * 60
_ROUNDS = 10
"""Calls of tools between a prompt and its answer."""


class Case(NamedTuple):
    """What is measured."""

    entries: int
    server: str


class Measured(NamedTuple):
    """What came of it, turn by turn; `first` is the prompt that waits for memory, if one does."""

    case: Case
    first: Spent
    turns: Sequence[Spent]


def history(count: int) -> Iterator[AgentMessage]:
    """Make messages as coding work has them: mostly tools, now and then a prompt and an answer."""
    at_ms = 1_700_000_000_000
    for number in range(count):
        at_ms += 1000
        place, call = number % (2 * _ROUNDS + 2), f"call-{number // 2}"
        if place == 0:
            yield UserMessage(content=f"prompt {number}: go on with the lamp", timestamp=at_ms)
        elif place == 2 * _ROUNDS + 1:
            yield AssistantMessage(content=[TextContent(text=f"Done, step {number}.")], timestamp=at_ms)
        elif place % 2:
            asked = ToolCall(id=f"call-{(number + 1) // 2}", name="read", arguments={"path": f"file-{number}.py"})
            yield AssistantMessage(content=[asked], stop_reason="toolUse", timestamp=at_ms)
        else:
            yield ToolResultMessage(
                tool_call_id=call, tool_name="read", content=[TextContent(text=_LONG)], timestamp=at_ms
            )


def lengthen(file: Path, count: int) -> None:
    """Write `count` entries behind those a session has."""
    parent = str(json.loads(file.read_text(encoding="utf-8").splitlines()[-1])["id"])
    with file.open("a", encoding="utf-8") as opened:
        for number, message in enumerate(history(count)):
            entry = MessageEntry(id=f"made-{number}", parent_id=parent, message=message)
            opened.write(entry_to_json_line(entry))
            parent = entry.id


@asynccontextmanager
async def session(home: TauHome, entries: int) -> AsyncGenerator[LiveSession]:
    """Open a session with so many entries in it."""
    async with live_session(home) as begun:
        await begun.prompt("begin")
        session_id = begun.tau.session_id
    lengthen(begun.file, entries)
    async with live_session(home, session_id=session_id) as live:
        yield live


async def measure(case: Case, root: Path, model: str, turns: int, watch: Stopwatch) -> Measured:
    """Live through the turns of one case."""
    memory = FakeMemory(root / "server")
    command, args = memory.command
    settings: dict[str, Json] = {"command": command, "args": [*args], "project": "main", "cadence": "every"}
    home = make_tau_home(root, model, settings=settings, context_window=1_000_000_000)
    os.environ.update(home.environment())  # Tau runs in this process, and in this folder
    os.chdir(home.cwd)
    await _warm(home)
    if case.server == GREETS_NOT:
        memory.faults(initialize="hang")
    async with session(home, case.entries) as live:
        if case.server != GREETS_NOT:
            link = resident().link
            assert link is not None
            assert await link.up(_UP_SECONDS)
        if case.server == CALLS_NOT:
            memory.faults(**{name: ["silent"] for name in READS})
        saved = _SAVED_SECONDS if case.server == ANSWERS else 0.0
        first = await _turn(live, watch, "the first prompt", saved)
        done = [await _turn(live, watch, f"prompt {number}", saved) for number in range(turns)]
        watch.spent = Spent()  # what comes is the end of the session
    return Measured(case, first, done)


async def _warm(home: TauHome) -> None:
    """Run once, so that the tools are known without asking, and everything is imported."""
    async with live_session(home) as live:
        link = resident().link
        assert link is not None
        assert await link.up(_UP_SECONDS)
        await live.prompt("warm")


async def _turn(live: LiveSession, watch: Stopwatch, text: str, saved: float) -> Spent:
    """One prompt, its answer, and what its boundaries set off; with `saved` seconds for its save, if there can be one."""
    watch.spent = spent = Spent()
    began = time.perf_counter()
    await live.prompt(text)
    spent.turn = time.perf_counter() - began
    await resident().owner.drain(1.0)
    for one in resident().sessions.values():
        await one.runner.drained(saved)
    return spent


def table(found: Sequence[Measured]) -> list[str]:
    """The result, a line for each case, in milliseconds a turn: medians, but for what says otherwise.

    `our tasks` ran on the loop beside the turn; `held at most` is how long one of them did so at a stretch.
    """
    lines = [
        "| entries | memory | first prompt | handlers (longest) | our tasks | held at most | Tau's appends | they take | turn |",
        "|--:|---|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for case, first, turns in found:
        times = [one.handlers for one in turns]
        cells = (
            f"{case.entries:,}",
            case.server,
            _ms(first.handlers),
            f"{_ms(statistics.median(times))} ({_ms(max(times))})",
            _ms(_median(turns, lambda one: one.background)),
            _ms(max(one.longest for one in turns)),
            f"{statistics.mean(one.appends for one in turns):.1f} (at most {max(one.appends for one in turns)})",
            _ms(_median(turns, lambda one: one.appended)),
            _ms(_median(turns, lambda one: one.turn)),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def by_event(one: Measured) -> str:
    """Which of our handlers took how long, the slowest first."""
    names = {name for turn in one.turns for name in turn.by_event}
    medians = {name: statistics.median(turn.by_event.get(name, 0.0) for turn in one.turns) for name in names}
    slowest = sorted(medians.items(), key=lambda item: -item[1])[:5]
    told = ", ".join(f"{name} {_ms(took)}" for name, took in slowest)
    return f"{one.case.entries:,}, {one.case.server}: {told}"


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f}"


def _median(turns: Sequence[Spent], of: Callable[[Spent], float]) -> float:
    return statistics.median(map(of, turns))


def met(found: Sequence[Measured]) -> bool:
    """Whether our handlers stay below the goal wherever memory does not answer, and Tau appends once a prompt at most."""
    return all(
        (one.case.server == ANSWERS or 1000 * _median(one.turns, lambda turn: turn.handlers) < GOAL_MS)
        and max(turn.appends for turn in one.turns) <= 1
        for one in found
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="bench-turn", description=__doc__)
    parser.add_argument("--turns", type=int, default=20, help="turns of each case (default: 20)")
    parser.add_argument("--entries", type=int, nargs="+", default=ENTRIES, help="sizes of sessions")
    given = parser.parse_args(arguments)
    print(machine())
    found: list[Measured] = []
    with ScriptedModel() as model, timed() as watch, tempfile.TemporaryDirectory(prefix="bench-turn-") as folder:
        for number, case in enumerate(Case(entries, server) for entries in given.entries for server in SERVERS):
            root = Path(folder) / str(number)
            found.append(anyio.run(measure, case, root, model.url, given.turns, watch))
            print(by_event(found[-1]), file=sys.stderr, flush=True)
    print("\n".join(table(found)))
    print(f"goal: a median below {GOAL_MS:g} ms where memory does not answer, {'met' if met(found) else 'not met'}")
    return 0 if met(found) else 1


if __name__ == "__main__":
    sys.exit(main())
