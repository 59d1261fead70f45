"""The intent protocol as a small world: the pure core, one process at a time, servers, notes, a person, a rival.

Everything that can happen is a move from one world to the next, and no move is
drawn: `moves` yields them all. Time is left out: whatever is spaced is due, so
every order of events is possible that any clock could bring about. Positions
are kept by rank and counts of reads are cut, so that worlds with the same
future are the same world.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import msgspec
from msgspec.structs import replace

from continuity.commands import (
    BeginCapture,
    Command,
    CommandRejected,
    Fork,
    Observe,
    OpenSession,
    RecordProbe,
    Request,
    Resolve,
    Settle,
    SubmitWrite,
)
from continuity.decide import decide
from continuity.due import Begin, Effect, Policy, Prefetch, Probe, Submit, Synthesise, Transcribe, due
from continuity.evolve import fold
from continuity.state import Capture, State
from journal.events import MemoryConnected, MemoryLost, SynthesisFinished, WriteAnswered
from journal.events.lifecycle import PolicyValues, Process, Profile
from journal.events.writes import Decision, NoteAddress, Observation, Outcome, ServerState, Way
from journal.ids import BranchId, CaptureId, ConnectionId, EntryId, ProjectName, Sha256, WriterId
from journal.row import Row

FOREVER_MS = 10**15
OURS, THEIRS = Sha256("b" * 64), Sha256("e" * 64)
_METADATA = Sha256("f" * 64)
_PROJECT = ProjectName("main")
_POLICY = PolicyValues(
    capture=True,
    recall=False,
    on_compact=True,
    on_shutdown=True,
    cadence_characters=0,
    cadence_ms=0,
    chunk_chars=1000,
    recall_chars=1000,
)
_PROFILE = Profile(kind="general", scope="work", repository=None, folder="f")

type Place = Literal["address", "elsewhere"]
type Stage = Literal["intended", "sent", "done"]


class Call(msgspec.Struct, frozen=True):
    """One intent's call: about to be made, with the server, or carried out. `said` is what the server answered."""

    tip: int
    attempt: int
    server: int
    stage: Stage
    said: Outcome | None = None
    code: str | None = None
    heard: bool = False
    """Its outcome was recorded, or the process that waited for it is gone."""


class Note(msgspec.Struct, frozen=True):
    """One note where tip `at` has its address, or elsewhere."""

    at: int
    place: Place
    bears: int | None
    """The tip whose identity it declares; none for a stranger's."""
    body: Sha256
    declared: Sha256
    ours: bool
    indexed: bool


class Look(msgspec.Struct, frozen=True):
    """A probe under way: what has been seen so far."""

    tip: int
    attempt: int
    status: str
    writing: ServerState
    seen: tuple[Observation, ...] = ()
    proven: bool = False
    asked: int = 0


class Budget(msgspec.Struct, frozen=True):
    """How often each thing may still happen."""

    tips: int = 2
    crashes: int = 2
    servers: int = 3
    kills: int = 2
    touches: int = 1
    rivals: int = 1
    decisions: int = 1
    echoes: int = 1
    unsent: int = 1
    looks: int = 1


class Setting(msgspec.Struct, frozen=True):
    """One world."""

    state: State = State(branch=BranchId(1))
    writer: int = 0
    up: bool = False
    connection: int = 0
    alive: frozenset[int] = frozenset()
    calls: tuple[Call, ...] = ()
    notes: tuple[Note, ...] = ()
    look: Look | None = None
    asked: Look | None = None
    """A second probe, which a person asked for while the first was under way."""
    left: Budget = Budget()
    tips: int = 0


type Move = tuple[str, Setting]


def capture_of(tip: int) -> CaptureId:
    return CaptureId(f"{tip:064x}")


def tip_of(capture: Capture) -> int:
    return int(capture.capture_id, 16)


