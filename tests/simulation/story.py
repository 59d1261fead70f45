"""One seed's story: a person works, things break, and in the end everything calms down and must be settled.

The acts are drawn from the seed. After the last one no fault comes any more:
every process ends, every server ends, the index catches up, each session is
taken up once more, and nothing may be left open that reading can settle.

Real are the core, the runner, the sessions, the ledger, the link, the calls of
`memory` and how they judge answers, recall, the journal's store, lock and
reader, and SQLite with its files. Models are what stands around them: the host
with its session file, the memory server with its processes and its index, the
model, the kernel's list of processes, the disk's failures, clocks and
randomness. Everything runs on one event loop whose time is virtual and whose
threads run in line, so a seed is the same story every time. Processes are
groups of tasks: a killed one is cut off from disk, lock and server first, and
only then are its tasks ended.

Not in it: a power failure that takes back a durable commit, a descendant of a
server that left its session, an index that loses a note somebody moved, and
MCP's own wire, for which `tests/memory` has a real child.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio

from continuity.commands import CommandRejected, Resolve
from continuity.due import MOST_OPEN_TRANSCRIPTS
from continuity.evolve import fold
from continuity.shell.settings import Cadence, Settings
from continuity.state import Capture
from journal.errors import JournalError
from journal.events import CompactionEnded, CompactionStarted, WriteAnswered, WriteIntended
from journal.events.lifecycle import OpenReason
from journal.events.writes import Decision
from journal.ids import CaptureId, SessionId, Sha256
from journal.reader import open_reader
from replay.audit import audit
from tests.simulation import loop
from tests.simulation.host import SessionFile
from tests.simulation.machine import Disk, Kernel
from tests.simulation.process import TauProcess
from tests.simulation.server import Memory, Sent
from tests.simulation.stage import fast_folder, staged
from tests.simulation.truth import Mirror, Truth
from tests.simulation.world import ACTOR, Broken, Mixture, World

ACTS = 60
BUSY = 1000
BUSY_PER_SECOND = 2
"""More steps than one act can be worth, and each second it takes."""

type Act = Callable[[Story], Awaitable[None]]


class Played(NamedTuple):
    """What a seed came to."""

    seed: int
    steps: int
    rows: int
    counts: dict[str, int]
    trace: str
    broken: str | None
    lately: tuple[str, ...]


class Story:
    """A person with some sessions, up to two processes, and one project."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.dice = world.dice
        self.kernel = Kernel(world)
        self.memory = Memory(world, self.kernel)
        self.processes: list[TauProcess] = []
        self.truth = Truth(world, self.memory, self.processes)
        self.disk = Disk(world, self.truth.committed)
        self.files: list[SessionFile] = []
        world.watchers.append(self.truth.step)
        self.settings = Settings(
            project="main",
            timeout_seconds=5,
            summary_timeout_seconds=10,
            summary_chunk_chars=1000,
            auto_recall=self.world.chance(0.6),
            keep_bodies=world.seed % 4 != 3,
            capture_transcript=world.seed % 3 == 1,
            cadence=self.dice.choice(("every", "every", Cadence(characters=200, minutes=1))),
        )
        self._numbers = 0

    async def play(self, acts: int) -> None:
        """Act by act; then calm."""
        await self.begin()
        for _ in range(acts):
            if self.world.broken:
                return
            while not self.alive:
                await self.begin()
            act = self.dice.choices(_ACTS, _WEIGHTS)[0]
            self.world.step(f"act {act.__name__.strip('_')}")
            before = self.world.steps - BUSY_PER_SECOND * self.world.now
            await act(self)
            await anyio.sleep(self.world.delay(self.dice.choice((0.01, 0.2, 2.0, 8.0))))
            await self.unwind()
            if self.world.steps - BUSY_PER_SECOND * self.world.now - before > BUSY:
                self.world.fail(f"{act.__name__} took too many steps: something is tried again without rest")
        await self.settle()

    # -- processes -----------------------------------------------------------

    @property
    def alive(self) -> list[TauProcess]:
        return [process for process in self.processes if process.alive]

    @property
    def one(self) -> TauProcess:
        return self.dice.choice(self.alive)

    async def begin(self, file: SessionFile | None = None) -> TauProcess:
        """Start a process and let it take up a session, or a new one."""
        self._numbers += 1
        process = TauProcess(self.world, self.kernel, self.memory, self.settings, self._numbers)
        self.processes.append(process)
        known = file is not None or (bool(self.files) and self.world.chance(0.8))
        chosen = file or (self.dice.choice(self.files) if known else self.new_file())
        process.open(chosen, "resume" if known else "startup")
        await anyio.sleep(self.world.delay(0.5))
        return process

    def new_file(self) -> SessionFile:
        file = SessionFile(self.world, SessionId(f"s{len(self.files)}"))
        self.files.append(file)
        self.truth.files[file.id] = file
        return file

    async def unwind(self) -> None:
        for process in self.processes:
            if not process.alive:
                await process.unwind()

    # -- the end -------------------------------------------------------------

    async def settle(self) -> None:
        """No more faults, and everything that was begun comes to its end."""
        self.world.calm = True
        self.disk.fault, self.memory.unstartable = None, False
        for process in self.alive:
            await quit_(self, process)
        await self.unwind()
        for server in self.memory.servers:
            if server.alive:
                server.end()
        await anyio.sleep(200)
        self.memory.notes.catch_up()
        for file in self.files:
            await self._taken_up(file)
        self._nothing_forgotten()
        self._replayed_whole()

    async def _taken_up(self, file: SessionFile) -> None:
        """Two starts: the first proves the earlier writers ended, both look for what is doubted."""
        for _ in range(2):
            process = await self.begin(file)
            await process.prompt("and now")
            process.append("assistant", "done")
            process.settled(interrupted=False)
            await anyio.sleep(1200)
            await quit_(self, process)
            await self.unwind()

    def _nothing_forgotten(self) -> None:
        for mirror in self.truth.journals.values():
            for number, branch in mirror.branches.items():
                for capture in branch.state.captures:
                    self._accounted(mirror, number, capture)
                stuck = [one for one in branch.state.captures if one.kind == "transcript"]
                if branch.state.behind and not branch.state.paused and len(stuck) < MOST_OPEN_TRANSCRIPTS:
                    self.world.fail(f"branch {number} did not store all that was said on it")

    def _accounted(self, mirror: Mirror, branch: int, capture: Capture) -> None:
        """A write of ours that is there is confirmed or in conflict; one that can be proven absent is lost."""
        identity = (str(capture.capture_id), str(capture.source_tip))
        there = self.memory.notes.bearing(identity)
        name = f"{capture.capture_id[:8]} on branch {branch}"
        if capture.status == "intended":
            self.world.fail(f"{name} still waits for an answer that cannot come")
        if capture.status in ("in_doubt", "lost") and len(there) == 1:
            self.world.fail(f"{name} is {capture.status}, and its note is there")
        if capture.status == "in_doubt" and capture.probes == 0:
            self.world.fail(f"{name} is in doubt, and nobody ever looked")

    def _replayed_whole(self) -> None:
        """Promise 4, from the bytes: the verified history of every branch gives the state there was."""
        for mirror in self.truth.journals.values():
            with open_reader(Path(mirror.path)) as reader:
                for number, branch in mirror.branches.items():
                    if fold(reader.verified(number)) != branch.state:
                        self.world.fail(f"branch {number} of the journal does not replay to what it was")
                intents = (row.event for one in mirror.branches.values() for row in one.rows)
                intended = {(str(e.capture_id), e.attempt) for e in intents if isinstance(e, WriteIntended)}
                if set(reader.submissions()) != intended:
                    self.world.fail("the submissions are not the intents")
                for finding in audit(reader).findings:
                    if finding.severity == "broken":
                        self.world.fail(f"the audit finds {finding}")


