"""A memory server as a process and a connection to it: it answers, or not, and lands what it was sent, or not.

What a request does and what is heard of it are drawn apart, when it arrives. A
write is carried out by the server's own process, at a time of its own: the
client may be dead by then, and a local server that is dead lands nothing more.
A cloud project lands what it has taken whatever becomes of the child.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Literal, cast

import anyio

from continuity.memory.calls import Answer, Json, Object, Progress, Ticket
from continuity.memory.errors import (
    AnswerUnreadable,
    CallFailed,
    CallRejected,
    CallTimedOut,
    ConnectFailed,
    ConnectionLost,
)
from continuity.memory.inventory import Inventory
from continuity.memory.notes import REFUSALS, WriteOutcome, judge_write
from journal.events.lifecycle import Process
from journal.ids import ConnectionId
from tests.simulation.machine import Kernel
from tests.simulation.notes import Identity, Listed, Maker, Note, Notes
from tests.simulation.world import Actor, World, turn

type Source = Literal["local", "cloud", "unlisted"]
type Plan = Literal["plain", "refused", "failed_landed", "failed_clean", "lied"]
type Heard = Literal["plain", "nothing", "late", "unreadable", "odd", "rejected"]


@dataclass(eq=False)
class Sent:
    """One `write_note` of ours, from the moment it left."""

    actor: int
    server: Server
    arguments: Object
    identity: Identity
    path: str
    plan: Plan
    heard: Heard
    attempt: int = 0
    """Which intent it answers to; the auditor finds out on the disk."""
    landed: Note | None = None
    over: bool = False
    """Nothing more can come of it."""
    forgotten: bool = False
    """The journal that accounts for it was lost: what it leaves is as from somebody else."""
    said: WriteOutcome | None = None
    """What the server answered, whether or not anybody heard it."""


class Server:
    """One server process with what belongs to its group."""

    def __init__(self, memory: Memory, process: Process, helper: Process | None) -> None:
        self.memory = memory
        self.process = process
        self.helper = helper
        self.alive = True
        self.ended = anyio.Event()
        self.waiting: list[asyncio.Future[Answer]] = []
        self.leaving = False
        """It lost its client and ends when it has done what it took."""

    def end(self, *, whole: bool = True) -> None:
        """It dies; unless `whole` a helper in its group lives on, and ends when it has done what was taken."""
        if not self.alive:
            return
        self.ended.set()
        for answer in self.waiting:
            if not answer.done():
                answer.set_exception(ConnectionLost("connection-lost", sent=True))
        if not whole and self.helper is not None:
            self.memory.kernel.end_one(self.process.pid)
            self.leaving = True
            return
        self.alive = False
        self.memory.kernel.end(self.process.process_group)
        self.memory.world.step(f"server ends: {self.process.pid}")


class Memory:
    """The project's notes, the servers in front of them and every write that was sent."""

    def __init__(self, world: World, kernel: Kernel) -> None:
        self.world = world
        self.kernel = kernel
        self.notes = Notes(world)
        self.source: Source = (
            "cloud" if world.strikes("cloud") else "unlisted" if world.strikes("unlisted") else "local"
        )
        self.sent: list[Sent] = []
        self.arrival = anyio.Event()
        """Set when the next write arrives."""
        self.received: list[Sent] = []
        """Sent writes nobody has looked at yet."""
        self.read: set[str] = set()
        """Capture ids that a read of ours was shown."""
        self.servers: list[Server] = []
        self.unstartable = False

    def start(self) -> Server:
        process = self.kernel.spawn()
        helper = self.kernel.spawn(group=process.process_group) if self.world.chance(0.5) else None
        server = Server(self, process, helper)
        self.servers.append(server)
        if self.world.chance(0.7):
            self.notes.catch_up()
        return server

    def may_land(self, sent: Sent) -> bool:
        """Whether this write can still put a note where there is none."""
        return sent.landed is None and not sent.over and (sent.server.alive or self.source == "cloud")

    def forget(self, captures: AbstractSet[str]) -> None:
        """Nobody accounts for these any more: their journal is gone."""
        for sent in self.sent:
            sent.forgotten = sent.forgotten or sent.identity[0] in captures
        for note in self.notes.all:
            if note.maker == "machine" and note.identity[0] in captures:
                note.maker = "tool"

    # -- writes --------------------------------------------------------------

    def receive(self, server: Server, arguments: Object, actor: Actor) -> tuple[Sent, asyncio.Future[Answer]]:
        metadata = cast("Mapping[str, str]", arguments["metadata"])
        sent = Sent(
            actor=actor.number,
            server=server,
            arguments=arguments,
            identity=(metadata["capture_id"], metadata["source_tip"]),
            path=f"{arguments['directory']}/{arguments['title']}.md",
            plan=self._plan(),
            heard=self._heard(),
        )
        self.sent.append(sent)
        self.received.append(sent)
        self.arrival.set()
        self.arrival = anyio.Event()
        self.world.step(f"write arrives: {sent.identity[0][:8]} {sent.plan} {sent.heard}")
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        server.waiting.append(answer)
        late = sent.heard == "late" or self.world.strikes("late")
        seconds = self.world.delay(self.world.dice.choice((8, 20, 60)) if late else 0.4)
        asyncio.get_running_loop().call_later(seconds, self._carry_out, sent, answer)
        return sent, answer

    def _plan(self) -> Plan:
        for plan in ("refused", "failed_landed", "failed_clean", "lied"):
            if self.world.strikes(plan):
                return plan
        return "plain"

    def _heard(self) -> Heard:
        if self.world.strikes("lost"):
            return "nothing"
        if self.world.strikes("garbled"):
            return self.world.dice.choice(("unreadable", "odd", "rejected"))
        return "late" if self.world.strikes("late") else "plain"

    def _carry_out(self, sent: Sent, answer: asyncio.Future[Answer]) -> None:
        """The server gets to it, if there still is one."""
        if not sent.server.alive and (self.source == "local" or self.world.chance(0.5)):
            sent.over = True
            return
        said = self._answer(sent)
        sent.over = True
        sent.said = judge_write(said)
        self.world.step(f"write done: {sent.identity[0][:8]} landed={sent.landed is not None}")
        if sent.server.leaving:
            asyncio.get_running_loop().call_later(self.world.delay(0.5), sent.server.end)
        if sent.heard != "nothing" and not answer.done() and sent.server.alive:
            asyncio.get_running_loop().call_later(self.world.delay(0.3), _give, answer, _oddly(sent, said, self.world))

    def _answer(self, sent: Sent) -> Answer:
        if sent.plan == "refused":
            return _tool_error({"action": "conflict", "error": self.world.dice.choice(sorted(REFUSALS))})
        if sent.plan == "failed_clean":
            return Answer(blocks=(_text("disk full"),), is_error=True)
        if sent.plan == "lied":
            return _result(_created(sent.path, str(sent.arguments["title"]), "0" * 64))
        if self.notes.occupied(sent.path):
            conflict: Json = {"action": "conflict", "error": "NOTE_ALREADY_EXISTS", "file_path": sent.path}
            return _tool_error(conflict) if self.world.chance(0.7) else _result(conflict)
        front = {**cast("Mapping[str, str]", sent.arguments["metadata"]), "type": str(sent.arguments["note_type"])}
        title, content = str(sent.arguments["title"]), str(sent.arguments["content"])
        maker: Maker = "tool" if sent.forgotten else "machine"
        sent.landed = self.notes.create(sent.path, title, content, front, maker)
        if sent.plan == "failed_landed":
            return Answer(blocks=(_text("Invalid frontmatter format"),), is_error=True)
        return _result(_created(sent.path, title, "1" * 64))

    # -- reads ---------------------------------------------------------------

    def reply(self, name: str, arguments: Object) -> Answer:
        """What a healthy server says to a reading tool now."""
        match name:
            case "read_note":
                return _result(self._read(str(arguments["identifier"])))
            case "search_notes":
                found = [_hit(listed) for listed in self.notes.listed() if self._matches(listed, arguments)]
                size = cast("int", arguments["page_size"])
                return _result({"results": found[:size], "total": len(found), "has_more": len(found) > size})
            case "build_context" | "recent_activity":
                return _result({"results": [_hit(listed) for listed in self.notes.listed()[:3]], "has_more": False})
            case "list_memory_projects":
                project: Json = {"name": "main", "source": self.source, "external_id": "1", "path": "/notes"}
                listed: Json = [] if self.source == "unlisted" else [project]
                return _result({"projects": listed})
            case _:
                raise AssertionError(name)

    def _read(self, identifier: str) -> Json:
        note = self.notes.at(identifier) or self.notes.at(f"{identifier}.md")
        if note is None:
            return {"title": None, "permalink": None, "file_path": None, "content": None, "error": "NOTE_NOT_FOUND"}
        self.read.add(note.front.get("capture_id", ""))
        return {
            "title": note.title,
            "permalink": note.permalink,
            "file_path": note.path,
            "content": f"\n{note.content}",
            "frontmatter": dict(note.front),
            "checksum": "2" * 64,
        }

    def _matches(self, listed: Listed, arguments: Object) -> bool:
        wanted = arguments.get("metadata_filters")
        if isinstance(wanted, Mapping) and any(listed.front.get(name) != value for name, value in wanted.items()):
            return False
        kinds = arguments.get("note_types")
        if isinstance(kinds, list) and listed.front.get("type") not in kinds:
            return False
        return arguments.get("search_type") != "title" or str(arguments.get("query")) in listed.title