def told(world: Setting, *commands: Command, tip: int | None = None) -> Setting | None:
    """The world after the machine took `commands`; None if it refuses one, or if nothing follows from them."""
    state = world.state
    for command in commands:
        try:
            events = decide(state, command)
        except CommandRejected:
            return None
        rows = [
            Row(
                event=event,
                branch=BranchId(1),
                position=state.position + number,
                at_ms=1,
                tip=state.tip if tip is None else EntryId(f"t{tip}"),
                cause=None,
                digest=Sha256("0" * 64),
            )
            for number, event in enumerate(events, start=1)
        ]
        state = fold(rows, state)
    return None if state is world.state else replace(world, state=_plain(state))


def _plain(state: State) -> State:
    """The same for all states that differ only in when and how often."""
    live = [*state.captures, *([state.checkpoint] if state.checkpoint else [])]
    ranks = {at: rank for rank, at in enumerate(sorted({c.begun_position for c in live}), start=1)}

    def plain(capture: Capture) -> Capture:
        return replace(capture, begun_position=ranks[capture.begun_position], probes=min(capture.probes, 1), failures=0)

    return replace(
        state,
        position=len(ranks),
        captures=tuple(plain(capture) for capture in state.captures),
        checkpoint=plain(state.checkpoint) if state.checkpoint else None,
        gathered=replace(state.gathered, messages=min(state.gathered.messages, 1), characters=0),
    )


def moves(world: Setting) -> Iterator[Move]:
    """Everything that can happen next."""
    yield from _of_the_servers(world)
    yield from _of_the_notes(world)
    if not world.up:
        opened = told(replace(world, writer=world.writer + 1, up=True), _opening(world.writer + 1))
        if opened is not None:
            yield "open", opened
        return
    if world.left.crashes:
        yield "crash", _crashed(world)
    yield from _of_the_host(world)
    yield from _of_the_connection(world)
    yield from _of_the_calls(world)
    yield from _of_the_runner(world)
    yield from _of_the_person(world)


def after(*names: str) -> Setting:
    """The world that these moves lead to from an empty journal."""
    world = Setting()
    for name in names:
        world = next(made for move, made in moves(world) if move == name)
    return world


_FIRST = ("open", "settle 1", "server 1 starts", "begin", "synthesise", "submit", "1.1 is sent", "1.1 lands")
_SAVED = (*_FIRST, "1.1 is heard", "a note is indexed")
_SECOND = (*_SAVED, "settle 2", "begin", "synthesise", "submit")


def second_write() -> Setting:
    """A checkpoint is saved and in the index, and the next one's intent is on disk."""
    return after(*_SECOND)


def absence() -> Setting:
    """The second write was not heard of, its server is gone, and it is being looked for."""
    lost = ("2.1 is sent", "2.1 is lost", "server 1 dies", "connection lost", "server 2 starts", "probe")
    return after(*_SECOND, *lost)


BEGINNINGS = {"an empty journal": Setting, "a second write": second_write, "a proof of absence": absence}


def _spent(world: Setting, what: str) -> Setting:
    return replace(world, left=replace(world.left, **{what: getattr(world.left, what) - 1}))


def _crashed(world: Setting) -> Setting:
    """What was not sent is gone with the process; what was sent is with its server, and nobody waits for it."""
    calls = tuple(replace(call, heard=True) for call in world.calls if call.stage != "intended")
    return replace(_spent(world, "crashes"), up=False, connection=0, calls=calls, look=None, asked=None)


def _opening(writer: int) -> OpenSession:
    return OpenSession(
        reason="startup",
        host="h",
        version="0",
        level="B",
        profile=_PROFILE,
        destination=_PROJECT,
        policy=_POLICY,
        writer=WriterId(f"w{writer}"),
        process=_process(0),
    )


def _process(number: int) -> Process:
    return Process(machine="m", boot="b", pid_namespace="n", pid=number, process_group=number, started=1)


# -- the host and the connection -----------------------------------------------


def _of_the_host(world: Setting) -> Iterator[Move]:
    if world.left.tips:
        tip = world.tips + 1
        settle = Settle(tip=EntryId(f"t{tip}"), messages=1, characters=1, interrupted=False)
        settled = told(replace(_spent(world, "tips"), tips=tip), settle, Request(reason="command"), tip=tip)
        if settled is not None:
            yield f"settle {tip}", settled