# -- acts: the host ------------------------------------------------------------


async def turn_(story: Story) -> None:
    """A prompt and its answer, or several answers, of which the journal sees the last."""
    process = story.one
    await process.prompt(f"please do item {story.dice.randrange(99)}")
    if not process.alive or process.session is None:
        return
    await anyio.sleep(story.world.delay(2.0))
    while story.world.chance(0.3) and process.alive:
        process.append("assistant", "so far it holds")
    if process.alive:
        process.append("assistant", "done, and it holds " * story.dice.choice((1, 4, 30, 200)))
        process.settled(interrupted=False)


async def interrupted(story: Story) -> None:
    """A prompt that was stopped before its answer."""
    process = story.one
    await process.prompt("stop")
    if process.alive:
        process.settled(interrupted=True)


async def compacted(story: Story) -> None:
    """A compaction: announced with its end, without its end, or found later."""
    process = story.one
    session = process.session
    if session is None:
        return
    ACTOR.set(process)
    told = story.dice.randrange(3)
    if told:
        process.owner.spawn("compaction", partial(session.note, CompactionStarted(reason="overflow")))
        await anyio.sleep(story.world.delay(2.0))
    if process.alive:
        process.append("compaction")
    if told == 2 and process.alive:
        ACTOR.set(process)
        ended = CompactionEnded(reason="overflow", aborted=story.world.chance(0.2))
        process.owner.spawn("compaction", partial(session.note, ended))


