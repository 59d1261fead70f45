"""Beside another extension that brings Basic Memory to Tau we stand down, and say so once; without it all is as before."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tau_coding.extensions import ExtensionRuntime
from tau_coding.extensions.api import ExtensionHandler

from continuity.tau.host.tools import ToolFailed
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, briefs, lived
from tests.fakes.rival import PAGE, SHAPES, installed_rival, write_namesake, write_rival, write_shape
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.tau687 import announce
from tests.fakes.tau_home import SHIM
from tests.fakes.tau_session import live_session
from tests.shell.rig import names, until


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


@pytest.fixture(params=["A", "B"])
def level(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both levels, for whatever depends on which events there are; other tests are lived on stock Tau."""
    if request.param == "A":
        announce(monkeypatch)


@asynccontextmanager
async def opened(
    scene: FakeScenario, *, trusted: bool = False, extensions: Sequence[Path] = ()
) -> AsyncGenerator[Lived]:
    """Open a session, whether or not anything of ours serves it."""
    with anyio.fail_after(60):
        async with live_session(scene.home, trusted=trusted, extensions=extensions) as live:
            yield Lived(live, scene)


def twice(patch: pytest.MonkeyPatch) -> None:
    """Let the host deliver each event a second time to each handler."""
    subscribe = ExtensionRuntime.subscribe

    def again(self: ExtensionRuntime, source: str, event: str, handler: ExtensionHandler) -> None:
        subscribe(self, source, event, handler)
        subscribe(self, source, event, handler)

    patch.setattr(ExtensionRuntime, "subscribe", again)


def typed(one: Lived, command: str) -> str | None:
    return one.live.tau.handle_command(command).message


async def idle(one: Lived, scene: FakeScenario) -> None:
    """Nothing of ours takes a prompt in, and nothing was asked of the server."""
    await one.prompt("hello")
    assert await one.serving.owner.drain(10)
    assert scene.home.journals() == ()
    assert one.serving.sessions == {}
    assert briefs(one.live) == []
    assert not scene.memory.calls()


@pytest.mark.parametrize("name", ["basic-memory", "zettel"])  # before ours, and after it
async def test_beside_a_rival_nothing_of_ours_is_saved_recalled_or_offered_and_the_file_is_named(
    scene: FakeScenario, name: str
) -> None:
    path = write_rival(scene.home, name)
    async with opened(scene) as one:
        await idle(one, scene)
        told = one.said("rival")
        assert told is not None
        assert str(path) in told
        assert [tool.name for tool in one.live.tau.tools if tool.name.startswith("bm_")] == ["bm_write_note"]


