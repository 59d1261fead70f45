"""In a real Tau the settings about kept texts hold: for the session that ends and for those that nobody has open."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from journal.chain import body_digest
from journal.events import BodiesErased
from journal.reader import open_reader
from tests.facts import CAPTURE, SAVED, finished
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.journals import Recording
from tests.fakes.lived import lived, sound
from tests.fakes.scripted_model import ScriptedModel
from tests.shell.rig import recorded, until

TEXT = "what was kept in 2023"


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def texts(path: Path) -> tuple[str, ...]:
    with open_reader(path) as reader:
        return reader.digests()


async def test_a_session_whose_texts_are_not_kept_leaves_none_and_is_taken_up_again(scene: FakeScenario) -> None:
    scene.set(keep_bodies=False)
    async with lived(scene) as one:
        await one.saved("one")
        path, session_id, file = one.path(), one.session_id, one.live.file
        assert len(texts(path)) == 1
    assert texts(path) == ()
    assert sound(path, file)
    async with lived(scene, session_id) as two:
        await two.saved("two")
    assert texts(path) == ()
    assert sound(path, file)


async def test_texts_of_sessions_that_nobody_has_open_go_when_they_are_too_old(scene: FakeScenario) -> None:
    scene.set(retention_days=30)
    story = Recording().append(*SAVED, finished(CAPTURE, body_digest(TEXT)), bodies=(TEXT,))
    old = story.write(scene.journal("old"))
    async with lived(scene) as one:
        await one.saved("one")
        await until(lambda: not texts(old), "the end of the old text")
        assert len(texts(one.path())) > 0
    assert [erased.reason for erased in recorded(old, BodiesErased)] == ["expired"]
