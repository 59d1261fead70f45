"""One host session: takes its boundaries in order and hands them to the machine. It waits for no model and no server."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

from continuity.capture import Anchor, parse_receipts, receipt
from continuity.commands import Fork, Observe, Observed, OpenSession, Request, Settle
from continuity.lineage import Stay, choose
from continuity.places import Places
from continuity.shell.desk import Desk, kept
from continuity.shell.ledger import Ledger
from continuity.shell.ports import PathView
from continuity.shell.recalling import Composed, sources
from continuity.shell.runner import Runner, Spawn
from continuity.shell.settings import Settings
from continuity.state import State
from journal.disk import FORMAT
from journal.errors import JournalError, JournalLocked, JournalUnreadable, RowUnreadable
from journal.events import (
    BriefDelivered,
    CheckpointReferenced,
    CompactionNoticed,
    ReceiptAdopted,
    WorkBegun,
)
from journal.events.lifecycle import Level, OpenReason, PolicyValues
from journal.ids import EntryId, JournalId, ProjectName, SessionId
from journal.reader import open_reader
from journal.row import Header

type Receipt = dict[str, str | int | None]


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of the host, for the record."""

    name: str
    version: str
    level: Level
    extension: str
    """Our own version."""


class Prompted(msgspec.Struct, frozen=True):
    """What a prompt's boundary is to do with the host, if it can: mirror a receipt, insert a brief."""

    receipt: Receipt | None
    brief: Composed | None


