"""Tells when the host's loop has come to rest, so that heavy work of ours does not compete with its first screen."""

from __future__ import annotations

import importlib

import anyio
import anyio.to_thread

TICK_SECONDS = 0.03
CALM_TICKS = 3
LATE_SECONDS = 0.01
"""A tick that comes so late had the host's work before it."""

_RULES = ("continuity.privacy.recognition", "continuity.privacy.candidates")
"""What masks: no start needs it, and the first prompt does, also where there is no server."""

DRAWN_WITHIN_SECONDS = 2.0
"""A host that never rests is not waited for longer."""


async def at_rest() -> None:
    """Return once the loop had nothing else to do for some ticks in a row, or after `DRAWN_WITHIN_SECONDS`."""
    calm = 0
    with anyio.move_on_after(DRAWN_WITHIN_SECONDS):
        while calm < CALM_TICKS:
            due = anyio.current_time() + TICK_SECONDS
            await anyio.sleep(TICK_SECONDS)
            calm = calm + 1 if anyio.current_time() - due < LATE_SECONDS else 0


async def load_rules() -> None:
    """Compile the rules that mask, in a thread and once the host is at rest."""
    await at_rest()
    for name in _RULES:
        await anyio.to_thread.run_sync(importlib.import_module, name)
