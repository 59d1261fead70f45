"""What a person at a shell asks of a memory server about one open thing: read it now, or write it again.

The journal is attended only while nobody else works in it. A server is started
for the question and gone when it is answered, whatever interrupts it.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, cast

import anyio.to_thread
from msgspec.structs import replace

from continuity.capture import PublicMessage
from continuity.checkout import Filed
from continuity.commands import CommandRejected, Resolve, ResolveCall
from continuity.due import Submit
from continuity.handoff import pull_request_in
from continuity.memory.liveness import identify
from continuity.memory.server import ServerSpec
from continuity.pending import Open, open_items
from continuity.profile import GitFacts, Profile
from continuity.shell import capturing
from continuity.shell.clock import SystemClock
from continuity.shell.desk import Desk
from continuity.shell.ledger import Ledger
from continuity.shell.link import MemoryLink
from continuity.shell.ports import NoSession, Voice
from continuity.shell.serving import serving
from continuity.shell.settings import Settings
from continuity.shell.unattended import Left, Settled, Visitor, held, left, opened, settle
from continuity.state import Capture
from journal.errors import JournalError
from journal.events import SessionOpened, ToolCalled, WriteAnswered
from journal.folders import journals_at
from journal.ids import BranchId, CallId, CaptureId, EntryId, Sha256, WriterId
from journal.reader import open_reader
from journal.row import WriterRecord


class Standing(NamedTuple):
    """One open thing, and the journal it stands in."""

    left: Left
    item: Open

    @property
    def reference(self) -> str:
        return self.item.reference

    @property
    def capture(self) -> Capture | None:
        """The write, if it is one."""
        return self.left.states[self.item.branch].live(CaptureId(self.item.reference))


class Found(NamedTuple):
    """Everything open in some journals, and what could not be read of them."""

    standing: tuple[Standing, ...]
    troubles: tuple[tuple[Path, str], ...]
    """Journals and folders, each with the reason."""


def everything_open(where: Path) -> Found:
    """Return what is open in the journal at `where`, or in those in that folder and below it. Blocking."""
    journals = journals_at((where,))
    standing: list[Standing] = []
    troubles = [(Path(error.filename), str(error.strerror)) for error in journals.closed]
    for path in journals.paths:
        try:
            found = left(path)
        except JournalError as error:
            troubles.append((path, str(error)))
            continue
        standing += [
            Standing(found, item) for branch, state in found.states.items() for item in open_items(branch, state)
        ]
    return Found(tuple(standing), tuple(troubles))


def target_of(path: Path, branch: BranchId, call_id: CallId) -> str | None:
    """Return what a forwarded call was aimed at, masked as it is kept; None if it was erased. Blocking.

    Raises:
        JournalError: It cannot be read.
    """
    with open_reader(path) as reader:
        for row in reader.verified(branch):
            if isinstance(row.event, ToolCalled) and row.event.call_id == call_id:
                return reader.body(row.event.target_sha256)
    return None


def visitor() -> Visitor:
    """Return this process as journals know it."""
    ours = version("tau-continuity")
    writer = WriterRecord(writer=WriterId(secrets.token_hex(16)), process=identify(os.getpid()))
    return Visitor("settle", f"continuity {ours}"[:200], ours[:200], writer, SystemClock())


# -- reading now -------------------------------------------------------------


class Asked(NamedTuple):
    """What a read brought; `settled` is None when no server could be asked, and `error` says why."""

    settled: Settled | None
    error: str | None = None
    again: bool = False
    """Somebody worked in the journal meanwhile, so everything was read twice."""


async def read(wanted: Standing, spec: ServerSpec, seconds: float, comes: Visitor) -> Asked:
    """Read what became of one write, and record it unless the journal has a writer.

    Raises:
        MovedOn, NoServer, JournalError: As `unattended.settle` does.
    """
    rounds = [0]

    def again() -> None:
        rounds.append(1)

    def only(found: Left) -> Sequence[tuple[BranchId, Capture]]:
        captures = found.states[wanted.item.branch].captures
        return [(wanted.item.branch, each) for each in captures if each.capture_id == wanted.item.reference]

    async with serving(spec, seconds) as link:
        if await link.up(seconds) is None:
            return Asked(None, link.error or "no answer in time")
        return Asked(await settle(wanted.left.path, only, link, comes, again=again), again=len(rounds) > 1)


# -- deciding ----------------------------------------------------------------


class Rewriting(NamedTuple):
    """What a new attempt needs besides the journal."""

    spec: ServerSpec
    settings: Settings
    voice: Voice


class Sent(NamedTuple):
    """What became of a new attempt; without an `answer` it is owed by the session's next start."""

    answer: WriteAnswered | None
    error: str | None = None