def _connected(server: int) -> MemoryConnected:
    return MemoryConnected(
        connection=ConnectionId(f"c{server}"),
        server="bm",
        server_version="0",
        inventory_sha256=None,
        project_source="local",
        process=_process(server),
    )


def _of_the_connection(world: Setting) -> Iterator[Move]:
    if not world.connection and world.left.servers:
        server = 1 + max((*world.alive, *(call.server for call in world.calls), _last(world)), default=0)
        begun = replace(_spent(world, "servers"), connection=server, alive=world.alive | {server})
        connected = told(begun, Observe(_connected(server)))
        if connected is not None:
            yield f"server {server} starts", connected
    if world.connection and world.connection not in world.alive:
        gone = replace(world, connection=0)
        lost = Observe(MemoryLost(connection=ConnectionId(f"c{world.connection}"), error="lost"))
        yield "connection lost", told(gone, lost) or gone


def _last(world: Setting) -> int:
    """The highest server there was: numbers are not used twice."""
    return Budget().servers - world.left.servers


# -- servers and notes -----------------------------------------------------------


def _of_the_servers(world: Setting) -> Iterator[Move]:
    for index, call in enumerate(world.calls):
        if call.stage == "sent" and call.server in world.alive:
            yield f"{call.tip}.{call.attempt} lands", _landed(world, index, call)
            yield f"{call.tip}.{call.attempt} is refused", _done(world, index, "refused", "NOTE_LOCKED")
            yield f"{call.tip}.{call.attempt} fails", _done(world, index, "unknown", "error-text")
    if world.left.kills:
        for server in sorted(world.alive):
            ended = replace(_spent(world, "kills"), alive=world.alive - {server})
            yield f"server {server} dies", ended


def _landed(world: Setting, index: int, call: Call) -> Setting:
    if any(note.at == call.tip and note.place == "address" for note in world.notes):
        return _done(world, index, "unknown", "NOTE_ALREADY_EXISTS")
    note = Note(call.tip, "address", call.tip, OURS, OURS, ours=True, indexed=False)
    return replace(_done(world, index, "accepted", None), notes=_sorted((*world.notes, note)))


def _done(world: Setting, index: int, said: Outcome, code: str | None) -> Setting:
    done = replace(world.calls[index], stage="done", said=said, code=code)
    return replace(world, calls=(*world.calls[:index], done, *world.calls[index + 1 :]))


def _sorted(notes: tuple[Note, ...]) -> tuple[Note, ...]:
    return tuple(sorted(notes, key=repr))


def _of_the_notes(world: Setting) -> Iterator[Move]:
    """The index takes a note in; somebody moves, edits or deletes one; a rival writes where ours is to be."""
    for index, note in enumerate(world.notes):
        others = (*world.notes[:index], *world.notes[index + 1 :])
        if not note.indexed:
            yield "a note is indexed", replace(world, notes=_sorted((*others, replace(note, indexed=True))))
        if not world.left.touches:
            continue
        touched = _spent(world, "touches")
        if note.place == "address":
            moved = replace(note, place="elsewhere", indexed=True)
            yield "a note is moved", replace(touched, notes=_sorted((*others, moved)))
        yield "a note is edited", replace(touched, notes=_sorted((*others, replace(note, body=THEIRS))))
        yield "a note is deleted", replace(touched, notes=others)
    for capture in world.state.captures if world.left.rivals else ():
        tip = tip_of(capture)
        if not any(note.at == tip and note.place == "address" for note in world.notes):
            twin = Note(tip, "address", tip, THEIRS, THEIRS, ours=False, indexed=False)
            stranger = replace(twin, bears=None)
            for name, note in (("twin", twin), ("stranger", stranger)):
                yield f"a {name} at {tip}", replace(_spent(world, "rivals"), notes=_sorted((*world.notes, note)))


# -- calls -------------------------------------------------------------------------


