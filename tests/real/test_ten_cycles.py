"""Over ten cycles of brief, turn, save, compaction and reload nothing that was said first is lost, and nothing grows."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import ceil
from typing import NamedTuple

import anyio
import pytest

from continuity.brief import LABEL
from continuity.handoff import HEADINGS
from continuity.tau.resident import Resident, resident
from journal.events import BriefDelivered, CompactionNoticed, SynthesisFinished, WriteAnswered
from journal.ids import SessionId
from tests.fakes.scenario import Scenario, until
from tests.fakes.scripted_model import Request
from tests.fakes.story import Story, Turn, briefs_in
from tests.fakes.tau_session import LiveSession, live_session

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]  # eleven turns are played before the first test

CYCLES = 10
CHUNK_CHARS = 16_000
RECALL_CHARS = 6_000
SECONDS = 120.0
"""Generous: two cores may be busy with another suite."""

FACTS = (
    "keep the lamp of Ar-Men lit through the winter",
    "burn colza oil, because petroleum cannot be landed in a swell",
    "wind the clockwork at dusk and at midnight, because one winding holds seven hours",
    "log in local time, because the keepers have no other clock",
    "paint the gallery in spring alone, because paint does not dry in salt",
    "the clockwork holds three turns a minute, timed twice",
    "the spare mantle fits the burner, tried on 3 March",
    "the cistern holds 40 days of water, measured with a rod",
    "the foghorn's valve still leaks",
    "the boat's second oar is missing",
)
MARKS = ("Objective", *["Decision"] * 4, *["Verified"] * 3, *["Unfinished"] * 2)
PAGES = "The log of the keeper tells, page by page, what the weather was. " * 1_400
"""More than Tau keeps of a conversation at a compaction, so that each folds all that was said before this answer."""


def turn(number: int) -> Turn:
    """The first turn plants the facts; each later one opens a chore and closes the one before, so none is heavier."""
    if number == 0:
        planted = [f"{mark}: {fact}" for mark, fact in zip(MARKS, FACTS, strict=True)]
        return Turn("\n".join(planted[:5]), "\n".join([*planted[5:], "Next: begin the round", PAGES]))
    chore = f"Unfinished: chore {number:02}\nDone: chore {number - 1:02}\nNext: do chore {number:02}"
    return Turn(f"Round {number:02}.", f"{chore}\n{PAGES}")


TURNS = tuple(turn(number) for number in range(CYCLES + 1))


class Lived(NamedTuple):
    """What the model was asked at each turn, and what the journal and the store have of it."""

    turns: Sequence[Sequence[Request]]
    between: Sequence[Sequence[Request]]
    """What was asked from the end of a turn's save to the next prompt: by a compaction and a reload."""
    finished: Sequence[SynthesisFinished]
    answered: Sequence[WriteAnswered]
    delivered: Sequence[BriefDelivered]
    noticed: Sequence[CompactionNoticed]
    notes: Sequence[str]
    """The checkpoints as they are on disk, in the order in which they were confirmed."""

    @property
    def briefs(self) -> list[str]:
        return ["".join(briefs_in(agents(requests)[0])) for requests in self.turns]


def agents(requests: Sequence[Request]) -> list[Request]:
    return [request for request in requests if request.purpose == "agent"]


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Generator[Lived]:
    root = tmp_path_factory.mktemp("cycles")
    scenario = Scenario(
        root,
        Story(TURNS),
        recall_chars=RECALL_CHARS,
        summary_chunk_chars=CHUNK_CHARS,
        recall_wait_seconds=60,  # the most there is
        timeout_seconds=SECONDS,
    )
    with pytest.MonkeyPatch.context() as patch, scenario as scene:
        for name, value in scene.home.environment().items():
            patch.setenv(name, value)
        patch.chdir(scene.home.cwd)
        yield anyio.run(live, scene)


async def live(scene: Scenario) -> Lived:
    async with live_session(scene.home) as session:
        return await play(scene, session)


