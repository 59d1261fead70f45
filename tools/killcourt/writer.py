"""The writing process of a headless sitting: the real session, runner, ledger and link, with a host made of files.

    python -m tools.killcourt.writer FOLDER SESSION

It takes one JSON command a line on stdin and says what happens as JSON lines on
stdout. It dies with its stdin, so a court that was killed leaves nobody behind.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from functools import partial
from pathlib import Path
from typing import NamedTuple, cast

import anyio
import msgspec

from continuity.capture import PublicMessage
from continuity.memory.liveness import identify
from continuity.memory.notes import search_notes
from continuity.memory.server import ServerSpec, child_environment
from continuity.places import places
from continuity.shell.clock import SystemClock
from continuity.shell.desk import Desk
from continuity.shell.link import MemoryLink
from continuity.shell.opening import Host
from continuity.shell.owner import Owner
from continuity.shell.ports import NoticeLevel, PathView
from continuity.shell.session import Session
from continuity.shell.settings import Settings
from journal.events.lifecycle import OpenReason
from journal.ids import CaptureId, EntryId, SessionId, WriterId
from journal.row import WriterRecord
from tests.fakes import relay
from tests.fakes.basic_memory import ARGS, COMMAND, BasicMemoryHome
from tests.fakes.tau_home import relayed

PROJECT = "main"
ANSWER_SECONDS = 30.0

_HANDOFF = """\
## Objective
Bring turn {turn} of the trial to its end — whatever ends first.

## Decisions
- Turn {turn} is decided by reading, never by hoping.

## Verified work
- Claimed: turn {turn} was spoken. Verified: {characters} characters were read.

## Unfinished work
- Every turn after {turn}.

## Next action
Speak turn {next}.

END-OF-HANDOFF
"""


def say(what: str, **facts: object) -> None:
    """Tell the court, at once."""
    sys.stdout.write(json.dumps({"at_ns": time.time_ns(), "what": what, **facts}) + "\n")
    sys.stdout.flush()


class SpokenSession:
    """The session file of a host that only talks: one public message a line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        self._messages = [msgspec.json.decode(line, type=PublicMessage) for line in lines]

    @property
    def turns(self) -> int:
        return len(self._messages) // 2

    def speak(self, clock: SystemClock) -> None:
        """Append a prompt and its answer."""
        turn = self.turns + 1
        said = (("user", f"Please do turn {turn}: “ünïcode” and all."), ("assistant", f"Turn {turn} is done. " * 9))
        for role, text in said:
            entry = EntryId(f"{len(self._messages) + 1:08x}")
            self._append(PublicMessage(entry, "user" if role == "user" else "assistant", text, clock.now_ms()))

    def _append(self, message: PublicMessage) -> None:
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(message) + b"\n")
        self._messages.append(message)

    async def view(self, anchor: object | None) -> PathView:  # noqa: ARG002 - the shell's interface
        """There is one path, and it ends at the newest message."""
        return PathView(
            root=EntryId("00000001"),
            public=tuple(self._messages),
            compactions=(),
            receipts=(),
            briefs_in_context=frozenset(),
            certain=True,
        )

    async def messages(self, tip: EntryId) -> tuple[PublicMessage, ...]:
        for index, message in enumerate(self._messages):
            if message.entry_id == tip:
                return tuple(self._messages[: index + 1])
        return ()


class Said(NamedTuple):
    """One answer of the model."""

    text: str
    model: str = "scripted"
    tokens_in: int = 1
    tokens_out: int = 1


class Scribe:
    """The model: another handoff for every turn, at once. The court's clock may start when it is made."""

    def __init__(self, spoken: SpokenSession) -> None:
        self._spoken = spoken

    async def summarize(self, text: str, *, instructions: str, timeout: float) -> Said:  # noqa: ARG002 - the shell's
        turn = self._spoken.turns
        say("ready", turn=turn)
        return Said(_HANDOFF.format(turn=turn, next=turn + 1, characters=len(text)))


