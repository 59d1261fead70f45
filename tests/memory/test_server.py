"""Nothing in a repository chooses what is started, and nothing of our interpreter leaks into it."""

import os
from pathlib import Path

import pytest

from continuity.memory.errors import CommandRefused
from continuity.memory.server import child_environment, resolve_command


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_name_is_found_in_the_search_path_it_is_given(tmp_path: Path) -> None:
    found = executable(tmp_path / "bin" / "bm")
    assert resolve_command("bm", f"relative:{tmp_path}/none:{found.parent}", None) == str(found)


def test_a_copy_inside_the_checkout_is_passed_over(tmp_path: Path) -> None:
    executable(tmp_path / "checkout" / ".venv" / "bin" / "bm")
    outside = executable(tmp_path / "bin" / "bm")
    path = f"{tmp_path}/checkout/.venv/bin:{outside.parent}"
    assert resolve_command("bm", path, tmp_path / "checkout") == str(outside)


@pytest.mark.parametrize("command", ["bm", "ABSOLUTE"])
def test_a_command_found_only_inside_the_checkout_is_refused(tmp_path: Path, command: str) -> None:
    inside = executable(tmp_path / "checkout" / "bin" / "bm")
    with pytest.raises(CommandRefused) as refused:
        resolve_command(command.replace("ABSOLUTE", str(inside)), str(inside.parent), tmp_path / "checkout")
    assert refused.value.reason == "inside-checkout"


def test_a_link_into_the_checkout_is_inside_it(tmp_path: Path) -> None:
    inside = executable(tmp_path / "checkout" / "bm")
    link = tmp_path / "bin" / "bm"
    link.parent.mkdir()
    link.symlink_to(inside)
    with pytest.raises(CommandRefused, match="inside-checkout"):
        resolve_command(str(link), "", tmp_path / "checkout")


def test_a_link_out_of_the_checkout_is_inside_it_too(tmp_path: Path) -> None:
    outside = executable(tmp_path / "bin" / "bm")
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "bm").symlink_to(outside)
    with pytest.raises(CommandRefused, match="inside-checkout"):
        resolve_command(str(tmp_path / "checkout" / "bm"), "", tmp_path / "checkout")


@pytest.mark.parametrize("command", ["./bm", "bin/bm", "..\\bm"])
def test_a_relative_path_is_refused(command: str) -> None:
    with pytest.raises(CommandRefused, match="relative"):
        resolve_command(command, os.defpath, None)


@pytest.mark.parametrize("command", ["bm-that-is-not-there", "/none/bm"])
def test_a_command_that_is_not_there_is_said_to_be_missing(command: str) -> None:
    with pytest.raises(CommandRefused, match="not-found"):
        resolve_command(command, os.defpath, None)


def test_a_child_inherits_all_but_what_describes_our_interpreter() -> None:
    given = {"PYTHONPATH": "p", "PYTHONHOME": "h", "VIRTUAL_ENV": "v", "BASIC_MEMORY_HOME": "m", "PATH": "x"}
    assert child_environment(given, {"PATH": "y", "EXTRA": "1"}) == {
        "BASIC_MEMORY_HOME": "m",
        "PATH": "y",
        "EXTRA": "1",
    }