class Connection:
    """What stands for `MemoryConnection`: one session with one server, calls made once."""

    def __init__(self, memory: Memory, server: Server, actor: Actor) -> None:
        self.id = ConnectionId(memory.world.token_hex(16))
        self.server = "basic-memory"
        self.version = "0.24.1"
        self.process = server.process
        self.stalled = False
        self._tools_changed = anyio.Event()
        self._memory = memory
        self._server = server
        self._actor = actor
        self._leaving = False

    @property
    def lost(self) -> bool:
        return self._leaving or self._server.ended.is_set()

    async def wait_tools_changed(self) -> None:
        await self._tools_changed.wait()

    async def wait_lost(self) -> None:
        await self._server.ended.wait()

    async def give_up_headless(self, seconds: float) -> None:
        """Nothing holds the line of a server that ended here, so its end is seen at once."""
        await self.wait_lost()

    def leave(self) -> None:
        self._leaving = True

    async def list_tools(self, seconds: float) -> Inventory:
        await turn(self._memory.world, self._actor, "call tools/list")
        return Inventory(server=self.server, version=self.version, tools=())

    async def call_tool(
        self,
        name: str,
        arguments: Object,
        seconds: float,
        *,
        ticket: Ticket | None = None,
        progress: Progress | None = None,
    ) -> Answer:
        world, ticket = self._memory.world, ticket or Ticket()
        await turn(world, self._actor, f"call {name}")
        if self.lost or world.strikes("unsent") or ticket.withdrawn:
            raise ConnectionLost("connection-lost", sent=False)
        ticket.mark_sent()
        try:
            with anyio.fail_after(seconds):
                answer = await (self._write(arguments) if name == "write_note" else self._ask(name, arguments))
        except TimeoutError as error:
            raise CallTimedOut("timeout", sent=True) from error
        finally:
            ticket.withdraw()
        await turn(world, self._actor, f"answer {name}")
        return answer

    async def _write(self, arguments: Object) -> Answer:
        sent, answer = self._memory.receive(self._server, arguments, self._actor)
        heard = await answer
        if sent.heard == "unreadable":
            raise AnswerUnreadable("answer-unreadable", sent=True)
        if sent.heard == "rejected":
            raise CallRejected("protocol-error", sent=True, text="internal error")
        return heard

    async def _ask(self, name: str, arguments: Object) -> Answer:
        """A read is answered with what is true at one moment between its sending and its coming back."""
        world = self._memory.world
        await anyio.sleep(world.delay(1.0))
        if self.lost:
            raise ConnectionLost("connection-lost", sent=True)
        if world.strikes("unread"):
            await self._unanswered()
        answer = self._memory.reply(name, arguments)
        await anyio.sleep(world.delay(1.0))
        if self.lost:
            raise ConnectionLost("connection-lost", sent=True)
        return answer

    async def _unanswered(self) -> None:
        match self._memory.world.dice.randrange(3):
            case 0:
                await anyio.sleep(600)
            case 1:
                raise AnswerUnreadable("answer-unreadable", sent=True)
            case _:
                raise CallFailed("protocol-error", sent=True)