class Announcer:
    """Notices go to the court's record."""

    def say(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        say("notice", topic=topic, text=text, level=level)

    def at_once(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        self.say(topic, text, level)

    def answer(self, text: str, level: NoticeLevel = "info") -> None:
        say("notice", topic="answer", text=text, level=level)


class Rival:
    """The rule "search by metadata", asked when our own first probe is made, and never again for the same capture."""

    def __init__(self, desk: Desk, owner: Owner) -> None:
        self._desk = desk
        self._owner = owner
        self._asked: set[CaptureId] = set()

    def look(self) -> None:
        """Ask about every doubted write, if there is a server to ask."""
        ledger = self._desk.ledger
        if self._desk.link.connection is None or ledger is None:
            return
        doubted = [c for state in ledger.states.values() for c in state.captures if c.status == "in_doubt"]
        for capture in doubted:
            if capture.capture_id not in self._asked:
                self._asked.add(capture.capture_id)
                self._owner.spawn("rival", partial(self._ask, capture.capture_id))

    async def _ask(self, identity: CaptureId) -> None:
        connection = self._desk.link.connection
        if connection is None:
            return
        filters = {"capture_id": identity}
        found = await search_notes(connection, PROJECT, ANSWER_SECONDS, metadata_filters=filters, after_date=None)
        said = "nothing" if found.outcome == "answered" else "unreachable"
        say("searched", capture=identity, said="found" if found.hits else said)


class Writer:
    """One life of the writing process."""

    def __init__(self, folder: Path, session_id: SessionId) -> None:
        self._where = places(folder / "tau")
        self._where.state.mkdir(parents=True, exist_ok=True)
        self._clock = SystemClock()
        self._spoken = SpokenSession(folder / "messages.jsonl")
        self._owner = Owner(lambda name, error: say("failed", job=name, error=type(error).__name__))
        self._desk = self._make_desk(folder, session_id)
        about = Host(name="killcourt", version="0", level="B", extension="0")
        self._session = Session(self._desk, self._where, about, self._owner.spawn)
        self._rival = Rival(self._desk, self._owner)

    def _make_desk(self, folder: Path, session_id: SessionId) -> Desk:
        settings = Settings(project=PROJECT, cadence="every", auto_recall=False, scope="court")
        journals = str(self._where.state / "*.journal")
        env = BasicMemoryHome(folder / "memory").environment() | {relay.JOURNALS_ENV: journals}
        told = relayed(folder / "relay", COMMAND, *ARGS)
        spec = ServerSpec(
            command=str(told["command"]),
            args=tuple(cast("list[str]", told["args"])),
            env=child_environment(env, {}),
            cwd=str(self._where.state),
        )
        return Desk(
            session_id=session_id,
            profile=settings.profile(folder, folder),
            settings=settings,
            clock=self._clock,
            writer=WriterRecord(writer=WriterId(secrets.token_hex(16)), process=identify(os.getpid())),
            link=MemoryLink(spec, settings.timeout_seconds, lambda _: None),
            source=self._spoken,
            model=Scribe(self._spoken),
            voice=Announcer(),
        )

    async def live(self) -> None:
        """Start, obey until told to quit, and leave as a host would."""
        link = self._desk.link
        link.listen(self._rival.look)
        self._owner.spawn("memory", link.run, daemon=True)
        self._owner.spawn("session", self._session.runner.run, daemon=True)
        reason: OpenReason = "resume" if self._spoken.turns else "startup"
        self._owner.spawn("start", partial(self._session.start, reason))
        say("started", pid=os.getpid())
        async for line in anyio.wrap_file(sys.stdin):
            match json.loads(line)["do"]:
                case "turn":
                    self._owner.spawn("turn", self._turn)
                case "want":
                    self._owner.spawn("want", self._want)
                case _:
                    await self._quit()
                    return
        os._exit(1)  # the court is gone

    async def _want(self) -> None:
        await self._desk.link.up(ANSWER_SECONDS)

    async def _turn(self) -> None:
        """A prompt, its answer, and the agent at rest."""
        self._spoken.speak(self._clock)
        await self._session.prompted(None, characters=10, typed=True)
        await self._session.settled(None, interrupted=False)

    async def _quit(self) -> None:
        await self._session.ending(self._desk.settings.exit_timeout_seconds)
        await self._owner.close()
        await self._session.runner.close("quit")
        say("ended")


async def main(folder: Path, session_id: SessionId) -> None:
    await Writer(folder, session_id).live()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), SessionId(sys.argv[2]))