async def play(scene: Scenario, session: LiveSession) -> Lived:
    asked: list[Sequence[Request]] = []
    between: list[Sequence[Request]] = []
    session_id = SessionId(session.tau.session_id or "")
    serving = resident()
    assert serving.link is not None
    assert await serving.link.up(SECONDS)
    for number in range(CYCLES + 1):
        before = len(scene.model.requests)
        await session.prompt(TURNS[number].prompt)
        await settle(serving, session_id)
        asked.append(scene.model.requests[before:])
        before = len(scene.model.requests)
        await session.tau.compact("Forget chore 00 and print the log.")
        await session.tau.reload()
        await settle(serving, session_id)
        between.append(scene.model.requests[before:])
    answered = scene.events(session_id, WriteAnswered)
    notes = [await anyio.to_thread.run_sync(on_disk, scene, event.file_path or "") for event in answered]
    return Lived(
        asked,
        between,
        scene.events(session_id, SynthesisFinished),
        answered,
        scene.events(session_id, BriefDelivered),
        scene.events(session_id, CompactionNoticed),
        notes,
    )


async def settle(serving: Resident, session_id: SessionId) -> None:
    """Wait until every boundary was taken in and nothing is owed that can be done now."""
    assert await serving.owner.drain(SECONDS)
    assert await serving.sessions[session_id].runner.drained(SECONDS)


def on_disk(scene: Scenario, path: str) -> str:
    """The file follows the answer."""
    file = scene.memory.notes / path
    return until(lambda: file.read_text(encoding="utf-8") if file.exists() else None, path)


def test_every_fact_of_the_first_turn_is_in_the_brief_after_ten_compactions(lived: Lived) -> None:
    assert len(lived.noticed) == CYCLES
    assert [fact for fact in FACTS if fact not in lived.briefs[CYCLES]] == []


@pytest.mark.parametrize("cycle", range(1, CYCLES + 1))
def test_every_compaction_is_followed_by_one_brief_that_says_what_is_next(lived: Lived, cycle: int) -> None:
    (brief,) = briefs_in(agents(lived.turns[cycle])[0])
    done = "begin the round" if cycle == 1 else f"do chore {cycle - 1:02}"
    assert f"### Next action\n{done}" in brief
    assert f"chore {cycle - 2:02}" not in brief


def test_no_brief_is_put_in_where_there_is_nothing_to_tell(lived: Lived) -> None:
    assert lived.briefs[0] == ""
    assert len(lived.delivered) == CYCLES


def test_a_brief_is_bounded_and_does_not_grow(lived: Lived) -> None:
    lengths = [len(brief) for brief in lived.briefs[1:]]
    assert max(lengths) <= RECALL_CHARS
    assert max(lengths[2:]) <= max(lengths[:3])


def test_a_checkpoint_does_not_grow(lived: Lived) -> None:
    lengths = [finished.characters for finished in lived.finished]
    assert len(lengths) == CYCLES + 1
    assert max(lengths[2:]) <= max(lengths[:3])


def test_each_checkpoint_continues_the_one_before(lived: Lived) -> None:
    addresses = [(answer.permalink or "") for answer in lived.answered]
    assert len(set(addresses)) == CYCLES + 1
    assert "continues" not in lived.notes[0]
    for number, before in enumerate(addresses[:-1]):
        assert f"- continues [[{before}]]" in lived.notes[number + 1]


def test_no_brief_is_in_a_checkpoint_or_in_what_one_is_made_from(lived: Lived) -> None:
    given = [
        request.messages[-1][1] for requests in lived.turns for request in requests if request.purpose == "synthesis"
    ]
    assert given
    assert [text for text in (*given, *lived.notes) if LABEL in text] == []


def test_what_a_compaction_was_asked_for_is_in_no_brief_and_no_checkpoint(lived: Lived) -> None:
    assert [text for text in (*lived.briefs, *lived.notes) if "print the log" in text] == []


@pytest.mark.parametrize("number", range(CYCLES + 1))
def test_a_turn_costs_one_model_call_and_its_checkpoint_one_for_each_part_of_what_is_new(
    lived: Lived, number: int
) -> None:
    requests = lived.turns[number]
    made = sum(request.purpose == "synthesis" for request in requests)
    least = ceil(sum(len(text) for text in TURNS[number][:2]) / CHUNK_CHARS)
    assert len(agents(requests)) == 1
    assert made == lived.finished[number].chunks
    assert least <= made <= least + 1
    assert {request.purpose for request in requests} <= {"agent", "synthesis", "name"}


def test_neither_a_compaction_nor_a_reload_costs_a_model_call_of_ours(lived: Lived) -> None:
    assert [[request.purpose for request in requests] for requests in lived.between] == [["compaction"]] * (CYCLES + 1)


def test_each_checkpoint_has_its_five_sections_and_its_facts(lived: Lived) -> None:
    for note in lived.notes:
        assert [name for name in HEADINGS if f"## {name}\n" not in note] == []
        assert [fact for fact in FACTS if fact not in note] == []