@asynccontextmanager
async def connect(memory: Memory, actor: Actor) -> AsyncGenerator[Connection]:
    """Start a server for `actor` and talk to it; the server ends with the connection.

    Raises:
        ConnectFailed: None came up.
    """
    await turn(memory.world, actor, "start server", 3.0)
    if memory.unstartable or memory.world.strikes("connect"):
        raise ConnectFailed(memory.world.dice.choice(("exited", "timeout", "garbage")))
    server = memory.start()
    connection = Connection(memory, server, actor)
    try:
        yield connection
    finally:
        connection.leave()
        if actor.alive and server.alive:
            server.end()


def _give(answer: asyncio.Future[Answer], said: Answer) -> None:
    if not answer.done():
        answer.set_result(said)


def _oddly(sent: Sent, said: Answer, world: World) -> Answer:
    """What arrives: the answer as it was said, or something that is not one."""
    if sent.heard != "odd":
        return said
    odd: tuple[Answer, ...] = (
        Answer(blocks=(_text('{"action": "crea'),)),
        Answer(blocks=(_text("{}"),), structured={"result": {"action": "created"}}),
        Answer(blocks=(), structured=None),
        _result({"action": "updated", "file_path": sent.path}),
        Answer(blocks=(_text("Failed to write"),)),
        _tool_error({"error": "SOMETHING_NEW", "file_path": sent.path}),
    )
    return world.dice.choice(odd)


def _created(path: str, title: str, checksum: str) -> Json:
    permalink = f"main/{path.removesuffix('.md')}"
    return {"title": title, "permalink": permalink, "file_path": path, "checksum": checksum, "action": "created"}


def _hit(listed: Listed) -> Json:
    return {
        "title": listed.title,
        "permalink": f"main/{listed.path.removesuffix('.md')}",
        "file_path": listed.path,
        "type": "entity",
        "content": listed.content,
        "metadata": dict(listed.front),
    }


def _text(text: str) -> Object:
    return {"type": "text", "text": text}


def _result(said: Json) -> Answer:
    return Answer(blocks=(_text(json.dumps(said)),), structured={"result": said})


def _tool_error(said: Json) -> Answer:
    return Answer(blocks=(_text(json.dumps(said)),), is_error=True)
