"""Tau hides what an extension does wrong; whoever lives a session here fails with it, whatever it is and whenever."""

# ruff: noqa: PT012 - what fails is how a block ends
from __future__ import annotations

from collections.abc import Generator

import pytest
from tau_coding.extensions import ExtensionAPI, ExtensionContext

from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import lived
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tau_session import live_session


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


def wrong(*_: object) -> str:
    raise ValueError("planted")


def refuses(tau: ExtensionAPI) -> None:
    raise ValueError("planted")


def raises_when_settled(tau: ExtensionAPI) -> None:
    tau.on("agent_settled", wrong)


async def test_a_handler_of_ours_that_raises(scene: FakeScenario, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match=r"agent_settled failed \(ValueError\)"):
        async with lived(scene) as one:
            with monkeypatch.context() as patch:
                patch.setattr(ExtensionContext, "provider_name", property(wrong))
                await one.prompt("one")


async def test_a_job_of_ours_that_raises(scene: FakeScenario) -> None:
    async def job() -> None:
        wrong()

    with pytest.raises(AssertionError, match=r"planted job failed \(ValueError\)"):
        async with lived(scene) as one:
            one.serving.owner.spawn("planted job", job)
            await one.serving.owner.drain(5)


async def test_a_handler_that_raises_past_ours(scene: FakeScenario) -> None:
    with pytest.raises(AssertionError, match="planted"):
        async with live_session(scene.home, raises_when_settled) as live:
            await live.prompt("one")


async def test_a_handler_that_raised_before_tau_forgot_it(scene: FakeScenario) -> None:
    with pytest.raises(AssertionError, match="planted"):
        async with live_session(scene.home, raises_when_settled) as live:
            _ = [event async for event in live.tau.prompt("one")]
            await live.tau.reload()
            assert [d for d in live.tau.resource_diagnostics if d.kind == "extension"] == []


async def test_a_command_that_raises(scene: FakeScenario) -> None:
    with pytest.raises(AssertionError, match="command:/bm-status"):
        async with lived(scene) as one:
            vars(one.serving)["clock"] = None
            one.live.tau.handle_command("/bm-status")


async def test_a_setup_that_raises(scene: FakeScenario) -> None:
    with pytest.raises(AssertionError, match="planted"):
        async with live_session(scene.home, refuses):
            pass


async def test_a_setup_that_raises_at_a_reload(scene: FakeScenario) -> None:
    with pytest.raises(AssertionError, match="planted"):
        async with lived(scene) as one:
            scene.home.write_extension("continuity", "raise ValueError('planted')")
            await one.live.tau.reload()
            await one.prompt("one")
