"""Settles a journal that nobody works in, by reading. It sends no note, waits for no lock and disturbs no writer.

Reads are made while the journal is free; its lock is taken afterwards, for as
long as recording takes, and only if nothing was recorded in between.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from pathlib import Path
from typing import Literal, NamedTuple

import anyio
import anyio.to_thread
from msgspec.structs import replace

from continuity.commands import CloseSession, CommandRejected, Observe, OpenSession, RecordProbe
from continuity.decide import decide
from continuity.evolve import evolve, fold
from continuity.shell.clock import Clock
from continuity.shell.ledger import Ledger
from continuity.shell.link import MemoryLink
from continuity.shell.reconciling import Questions, look
from continuity.state import Capture, State
from journal.errors import JournalError, JournalLocked
from journal.events import CaptureProbed, MemoryConnected
from journal.ids import BranchId, SessionId, Sha256
from journal.reader import open_reader
from journal.row import Header, Row, WriterRecord


class MovedOn(Exception):
    """Somebody worked in the journal since it was read: what was seen says nothing of it now, and nothing was recorded."""


class NoServer(Exception):
    """The memory server went away before everything was asked; nothing was recorded of what was not."""


class Visitor(NamedTuple):
    """Who comes by a journal, and why. How its work is filed and governed stays what its own session had."""

    reason: Literal["sweep", "settle"]
    host: str
    version: str
    writer: WriterRecord
    clock: Clock


class Left(NamedTuple):
    """A journal as its writers left it: every branch after its verified history."""

    path: Path
    header: Header
    states: Mapping[BranchId, State]
    last: BranchId
    """The branch written last."""


class Look(NamedTuple):
    """The reads made for one capture, not judged yet, and the server that answered them."""

    branch: BranchId
    read: RecordProbe
    through: MemoryConnected


class Settled(NamedTuple):
    """What came of one journal."""

    left: Left
    """As it was when the reads began."""
    looks: tuple[Look, ...]
    verdicts: tuple[CaptureProbed, ...]
    """One a look, as the core draws it."""
    recorded: bool
    owner: JournalLocked | None = None
    """Who has the journal open, if that is why nothing was recorded."""


type Pick = Callable[[Left], Sequence[tuple[BranchId, Capture]]]
type Gate = Callable[[SessionId], AbstractContextManager[bool]]
"""Entered while the lock is held; tells whether a session of this process leaves the journal to us."""


def left(path: Path) -> Left:
    """Return the journal at `path` without becoming its writer. Blocking.

    Raises:
        JournalUnreadable, RowUnreadable: It was left as it is.
    """
    with open_reader(path) as reader:
        states = {row.branch: fold(reader.verified(row.branch)) for row in reader.branches}
        return Left(path, reader.header, states, reader.last_branch())


async def settle(
    path: Path,
    pick: Pick,
    link: MemoryLink,
    visitor: Visitor,
    *,
    gate: Gate = lambda _: nullcontext(True),
    again: Callable[[], None] = lambda: None,
) -> Settled:
    """Read what became of the captures that `pick` chooses, and record it if nobody works in the journal.

    When somebody recorded something meanwhile, `again` is called and everything is read once more.

    Raises:
        MovedOn: It moved on a second time; nothing was recorded.
        NoServer: Nothing was recorded.
        JournalError: It was left as it is, or what was recorded is sound.
    """
    try:
        return await _settle(path, pick, link, visitor, gate)
    except MovedOn:
        again()
        return await _settle(path, pick, link, visitor, gate)


async def _settle(path: Path, pick: Pick, link: MemoryLink, visitor: Visitor, gate: Gate) -> Settled:
    found, asked = await anyio.to_thread.run_sync(left, path), link.connection
    looks = [await _look(found, branch, capture, link) for branch, capture in pick(found)]
    if link.connection is not asked:
        raise NoServer
    seen = Settled(found, tuple(looks), tuple(judged(found, each) for each in looks), recorded=False)
    if not looks:
        return seen
    with gate(found.header.session_id) as free:
        if not free:
            return seen
        try:
            await record(found, looks, visitor)
        except JournalLocked as locked:
            return seen._replace(owner=locked)
    return seen._replace(recorded=True)


async def _look(found: Left, branch: BranchId, capture: Capture, link: MemoryLink) -> Look:
    connection, through = link.connection, link.described(capture.project)
    if connection is None or through is None:
        raise NoServer
    ask = Questions(connection, link.projects, link.timeout_seconds, found.path)
    return Look(branch, await look(ask, found.states[branch], capture), through)


def judged(found: Left, seen: Look) -> CaptureProbed:
    """Return what the core draws from `seen`, on the state it is about. Pure."""
    drawn = decide(found.states[seen.branch], seen.read)
    return next(event for event in drawn if isinstance(event, CaptureProbed))


async def record(found: Left, looks: Sequence[Look], visitor: Visitor) -> None:
    """Record `looks`, and let the calls and writes of writers that ended be in doubt.

    Raises:
        JournalLocked: Somebody has it open; nothing was recorded.
        MovedOn: Somebody had it open since `found`; nothing was recorded.
    """
    awaiting = {branch for branch, state in found.states.items() if any(not call.unknown for call in state.calls)}
    branches = sorted(awaiting | {each.branch for each in looks})
    async with held(found, branches, visitor) as ledger:
        for branch in branches:
            async with opened(ledger, branch, visitor):
                for each in looks:
                    if each.branch == branch:
                        await ledger.apply(Observe(each.through), tip=None, branch=branch)
                        await ledger.apply(_after_opening(each.read), tip=None, branch=branch)


def _after_opening(read: RecordProbe) -> RecordProbe:
    """Taking the lock proved that the writer of an unanswered intent ended: it is in doubt from the opening on."""
    return replace(read, status="in_doubt") if read.status == "intended" else read


@asynccontextmanager
async def held(found: Left, branches: Collection[BranchId], visitor: Visitor) -> AsyncGenerator[Ledger]:
    """Be the journal's writer for the length of the block, with `branches` exactly where `found` saw them.

    Raises:
        JournalLocked: Somebody else is; nothing was touched.
        MovedOn: Nothing was recorded.
        JournalUnreadable, RowUnreadable: The file was left as it is.
    """
    ledger = await Ledger.open(found.path, visitor.writer, visitor.clock)
    try:
        for branch in branches:
            now, then = ledger.states.get(branch), found.states[branch]
            if now is None or (now.position, now.digest) != (then.position, then.digest):
                raise MovedOn
        yield ledger
    finally:
        with anyio.CancelScope(shield=True):
            await ledger.close()


@asynccontextmanager
async def opened(ledger: Ledger, branch: BranchId, visitor: Visitor) -> AsyncGenerator[None]:
    """Record on `branch` that the visitor came, and at the end, whatever happens, that it left."""
    await ledger.apply(opening(ledger.states[branch], visitor), tip=None, branch=branch)
    try:
        yield
    finally:
        with anyio.CancelScope(shield=True), suppress(JournalError):
            await ledger.apply(CloseSession(reason=visitor.reason), tip=None, branch=branch)


def opening(state: State, visitor: Visitor) -> OpenSession:
    """Return the visitor's opening; profile, destination, policy and level are those of the journal's own session."""
    own = state.opened
    if own is None:
        raise CommandRejected("open-session", "no session ever opened this branch")
    return OpenSession(
        reason=visitor.reason,
        host=visitor.host,
        version=visitor.version,
        level=own.level,
        profile=own.profile,
        destination=own.destination,
        policy=own.policy,
        writer=visitor.writer.writer,
        process=visitor.writer.process,
    )


def once_opened(state: State, visitor: Visitor) -> State:
    """Return what `state` is after the visitor's opening, to learn what would then be allowed. Pure."""
    for event in decide(state, opening(state, visitor)):
        row = Row(
            event=event,
            branch=state.branch,
            position=state.position + 1,
            at_ms=visitor.clock.now_ms(),
            tip=state.tip,
            cause=None,
            digest=state.digest or Sha256("0" * 64),
        )
        state = evolve(state, row)
    return state
