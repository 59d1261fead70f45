"""Forwards the agent's own memory calls, once each; those that may change something are on disk before they leave."""

from __future__ import annotations

import json
import secrets
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio

from continuity.commands import CommandRejected, Observe
from continuity.memory.calls import Object, Progress, Ticket
from continuity.memory.tools import Bridged, TextBlock, ToolReply, ToolSpec, call
from continuity.privacy import cut_point, mask_words
from continuity.shell.desk import Desk, kept
from continuity.shell.link import MemoryLink
from journal.errors import JournalError
from journal.events import ToolAnswered, ToolCalled
from journal.events.writes import Outcome
from journal.ids import BranchId, CallId, ProjectName

_TARGETS = ("project", "identifier", "title", "directory", "folder", "destination_path", "path")
_TARGET_CHARS = 500


type Elsewhere = Callable[[], Awaitable[Desk]]
"""Opens the journal of calls that belong to no session's; it may raise as `AdHoc.desk` does."""


class Call(NamedTuple):
    """One call of the agent's, and the bound of all of it: of waiting for a server and of the call itself."""

    spec: ToolSpec
    arguments: Object
    ticket: Ticket
    seconds: float
    progress: Progress | None = None


async def forward(
    link: MemoryLink, desk: Desk | None, wanted: Call, *, elsewhere: Elsewhere | None = None
) -> ToolReply:
    """Make one call of the agent's. A server that is not up is started, and waited for within the call's bound.

    What the session of `desk` cannot record is recorded `elsewhere`, where that is allowed, or not sent.
    One that left the call before unanswered is asked for a sign of life first, so that a stuck one costs one call.
    """
    spec, deadline = wanted.spec, anyio.current_time() + wanted.seconds
    connection = await link.up(wanted.seconds)
    if connection is not None and connection.stalled and not await connection.responds(wanted.seconds / 4):
        connection = await link.up(deadline - anyio.current_time())
    if connection is None:
        return _not_sent(spec, f"memory is not reachable ({link.error or 'no answer yet'})")

    async def made() -> Bridged:
        left = deadline - anyio.current_time()
        ticket, progress = wanted.ticket, wanted.progress
        return await call(connection, spec, wanted.arguments, left, ticket=ticket, progress=progress)

    if not spec.mutating:
        return (await made()).reply
    try:
        recorder = await elsewhere() if elsewhere is not None and (desk is None or desk.ledger is None) else desk
        sent = await _commit(recorder, spec, wanted.arguments)
    except (JournalError, CommandRejected):
        return _not_sent(spec, "journal unavailable")
    done: Bridged | None = None
    try:
        done = await made()
        return done.reply
    finally:
        wanted.ticket.withdraw()
        await _settled(sent, done, left=wanted.ticket.sent)


class _Sent(NamedTuple):
    """A call on disk. Whatever the session does meanwhile, its outcome belongs on the branch it is on."""

    desk: Desk
    branch: BranchId
    call_id: CallId


async def _settled(sent: _Sent, done: Bridged | None, *, left: bool) -> None:
    """Whatever interrupted the call, what is known of it is recorded before the interruption passes on."""
    outcome: Outcome = done.outcome if done is not None else "unknown" if left else "not-sent"
    code = done.code if done is not None else "interrupted"
    answered = ToolAnswered(call_id=sent.call_id, outcome=outcome, code=code[:80] if code else None)
    with anyio.CancelScope(shield=True):
        await sent.desk.outcome(answered, branch=sent.branch)


async def _commit(desk: Desk | None, spec: ToolSpec, arguments: Object) -> _Sent:
    """Put the call on disk. What it is aimed at is kept masked; its contents are not kept at all.

    Raises:
        JournalError, CommandRejected: It is not on disk and must not be sent.
    """
    if desk is None or desk.ledger is None:
        raise CommandRejected("forward", "no journal")
    branch = desk.ledger.current
    project = desk.profile.project
    described = desk.link.described(ProjectName(project) if project else None)
    if described is None:
        raise CommandRejected("forward", "no connection")
    await desk.apply(Observe(described), branch=branch)
    masked = {
        name: mask_words(str(arguments[name]), candidates=desk.settings.mask_candidates).text
        for name in _TARGETS
        if name in arguments
    }
    aimed = {name: text[: cut_point(text, 0, _TARGET_CHARS)] for name, text in masked.items()}
    digest, bodies = kept(json.dumps(aimed, sort_keys=True, ensure_ascii=False))
    called = ToolCalled(
        call_id=CallId(secrets.token_hex(16)),
        name=spec.original[:200],
        target_sha256=digest,
        writer=desk.writer.writer,
        connection=described.connection,
    )
    await desk.apply(Observe(called), branch=branch, bodies=bodies)
    return _Sent(desk, branch, called.call_id)


def _not_sent(spec: ToolSpec, why: str) -> ToolReply:
    text = f"{spec.original} was not sent: {why}. Nothing was changed."
    return ToolReply(blocks=(TextBlock(text),), is_error=True, details={"code": "not-sent", "sent": False})
