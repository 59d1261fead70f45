"""A reload ends no write that is under way, and leaves the server as it is if it is called off; asking alone leaves nothing."""

from __future__ import annotations

from collections.abc import Generator

import pytest
from tau_coding import TauPaths, TauResourcePaths
from tau_coding.extensions import ExtensionRuntime

from journal.events import SessionOpened, WriteAnswered, WriteIntended
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import lived
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.tau687 import announce
from tests.fakes.tau_process import tau_print
from tests.shell.rig import names, recorded, until


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


@pytest.mark.parametrize("level", ["A", "B"])
async def test_a_write_under_way_is_answered_after_the_reload_and_made_once(
    scene: FakeScenario, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    if level == "A":
        announce(monkeypatch)
    async with lived(scene) as one:
        scene.memory.faults(write_note=["hold", "store"])
        await one.prompt("hello")
        await until(lambda: scene.memory.calls()["write_note"] == 1, "the write")
        await one.live.tau.reload()
        scene.memory.release()
        await one.settle()
        path = one.path()
        assert [event.outcome for event in recorded(path, WriteAnswered)] == ["accepted"]
        assert [event.reason for event in recorded(path, SessionOpened)] == ["startup", "reload"]
    told = names(path)
    assert told.index("write-intended") < told.index("session-opened", 1) < told.index("write-answered")
    assert len(recorded(path, WriteIntended)) == scene.memory.calls()["write_note"] == 1


async def test_a_reload_that_is_called_off_leaves_the_server_and_one_that_is_not_takes_the_new_one(
    scene: FakeScenario,
) -> None:
    async with lived(scene) as one:
        link = one.serving.link
        scene.set(env={"OTHER": "1"})
        paths = TauPaths(home=scene.home.home, agents_home=scene.home.root / "agents")
        called_off = ExtensionRuntime(paths=paths)
        called_off.load(
            TauResourcePaths(root=paths.home, cwd=scene.home.cwd, agents_root=paths.agents_home, paths=paths)
        )
        await called_off.aclose()
        assert one.serving.link is link
        await one.saved("with the first")
        await one.live.tau.reload()
        assert one.serving.link is not link
        await one.saved("with the second")
        assert len(recorded(one.path(), WriteAnswered)) == 2
    assert scene.processes() == []


def test_asking_for_the_page_alone_leaves_no_journal_nothing_in_taus_file_and_asks_no_model(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    asked = len(model.requests)
    printed = tau_print(scene.home, "/bm-status")
    assert printed.returncode == 0
    assert "Continuity: nothing to save yet" in printed.stdout + printed.stderr
    assert scene.home.journals() == ()
    told = [path.read_text() for path in scene.home.home.glob("sessions/**/*.jsonl")]  # Tau makes one at every start
    assert [text for text in told if "basic-memory" in text or '"custom' in text] == []
    assert len(model.requests) == asked
