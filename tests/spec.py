"""given / when / then for the core: events in, a command, exactly these events out. Never a hand-built state."""

from __future__ import annotations

import re

import pytest

from continuity.commands import Command, CommandRejected
from continuity.decide import decide
from continuity.evolve import fold
from continuity.state import State
from journal.events import Event
from journal.ids import BranchId, EntryId, Sha256
from journal.row import Row

TIP = EntryId("aa01")


def rows(*events: Event | tuple[Event, str], at_ms: int = 1_000, branch: int = 1) -> list[Row]:
    """Number `events` as one branch records them, a second apart; a pair carries its own tip."""
    recorded: list[Row] = []
    for position, item in enumerate(events, start=1):
        event, tip = item if isinstance(item, tuple) else (item, TIP)
        recorded.append(
            Row(
                event=event,
                branch=BranchId(branch),
                position=position,
                at_ms=at_ms + 1_000 * position,
                tip=EntryId(tip),
                cause=None,
                digest=Sha256(f"{position:064x}"),
            )
        )
    return recorded


def state_after(*events: Event | tuple[Event, str]) -> State:
    """The state that history amounts to."""
    return fold(rows(*events))


class Given:
    """A history, waiting for a command."""

    def __init__(self, *events: Event | tuple[Event, str]) -> None:
        self._state = state_after(*events)

    def when(self, command: Command) -> When:
        """Hand the command to the machine."""
        return When(self._state, command)


class When:
    """A command in a state, waiting for what it amounts to."""

    def __init__(self, state: State, command: Command) -> None:
        self._state = state
        self._command = command

    def then(self, *events: Event) -> None:
        """Exactly these events, in this order; none means that nothing happens."""
        assert decide(self._state, self._command) == events

    def rejected(self, because: str) -> None:
        """The command is refused under its own name and with exactly these words, and nothing is decided."""
        with pytest.raises(CommandRejected) as refusal:
            decide(self._state, self._command)
        assert (refusal.value.command, refusal.value.reason) == (name_of(self._command), because)


def name_of(command: Command) -> str:
    """The name under which people read of a command: `submit-write`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(command).__name__).lower()


def given(*events: Event | tuple[Event, str]) -> Given:
    """Start from a history."""
    return Given(*events)
