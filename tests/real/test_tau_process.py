"""A real Tau process is driven from outside: it prompts, is killed, and goes on where it was."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from continuity.tau.entries import public_messages
from continuity.tau.session_file import SessionFile
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tau_home import TauHome, make_tau_home
from tests.fakes.tau_process import TauProcess, TauTrouble, tau_print

HELLO = """\
def setup(tau):
    tau.on("session_start", lambda event, context: tau.notify(f"hello {event.reason}", "warning"))
    tau.register_command("hello", lambda arguments, command: f"said {arguments}", description="d", usage="u")
"""


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel() as scripted:
        yield scripted


@pytest.fixture
def home(tmp_path: Path, model: ScriptedModel) -> TauHome:
    made = make_tau_home(tmp_path, model.url, shim=False)
    made.write_extension("hello", HELLO)
    return made


def said(path: Path) -> list[str]:
    file = SessionFile(path)
    file.read_new()
    return [message.text for message in public_messages(file.active_path().entries)]


def test_a_killed_tau_resumes_its_session(home: TauHome) -> None:
    with TauProcess(home) as tau:
        tau.wait_until_ready()
        tau.prompt("first")
        session_id, path = tau.session_id, tau.session_file
        assert tau.kill() == -9
    assert said(path) == ["first", "Answer to: first"]
    with TauProcess(home, session_id=session_id) as tau:
        tau.prompt("second")
        assert tau.session_file == path
        assert tau.quit() == 0
    assert said(path) == ["first", "Answer to: first", "second", "Answer to: second"]


def test_a_kill_in_the_middle_of_an_answer_leaves_the_prompt(home: TauHome, model: ScriptedModel) -> None:
    with TauProcess(home) as tau, model.holding("agent"):
        asked = len(model.requests_for("agent"))
        path = tau.session_file
        tau.begin_unanswered("only this")
        model.wait_for("agent", asked + 1)
        tau.kill()
    assert said(path) == ["only this"]


def test_it_goes_back_in_the_tree_and_compacts(home: TauHome) -> None:
    with TauProcess(home) as tau:
        tau.prompt("x" * 60_000)
        tau.prompt("y" * 60_000)
        assert "summary" in tau.compact()
        entry_id, text = tau.fork_messages()[-1]
        assert text[0] == "y"
        tau.fork(entry_id)
        tau.prompt("z")
        assert [text[:1] for text in said(tau.session_file)] == ["x", "A", "z", "A"]
        tau.quit()


def test_what_extensions_say_is_heard(home: TauHome) -> None:
    with TauProcess(home) as tau:
        assert tau.wait_notice("hello") == "warning] hello startup"
        tau.quit()
    printed = tau_print(home, "/hello you")
    assert (printed.returncode, printed.stdout.strip()) == (0, "said you")


def test_a_wait_ends_and_shows_what_tau_said_last(home: TauHome) -> None:
    with TauProcess(home) as tau:
        tau.wait_notice("hello")
        with pytest.raises(TauTrouble, match=r"no 'never' in time[\s\S]*hello startup"):
            tau.wait_event(lambda _: False, "'never'", timeout=0.2)
        tau.kill()
        with pytest.raises(TauTrouble, match=r"gone|ended|after the end"):
            tau.state()


FAILS = """\
def setup(tau):
    tau.on("agent_settled", lambda event, context: tau.notify("Continuity: agent_settled failed (ValueError). Go on."))
"""


def test_a_quit_does_not_hide_what_failed(home: TauHome) -> None:
    home.write_extension("fails", FAILS)
    with TauProcess(home) as tau:
        tau.prompt("first")
        with pytest.raises(TauTrouble, match="agent_settled failed"):
            tau.quit()
