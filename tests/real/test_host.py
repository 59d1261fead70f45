"""What our door to Tau promises holds in a real session: one model call, exact paths, receipts that come back."""

from __future__ import annotations

import itertools
from collections.abc import AsyncGenerator, Generator
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from tau_agent.messages import CustomMessage
from tau_coding.extensions import ExtensionAPI

from continuity.tau import host
from continuity.tau.entries import BRIEF_TYPE, Entry, Json, context_of, public_messages, receipts_on
from continuity.tau.host import Context, Message, Reason, Tau
from continuity.tau.host.insertion import Insertion, Outstanding
from continuity.tau.session_file import ActivePath, SessionFile
from journal.ids import EntryId
from tests.fakes.scripted_model import KEY_ENV, Body, Reply, ScriptedModel, default_answer, messages_of, purpose_of
from tests.fakes.tau_home import TauHome, make_tau_home
from tests.fakes.tau_session import LiveSession, live_session


class Probe:
    """The least that acts on every boundary; made anew by each `setup`, as Tau does on a reload."""

    def __init__(self, watch: Watch, tau: Tau) -> None:
        self.watch = watch
        self.tau = tau
        self.insertion = Insertion(tau, watch.outstanding, lambda: f"token-{next(watch.tokens)}")
        watch.probe = self
        host.subscribe(tau, self)

    async def session_started(self, reason: Reason, context: Context) -> None:
        self.watch.seen.append(f"started:{reason}")
        self.watch.levels.append(host.level(context, self.tau))

    async def session_ending(self, reason: Reason, context: Context) -> None:
        self.watch.seen.append(f"ending:{reason}")

    async def input_given(self, text: str, context: Context, *, mid_run: bool) -> None:
        self.watch.seen.append("input")

    async def run_started(self, context: Context) -> None:
        self.watch.seen.append("run")

    async def retry_announced(self, context: Context) -> None:
        self.watch.seen.append("retry")

    async def message_ended(self, message: Message, context: Context) -> None:
        self.watch.seen.append(f"message:{message.key.role}")
        if self.insertion.takes(message):
            self.watch.paths.append(await self.watch.read(message, context))
            await self.watch.on_prompt(message, context)

    async def run_ended(self, context: Context) -> None:
        self.watch.seen.append("ended")

    async def work_settled(self, context: Context) -> None:
        self.watch.seen.append("settled")

    async def compaction_started(self, reason: str, context: Context) -> None:
        self.watch.seen.append(f"compacting:{reason}")

    async def compaction_ended(self, reason: str, context: Context, *, aborted: bool) -> None:
        self.watch.seen.append(f"compacted:{reason}:{aborted}")

    def failed(self, boundary: str, error: Exception) -> None:
        self.watch.failures.append((boundary, error))


class Watch:
    """What outlives a reload: the test's view."""

    def __init__(self) -> None:
        self.outstanding = Outstanding()
        self.tokens = itertools.count(1)
        self.seen: list[str] = []
        self.levels: list[str] = []
        self.paths: list[ActivePath] = []
        self.failures: list[tuple[str, Exception]] = []
        self.files: dict[Path, SessionFile] = {}
        self.probe: Probe | None = None
        self.briefs: list[str] = []
        self.placed: list[str] = []
        self.receipt: dict[str, Json] | None = None

    def setup(self, tau: ExtensionAPI) -> None:
        Probe(self, tau)

    async def read(self, message: Message | None, context: Context) -> ActivePath:
        path = host.session_file_path(context)
        assert path is not None
        file = self.files.setdefault(path, SessionFile(path))
        await anyio.to_thread.run_sync(file.read_new)
        return file.active_path(message.key if message else None)

    async def on_prompt(self, message: Message, context: Context) -> None:
        assert self.probe is not None
        if self.receipt is not None:
            await host.append_receipt(self.probe.tau, self.receipt)
        if self.briefs:
            text = self.briefs.pop(0)
            self.placed.append(self.probe.insertion.put(text, {"digest": text}, context))