@pytest.mark.parametrize("name", ["basic-memory", "zettel"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_a_rival_is_known_by_what_it_does_whatever_its_shape_and_its_place(
    scene: FakeScenario, monkeypatch: pytest.MonkeyPatch, shape: str, name: str
) -> None:
    installed_rival(scene.home.root)
    monkeypatch.setattr(sys, "path", [str(scene.home.root), *sys.path])
    path = write_shape(scene.home, shape, name)
    async with opened(scene) as one:
        await one.prompt("hello")
        await until(lambda: one.serving.sessions == {}, "the end of what was begun")
        assert briefs(one.live) == []
        assert not scene.memory.calls()["write_note"]
        assert str(path) in str(one.said("rival"))


async def answer_of(one: Lived, tool: str) -> str:
    """Let the agent call `tool`, and return what it reads."""
    (found,) = (each for each in one.live.tau.tools if each.name == tool)
    try:
        return str(
            (await found.execute("1", {"identifier": "x", "title": "t", "content": "c", "directory": "d"})).content
        )
    except ToolFailed as error:
        return str(error)


async def test_beside_a_rival_seen_late_our_tools_refuse_but_for_those_that_tau_took_from_it(
    scene: FakeScenario,
) -> None:
    write_shape(scene.home, "a tool alone", "zettel")
    async with opened(scene) as one:
        await one.prompt("hello")
        assert "its tools are to be used. Nothing was changed." in await answer_of(one, "bm_read_note")
        assert not scene.memory.calls()["read_note"]
        await answer_of(one, "bm_write_note")
        assert scene.memory.calls()["write_note"] == 1


async def test_a_file_of_the_projects_that_is_only_called_as_ours_is_no_rival(scene: FakeScenario) -> None:
    folder = scene.home.cwd / ".tau" / "extensions"
    folder.mkdir(parents=True)
    (folder / "continuity.py").write_text("def setup(tau): ...\n")
    async with opened(scene, trusted=True) as one:
        link = one.serving.link
        assert link is not None
        assert await link.up(20)
        await one.saved("ours")
        assert one.said("rival") is None


async def test_the_status_page_and_the_other_commands_say_why(scene: FakeScenario) -> None:
    path = write_rival(scene.home)
    async with opened(scene) as one:
        page = typed(one, "/bm-status")
        assert page is not None
        assert f"{path} brings Basic Memory to this Tau too" in page
        assert typed(one, "/bm-checkpoint") == "Nothing can be saved here: see /bm-status."


async def test_where_the_rival_took_the_name_of_the_page_it_is_shown_under_another(scene: FakeScenario) -> None:
    path = write_rival(scene.home, command=True)
    async with opened(scene) as one:
        assert typed(one, "/bm-status") == PAGE
        assert str(path) in str(typed(one, "/continuity-status"))


async def test_a_rival_that_comes_at_a_reload_finds_our_work_finished_and_gone_it_leaves_us_to_go_on(
    scene: FakeScenario,
) -> None:
    async with lived(scene) as one:
        await one.saved("ours")
        path = write_rival(scene.home)
        await one.live.tau.reload()
        await until(lambda: one.serving.sessions == {}, "the end of our session")
        await one.prompt("theirs")
        assert scene.memory.calls()["write_note"] == 1
        shutil.rmtree(path.parent)
        await one.live.tau.reload()
        await one.saved("ours again")
        assert scene.memory.calls()["write_note"] > 1
        assert one.said("rival") == (
            "Continuity saves and recalls again: no other extension brings Basic Memory to this Tau."
        )


async def test_a_rival_that_a_trusted_project_brings_is_said_to_be_the_projects(scene: FakeScenario) -> None:
    path = write_rival(scene.home, root=scene.home.cwd / ".tau")
    (path.parent / "extension.py").write_text("from .continuity import NAMESPACE\n\n\ndef setup(tau): ...\n")
    async with opened(scene, trusted=True) as one:
        await one.prompt("hello")
        assert one.serving.sessions == {}
        assert f"{path}, which this project brings along," in str(one.said("rival"))


async def test_what_a_project_brings_that_is_not_trusted_does_not_make_us_stand_down(scene: FakeScenario) -> None:
    write_rival(scene.home, root=scene.home.cwd / ".tau")
    async with lived(scene) as one:
        await one.saved("ours")
        assert one.said("rival") is None


async def test_an_extension_that_is_only_called_like_a_rival_is_none(scene: FakeScenario) -> None:
    scene.home.write_extension("basic-memory", "def setup(tau): ...\n")
    async with lived(scene) as one:
        await one.saved("ours")


async def test_an_extension_that_has_names_of_ours_keeps_them_and_that_is_said(scene: FakeScenario) -> None:
    write_namesake(scene.home)
    async with lived(scene) as one:
        await one.saved("ours")
        tools = [tool.name for tool in one.live.tau.tools]
        assert tools.count("bm_read_note") == 1
        assert "bm_write_note" in tools
        assert typed(one, "/bm-why") == PAGE
        assert "bm_read_note" in str(one.said("taken"))
        assert one.said("commands") == "Another extension has the commands /bm-why."


# -- ours, twice ---------------------------------------------------------------


@pytest.mark.usefixtures("level")
async def test_installed_twice_there_is_one_capture_one_write_one_brief_and_one_notice(scene: FakeScenario) -> None:
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    scene.home.write_extension("another", SHIM)
    by_hand = scene.home.root / "by_hand.py"
    by_hand.write_text(SHIM)
    async with opened(scene, extensions=[by_hand]) as one:
        link = one.serving.link
        assert link is not None
        assert await link.up(20)
        await one.saved("ours")
        await one.live.tau.reload()
        await one.saved("more")
        assert len(briefs(one.live)) == 1
        assert scene.memory.calls()["write_note"] == 2
        assert f"and by {by_hand}, which does nothing" in str(one.said("twice"))


async def test_set_up_twice_by_one_file_each_thing_is_done_once(scene: FakeScenario) -> None:
    twice = "from continuity.tau import extension\n\n\ndef setup(tau):\n    extension.setup(tau)\n    extension.setup(tau)\n"
    scene.home.write_extension("continuity", twice)
    async with lived(scene) as one:
        await one.saved("ours")
        assert scene.memory.calls()["write_note"] == 1


@pytest.mark.usefixtures("level")
async def test_events_delivered_twice_make_each_thing_once(
    scene: FakeScenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    twice(monkeypatch)
    async with lived(scene) as one:
        await one.saved("ours")
        await one.live.tau.reload()
        await one.saved("more")
        assert len(briefs(one.live)) == 1
        path = one.path()
    assert scene.memory.calls()["write_note"] == 2
    told = Counter(names(path))
    once_a_turn = ("work-begun", "work-settled", "capture-begun", "write-intended", "write-answered")
    assert {name: told[name] for name in once_a_turn} == dict.fromkeys(once_a_turn, 2)
    assert (told["session-opened"], told["session-closed"], told["brief-delivered"]) == (2, 1, 1)