async def decided(
    wanted: Standing,
    command: Resolve | ResolveCall | None,
    bodies: Mapping[Sha256, str],
    comes: Visitor,
    rewriting: Rewriting | None = None,
) -> Sent | None:
    """Record a person's decision; with `rewriting`, write again at once what it allows to be written again.

    Without a `command` it was decided before; then nothing at all is recorded while no server can be asked.

    Raises:
        CommandRejected: The state does not allow it; nothing of it was recorded.
        MovedOn, JournalError: Nothing of it was recorded.
    """
    branch = wanted.item.branch
    if rewriting is None:
        async with held(wanted.left, [branch], comes) as ledger, opened(ledger, branch, comes):
            await _decision(ledger, command, branch, bodies)
        return None
    seconds = rewriting.settings.timeout_seconds
    async with serving(rewriting.spec, seconds) as link:
        await link.up(seconds)  # before the lock is taken: whoever gives up waiting for it decided nothing
        if command is None and link.connection is None:
            return _unreached(link)
        async with held(wanted.left, [branch], comes) as ledger, opened(ledger, branch, comes):
            await _decision(ledger, command, branch, bodies)
            return await _sent(wanted, ledger, link, comes, rewriting)


async def _decision(
    ledger: Ledger, command: Resolve | ResolveCall | None, branch: BranchId, bodies: Mapping[Sha256, str]
) -> None:
    if command is not None:
        await ledger.apply(command, tip=None, branch=branch, bodies=bodies)


def _unreached(link: MemoryLink) -> Sent:
    return Sent(None, link.error or "no answer in time")


async def _sent(wanted: Standing, ledger: Ledger, link: MemoryLink, comes: Visitor, how: Rewriting) -> Sent:
    """Submit through the normal way: the intent on disk first, create-only, from the text that is kept."""
    branch, began = wanted.item.branch, ledger.states[wanted.item.branch].position
    capture = next(c for c in ledger.states[branch].captures if c.capture_id == wanted.item.reference)
    if link.connection is None:
        return _unreached(link)
    desk = await _desk(wanted, ledger, link, comes, how)
    try:
        await capturing.submit(desk, Submit(capture.capture_id, capture.attempt), branch)
    except CommandRejected as rejected:
        return Sent(None, rejected.reason)
    answer = await anyio.to_thread.run_sync(_answer, ledger.path, branch, began)
    return Sent(answer, None if answer is not None else "it was not sent")


def _answer(path: Path, branch: BranchId, after: int) -> WriteAnswered | None:
    with open_reader(path) as reader:
        rows = [row.event for row in reader.verified(branch) if row.position > after]
    return next((event for event in reversed(rows) if isinstance(event, WriteAnswered)), None)


async def _desk(wanted: Standing, ledger: Ledger, link: MemoryLink, comes: Visitor, how: Rewriting) -> Desk:
    """The session's working table, as its journal describes it; nothing of today's settings says how it is filed."""
    before, state = wanted.capture, wanted.left.states[wanted.item.branch]
    if state.opened is None or before is None:
        raise CommandRejected("resolve", "no session ever opened this branch")
    text = await ledger.journal.body(before.metadata_sha256) if before.metadata_sha256 is not None else None
    known = text is not None and before.kind == "checkpoint"  # a note's are somebody's words
    metadata = cast("dict[str, str]", json.loads(text)) if text is not None and known else {}
    told = _Told(metadata)
    return Desk(
        session_id=wanted.left.header.session_id,
        profile=_profile(state.opened, before.project, metadata),
        settings=how.settings,
        clock=comes.clock,
        writer=comes.writer,
        link=link,
        source=told,
        model=told,
        voice=how.voice,
        ledger=ledger,
        checkout=told.checkout,
    )


def is_filed(standing: Standing, kept: Collection[Sha256]) -> bool:
    """Tell whether a note can be filed again where it was: a checkpoint of a checkout needs what was kept of the attempt."""
    capture, own = standing.capture, standing.left.states[standing.item.branch].opened
    if capture is None or own is None or capture.kind != "checkpoint" or own.profile.kind != "coding":
        return True
    return capture.metadata_sha256 in kept


def _profile(own: SessionOpened, project: str, metadata: Mapping[str, str]) -> Profile:
    """How the session filed its work; where its checkout was is told by the attempt before, if that is kept."""
    root = metadata.get("repo_root")
    return Profile(
        kind="coding" if own.profile.kind == "coding" and root else "general",
        project=project,
        read_projects=(),
        repository=own.profile.repository,
        root=root,
        scope=own.profile.scope,
        cwd=metadata.get("cwd", ""),
        checkpoint_folder=own.profile.folder,
    )


class _Told(NoSession):
    """What the attempt before told of its session, which is not here: when it was, and on what checkout. No messages."""

    def __init__(self, metadata: Mapping[str, str]) -> None:
        self._metadata = metadata
        times = (metadata.get("started"), metadata.get("ended"))
        self._times = [round(datetime.fromisoformat(each).timestamp() * 1000) for each in times if each]

    async def checkout(self, profile: Profile) -> Filed:
        """The checkout as it was; whatever is checked out there today, the work was not done on it."""
        branch, sha = self._metadata.get("branch"), self._metadata.get("git_sha")
        if profile.kind != "coding" or profile.root is None or branch is None or sha is None:
            return Filed(profile=replace(profile, kind="general"))
        told = pull_request_in(self._metadata)
        return Filed(profile=profile, git=GitFacts(root=profile.root, branch=branch, sha=sha, pull_request=told))

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        return tuple(PublicMessage(entry_id=tip, role="assistant", text="", at_ms=at_ms) for at_ms in self._times)