@pytest.fixture
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def home(tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> TauHome:
    monkeypatch.setenv("TAU_OFFLINE", "1")
    monkeypatch.setenv(KEY_ENV, "not-a-key")
    return make_tau_home(tmp_path, model.url, shim=False)


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
async def live(home: TauHome, watch: Watch) -> AsyncGenerator[LiveSession]:
    async with live_session(home, watch.setup) as session:
        yield session
    assert watch.failures == []


def ids(path: ActivePath | tuple[Entry, ...]) -> list[str]:
    return [entry.id for entry in (path.entries if isinstance(path, ActivePath) else path)]


async def last(live: LiveSession, role: str) -> EntryId:
    found = [e for e in await live.entries() if e.type == "message" and e.message.role == role]
    return EntryId(found[-1].id)


async def test_a_brief_is_in_the_first_model_call_and_costs_no_other(
    live: LiveSession, watch: Watch, model: ScriptedModel
) -> None:
    watch.briefs = ["what we know"]
    await live.prompt("first")
    await live.prompt("second")
    calls = model.requests_for("agent")
    assert [role for role, _ in calls[0].messages] == ["system", "user", "user"]
    assert calls[0].messages[-1] == ("user", "what we know")
    assert (len(calls), watch.placed) == (2, ["queued"])
    stored = [e for e in await live.entries() if e.type == "custom_message"]
    assert [(e.custom_type, e.details) for e in stored] == [
        (BRIEF_TYPE, {"digest": "what we know", "token": "token-1"})
    ]


async def test_the_boundaries_of_a_prompt_come_in_order(live: LiveSession, watch: Watch) -> None:
    await live.prompt("first")
    assert watch.seen == [
        "started:startup", "input", "run", "message:user", "message:assistant", "ended", "settled"
    ]  # fmt: skip
    assert watch.levels == ["B"]


async def test_the_path_of_a_prompt_ends_at_the_prompt(live: LiveSession, watch: Watch) -> None:
    await live.prompt("first")
    await live.prompt("second")
    assert all(path.matched for path in watch.paths)
    assert public_messages(watch.paths[1].entries)[-1].entry_id == await last(live, "user")
    texts = [entry.text for entry in watch.paths[1].entries if entry.is_public]
    assert texts == ["first", "Answer to: first", "second"]


async def test_an_interrupted_prompts_brief_is_replaced_not_joined_by_another(
    live: LiveSession, watch: Watch, model: ScriptedModel
) -> None:
    """Esc during the naming call, which Tau makes between our queueing and its delivery."""
    watch.briefs = ["stale", "fresh"]
    with model.holding("name"):
        async with anyio.create_task_group() as group:
            group.start_soon(live.prompt, "interrupted")
            await anyio.to_thread.run_sync(model.wait_for, "name")
            group.cancel_scope.cancel()
    await live.prompt("again")
    calls = model.requests_for("agent")
    assert watch.placed == ["queued", "replaces"]
    assert len(calls) == 1
    assert [text for _, text in calls[0].messages].count("fresh") == 1
    assert "stale" not in str(calls[0].body)
    stored = [e for e in await live.entries() if e.type == "custom_message"]
    assert [(e.content, e.details) for e in stored] == [("fresh", {"digest": "fresh", "token": "token-1"})]
    assert watch.outstanding.tokens == {}


async def test_a_brief_left_over_is_known_after_a_reload(live: LiveSession, watch: Watch, model: ScriptedModel) -> None:
    watch.briefs = ["stale", "fresh"]
    with model.holding("name"):
        async with anyio.create_task_group() as group:
            group.start_soon(live.prompt, "interrupted")
            await anyio.to_thread.run_sync(model.wait_for, "name")
            group.cancel_scope.cancel()
    await live.tau.reload()
    await live.prompt("again")
    assert watch.placed == ["queued", "replaces"]
    assert [text for _, text in model.requests_for("agent")[0].messages][-1] == "fresh"
    assert len(model.requests_for("agent")) == 1


async def test_an_overflow_retry_is_not_another_prompt(home: TauHome, watch: Watch, model: ScriptedModel) -> None:
    refusals = iter([Reply("maximum context length exceeded", status=400)])

    def answer(body: Body) -> str | Reply:
        newest = messages_of(body)[-1][1]
        return next(refusals, "ok") if purpose_of(body) == "agent" and "z" in newest else default_answer(body)

    model.answer = answer
    async with live_session(home, watch.setup) as live:
        await live.prompt("x" * 60_000)
        await live.prompt("y" * 60_000)
        watch.briefs = ["z one", "z two"]
        await live.prompt("z")
    assert "compacting:overflow" in watch.seen
    assert "retry" in watch.seen
    assert (watch.placed, watch.failures) == (["queued"], [])


async def test_a_custom_message_of_another_extension_can_be_the_prompt(
    live: LiveSession, watch: Watch, model: ScriptedModel
) -> None:
    watch.briefs = ["known"]
    async for _ in live.tau.prompt("do it", source="extension", custom_type="another"):
        pass
    assert watch.placed == ["queued"]
    assert watch.paths[0].matched
    assert len(model.requests_for("agent")) == 1


async def test_a_receipt_lands_on_the_prompts_path_and_is_read_back(live: LiveSession, watch: Watch) -> None:
    await live.prompt("first")
    watch.receipt = {"capture_id": "c1", "status": "confirmed"}
    await live.prompt("second")
    watch.receipt = None
    await live.prompt("third")
    assert receipts_on(watch.paths[2].entries) == ({"capture_id": "c1", "status": "confirmed"},)


async def test_after_a_branch_in_place_the_path_is_the_new_one(live: LiveSession, watch: Watch) -> None:
    await live.prompt("first")
    await live.prompt("left behind")
    left = await last(live, "assistant")
    await live.tau.branch_to_entry(await last(live, "user"))
    await live.prompt("another way")
    texts = [entry.text for entry in watch.paths[-1].entries if entry.is_public]
    assert texts == ["first", "Answer to: first", "another way"]
    assert left not in ids(watch.paths[-1])


async def test_after_a_compaction_the_path_is_whole_and_the_context_is_not(live: LiveSession, watch: Watch) -> None:
    watch.briefs = ["known"]
    await live.prompt("x" * 60_000)
    await live.prompt("y" * 60_000)
    await live.tau.compact()
    await live.prompt("after")
    path = watch.paths[-1].entries
    assert [entry.text[:1] for entry in path if entry.kind == "user"] == ["x", "y", "a"]
    assert any(entry.kind == "compaction" for entry in path)
    brief = next(entry for entry in path if entry.custom_type == BRIEF_TYPE)
    assert brief not in context_of(path)
    assert ids(context_of(path)) == list(live.tau.state.context_entry_ids[: len(context_of(path))])


async def test_after_reload_new_and_resume_each_session_has_its_own_path(live: LiveSession, watch: Watch) -> None:
    first_id = live.tau.session_id
    assert first_id is not None
    await live.prompt("one")
    await live.tau.reload()
    await live.prompt("two")
    await live.tau.new_session()
    await live.prompt("elsewhere")
    await live.tau.resume(first_id)
    await live.prompt("three")
    said = [[entry.text for entry in path.entries if entry.kind == "user"] for path in watch.paths]
    assert said == [["one"], ["one", "two"], ["elsewhere"], ["one", "two", "three"]]
    assert all(path.matched for path in watch.paths)


async def test_a_replaced_generation_says_so_instead_of_acting(live: LiveSession, watch: Watch) -> None:
    assert watch.probe is not None
    old = watch.probe.tau
    await live.tau.reload()
    assert not host.notify(old, "too late")
    with pytest.raises(host.HostGone):
        await host.append_receipt(old, {})


async def test_a_handler_that_raises_is_told_to_us(live: LiveSession, watch: Watch) -> None:
    watch.receipt = {"not json": object()}  # type: ignore[dict-item]  # pyright: ignore[reportAttributeAccessIssue]
    await live.prompt("first")
    assert [name for name, _ in watch.failures] == ["message_end"]
    watch.failures.clear()


async def test_a_session_without_an_id_is_level_c(
    live: LiveSession, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert watch.probe is not None
    context = watch.probe.tau.context
    assert host.level(context, watch.probe.tau) == "B"
    monkeypatch.setattr(live.tau, "_config", replace(vars(live.tau)["_config"], session_id=None))
    assert host.level(context, watch.probe.tau) == "C"
    monkeypatch.undo()


def test_the_message_of_an_event_keeps_what_tells_it_apart() -> None:
    custom = CustomMessage(custom_type=BRIEF_TYPE, content="b", details={"token": "t"}, timestamp=5)
    message = host.message_of(custom)
    assert (message.key, message.custom_type, message.details) == (("custom", "b", 5), BRIEF_TYPE, {"token": "t"})
