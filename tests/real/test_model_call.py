"""A synthesis asks the session's model over a connection of its own: no tools, no trace, and a code for each failure."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from tau_coding.extensions import ExtensionAPI

from continuity.tau.host.model_call import ModelCall, ModelSnapshot, ModelUnavailable, is_lookup, snapshot
from tests.fakes.scripted_model import KEY_ENV, Reply, ScriptedModel
from tests.fakes.tau_home import TauHome, make_tau_home
from tests.fakes.tau_session import LiveSession, live_session

INSTRUCTIONS = "Write a handoff. Close with END-OF-HANDOFF."
DYNAMIC = """\
from tau_coding.extensions import DynamicProvider, OpenAICompatibleTransport, ProviderModel


def setup(tau):
    transport = OpenAICompatibleTransport(base_url="{url}", max_retries=0)
    models = (ProviderModel(id="d1", context_window=128_000),)
    tau.register_provider(
        DynamicProvider(id="dynamic", display_name="D", default_model="d1", models=models, transport=transport)
    )
"""


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def home(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> TauHome:
    monkeypatch.setenv("TAU_OFFLINE", "1")
    monkeypatch.setenv(KEY_ENV, "not-a-key")
    return make_tau_home(tmp_path, model.url, shim=False)


class Kept:
    """What an extension keeps of its setups."""

    def __init__(self) -> None:
        self.api: ExtensionAPI | None = None
        self.lookups = 0

    def setup(self, tau: ExtensionAPI) -> None:
        if is_lookup():
            self.lookups += 1
            return
        self.api = tau

    @property
    def snapshot(self) -> ModelSnapshot:
        assert self.api is not None
        return snapshot(self.api.context)


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
async def live(home: TauHome, kept: Kept) -> AsyncGenerator[LiveSession]:
    async with live_session(home, kept.setup) as session:
        yield session


async def ask(of: ModelSnapshot, *, timeout_seconds: float = 10.0) -> str:
    answer = await ModelCall().summarize(of, "the text", instructions=INSTRUCTIONS, timeout_seconds=timeout_seconds)
    return answer.text


async def code_of(of: ModelSnapshot, *, timeout_seconds: float = 10.0) -> str:
    with pytest.raises(ModelUnavailable) as caught:
        await ask(of, timeout_seconds=timeout_seconds)
    return caught.value.code


async def test_the_call_carries_no_tools_and_no_history(live: LiveSession, kept: Kept, model: ScriptedModel) -> None:
    await live.prompt("secret history")
    before = await live.entries()
    answer = await ModelCall().summarize(kept.snapshot, "the text", instructions=INSTRUCTIONS, timeout_seconds=10)
    (request,) = model.requests_for("synthesis")
    assert request.messages == (("system", INSTRUCTIONS), ("user", "the text"))
    assert "tools" not in request.body
    assert request.authorization == "Bearer not-a-key"
    assert (answer.tokens_in, answer.tokens_out, answer.model) == (10, 5, "scripted")
    assert await live.entries() == before


async def test_a_snapshot_outlives_its_context(live: LiveSession, kept: Kept) -> None:
    of = kept.snapshot
    await live.tau.reload()
    assert "END-OF-HANDOFF" in await ask(of)


async def test_a_provider_of_another_extension_is_reached(home: TauHome, kept: Kept, model: ScriptedModel) -> None:
    home.write_extension("another", DYNAMIC.format(url=model.url))
    async with live_session(home, kept.setup, provider="dynamic", model="d1") as live:
        await live.prompt("hello")
        calls = ModelCall()
        for _ in range(2):
            await calls.summarize(kept.snapshot, "the text", instructions=INSTRUCTIONS, timeout_seconds=10)
        await live.prompt("the session's own connection is still open")
    assert [request.body["model"] for request in model.requests_for("synthesis")] == ["d1", "d1"]
    assert kept.lookups == 1


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply("no", status=401), "unauthorized"),
        (Reply("slow down", status=429), "rate-limited"),
        (Reply("oops", status=500), "server-error"),
        (Reply("odd", status=418), "provider-error"),
        (Reply("maximum context length", status=400), "too-long"),
        (Reply(""), "empty"),
        (Reply("half", finish="length"), "cut"),
        (Reply("", tool=("bash", {"command": "ls"})), "asked-for-a-tool"),
    ],
)
async def test_a_failure_is_a_code_without_the_providers_words(
    live: LiveSession, kept: Kept, model: ScriptedModel, reply: Reply, code: str
) -> None:
    model.answer = lambda _: reply
    assert await code_of(kept.snapshot) == code


async def test_a_stream_that_was_cut_off_looks_like_an_answer(
    live: LiveSession, kept: Kept, model: ScriptedModel
) -> None:
    """Why a handoff has to end with a line of its own."""
    model.answer = lambda _: Reply("## Objective and more", cut_after=12)
    assert await ask(kept.snapshot) == "## Objective"


async def test_a_slow_model_costs_no_more_than_the_bound(live: LiveSession, kept: Kept, model: ScriptedModel) -> None:
    with model.holding("synthesis"):
        began = time.monotonic()
        assert await code_of(kept.snapshot, timeout_seconds=0.5) == "timeout"
        assert time.monotonic() - began < 3


async def test_cancelling_ends_the_call_at_once(live: LiveSession, kept: Kept, model: ScriptedModel) -> None:
    with model.holding("synthesis"), anyio.move_on_after(0.5) as scope:
        await ask(kept.snapshot)
    assert scope.cancelled_caught


async def test_a_server_that_is_gone_is_a_provider_error(live: LiveSession, kept: Kept, model: ScriptedModel) -> None:
    model.close()
    assert await code_of(kept.snapshot) == "provider-error"


async def test_a_missing_key_and_an_unknown_model_or_provider_have_their_codes(
    live: LiveSession, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    of = kept.snapshot
    assert await code_of(of.using("scripted", "unknown")) == "bad-model"
    assert await code_of(of.using("nobody", "m")) == "no-route"
    assert await code_of(replace(of, provider="nobody")) == "no-route"
    monkeypatch.delenv(KEY_ENV)
    assert await code_of(of) == "no-key"
