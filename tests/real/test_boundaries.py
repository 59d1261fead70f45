"""The boundaries of a real Tau session, one by one in this process, leave the timeline that happened and a sound journal."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator

import anyio
import pytest
from tau_agent.messages import CustomMessage
from tau_agent.session import InMemorySessionStorage
from tau_coding import CodingSession, CodingSessionConfig, TauPaths, TauResourcePaths, load_provider_settings
from tau_coding.provider_runtime import create_model_provider

from continuity.tau.entries import BRIEF_TYPE
from journal.events import CaptureBegun, CaptureProbed, SessionOpened, WriteAnswered
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, lived
from tests.fakes.scripted_model import MODEL, PROVIDER, ScriptedModel
from tests.fakes.story import Story, Turn
from tests.fakes.tau_process import tau_print
from tests.shell.rig import BOUND, recorded, until

TURNS = (
    Turn("Objective: keep the lamp lit", "Decision: oil, because there is no wind"),
    Turn("What next?", "Next: mend the foghorn"),
)


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story(TURNS)) as scripted:
        yield scripted


async def test_a_new_session_leaves_a_running_capture_that_finishes(scene: FakeScenario, model: ScriptedModel) -> None:
    async with lived(scene) as one:
        old = one.session_id
        with model.holding("synthesis"):
            asked = len(model.requests_for("synthesis"))
            await one.prompt("Objective: the old one's work")
            await one.serving.owner.drain(0.2)
            await anyio.to_thread.run_sync(model.wait_for, "synthesis", asked + 1)
            with anyio.fail_after(5):
                await one.live.tau.new_session()
                await one.prompt("Objective: the new one's work")
            assert one.session_id != old
        await one.settle()
        await until(lambda: old not in one.serving.sessions, "the end of the old session")
        (begun,) = recorded(one.path(old), CaptureBegun)
        assert [answer.outcome for answer in recorded(one.path(old), WriteAnswered)] == ["accepted"]
        assert "the new one's work" not in note_of(scene, begun.capture_id)
        await one.live.tau.resume(old)
        await one.saved("and again the old one's")
        assert [event.reason for event in recorded(one.path(old), SessionOpened)] == ["startup", "resume"]


def note_of(scene: FakeScenario, capture_id: str) -> str:
    (note,) = [n for n in scene.memory.notes.values() if n["frontmatter"].get("capture_id") == capture_id]
    return str(note["content"])


async def test_a_child_session_without_a_file_ends_nothing_of_its_parents(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        child = await child_session(scene)
        await child.emit_pending_session_start()
        _ = [event async for event in child.prompt("of the child")]
        await child.aclose()
        assert one.serving.owner.alive
        await one.saved("two")
        assert len(scene.home.journals()) == 1
        one.serving.presence.end()
        assert one.serving.presence.unsaid == (), "the parent speaks again"


async def child_session(scene: FakeScenario, *, session_id: str | None = None) -> CodingSession:
    """Return a session whose storage is no file."""
    paths = TauPaths(home=scene.home.home, agents_home=scene.home.root / "agents")
    settings = load_provider_settings(paths)
    durable = next(known for known in settings.providers if known.name == PROVIDER)
    resources = TauResourcePaths(root=paths.home, cwd=scene.home.cwd, agents_root=paths.agents_home, paths=paths)
    return await CodingSession.load(
        CodingSessionConfig(
            provider=create_model_provider(durable, model=MODEL),
            owns_initial_provider=True,
            provider_settings=settings,
            runtime_provider_config=durable,
            model=MODEL,
            provider_name=PROVIDER,
            cwd=scene.home.cwd,
            storage=InMemorySessionStorage(),
            session_id=session_id,
            resource_paths=resources,
            trust_override="decline",
        )
    )


async def test_the_status_page_tells_the_truth_about_the_server(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        assert "up: Fake Memory" in status(one)
        assert "proof: the server answered that it stored it" in status(one)
        connection = one.serving.link.connection if one.serving.link else None
        assert connection is not None
        os.killpg(connection.process.process_group, signal.SIGKILL)
        with anyio.fail_after(BOUND):
            await connection.wait_lost()
        assert "up:" not in status(one)
        await one.saved("two")
        await until(lambda: "up: Fake Memory" in status(one), "another server")


def status(one: Lived) -> str:
    return one.live.tau.handle_command("/bm-status").message or ""


async def test_a_command_saves_now_with_what_to_keep_in_view(scene: FakeScenario, model: ScriptedModel) -> None:
    scene.set(cadence={"characters": 100_000, "minutes": 60})
    async with lived(scene) as one:
        await one.prompt("one")
        await one.settle()
        one.live.tau.handle_command("/bm-checkpoint the pressure gauge")
        await one.settle()
        assert [begun.reason for begun in recorded(one.path(), CaptureBegun)] == ["command"]
        assert "the pressure gauge" in model.requests_for("synthesis")[-1].messages[-1][1]


async def test_what_is_open_is_listed_read_and_written_again_by_command(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
    async with lived(scene) as one:
        await one.prompt("one")
        await one.settle()
        scene.memory.faults()
        asked = len(model.requests)
        (open_,) = one.ours.settling.items
        assert f"{open_.short}  refused" in pending(one)
        assert "what     checkpoint to main" in pending(one)
        assert pending(one, "probe").startswith(f"Reading now: {open_.short}")
        await one.settle()
        assert [probed.verdict for probed in recorded(one.path(), CaptureProbed)] == ["absent_open"]
        assert pending(one, f"rewrite {open_.short} unlocked it").startswith("Recording: rewrite")
        await one.settle()
        assert pending(one) == "Nothing is pending on any branch of this session."
        assert [answer.outcome for answer in recorded(one.path(), WriteAnswered)] == ["refused", "accepted"]
        assert len(model.requests) == asked
    assert scene.memory.calls()["write_note"] == 2


async def test_what_a_brief_put_into_context_is_told_by_command_without_a_turn(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    async with lived(scene) as one:
        await one.settle()
        await one.prompt("What about the foghorn?")
        await one.settle()
        (brief,) = [m for m in one.live.tau.messages if isinstance(m, CustomMessage) and m.custom_type == BRIEF_TYPE]
        assert isinstance(brief.details, dict)
        assert set(brief.details) == {"digest", "ahead", "token"}
        asked = len(model.requests)
        text = one.live.tau.handle_command("/bm-why").message or ""
        assert "topic       foghorn" in text
        assert "used        main: tasks/foghorn.md, 17 characters, revision " in text
        assert len(model.requests) == asked


async def test_a_command_typed_before_the_journal_is_open_tells_what_a_brief_held(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    async with lived(scene) as one:
        await one.settle()
        await one.prompt("What about the foghorn?")
        await one.settle()
        session_id = one.session_id
    asked = len(model.requests)
    printed = tau_print(scene.home, "/bm-why", "--session", session_id)
    assert (printed.returncode, len(model.requests)) == (0, asked)
    assert "used        main: tasks/foghorn.md, 17 characters, revision " in printed.stderr


def pending(one: Lived, words: str = "") -> str:
    return one.live.tau.handle_command(f"/bm-pending {words}".strip()).message or ""


async def test_a_reload_into_bad_settings_keeps_the_commands_and_ends_what_ran(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        scene.home.settings_path.write_text("{")
        await one.live.tau.reload()
        await one.prompt("two")
        assert str(scene.home.settings_path) in status(one)
        assert one.serving.owner.alive
    assert not scene.processes()