def _of_the_calls(world: Setting) -> Iterator[Move]:
    for index, call in enumerate(world.calls):
        others = (*world.calls[:index], *world.calls[index + 1 :])
        name = f"{call.tip}.{call.attempt}"
        if call.stage == "intended":
            if call.server in world.alive:
                yield f"{name} is sent", replace(world, calls=(*others, replace(call, stage="sent")))
            if world.left.unsent:
                unsent = _heard(_spent(world, "unsent"), call, others, "not-sent", "connection-lost", keep=False)
                yield f"{name} is not sent", unsent
        elif not call.heard:
            yield f"{name} is lost", _heard(world, call, others, "unknown", "timeout", keep=True)
            if call.said is not None and call.server in world.alive:
                yield f"{name} is heard", _heard(world, call, others, call.said, call.code, keep=True)
        elif call.said is not None and world.left.echoes:
            yield (
                f"{name} is heard again",
                _heard(_spent(world, "echoes"), call, others, call.said, call.code, keep=True),
            )


def _heard(
    world: Setting, call: Call, others: tuple[Call, ...], outcome: Outcome, code: str | None, *, keep: bool
) -> Setting:
    answered = WriteAnswered(
        capture_id=capture_of(call.tip),
        attempt=call.attempt,
        outcome=outcome,
        code=code,
        file_path=f"f/{call.tip}.md" if outcome == "accepted" else None,
        permalink=None,
        checksum=None,
    )
    after = replace(world, calls=(*others, replace(call, heard=True)) if keep else others)
    return told(after, Observe(answered)) or after


# -- the runner and the person -------------------------------------------------------


def _of_the_runner(world: Setting) -> Iterator[Move]:
    policy = Policy(ConnectionId(f"c{world.connection}") if world.connection else None)
    if world.look is not None:
        yield from _looked(world, world.look)
    if world.asked is not None:
        aside = replace(world, look=world.asked, asked=None)
        for name, after in _looked(aside, world.asked):
            yield f"person: {name}", replace(after, look=world.look, asked=after.look)
    for effect in due(world.state, policy, FOREVER_MS).effects:
        done = _performed(world, effect)
        if done is not None:
            yield type(effect).__name__.lower(), done


def _performed(world: Setting, effect: Effect) -> Setting | None:
    match effect:
        case Begin():
            return _begun(world, effect)
        case Synthesise():
            finished = SynthesisFinished(
                capture_id=effect.capture_id,
                handoff_sha256=Sha256("a" * 64),
                characters=1,
                chunks=1,
                maskings=0,
                rule_set=1,
                model=None,
                tokens_in=0,
                tokens_out=0,
            )
            return told(world, Observe(finished))
        case Submit():
            return _submitted(world, effect)
        case Probe():
            return _looking(world, effect) if world.look is None else None
        case Prefetch() | Transcribe():  # this search is of one write's protocol; sessions here make no transcripts
            return None


def _begun(world: Setting, effect: Begin) -> Setting | None:
    begin = BeginCapture(
        capture_id=capture_of(int(effect.tip[1:])),
        kind="checkpoint",
        project=_PROJECT,
        source_tip=effect.tip,
        reason=effect.reason,
    )
    return told(world, begin)


def _submitted(world: Setting, effect: Submit) -> Setting | None:
    tip = int(effect.capture_id, 16)
    submit = SubmitWrite(
        capture_id=effect.capture_id,
        address=NoteAddress(folder="f", title=str(tip)),
        content_sha256=OURS,
        note_type="session",
        metadata_sha256=_METADATA,
        writer=WriterId(f"w{world.writer}"),
        connection=ConnectionId(f"c{world.connection}"),
    )
    after = told(world, Observe(_connected(world.connection)), submit)
    capture = after.state.capture(effect.capture_id) if after is not None else None
    if after is None or capture is None:
        return None
    return replace(after, calls=(*after.calls, Call(tip, capture.attempt, world.connection, "intended")))


