"""The slash commands, in one table: name, use, and the one true sentence each has left when the settings cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from continuity.tau import (
    checkpoint_command,
    journal_command,
    last_command,
    orient_command,
    pause_command,
    pending_command,
    remember_command,
    status_command,
    why_command,
)
from continuity.tau.host import Tau, register_command

type Run = Callable[[str], str | None]
"""Takes what was typed behind the name; returns what is shown at once, or None when something follows or nothing."""


class Command(NamedTuple):
    """One command as Tau lists it."""

    name: str
    description: str
    usage: str
    when_off: str
    """What it says when the settings cannot be used."""


COMMANDS = (
    Command("bm-status", status_command.DESCRIPTION, status_command.USAGE, "See /bm-status."),
    Command(
        "bm-orient",
        orient_command.DESCRIPTION,
        orient_command.USAGE,
        "Nothing can be recalled here: see /bm-status.",
    ),
    Command(
        "bm-checkpoint",
        checkpoint_command.DESCRIPTION,
        checkpoint_command.USAGE,
        "Nothing can be saved: see /bm-status.",
    ),
    Command(
        "bm-last",
        last_command.DESCRIPTION,
        last_command.USAGE,
        "What was saved cannot be told here: see /bm-status. `continuity show` reads a journal without settings.",
    ),
    Command(
        "bm-pause",
        pause_command.PAUSES,
        "/bm-pause",
        "Nothing is saved and nothing is recorded at all: see /bm-status.",
    ),
    Command("bm-resume", pause_command.RESUMES, "/bm-resume", "Nothing can be saved or recorded here: see /bm-status."),
    Command(
        "bm-remember",
        remember_command.DESCRIPTION,
        remember_command.USAGE,
        "Your words were not kept, for nothing can be recorded here: see /bm-status.",
    ),
    Command(
        "bm-pending",
        pending_command.DESCRIPTION,
        pending_command.USAGE,
        "Nothing can be settled here: see /bm-status. `continuity unproven` lists what is open.",
    ),
    Command(
        "bm-journal",
        journal_command.DESCRIPTION,
        journal_command.USAGE,
        "Nothing is recorded here: see /bm-status. `continuity log FILE` reads a journal without settings.",
    ),
    Command("bm-why", why_command.DESCRIPTION, why_command.USAGE, "Nothing was put into context: see /bm-status."),
)


def register(tau: Tau, runs: Mapping[str, Run], taken: Container[str] = ()) -> None:
    """Register every command with what it does; one without a run of its own says that it is off.

    What is `taken` is another extension's: Tau keeps the first of a name.
    """
    for command in COMMANDS:
        if command.name in taken:
            continue
        run = runs.get(command.name, lambda _, said=command.when_off: said)
        register_command(tau, command.name, run, description=command.description, usage=command.usage)
