"""On stock Tau, every boundary leaves its timeline, and what was folded unannounced is back once it is saved."""

from __future__ import annotations

from functools import partial

import anyio
import pytest
from syrupy.assertion import SnapshotAssertion

from journal.events import BriefDelivered, CheckpointReferenced, CompactionNoticed, SessionOpened, WriteAnswered
from tests.fakes.opened_files import opened_by_us
from tests.fakes.walk import BOUNDARIES, ENDS, FOLDING, KNOWN, Life, live


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    return anyio.run(partial(live, tmp_path_factory.mktemp("life"), announced=False))


@pytest.mark.parametrize("boundary", [*BOUNDARIES, *ENDS])
def test_a_boundary_leaves_its_timeline_and_asks_the_model_for_nothing_more(
    life: Life, snapshot: SnapshotAssertion, boundary: str
) -> None:
    assert life.chapters[boundary].lines == snapshot


@pytest.mark.parametrize("boundary", FOLDING)
def test_what_a_compaction_folds_is_back_once_it_is_saved(life: Life, boundary: str) -> None:
    chapter = life.chapters[boundary]
    order = [type(event) for event in chapter.events]
    assert order.index(CompactionNoticed) < order.index(WriteAnswered)
    assert CheckpointReferenced in order[order.index(WriteAnswered) :]
    assert [fact for fact in (*KNOWN, chapter.fact) if fact not in chapter.briefs[-1]] == []


def test_every_note_was_sent_once(life: Life) -> None:
    answered = [
        event for chapter in life.chapters.values() for event in chapter.events if isinstance(event, WriteAnswered)
    ]
    assert {event.outcome for event in answered} == {"accepted"}
    assert life.scene.memory.calls()["write_note"] == len(answered)


def test_every_opening_names_the_level(life: Life) -> None:
    opened = [e for chapter in life.chapters.values() for e in chapter.events if isinstance(e, SessionOpened)]
    assert {event.level for event in opened} == {"B"}


def test_every_brief_is_steered(life: Life) -> None:
    briefs = [e for chapter in life.chapters.values() for e in chapter.events if isinstance(e, BriefDelivered)]
    assert {event.how for event in briefs} == {"steered"}


def test_our_code_reads_the_session_file(life: Life) -> None:
    """So that whoever looks at our openings on an announcing host would see one."""
    assert life.file.name in {each.name for each in opened_by_us(life.opened, ".jsonl")}
