"""Asks memory anew what this work should know, because a person wants it, and has the brief put in. It starts no model turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal, NamedTuple

import anyio
from msgspec.structs import replace

from continuity.shell.recalling import Composed
from continuity.shell.session import Session
from continuity.topic import topic_of
from journal.row import Row

type Append = Callable[[Composed], Awaitable[bool]]
"""Puts a brief into a host at rest and tells whether it could."""

type How = Literal["put-in", "next-prompt", "known", "nothing", "moved", "unreachable", "unanswered", "unrecorded"]


class Oriented(NamedTuple):
    """What came of it, and the row that proves it: of the brief that went in, or of the questions."""

    how: How
    row: Row | None = None
    composed: Composed | None = None


async def orient(session: Session, words: str, append: Append | None) -> Oriented:
    """Ask everything again, with `words` as a topic; put the brief in at rest by `append`, or have the next prompt bring it.

    A session whose journal was not begun gets it now: a person's command is a first use as much as a prompt is. Off the
    record no topic is asked about, for it would leave the session.
    """
    async with session.orienting:
        return await _orient(session, words, append)


async def _orient(session: Session, words: str, append: Append | None) -> Oriented:
    desk, runner = session.desk, session.runner
    branch = await session.stands() if await session.hold() else None
    if branch is None:
        return Oriented("unrecorded")
    seconds = desk.settings.timeout_seconds
    if await desk.link.up(seconds) is None:
        return Oriented("unreachable")
    wanted = runner.ask_anew(branch)
    with anyio.move_on_after(seconds):
        await wanted.came.wait()
    if not wanted.brought:
        return Oriented("unanswered")
    topic = () if session.pausing.paused else topic_of(words, candidates=desk.settings.mask_candidates)
    view = await desk.source.view(None)
    state = desk.state(branch)
    if state is None:
        return Oriented("unrecorded")
    composed, row = await runner.recaller.anew(branch, state, view, topic)
    if await session.stands() != branch:
        return Oriented("moved", row)
    if composed is None:
        return Oriented("known" if view.briefs_in_context else "nothing", row)
    if append is not None:
        at_rest = replace(composed, how="appended")
        if await append(at_rest):
            return Oriented("put-in", await session.given_brief(at_rest), at_rest)
    return Oriented("next-prompt", row, composed)
