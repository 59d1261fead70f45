"""One process's own journal: for calls of the agent's that belong to no journal it may write. It captures and recalls nothing."""

from __future__ import annotations

import secrets
from pathlib import Path

import anyio
import anyio.to_thread

from continuity.commands import CloseSession, CommandRejected, OpenSession
from continuity.places import Places, process_session
from continuity.profile import Profile
from continuity.shell.clock import Clock
from continuity.shell.desk import Desk
from continuity.shell.ledger import Ledger
from continuity.shell.link import MemoryLink
from continuity.shell.opening import policy_values
from continuity.shell.ports import NoSession, Voice
from continuity.shell.settings import Settings
from continuity.shell.settling import Settling
from journal.disk import FORMAT
from journal.errors import JournalError
from journal.ids import JournalId
from journal.row import Header, WriterRecord


class AdHoc:
    """The journal of a second process on one session, and of sessions without a file. Made at the first call, and not before."""

    def __init__(self, writer: WriterRecord, clock: Clock, voice: Voice, *, host: str, version: str) -> None:
        self._writer = writer
        self._clock = clock
        self._voice = voice
        self._host = host
        self._version = version
        self._turn = anyio.Lock()
        self._desk: Desk | None = None
        self._closed = False
        self.settling: Settling | None = None
        """A person's say over the calls recorded there, once it was made."""

    @property
    def path(self) -> Path | None:
        """Where it is, once it was made."""
        return self._desk.ledger.path if self._desk is not None and self._desk.ledger is not None else None

    async def desk(self, link: MemoryLink, places: Places, profile: Profile, settings: Settings) -> Desk:
        """Return what a call is recorded with, the journal open.

        Raises:
            CommandRejected: The process ends; nothing is recorded any more.
            JournalError: The journal could not be made.
        """
        async with self._turn:
            if self._closed:
                raise CommandRejected("ad-hoc", "the process ends")
            desk = self._desk or await self._made(link, places, profile, settings)
            self.settling = self.settling or Settling(desk, lambda: None)
            self._desk, desk.link, desk.profile, desk.settings = desk, link, profile, settings
            return desk

    async def _made(self, link: MemoryLink, places: Places, profile: Profile, settings: Settings) -> Desk:
        nobody = NoSession()
        desk = Desk(
            session_id=process_session(self._writer.writer),
            profile=profile,
            settings=settings,
            clock=self._clock,
            writer=self._writer,
            link=link,
            source=nobody,
            model=nobody,
            voice=self._voice,
        )
        header = Header(
            format=FORMAT, journal_id=JournalId(secrets.token_hex(16)), session_id=desk.session_id, root=None
        )
        with anyio.CancelScope(shield=True):  # a call that is given up leaves no half of it
            desk.ledger = await self._begun(places.adhoc(self._writer.writer), header, profile, settings)
        return desk

    async def _begun(self, path: Path, header: Header, profile: Profile, settings: Settings) -> Ledger:
        if await anyio.to_thread.run_sync(path.exists):  # it was made before, and nothing could be written to it then
            ledger = await Ledger.open(path, self._writer, self._clock)
        else:
            ledger = await Ledger.create(path, header, self._writer, self._clock)
        try:
            await ledger.apply(self._opening(profile, settings), tip=None)
        except BaseException:
            await ledger.close()
            raise
        return ledger

    def _opening(self, profile: Profile, settings: Settings) -> OpenSession:
        """Without a destination nothing but calls is ever due here."""
        return OpenSession(
            reason="ad-hoc",
            host=self._host,
            version=self._version,
            level="C",
            profile=profile.recorded(),
            destination=None,
            policy=policy_values(settings),
            writer=self._writer.writer,
            process=self._writer.process,
        )

    async def close(self, reason: str) -> None:
        """Record the outcomes that are still to be recorded and the end, and let go. Nothing is made any more."""
        async with self._turn:
            self._closed = True
            desk = self._desk
            if desk is None or desk.ledger is None:
                return
            await desk.catch_up()
            ledger, desk.ledger = desk.ledger, None
            try:
                await ledger.apply(CloseSession(reason=reason), tip=None)
            except JournalError as error:
                desk.unrecorded(error)
            finally:
                await ledger.close()
