"""A session that is lived in this process, what of ours serves it, and what it left, boundary by boundary.

The timeline it tells is exact and in order within each lane, but for what was only read: how often memory is asked
depends on what has come about by then. Lanes are independent of each other by design, so how their rows mix is chance
too, and which of two came first is asserted where a promise says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Generator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import anyio
from tau_agent.messages import CustomMessage

from continuity.places import Places
from continuity.shell.ports import NoticeLevel
from continuity.shell.session import Session
from continuity.tau.entries import BRIEF_TYPE
from continuity.tau.presence import Presence
from continuity.tau.resident import Resident, resident
from journal.codec import TAGS
from journal.events import CaptureProbed, Event, RecallAnswered, RecallFailed, RecallPlanned
from journal.ids import BranchId, SessionId
from journal.reader import open_reader
from journal.row import Row
from replay.audit import audit
from replay.session import mirrored
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scenario import Scenario
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.tau_session import LiveSession, live_session
from tests.shell.rig import BOUND, until

_LANES: Mapping[str, str] = {
    **dict.fromkeys(("capture", "synthesis", "write", "basis"), "capture"),
    **dict.fromkeys(("recall", "brief", "checkpoint"), "recall"),
    "memory": "memory",
}
"""By the first word of an event's name; all others are the session's own."""

_READ = (CaptureProbed, RecallAnswered, RecallFailed, RecallPlanned)

_TOLD = (
    "reason",
    "level",
    "how",
    "kind",
    "interrupted",
    "aborted",
    "outcome",
    "code",
    "complete",
    "messages",
    "drained",
)


class Lived:
    """A session that is open, and what of ours serves it."""

    def __init__(self, live: LiveSession, scene: FakeScenario | Scenario) -> None:
        self.live = live
        self.scene = scene
        self.serving: Resident = resident()

    @property
    def session_id(self) -> SessionId:
        session_id = self.live.tau.session_id
        assert session_id is not None
        return SessionId(session_id)

    @property
    def ours(self) -> Session:
        return self.serving.sessions[self.session_id]

    async def prompt(self, text: str) -> None:
        await self.live.prompt(text)

    async def settle(self) -> None:
        """Wait until every boundary was taken in and nothing is owed that can be done now."""
        assert await self.serving.owner.drain(BOUND)
        assert await self.ours.runner.drained(BOUND)

    async def begun(self) -> None:
        """Wait until the start of the session that is open now was taken in."""
        await until(lambda: self.ours.begun, "the start of a session")

    async def alone(self) -> None:
        """Wait until every session that was left has let go, and then as `settle` does."""
        await self.settle()
        await until(lambda: list(self.serving.sessions) == [self.session_id], "the end of the sessions left")

    async def saved(self, text: str) -> None:
        await self.prompt(text)
        await self.settle()
        state = self.ours.state
        assert state is not None
        assert state.checkpoint is not None

    def path(self, session_id: str | None = None) -> Path:
        home = self.scene.home
        return Places(home.home, home.state).journal(SessionId(session_id or self.session_id))

    def said(self, topic: str) -> str | None:
        """Return what was last said to the person on `topic`."""
        return self.serving.presence.said(topic)


@asynccontextmanager
async def lived(
    scene: FakeScenario | Scenario, session_id: str | None = None, *, start: float = BOUND, within: float = 90
) -> AsyncGenerator[Lived]:
    """Open a session, wait until the server is up, and quit at the end; nothing may have failed, also unseen."""
    with anyio.fail_after(within):
        async with live_session(scene.home, session_id=session_id) as live:
            made = Lived(live, scene)
            link = made.serving.link
            assert link is not None
            assert await link.up(start)
            yield made
            assert made.said("failure") is None, made.said("failure")
        assert not made.serving.owner.alive


@contextmanager
def heard(presence: Presence) -> Generator[list[str]]:
    """Hear what is answered to a person meanwhile, oldest first: Tau keeps no notices."""
    told: list[str] = []
    answer = presence.answer

    def hear(text: str, level: NoticeLevel = "info") -> None:
        told.append(text)
        answer(text, level)

    presence.answer = hear  # type: ignore[method-assign]  # see above
    try:
        yield told
    finally:
        del presence.answer


def sound(path: Path, session_file: Path) -> bool:
    """Whether the audit finds nothing but the end that no receipt vouches for yet."""
    with open_reader(path) as reader:
        found = audit(reader, mirrored(session_file))
    assert {finding.rule for finding in found.findings} <= {"tail"}, found.findings
    return found.ok


def briefs(live: LiveSession) -> list[str]:
    """Return the briefs in what the model sees."""
    seen = [m for m in live.tau.messages if isinstance(m, CustomMessage) and m.custom_type == BRIEF_TYPE]
    return [str(message.content) for message in seen]


class Timeline:
    """What each boundary of a session left in its journal and asked of the model, in the order of the boundaries."""

    def __init__(self, one: Lived, model: ScriptedModel) -> None:
        self.one = one
        self._model = model
        self.lines: list[str] = []
        self.events: list[Event] = []
        """What was recorded since `begin`, in the order of each branch."""
        self._asked = 0
        self._paths: list[Path] = []
        self._seen: Counter[tuple[Path, BranchId]] = Counter()
        self.begin()

    def begin(self) -> None:
        """Begin anew: what was before is not told."""
        self.read("what was before")
        self.lines, self.events = [], []

    async def note(self, boundary: str) -> None:
        """Wait until `boundary` has had its effects, and take them down."""
        await self.one.alone()
        self.read(boundary)

    def read(self, boundary: str) -> None:
        """Take down what is on disk since the boundary before."""
        self.lines.append(f"== {boundary}")
        self._paths += [path for path in self.one.scene.home.journals() if path not in self._paths]
        for number, path in enumerate(self._paths, start=1):
            new = list(self._new(path))
            self.events += [row.event for row in new]
            rows = sorted(new, key=lambda row: _lane(row.event))
            where = f"{number}/" if number > 1 else ""
            self.lines += [f"{_lane(row.event):8} {where}{row.branch} {_sentence(row.event)}" for row in rows]
        asked = Counter(request.purpose for request in self._model.requests[self._asked :])
        self._asked += asked.total()
        self.lines += [f"model    {purpose} {count}" for purpose, count in sorted(asked.items())]

    def _new(self, path: Path) -> Iterator[Row]:
        with open_reader(path) as reader:
            for branch in reader.branches:
                rows = [row for row in reader.verified(branch.branch) if row.branch == branch.branch]
                new = rows[self._seen[path, branch.branch] :]
                yield from (row for row in new if not isinstance(row.event, _READ))
                self._seen[path, branch.branch] = len(rows)


def _lane(event: Event) -> str:
    return _LANES.get(_name(event).partition("-")[0], "session")


def _name(event: Event) -> str:
    return TAGS[type(event)].partition(".")[0]


def _sentence(event: Event) -> str:
    told = ((name, getattr(event, name, None)) for name in _TOLD)
    return " ".join([_name(event), *(f"{name}={value}" for name, value in told if value is not None)])