class Session:
    """The boundaries of one session, one at a time and in the order in which they came."""

    def __init__(self, desk: Desk, places: Places, host: Host, spawn: Spawn) -> None:
        self.desk = desk
        self.places = places
        self.host = host
        self.runner = Runner(desk, spawn)
        self.blocked: str | None = None
        """Why nothing can be recorded, in words for a person; None while all is well."""
        self._turn = anyio.Lock()
        self._begun = anyio.Event()
        self._reason: OpenReason = "startup"
        self._left = False

    # -- boundaries ----------------------------------------------------------

    async def start(self, reason: OpenReason) -> None:
        """Lock, verify and replay the journal there is, settle lineage, and connect in the background."""
        try:
            await self._start(reason)
        finally:
            self._begun.set()

    async def _start(self, reason: OpenReason) -> None:
        async with self._turn:
            self._left = False
            self._reason = reason
            self._want_server(at_once=True)
            with self._guarded():
                if self.desk.ledger is not None:
                    await self._open(self.desk.ledger, reason)
                else:
                    await self._take_over(reason)
            self.runner.wake()

    async def prompted(self, anchor: object, *, characters: int, typed: bool) -> Prompted:
        """A prompt is on disk and the model has not been asked yet."""
        await self._begun.wait()
        async with self._turn:
            view = await self.desk.source.view(anchor)
            with self._guarded():
                if self.desk.ledger is None and self.blocked is None:
                    await self._create(view)
                elif self.desk.ledger is not None:
                    await self._place(self.desk.ledger, view)
            begun = WorkBegun(how="prompt" if typed else "custom", characters=characters)
            if self.desk.ledger is None:
                return Prompted(None, None)
            await self.desk.note(begun, tip=view.tip)
            self._want_server()
            self.runner.wake()
            return Prompted(self._unmirrored(view), await self._brief(view))

    async def settled(self, anchor: object | None, *, interrupted: bool) -> None:
        """The agent came to rest after the message `anchor`."""
        async with self._turn:
            if self.desk.ledger is None:
                return
            view = await self.desk.source.view(anchor)
            with self._guarded():
                await self._settle(self.desk.ledger, view, interrupted=interrupted)
            self._want_server()
            self.runner.wake()

    async def request(self, reason: str, focus: str | None = None) -> bool:
        """Make what was gathered due now; False when nothing new is there to save."""
        async with self._turn:
            ledger = self.desk.ledger
            if ledger is None:
                return False
            digest, bodies = kept(focus) if focus else (None, {})
            rows = await ledger.apply(Request(reason=reason, focus_sha256=digest), tip=None, bodies=bodies)
            self._want_server(at_once=True)
            self.runner.wake()
            return bool(rows)

    async def note(self, fact: Observed) -> None:
        """Record what the host announced, after the boundaries before it."""
        async with self._turn:
            await self.desk.note(fact)
            self.runner.wake()

    async def delivered(self, composed: Composed) -> None:
        """The brief went into the model's context: record what was put there and from which notes."""
        brief = composed.brief
        digest, bodies = kept(brief.text)
        delivered = BriefDelivered(
            brief_sha256=brief.sha256,
            characters=len(brief.text),
            sources=sources(brief.sources),
            how="steered",
            entry=None,
            complete=composed.complete,
        )
        await self.desk.note(delivered, bodies=bodies if digest == brief.sha256 else {})
        checkpoint = composed.checkpoint
        if checkpoint is not None:
            referenced = CheckpointReferenced(
                capture_id=checkpoint.capture_id,
                evidence=checkpoint.evidence or "answered",
                brief_sha256=brief.sha256,
            )
            await self.desk.note(referenced)

    async def leave(self, wait: Callable[[], None]) -> None:
        """The host goes to another session: what was gathered is captured here, and `wait` is called to see it end."""
        if self.desk.settings.summarize_on_shutdown:
            with self._guarded():
                await self.request("left-session")
        self._left = True
        wait()

    async def end_when_idle(self) -> None:
        """Let go of the journal once nothing is owed, unless the host came back meanwhile."""
        await self.runner.drained(3600)
        async with self._turn:
            if self._left:
                await self.runner.close("left-session")

    async def ending(self, seconds: float) -> bool:
        """The host quits: capture what was gathered and wait for what is owed, at most `seconds`."""
        if self.desk.settings.summarize_on_shutdown:
            with self._guarded():
                await self.request("quit")
        if self.desk.ledger is None:
            return True
        return await self.runner.drained(seconds)

    def _want_server(self, *, at_once: bool = False) -> None:
        """A server is needed only where something is written to."""
        if self.desk.profile.project is not None:
            self.desk.link.want(at_once=at_once)

    @property
    def state(self) -> State | None:
        """The state of the branch being written, or None without a journal."""
        return self.desk.ledger.state if self.desk.ledger else None

    # -- the journal ---------------------------------------------------------

    def _guarded(self) -> _Guard:
        return _Guard(self)

    async def _take_over(self, reason: OpenReason) -> None:
        view = await self.desk.source.view(None)
        path = await anyio.to_thread.run_sync(_existing, self.places, self.desk.session_id, view.root)
        if path is None:
            return
        ledger = await Ledger.open(path, self.desk.writer, self.desk.clock)
        self.desk.ledger = ledger
        await self._follow(ledger, view)
        await self._open(ledger, reason)
        await self._adopt(ledger, view)
        await self._notice_compaction(ledger, view)
        await self._settle(ledger, view, interrupted=bool(view.public) and view.public[-1].role == "user")

    async def _create(self, view: PathView) -> None:
        path = _journal_path(self.places, self.desk.session_id, view.root)
        header = Header(
            format=FORMAT,
            journal_id=JournalId(secrets.token_hex(16)),
            session_id=self.desk.session_id,
            root=view.root,
        )
        ledger = await Ledger.create(path, header, self.desk.writer, self.desk.clock)
        self.desk.ledger = ledger
        await self._open(ledger, self._reason)
        waiting, self.desk.waiting = self.desk.waiting, []
        await self.desk.note(*waiting)
        await self._adopt(ledger, view)
        await self._notice_compaction(ledger, view)

    async def _open(self, ledger: Ledger, reason: OpenReason) -> None:
        """Record the opening on the current branch, and on every other that still owes a verdict."""
        command = self._opening(reason)
        await ledger.apply(command, tip=None)
        for branch, state in ledger.states.items():
            if branch != ledger.current and (state.captures or state.gathered.owed is not None):
                await ledger.apply(command, tip=None, branch=branch)

    def _opening(self, reason: OpenReason) -> OpenSession:
        project = self.desk.profile.project
        return OpenSession(
            reason=reason,
            host=f"{self.host.name} {self.host.version}"[:200],
            version=self.host.extension,
            level=self.host.level,
            profile=self.desk.profile.recorded(),
            destination=ProjectName(project) if project else None,
            policy=policy_values(self.desk.settings),
            writer=self.desk.writer.writer,
            process=self.desk.writer.process,
        )

    # -- lineage -------------------------------------------------------------

    async def _follow(self, ledger: Ledger, view: PathView) -> None:
        """Go to the branch the path continues, or begin one."""
        chosen = choose([m.entry_id for m in view.public], ledger.trails, ledger.current)
        if isinstance(chosen, Stay):
            ledger.current = chosen.branch
        else:
            await ledger.fork(chosen.parent, chosen.position, Fork(reason="path-left", left_tip=chosen.left_tip))

    async def _place(self, ledger: Ledger, view: PathView) -> None:
        """Continue the branch the path is on; a branch that is left is captured, always."""
        before = ledger.current
        chosen = choose([m.entry_id for m in view.public], ledger.trails, before)
        if not isinstance(chosen, Stay) or chosen.branch != before:
            await ledger.apply(Request(reason="left-branch"), tip=None, branch=before)
        await self._follow(ledger, view)
        if ledger.current != before:
            await ledger.apply(self._opening("branch"), tip=None)
            self.runner.recaller.stale(ledger.current)
        await self._notice_compaction(ledger, view)

    async def _notice_compaction(self, ledger: Ledger, view: PathView) -> None:
        if view.compactions:
            rows = await ledger.apply(Observe(CompactionNoticed(entry=view.compactions[-1])), tip=None)
            if rows:
                self.runner.recaller.stale(ledger.current)

    async def _settle(self, ledger: Ledger, view: PathView, *, interrupted: bool) -> None:
        """Count what is public and new on the path since the last settled tip."""
        if view.tip is None:
            return
        ids = [message.entry_id for message in view.public]
        known = ledger.state.settled_tip
        new = view.public[ids.index(known) + 1 :] if known is not None and known in ids else view.public
        settle = Settle(
            tip=view.tip,
            messages=len(new),
            characters=sum(len(message.text) for message in new),
            interrupted=interrupted,
        )
        await ledger.apply(settle, tip=view.tip)

    # -- receipts and briefs -------------------------------------------------

    async def _adopt(self, ledger: Ledger, view: PathView) -> None:
        """Take over confirmed receipts of this path: what is open here, else the newest."""
        found, skipped = parse_receipts(view.receipts)
        if skipped:
            self.desk.voice.say("receipts", f"{skipped} unreadable receipt(s) in this session were passed over.")
        usable = [
            r
            for r in found
            if r.status == "confirmed" and r.kind == "checkpoint" and r.project == self.desk.profile.project
        ]
        for one in reversed(usable):
            fact = ReceiptAdopted(
                capture_id=one.capture_id,
                attempt=1,
                kind="checkpoint",
                project=ProjectName(one.project),
                source_tip=one.source_tip,
                content_sha256=one.content_digest,
                file_path=(one.file_path or "")[:1024],
                origin="session",
            )
            await ledger.apply(Observe(fact), tip=None)

    def _unmirrored(self, view: PathView) -> Receipt | None:
        """The newest confirmed checkpoint, if this path does not carry its receipt yet and does carry its tip."""
        ledger, state = self.desk.ledger, self.state
        checkpoint = state.checkpoint if state else None
        if ledger is None or state is None or checkpoint is None or state.digest is None:
            return None
        known = {r.capture_id for r in parse_receipts(view.receipts)[0] if r.status == "confirmed"}
        on_path = any(message.entry_id == checkpoint.source_tip for message in view.public)
        if not view.certain or checkpoint.capture_id in known or not on_path or checkpoint.content_sha256 is None:
            return None
        return receipt(
            project=checkpoint.project,
            identity=checkpoint.capture_id,
            kind=checkpoint.kind,
            status="confirmed",
            source_tip=EntryId(checkpoint.source_tip),
            content_sha256=checkpoint.content_sha256,
            file_path=checkpoint.path,
            anchor=Anchor(ledger.journal.header.journal_id, state.branch, state.position, state.digest),
        )

    async def _brief(self, view: PathView) -> Composed | None:
        """What is due now: with the server's answers if they come in time, else from what is kept here."""
        ledger = self.desk.ledger
        if ledger is None or not self.desk.settings.auto_recall or ledger.state.recall.due is None:
            return None
        recaller = self.runner.recaller
        if self.desk.link.connection is not None:
            await recaller.ready(ledger.current, self.desk.settings.recall_wait_seconds)
        elif self.desk.profile.project is not None:
            self.desk.voice.say("recall", "Memory is not connected yet; recall follows with a later prompt.")
        return await recaller.compose(ledger.current, ledger.state, view)