async def moved_back(story: Story) -> None:
    """The person goes back in the tree; what follows is another branch."""
    source = story.one.source
    source.tip = story.dice.choice(source.file.path(source.tip)).id


async def asked(story: Story) -> None:
    """A checkpoint by command."""
    process = story.one
    if process.session is not None:
        ACTOR.set(process)
        process.owner.spawn("request", partial(_request, process))


async def _request(process: TauProcess) -> None:
    if process.session is not None:
        await process.session.request("command", "look at item 7")


async def reloaded(story: Story) -> None:
    process = story.one
    if process.session is not None:
        process.open(process.source.file, "reload")


async def switched(story: Story) -> None:
    """To another session in the same process; the one that is left goes on behind it."""
    process = story.one
    process.leave()
    fresh = story.world.chance(0.4) and len(story.files) < 4
    reason: OpenReason = "new" if fresh else "resume"
    process.open(story.new_file() if fresh else story.dice.choice(story.files), reason)


async def quitted(story: Story) -> None:
    await quit_(story, story.one)


async def quit_(story: Story, process: TauProcess) -> None:
    try:
        await process.quit(story.settings.exit_timeout_seconds)
    except BaseException:
        if process.alive:  # its own death may come out of it as anything
            raise


async def second(story: Story) -> None:
    """Another process, perhaps of the same session."""
    if len(story.alive) < 2:
        await story.begin()


async def killed(story: Story) -> None:
    story.one.kill("killed")


async def cut_off(story: Story) -> None:
    """A process or its server ends while a write is under way."""
    with anyio.move_on_after(20) as waiting:
        await story.memory.arrival.wait()
    if waiting.cancelled_caught or not story.memory.sent:
        return
    sent = story.memory.sent[-1]
    await anyio.sleep(story.world.delay(0.3))
    if story.world.chance(0.5):
        sent.server.end(whole=story.world.chance(0.5))
    for process in story.alive:
        if process.number == sent.actor and sent.server.alive and story.world.chance(0.7):
            process.kill("cut off")


# -- acts: the world -----------------------------------------------------------


async def waited(story: Story) -> None:
    await anyio.sleep(story.dice.choice((1, 15, 70, 400, 2000)))


async def server_killed(story: Story) -> None:
    """With all of its group, or with a helper of its left."""
    living = [server for server in story.memory.servers if server.alive]
    if living:
        story.dice.choice(living).end(whole=story.world.chance(0.5))


async def server_gone_for_a_while(story: Story) -> None:
    story.memory.unstartable = not story.memory.unstartable


async def clock_jumped(story: Story) -> None:
    story.world.jump(story.dice.choice((-86_400_000, -3_600_000, -30_000, 30_000, 3_600_000, 86_400_000)))


async def disk_failed(story: Story) -> None:
    """Every write fails, until it no longer does."""
    story.disk.fault = story.dice.choice(("full", "io", "busy", None)) if story.disk.fault is None else None


