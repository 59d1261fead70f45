"""A Tau that finds a journal of a later version runs on, names both versions and the remedy, and leaves every byte of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from journal.disk import FORMAT
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scenario import until
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


def everything_beside(journal: Path) -> dict[str, bytes]:
    found = journal.parent.glob(f"{journal.name}*")
    return {file.name: file.read_bytes() for file in found if file.suffix != ".lock"}


def test_a_journal_of_a_later_format_is_left_and_told_and_the_session_runs_on(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = FakeScenario(tmp_path, model)
    with scene.tau() as tau:
        session_id = tau.session_id
        tau.prompt("one")
        until(lambda: scene.memory.notes or None, "a save")
        assert tau.quit() == 0
    journal = scene.journal(session_id)
    with closing(sqlite3.connect(journal, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT + 1}")
    before, notes = everything_beside(journal), scene.memory.notes
    with scene.tau(session_id) as tau:
        asked = len(model.requests_for("agent"))
        tau.prompt("two")
        tau.prompt("three")
        assert len(model.requests_for("agent")) == asked + 2
        assert tau.quit() == 0
        (told,) = [notice for notice in tau.notices if "journal" in notice]
    assert f"it has format {FORMAT + 1}, and this version reads up to {FORMAT}" in told
    assert "update tau-continuity" in told
    assert everything_beside(journal) == before
    assert scene.memory.notes == notes