class _Guard:
    """Turns a journal that cannot be used into words: memory stands still, the session goes on."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, JournalError):
            return False
        session = self._session
        match error:
            case JournalLocked():
                session.blocked = "another process has this session open; memory is read-only here"
            case JournalUnreadable() | RowUnreadable():
                session.blocked = f"the journal cannot be read ({error}); it was left as it is, see `continuity audit`"
            case _:
                session.desk.unrecorded(error)
        if session.blocked is not None:
            session.desk.voice.say("journal", f"Continuity: {session.blocked}.", "warning")
        return True


def policy_values(settings: Settings) -> PolicyValues:
    """Return the settings that decisions depend on, as the journal keeps them."""
    cadence = settings.cadence
    return PolicyValues(
        capture=settings.capture_knowledge,
        recall=settings.auto_recall,
        on_compact=settings.checkpoint_on_compact,
        on_shutdown=settings.summarize_on_shutdown,
        cadence_characters=0 if cadence == "every" else cadence.characters,
        cadence_ms=0 if cadence == "every" else round(cadence.minutes * 60_000),
        chunk_chars=settings.summary_chunk_chars,
        recall_chars=settings.recall_chars,
    )


def _journal_path(places: Places, session_id: SessionId, root: EntryId | None) -> Path:
    """The session's journal; the same session id with another root is another journal."""
    usual = places.journal(session_id)
    if not usual.exists() or root is None or _root(usual) in (root, None):
        return usual
    return places.journal(SessionId(f"{session_id}-{root}"))


def _existing(places: Places, session_id: SessionId, root: EntryId | None) -> Path | None:
    path = _journal_path(places, session_id, root)
    return path if path.exists() else None


def _root(path: Path) -> EntryId | None:
    with open_reader(path) as reader:
        return reader.header.root