async def rebooted(story: Story) -> None:
    for process in story.alive:
        process.kill("reboot")
    story.kernel.reboot()
    for server in story.memory.servers:
        if server.alive:
            server.end()


async def journal_lost(story: Story) -> None:
    """The session file is taken elsewhere, without its journal: what it says of itself is all there is."""
    for process in story.alive:
        await quit_(story, process)
    await story.unwind()
    if not story.truth.journals:
        return
    story.truth.lost(story.dice.choice(sorted(story.truth.journals)))


async def note_touched(story: Story) -> None:
    """Somebody does something with a note, more likely with one that is in doubt."""
    notes = story.memory.notes
    if not notes.all:
        return
    doubted = {str(capture.capture_id) for capture in _captures(story)}
    there = [note for note in notes.all if note.identity[0] in doubted]
    note = story.dice.choice(there if there and story.world.chance(0.6) else notes.all)
    what = story.dice.randrange(6)
    name = f"{story.dice.randrange(1000):03}"
    story.world.tell(f"note {note.path[-12:]} touched: {what}")
    match what:
        case 0:
            notes.move(note, f"elsewhere/{name}.md")
        case 1:
            notes.retitle(note, f"Another title {name}")
        case 2:
            notes.edit(note, f"{note.content}\nmore", tidily=story.world.chance(0.3))
        case 3:
            notes.delete(note)
        case 4:
            notes.strip(note)
        case _:
            notes.copy(note, f"copies/{name}.md")


async def rival_wrote(story: Story) -> None:
    """Another tool saves the same capture, or something else, where ours is to be."""
    open_ones = [
        capture for capture in _captures(story) if capture.status in ("begun", "ready", "intended", "in_doubt")
    ]
    if not open_ones:
        return
    capture = story.dice.choice(open_ones)
    title = f"tau-checkpoint-{capture.capture_id[:20]}"
    path = f"tau/checkpoints/{title}.md"
    if story.memory.notes.occupied(path):
        return
    front = {"capture_id": str(capture.capture_id), "source_tip": str(capture.source_tip)}
    if story.world.chance(0.4):
        front = {"capture_id": "e" * 64, "source_tip": "elsewhere"} if story.world.chance(0.5) else {}
    note = story.memory.notes.create(path, title, "from elsewhere", front, "tool")
    if story.world.chance(0.7):
        story.memory.notes.edit(note, "from elsewhere", tidily=True)


def _captures(story: Story) -> list[Capture]:
    found: list[Capture] = []
    for mirror in story.truth.journals.values():
        for branch in mirror.branches.values():
            found += branch.state.captures
    return found


async def answered_again(story: Story) -> None:
    """An answer comes late, or once more."""
    process = story.one
    answered = [sent for sent in story.memory.sent if sent.said is not None and sent.attempt]
    if process.session is None or not answered:
        return
    ACTOR.set(process)
    process.owner.spawn("late answer", partial(_late_answer, process, story.dice.choice(answered)))


async def _late_answer(process: TauProcess, sent: Sent) -> None:
    session, said = process.session, sent.said
    ledger = session.desk.ledger if session is not None else None
    if session is None or ledger is None or said is None:
        return
    fact = WriteAnswered(
        capture_id=CaptureId(sent.identity[0]),
        attempt=sent.attempt,
        outcome=said.outcome,
        code=said.code,
        file_path=said.file_path,
        permalink=said.permalink,
        checksum=said.checksum,
    )
    for branch, state in list(ledger.states.items()):
        if any(capture.capture_id == sent.identity[0] for capture in state.captures):
            await session.desk.note(fact, branch=branch)


async def person_decided(story: Story) -> None:
    """The person settles something."""
    process = story.one
    if process.session is None:
        return
    ACTOR.set(process)
    process.owner.spawn("resolve", partial(_resolve, story, process))