def _looking(world: Setting, effect: Probe) -> Setting | None:
    """The writing server is looked at first; the reads come later, one by one."""
    capture = world.state.capture(effect.capture_id)
    if capture is None:
        return None
    server = capture.intent.server if capture.intent is not None else None
    writing: ServerState = "unknown" if server is None else "alive" if server.process.pid in world.alive else "gone"
    return replace(world, look=Look(tip_of(capture), capture.attempt, capture.status, writing))


_WAYS: tuple[Way, ...] = ("address", "title", "id_search")


def _looked(world: Setting, look: Look) -> Iterator[Move]:
    """The next read, or the verdict. A read may fail; the index knows what it has taken in."""
    capture = world.state.capture(capture_of(look.tip))
    if capture is None:
        yield "look in vain", replace(world, look=None)
        return
    settled = any(seen.capture_id == capture.capture_id for seen in look.seen)
    if look.asked == len(_WAYS) or settled:
        yield "probed", _recorded(world, look)
        return
    if world.connection not in world.alive:
        failed = _seen(_WAYS[look.asked], None, found="unreachable")
        yield "read fails", replace(world, look=_further(world, look, (failed,)))
        return
    way = _WAYS[look.asked]
    found = tuple(_seen(way, note) for note in world.notes if _shows(way, note, look.tip))
    yield f"read by {way}", replace(world, look=_further(world, look, found or (_seen(way, None, found="nothing"),)))


def _shows(way: Way, note: Note, tip: int) -> bool:
    if way == "address":
        return note.at == tip and note.place == "address"
    if way == "title":
        return note.at == tip and note.indexed
    return note.bears == tip and note.indexed


def _further(world: Setting, look: Look, seen: tuple[Observation, ...]) -> Look:
    """Before its id search a probe asks whether the index knows a note that was confirmed earlier."""
    proven = look.proven
    if look.asked == 1:
        known = world.state.checkpoint
        earlier = None if known is None or tip_of(known) == look.tip else tip_of(known)
        proven = any(note.bears == earlier and note.indexed for note in world.notes) if earlier is not None else False
    return replace(look, seen=(*look.seen, *seen), asked=look.asked + 1, proven=proven)


def _seen(way: Way, note: Note | None, found: Literal["note", "nothing", "unreachable"] = "note") -> Observation:
    bears = note.bears if note is not None else None
    return Observation(
        by=way,
        found=found,
        capture_id=None if bears is None else capture_of(bears),
        source_tip=None if bears is None else EntryId(f"t{bears}"),
        declared_sha256=None if note is None else note.declared,
        content_sha256=None if note is None else note.body,
        file_path=None if note is None else f"{'f' if note.place == 'address' else 'g'}/{note.at}.md",
        checksum=None,
    )


def _recorded(world: Setting, look: Look) -> Setting:
    probe = RecordProbe(
        capture_id=capture_of(look.tip),
        attempt=look.attempt,
        status=look.status,
        connection=ConnectionId(f"c{world.connection}") if world.connection else None,
        observations=look.seen,
        writing_server=look.writing,
        project_source="local",
        index_proven=look.proven,
    )
    after = replace(world, look=None)
    return told(after, probe) or after


def _of_the_person(world: Setting) -> Iterator[Move]:
    """Looks, and settles what is open in any way that is allowed; accepting on a person's word is left out."""
    if world.look is not None and world.left.looks and world.connection:
        beside = replace(world.look, seen=(), proven=False, asked=0)
        yield "person: looks too", replace(_spent(world, "looks"), asked=beside)
    decisions: tuple[Decision, ...] = ("abandon", "rewrite")
    for capture in world.state.captures if world.left.decisions else ():
        for decision in decisions:
            resolve = Resolve(capture_id=capture.capture_id, decision=decision, reason_sha256=Sha256("a" * 64))
            after = told(_spent(world, "decisions"), resolve)
            if after is not None:
                yield f"person: {decision} {tip_of(capture)}", after


def forked(world: Setting) -> State:
    """What a fork from here would begin with."""
    after = told(world, Fork(reason="path-left", left_tip=None))
    return after.state if after is not None else world.state
