"""The commands stand in one table: each is registered once, and says one true sentence where nothing can be done."""

from __future__ import annotations

import re

import pytest

from continuity.tau.commands import COMMANDS, Command, register
from tests.fakes.extension_api import FakeTau


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_without_a_run_of_its_own_says_what_cannot_be_done(command: Command) -> None:
    tau = FakeTau()
    register(tau.api, {"bm-status": lambda words: f"the page, {words}"})
    told = tau.command(command.name, "words")
    assert told == ("the page, words" if command.name == "bm-status" else command.when_off)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_a_command_is_shown_as_it_is_typed_and_names_the_page_that_tells_why(command: Command) -> None:
    assert re.fullmatch(rf"/{command.name}( .+)?", command.usage)
    assert command.description[0].isupper()
    assert command.when_off.endswith(".")
    assert "/bm-status" in command.when_off


def test_what_a_command_shows_cannot_act_on_the_terminal() -> None:
    tau = FakeTau()
    register(tau.api, {"bm-last": lambda _: "a \x1b[2J note"})
    assert tau.command("bm-last", "") == "a [2J note"


def test_no_name_stands_there_twice() -> None:
    names = [command.name for command in COMMANDS]
    assert len(set(names)) == len(names)
