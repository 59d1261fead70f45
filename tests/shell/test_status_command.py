"""`/bm-status` begins with whether all is saved; what it tells of proof, cost and connection is what is true then."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from continuity.spent import Spent
from continuity.tau.status_command import shown, status
from tests.fakes.host import Conversation, failing
from tests.shell.rig import Talk, crash, rig, until

NEVER: dict[str, Any] = {"cadence": {"characters": 100_000, "minutes": 600}}


def head(talk: Talk) -> str:
    return talk.page.splitlines()[0]


def line(talk: Talk, name: str) -> str:
    (found,) = (each.removeprefix(f"  {name:<13}") for each in talk.page.splitlines() if each.startswith(f"  {name} "))
    return found


async def test_the_first_line_says_whether_all_is_saved(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert head(talk) == "Continuity: nothing to save yet"
        await talk.saved("one")
        assert head(talk) == "Continuity: all is saved"
        await talk.session.switch(off=True, anchor=None)
        assert head(talk) == "Continuity: off the record until /bm-resume"


async def test_what_waits_for_more_is_saved_by_the_command_that_the_first_line_names(tmp_path: Path) -> None:
    async with rig(tmp_path, **NEVER) as process:
        talk = await process.open()
        await talk.turn("one")
        assert head(talk) == "Continuity: the newest is not saved yet; /bm-checkpoint saves now"
        await talk.session.request("command")
        await talk.settle()
        assert head(talk) == "Continuity: all is saved"


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        ({"error": "disk full"}, "1 save is not proven: /bm-pending"),
        ({"code": "NOTE_LOCKED"}, "something is not stored and waits for you: /bm-pending"),
    ],
)
async def test_what_needs_a_person_comes_first_with_where_to_go(tmp_path: Path, fault: Any, text: str) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        process.memory.faults(write_note=[fault])
        talk = await process.open()
        await talk.turn("one")
        await until(
            lambda: talk.state.captures and talk.state.captures[0].status in ("in_doubt", "refused"), "an outcome"
        )
        assert head(talk) == f"Continuity: {text}"


async def test_a_model_that_failed_leaves_something_that_is_not_stored_yet(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.mind.answer = failing("server-error")
        talk = await process.open()
        await talk.turn("one")
        await talk.settle()
        assert head(talk) == "Continuity: something is not stored yet"
        assert line(talk, "cost").startswith("1 model call of memory's own in this session, 1 without an answer of use")


async def test_while_the_branch_that_was_left_is_being_saved_not_all_is_saved(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        process.mind.gate = anyio.Event()
        await talk.turn("a wrong turn")
        await until(lambda: len(process.mind.asked) == 2, "the model")
        talk.conversation.go_to(kept)
        await talk.prompt("a better turn")
        assert (talk.state.branch, talk.state.drained) == (2, True)
        assert head(talk) == "Continuity: saving"
        assert "is being made, for less than a minute" in line(talk, "not saved")
        process.mind.gate.set()
        await talk.settle()
        assert head(talk) == "Continuity: all is saved"


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"project": None}, "tools only; `continuity setup` names where to save"),
        ({"capture_knowledge": False}, "saves only when asked, for `capture_knowledge` is off"),
    ],
)
async def test_what_is_switched_off_is_said_with_what_switches_it_on(
    tmp_path: Path, settings: dict[str, Any], text: str
) -> None:
    async with rig(tmp_path, **settings) as process:
        talk = await process.open()
        await talk.turn("one")
        assert head(talk) == f"Continuity: {text}"


async def test_a_session_that_is_taken_up_again_tells_what_it_cost_before(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        told, spent = line(talk, "cost"), talk.session.desk.ledger and talk.session.desk.ledger.spent
    async with rig(tmp_path) as process:
        again = await process.open(conversation)
        ledger = again.session.desk.ledger
        assert line(again, "cost") == told
        assert spent == (ledger and ledger.spent) != Spent()


async def test_a_fork_does_not_count_what_its_parent_cost_again(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        await talk.saved("a wrong turn")
        talk.conversation.go_to(kept)
        await talk.saved("a better turn")
        assert line(talk, "cost").startswith(f"{len(process.mind.asked)} model calls of memory's own")


async def test_a_server_that_is_gone_is_not_called_up(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        assert line(talk, "connection").startswith("up: Fake Memory")
        await crash(process)
        assert line(talk, "connection").startswith(("lost; none now", "the memory server is being started"))


async def test_what_is_down_says_why_and_what_helps(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await until(lambda: process.link.status == "down", "the end of the server")
        assert "run its command in a terminal to see why" in line(talk, "connection")


async def test_while_the_journal_is_being_opened_the_page_follows_with_what_is_proven(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        await (await process.open(conversation)).saved("one")
    async with rig(tmp_path) as process:
        talk = process.session(conversation)
        assert shown(talk.session, process.owner, lambda: talk.page) is None
        await talk.session.start("startup")
        await until(lambda: process.voice.answers, "the page")
        assert "proof: the server answered that it stored it" in process.voice.answers[0]
        assert "connection   up: Fake Memory" in process.voice.answers[0]


def test_notices_that_wait_stand_on_the_page() -> None:
    page = status(None, None, None, 0, unsaid=("Memory is away.", "Checkpoint saved."))
    assert page.splitlines()[-2:] == ["  unsaid       Memory is away.", "               Checkpoint saved."]


def test_settings_that_cannot_be_used_are_the_first_thing_said() -> None:
    assert status(None, None, "no", 0).startswith("Continuity: off, because its settings cannot be used; correct them")
