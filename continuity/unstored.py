"""What sessions keep and nobody sent yet, as a person is told it: unlike what is open, it asks for no decision."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from continuity.pending import age
from continuity.state import State


class Unstored(msgspec.Struct, frozen=True, kw_only=True):
    """What one session keeps for memory, on all its branches."""

    ready: int
    """Texts that are made, and wait for memory alone."""
    unmade: int
    """Checkpoints that a model has to make first."""
    failed: int
    """Of those, the ones that a model failed to make so far."""
    since_ms: int

    @property
    def texts(self) -> int:
        """How many it comes to."""
        return self.ready + self.unmade


def unstored(states: Iterable[State], *, live: bool) -> Unstored | None:
    """Return what is kept on all these branches and was not sent yet; None if there is nothing.

    What a running process, in a journal that is `live`, gathers for a later checkpoint is not left behind.
    """
    branches = tuple(states)
    captures = [c for state in branches for c in state.captures if not c.decided]
    ready = [c.begun_ms for c in captures if c.status == "ready"]
    begun = [c for c in captures if c.status == "begun"]
    left = [state.gathered.since_ms for state in branches if _left(state, live=live)]
    since = [*ready, *(c.begun_ms for c in begun), *left]
    if not since:
        return None
    failed = sum(c.failures > 0 for c in begun)
    return Unstored(ready=len(ready), unmade=len(begun) + len(left), failed=failed, since_ms=min(since))


def _left(state: State, *, live: bool) -> bool:
    """Whether what was gathered is due, or would have been at the end that its process did not come to."""
    opened, had = state.opened, state.gathered
    if had.tip is None or opened is None or opened.destination is None:
        return False
    return had.owed is not None or (not live and opened.policy.capture and opened.policy.on_shutdown)


# -- words -------------------------------------------------------------------


def counted(texts: int) -> str:
    """Return how many texts, in words."""
    return "1 text" if texts == 1 else f"{texts} texts"


def waits_for(left: Unstored) -> str:
    """Return what has to happen before all of it is stored, as far as the journal tells."""
    if not left.unmade:
        return "sent as soon as memory answers"
    failed = f", which failed at {left.failed} so far" if left.failed else ""
    ready = f"; {left.ready} sent as soon as memory answers" if left.ready else ""
    return f"{left.unmade} to be made by the model first{failed}{ready}"


def store(session: str) -> str:
    """Return the command that has a session store what it keeps."""
    return f"tau --session {session}"


def what_stores(left: Unstored, session: str, *, live: bool) -> str:
    """Return what stores it; `live` when a running process holds the journal."""
    them = "it" if left.texts == 1 else "them"
    return f"its running session stores {them}" if live else f"`{store(session)}` stores {them}"


def told(left: Unstored, session: str, now_ms: int, *, live: bool) -> str:
    """Return one line on what one journal keeps, and what stores it."""
    since, how = age(now_ms - left.since_ms), what_stores(left, session, live=live)
    return f"not stored yet: session {session}, {counted(left.texts)} for {since} ({waits_for(left)}): {how}"
