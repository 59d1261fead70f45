"""What a person types in a real Tau, with the real server behind it: words are kept, the last save is shown, a pause holds."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from continuity.tau.resident import Resident, resident
from journal.ids import SessionId
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import heard, lived
from tests.fakes.scenario import Scenario, until
from tests.fakes.scripted_model import Request
from tests.fakes.story import Story, Turn, briefs_in
from tests.fakes.tau_process import tau_print
from tests.fakes.tau_session import LiveSession, live_session

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

SECONDS = 60.0
CANARY = "the marsh warbler nests under the jetty"
WORDS = "Colza oil, for petroleum cannot be landed in a swell."
SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
TURNS = (
    Turn("Objective: keep the lamp lit", "Decision: oil, because there is no wind"),
    Turn(f"Decision: {CANARY}", f"Unfinished: {CANARY}\nNext: {CANARY}"),
    Turn("Decision: paint the rail in spring", "Next: mend the foghorn"),
    Turn("What is next?", "The foghorn."),
)


class Left(NamedTuple):
    """What a session with a pause, and the one after it, left behind."""

    session_id: str
    files: Sequence[bytes]
    notes: Sequence[str]
    asked: Sequence[Request]
    brief: str
    said: Sequence[str]
    shown: str
    transcript: Sequence[str]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Generator[Scenario]:
    with Scenario(
        tmp_path_factory.mktemp("commands"), Story(TURNS), recall_wait_seconds=SECONDS, exit_timeout_seconds=SECONDS
    ) as made:
        yield made


@pytest.fixture(scope="module")
def left(scene: Scenario) -> Generator[Left]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in scene.home.environment().items():
            patch.setenv(name, value)
        patch.chdir(scene.home.cwd)
        yield anyio.run(live, scene)


async def live(scene: Scenario) -> Left:
    async with live_session(scene.home) as session:
        serving, session_id = resident(), str(session.tau.session_id)
        assert serving.link is not None
        assert await serving.link.up(SECONDS)
        await turn(serving, session, TURNS[0].prompt)
        said = [await typed(serving, session, "/bm-pause")]
        await turn(serving, session, TURNS[1].prompt)
        said += [await typed(serving, session, each) for each in (f"/bm-remember {WORDS} {SECRET}", "/bm-resume")]
        await turn(serving, session, TURNS[2].prompt)
        shown = await typed(serving, session, "/bm-last")
        transcript = [str(message) for message in session.tau.messages]
        await session.tau.new_session()
        await settle(serving, session)
        asked = scene.model.requests
        await turn(serving, session, TURNS[3].prompt)
    prompts = [each for each in scene.model.requests[len(asked) :] if each.purpose == "agent"]
    files = [path.read_bytes() for path in scene.home.state.rglob("*") if path.is_file()]
    return Left(session_id, files, notes(scene), asked, "".join(briefs_in(prompts[0])), said, shown, transcript)


async def turn(serving: Resident, session: LiveSession, prompt: str) -> None:
    await session.prompt(prompt)
    await settle(serving, session)


async def typed(serving: Resident, session: LiveSession, command: str) -> str:
    """Type a command, and return what was said of it."""
    with heard(serving.presence) as told:
        shown = session.tau.handle_command(command).message
        await settle(serving, session)
    return "\n".join([*([shown] if shown else []), *told])


async def settle(serving: Resident, session: LiveSession) -> None:
    assert await serving.owner.drain(SECONDS)
    assert await serving.sessions[SessionId(str(session.tau.session_id))].runner.drained(SECONDS)


def notes(scene: Scenario) -> list[str]:
    """The files that follow the answers: two checkpoints and a note at the least."""
    found = until(lambda: scene.notes() if len(scene.notes()) >= 3 else None, "the notes' files")
    return [path.read_text(encoding="utf-8") for path in found]


def test_what_was_said_while_paused_is_in_no_byte_of_ours_and_in_no_brief(left: Left) -> None:
    assert CANARY in str(left.asked), "the session's own model heard it"
    assert not any(CANARY.encode() in content for content in left.files)
    assert not any(CANARY in note for note in left.notes)
    assert not any(CANARY in str(each.body) for each in left.asked if each.purpose == "synthesis")
    assert "keep the lamp lit" in left.brief
    assert CANARY not in left.brief


def test_what_was_said_before_and_after_the_pause_is_saved(left: Left) -> None:
    last = next(note for note in left.notes if "paint the rail in spring" in note)
    assert "oil, because there is no wind" in last
    assert left.said[0].startswith("Off the record")
    assert left.said[2].startswith("On the record again.")


def test_a_persons_words_are_one_note_with_the_credential_masked(left: Left) -> None:
    (note,) = (each for each in left.notes if WORDS in each)
    assert "type: note" in note
    assert "1 value that looked like a credential was masked" in left.said[1]
    assert not any(SECRET.encode() in content for content in left.files)
    assert SECRET not in str(left.notes)


def test_what_was_saved_last_is_shown_as_it_stands_in_its_file(left: Left) -> None:
    head, _, text = left.shown.partition("\n\n")
    assert "its digest is the one recorded" in head
    assert any(text.strip() in note for note in left.notes)


def test_no_command_leaves_a_message_in_the_conversation(left: Left) -> None:
    assert not any("/bm-" in message or WORDS in message for message in left.transcript)


def test_print_mode_shows_the_page_of_what_is_proven_and_what_memory_cost(scene: Scenario, left: Left) -> None:
    ran = tau_print(scene.home, "/bm-status", "--session", left.session_id)
    assert ran.returncode == 0
    assert "[extension:info] Continuity: " in ran.stderr
    assert "proof: " in ran.stderr, ran.stderr
    assert "2 model calls of memory's own in this session; " in ran.stderr
    assert "is being opened" not in ran.stderr


def test_print_mode_keeps_words_before_any_prompt_and_proves_it(scene: Scenario, left: Left) -> None:
    ran = tau_print(scene.home, "/bm-remember The cistern holds 40 days of water.")
    assert ran.returncode == 0
    assert "[extension:info] Kept in this session's journal" in ran.stderr
    assert "[extension:info] Note saved: tau/checkpoints/the-cistern-holds-40-days-of-water-" in ran.stderr
    assert until(lambda: [path for path in scene.notes() if path.name.startswith("the-cistern")] or None, "its file")


async def test_words_typed_just_before_quitting_are_stored(scene: Scenario, tmp_path: Path) -> None:
    quick = FakeScenario(tmp_path, scene.model, exit_timeout_seconds=SECONDS)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in quick.home.environment().items():
            patch.setenv(name, value)
        patch.chdir(quick.home.cwd)
        async with lived(quick) as one:
            await one.prompt(TURNS[3].prompt)
            await one.settle()
            assert one.live.tau.handle_command(f"/bm-remember {WORDS}").message is None
    assert sum(WORDS in str(note["content"]) for note in quick.memory.notes.values()) == 1
