"""A notice is shown once, through whoever is alive, and not lost when nobody is; the status page names all that is open."""

from __future__ import annotations

import atexit
import io
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from continuity.tau.host import register_command
from continuity.tau.presence import Presence, about_unsaved, unsaved
from continuity.tau.status_command import status
from tests.fakes.extension_api import FakeTau
from tests.fakes.host import Conversation, failing
from tests.shell.rig import rig, until


@pytest.fixture
def at_exit(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What would be done at the end of the process, which a test does not live to see."""
    kept: list[Callable[[], None]] = []

    def register(run: Callable[[str], None], text: str) -> None:
        kept.append(partial(run, text))

    monkeypatch.setattr(atexit, "register", register)
    return kept


def texts(tau: FakeTau) -> list[str]:
    return [text for text, _ in tau.notices]


def test_a_topic_says_the_same_once_and_something_else_again() -> None:
    presence, tau = Presence(), FakeTau()
    presence.use(tau.api)
    for text in ("down", "down", "up", "down"):
        presence.say("link", text, "warning")
        presence.turn()
    presence.say("other", "down")
    assert tau.notices == [("down", "warning"), ("up", "warning"), ("down", "warning"), ("down", "info")]


def test_a_turn_has_one_notice_and_what_more_there_is_goes_with_the_next() -> None:
    presence, tau = Presence(), FakeTau(screen=True)
    presence.use(tau.api)
    presence.say("link", "Memory is away.", "warning")
    presence.say("recall", "Recall goes on without tasks.", "error")
    presence.say("save", "Checkpoint saved.")
    assert texts(tau) == ["Memory is away."]
    assert presence.unsaid == ("Recall goes on without tasks.", "Checkpoint saved.")
    presence.turn()
    assert tau.notices[1:] == [("Recall goes on without tasks.\nCheckpoint saved.", "error")]


def test_where_there_is_no_screen_a_joined_notice_is_one_line() -> None:
    presence, tau = Presence(), FakeTau()
    presence.use(tau.api)
    for topic in ("One", "Two", "Three"):
        presence.say(topic, f"{topic}.")
    presence.end()
    assert texts(tau) == ["One.", "Two. Three."]


def test_what_a_person_asked_for_and_what_must_be_known_before_never_wait() -> None:
    presence, tau = Presence(), FakeTau()
    presence.use(tau.api)
    presence.say("link", "Memory is away.")
    presence.at_once("destination", "It goes to main.")
    presence.at_once("destination", "It goes to main.")
    presence.answer("The page.")
    assert texts(tau) == ["Memory is away.", "It goes to main.", "The page."]


def test_what_is_said_while_a_screen_is_taken_away_is_written_after_the_end(
    monkeypatch: pytest.MonkeyPatch, at_exit: list[Callable[[], None]]
) -> None:
    monkeypatch.setattr(sys, "__stderr__", written := io.StringIO())
    presence, tau = Presence(), FakeTau(screen=True)
    presence.use(tau.api)
    presence.ending()
    presence.answer("Kept: \x1b[2Jyour words.")
    presence.say("unsaved", "The newest work is not saved: tau --session one", "warning")
    presence.end()
    assert (tau.notices, presence.unsaid) == ([], ())
    for write in at_exit:
        write()
    assert written.getvalue() == "Kept: [2Jyour words.\nThe newest work is not saved: tau --session one\n"


def test_a_host_without_a_screen_shows_all_of_it_before_the_end(at_exit: list[Callable[[], None]]) -> None:
    presence, tau = Presence(), FakeTau()
    presence.use(tau.api)
    presence.ending()
    presence.say("save", "Saved.")
    presence.say("unsaved", "Not saved.", "warning")
    presence.end()
    assert tau.notices == [("Saved.", "info"), ("Not saved.", "warning")]
    assert at_exit == []


def test_an_exit_that_waits_is_told_where_it_can_be_read_and_in_no_notice_of_a_screen_that_is_gone() -> None:
    presence, printed, shown = Presence(), FakeTau(), FakeTau(screen=True)
    presence.use(printed.api)
    presence.ending()
    presence.waits(10)
    (text,) = texts(printed)
    assert "at most 10 seconds. Ctrl-C leaves now" in text
    presence.use(shown.api)
    presence.ending()
    presence.waits(10)
    assert shown.notices == []


def test_an_answer_is_shown_each_time_it_is_asked_for() -> None:
    presence, tau = Presence(), FakeTau()
    presence.use(tau.api)
    presence.answer("nothing is open")
    presence.answer("nothing is open", "warning")
    assert tau.notices == [("nothing is open", "info"), ("nothing is open", "warning")]


def test_answers_that_nobody_could_show_are_all_shown_by_the_next_who_can() -> None:
    presence, alive = Presence(), FakeTau()
    for text in ("one", "two", "two"):
        presence.answer(text)
    presence.use(alive.api)
    assert texts(alive) == ["one", "two", "two"]
    presence.use(FakeTau().api)
    assert len(alive.notices) == 3


def test_what_nobody_could_show_is_shown_by_the_next_who_can() -> None:
    presence, gone, alive = Presence(), FakeTau(), FakeTau()
    presence.say("early", "before anybody was there")
    gone.gone = True
    presence.use(gone.api)
    presence.say("late", "while nobody was there", "error")
    presence.use(alive.api)
    assert alive.notices == [("before anybody was there while nobody was there", "error")]
    presence.use(FakeTau().api)
    assert len(alive.notices) == 1


def test_when_the_newest_is_gone_whoever_was_there_before_speaks() -> None:
    presence, parent, child = Presence(), FakeTau(), FakeTau()
    presence.use(parent.api)
    presence.use(child.api)
    presence.say("a", "through the child")
    child.gone = True
    presence.turn()
    presence.say("b", "through the parent")
    assert (texts(child), texts(parent)) == (["through the child"], ["through the parent"])


def test_a_parent_that_lives_speaks_again_however_many_children_came_and_went() -> None:
    presence, parent, children = Presence(), FakeTau(), [FakeTau() for _ in range(12)]
    presence.use(parent.api)
    for child in children:
        presence.use(child.api)
        presence.use(child.api)  # it moved in its tree
    for child in children:
        child.gone = True
    presence.say("link", "Memory is away.")
    assert texts(parent) == ["Memory is away."]


def test_what_a_server_or_a_journal_names_does_not_act_on_the_terminal() -> None:
    presence, tau = Presence(), FakeTau()
    presence.use(tau.api)
    presence.say("settle", "It is stored at a\x1b[2J\x07b\x9bm/\u202ec.md.\nSee\t/bm-pending \ud800.")
    register_command(tau.api, "bm-status", lambda words: f"{words}\x1b]0;x\x07", description="", usage="")
    assert texts(tau) == ["It is stored at a[2Jbm/c.md.\nSee\t/bm-pending \ufffd."]
    assert tau.command("bm-status", "one\ntwo") == "one\ntwo]0;x"


async def test_the_status_page_says_where_things_go_and_what_is_proven(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        assert "begins with the first prompt" in talk.page
        await talk.saved("one")
        shown = talk.page
        assert "  destination  project main (local), folder tau/checkpoints" in shown
        assert "proof: the server answered that it stored it" in shown
        assert "up: Fake Memory" in shown
        assert "unproven" not in shown
        assert "not saved" not in shown


async def test_the_status_page_names_a_refused_capture_and_why(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
        talk = await process.open()
        await talk.turn("one")
        await talk.settle()
        (capture,) = talk.state.captures
        (line,) = [line for line in talk.page.splitlines() if "tau-checkpoint" in line]
        assert capture.code is not None
        assert capture.status.replace("_", " ") in line
        assert capture.code in line


async def test_the_status_page_names_a_capture_that_waits_for_memory(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(initialize="exit")
        talk = process.session(Conversation())
        await talk.session.start("startup")
        await talk.turn("one")
        await until(lambda: talk.state.captures and talk.state.captures[0].status == "ready", "a handoff")
        shown = talk.page
        assert "  not saved    checkpoint " in shown
        assert "is ready and waits for memory, for less than a minute" in shown


async def test_the_status_page_names_a_doubt_on_a_branch_that_was_left(tmp_path: Path) -> None:
    async with rig(tmp_path, timeout_seconds=2.0) as process:
        talk = await process.open()
        kept = await talk.saved("one")
        process.memory.faults(write_note=[{"error": "disk full"}])
        await talk.turn("a wrong turn")
        await until(lambda: talk.state.pending and talk.state.captures[0].status == "in_doubt", "a doubt")
        talk.conversation.go_to(kept)
        await talk.prompt("a better turn")
        assert not talk.state.captures
        assert "is in doubt" in talk.page


def test_without_a_session_the_status_page_says_so() -> None:
    assert "none (this session has no file)" in status(None, None, None, 0)
    assert status(None, None, "settings are broken", 0).splitlines()[1] == "  settings     settings are broken"


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ({"error": "disk full"}, "a save was sent and is not known to be stored. Reading tells"),
        (None, "the newest work of this session is kept here and not saved: the model gave no summary. tau --session"),
    ],
)
async def test_the_last_words_tell_a_doubt_from_what_was_not_sent(tmp_path: Path, fault: Any, told: str) -> None:
    async with rig(tmp_path) as process:
        process.memory.faults(write_note=[fault] if fault else [])
        if fault is None:
            process.mind.answer = failing("server-error")
        talk = await process.open()
        await talk.turn("one")
        await talk.settle()
        said = unsaved(talk.session) or ""
        assert said.startswith(f"Continuity: {told}")
        assert ("saved when the session is resumed" in said, "/bm-" in said) == (False, False)


async def test_work_that_was_not_sent_is_saved_when_its_session_is_resumed(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence={"characters": 100_000, "minutes": 600}) as process:
        talk = await process.open()
        await talk.turn("one")
        assert "not saved yet. It is saved when the session is resumed: tau --session" in (unsaved(talk.session) or "")
        assert about_unsaved(talk.session) == "unsaved:session"