async def _resolve(story: Story, process: TauProcess) -> None:
    session = process.session
    ledger = session.desk.ledger if session is not None else None
    if session is None or ledger is None:
        return
    pending = [
        (branch, capture)
        for branch, state in ledger.states.items()
        for capture in state.captures
        if capture.status not in ("begun", "ready") or story.world.chance(0.1)
    ]
    if not pending:
        return
    branch, capture = story.dice.choice(pending)
    decision: Decision = story.dice.choice(("rewrite", "rewrite", "abandon", "accept"))
    command = Resolve(capture_id=capture.capture_id, decision=decision, reason_sha256=Sha256("a" * 64))
    with suppress(CommandRejected, JournalError):
        await session.desk.apply(command, branch=branch)
    session.runner.wake()


async def paused(story: Story) -> None:
    """A pause, or the end of one: mostly what is not so."""
    process = story.one
    if process.session is not None:
        process.switch(off=process.session.pausing.paused != story.world.chance(0.8))


async def spoke_apart(story: Story) -> None:
    """A pause, what is said in it, perhaps at another place in the tree, and its end; somebody may die meanwhile.

    The person may go on from any message of the pause, one that the journal has not seen among them.
    """
    process = story.one
    process.switch(off=True)
    for _ in range(story.dice.randrange(1, 3)):
        if story.alive:
            await (turn_ if story.world.chance(0.8) else left_in_the_middle)(story)
        if story.alive and story.world.chance(0.3):
            await moved_back(story)
    if process.alive and process.current is not None:
        process.switch(off=False)
        if story.world.chance(0.5):
            process.source.tip = story.dice.choice(process.source.file.path(process.source.tip)).id
        await turn_(story)
        if story.alive:
            await returned(story)


async def left_in_the_middle(story: Story) -> None:
    """A prompt with an answer that no boundary tells of: the person is elsewhere before, or the process is dead."""
    process = story.one
    await process.prompt("never mind")
    if process.alive and process.session is not None:
        process.append("assistant", "it holds that")
        await (killed if story.world.chance(0.3) else moved_back)(story)


async def returned(story: Story) -> None:
    """The person goes to some message of the session, on whatever path, mostly one off the record, and goes on there."""
    process = story.one
    if process.session is None:
        return
    entries = process.source.file.entries.values()
    apart = [entry for entry in entries if any(words in entry.text for words in story.world.off_the_record)]
    chosen = apart if apart and story.world.chance(0.7) else list(entries)
    process.source.tip = story.dice.choice(chosen).id
    await turn_(story)


_CHANCES: dict[Act, int] = {
    turn_: 40,
    interrupted: 4,
    compacted: 6,
    moved_back: 5,
    asked: 6,
    reloaded: 4,
    switched: 5,
    quitted: 5,
    second: 3,
    killed: 6,
    cut_off: 6,
    waited: 10,
    server_killed: 6,
    server_gone_for_a_while: 2,
    clock_jumped: 3,
    disk_failed: 3,
    rebooted: 1,
    journal_lost: 2,
    note_touched: 8,
    rival_wrote: 4,
    answered_again: 4,
    person_decided: 5,
    paused: 2,
    spoke_apart: 4,
    returned: 3,
}
_ACTS: tuple[Act, ...] = tuple(_CHANCES)
_WEIGHTS = tuple(_CHANCES.values())


def play(seed: int, mixture: Mixture | None = None, acts: int = ACTS) -> Played:
    """Play one seed from an empty folder, and report."""
    folder = Path(tempfile.mkdtemp(prefix="continuity-simulation-", dir=fast_folder()))
    world = World(seed, folder, mixture)
    story: list[Story] = []

    async def main() -> None:
        story.append(Story(world))
        with staged(world, story[0].kernel, story[0].memory, story[0].disk):
            try:
                await story[0].play(acts)
            except loop.Stuck as error:
                world.fail(str(error))
            finally:
                for process in story[0].alive:
                    process.kill("the end")
                await story[0].unwind()

    try:
        loop.run(main, world.fail)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    rows = sum(mirror.rows for mirror in story[0].truth.journals.values())
    broken: Broken | None = world.broken
    return Played(
        seed, world.steps, rows, dict(world.counts), world.trace, str(broken) if broken else None, tuple(world.lately)
    )
