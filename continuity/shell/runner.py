"""One session's actor: takes boundaries in order, performs what the state owes, lane by lane. Every rule is the core's."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Literal

import anyio

from continuity import due as owing
from continuity.commands import CloseSession, CommandRejected
from continuity.due import Begin, Policy, Prefetch, Probe, Submit, Synthesise, Transcribe, due
from continuity.shell import capturing, erasing, reconciling, synthesising
from continuity.shell.adopting import Adopter, Reading
from continuity.shell.desk import Desk
from continuity.shell.link import MemoryLink
from continuity.shell.recalling import Anew, Recaller
from continuity.shell.saying import why_down
from continuity.shell.transcribing import Transcriber
from journal.errors import JournalError
from journal.events import MemoryLost, OperationFailed
from journal.events.recall import ANEW
from journal.ids import BranchId, ConnectionId, ProjectName
from journal.row import FIRST_BRANCH

type Spawn = Callable[[str, Callable[[], Awaitable[None]]], None]
type Lane = owing.Lane | Literal["adopt"]
type Effect = owing.Effect | Reading

_IF_UP = Policy(ConnectionId("any"))
"""What would be due if there were a server."""

LANES: frozenset[Lane] = frozenset({"recall", "reconcile", "capture", "adopt"})
SAVING: frozenset[Lane] = frozenset({"reconcile", "capture"})
"""What a quit waits for; nobody will read what a recall still brings."""

REST_MS = 30_000
"""How long a lane rests after one of its effects failed in a way nobody foresaw."""


class Runner:
    """Performs the effects of one session until `close`.

    Effects stand in lanes: one at a time in each, none waits for another's.
    """

    def __init__(self, desk: Desk, spawn: Spawn) -> None:
        self.desk = desk
        self.recaller = Recaller(desk)
        self.adopter = Adopter(desk)
        self.transcriber = Transcriber(desk)
        self._spawn = spawn
        self._wake = anyio.Event()
        self._waiting: list[tuple[anyio.Event, frozenset[Lane]]] = []
        self._busy: dict[Lane, str] = {}
        self._resting: dict[Lane, int] = {}
        self._told_down = False
        self._last_failure: OperationFailed | None = None
        self.begun = False
        """Whether the journal there is has been looked at; before that it is not known what is owed."""
        self.closed = False
        desk.link.listen(self.wake)
        desk.wake = self.wake

    def wake(self) -> None:
        """Look again at what is owed."""
        self._wake.set()

    def relink(self, link: MemoryLink) -> None:
        """Go on with another server: the settings name one."""
        self.desk.link.unlisten(self.wake)
        self.desk.link = link
        link.listen(self.wake)
        self.wake()

    async def run(self) -> None:
        """Perform what is owed until closed; sleeps until news or until the state wants to be looked at."""
        while not self.closed:
            self._wake = anyio.Event()
            try:
                seconds = await self._look()
            except Exception as error:  # noqa: BLE001 - becomes an event and a notice; the session's actor lives on
                seconds = REST_MS / 1000
                await self._failed("runner", error)
            with anyio.move_on_after(seconds):
                await self._wake.wait()

    async def _look(self) -> float | None:
        """Look once at what is true and what is owed; return when to look again without news."""
        await self._follow_link()
        if not await self.desk.catch_up():
            self._rest("capture")
        return self._perform()

    async def drained(self, seconds: float, lanes: frozenset[Lane] = LANES) -> bool:
        """Wait until `lanes` owe nothing that can be done now, at most `seconds`; tell whether it came to that."""
        quiet = anyio.Event()
        waiting = (quiet, lanes)
        self._waiting.append(waiting)
        self.wake()
        with anyio.move_on_after(seconds):
            await quiet.wait()
        if waiting in self._waiting:
            self._waiting.remove(waiting)
        return quiet.is_set()

    async def close(self, reason: str) -> None:
        """Record the end and let go of the journal; effects under way have ended before."""
        self.closed = True
        self.desk.link.unlisten(self.wake)
        self.wake()
        try:
            await self._let_go(reason)
        finally:
            for quiet, _ in self._waiting:
                quiet.set()  # nobody looks any more: an exit would wait its whole bound for a session just left

    async def _let_go(self, reason: str) -> None:
        ledger = self.desk.ledger
        if ledger is None:
            return
        try:
            if not self.desk.settings.keep_bodies:
                await self._forget()
            for branch, state in ledger.states.items():
                if not state.closed:
                    await ledger.apply(CloseSession(reason=reason), tip=None, branch=branch)
        except JournalError as error:
            self.desk.unrecorded(error)
        finally:
            self.desk.ledger = None
            await ledger.close()

    async def _forget(self) -> None:
        """At the end no text stays that is not kept for work still to be done; a journal that fails is closed all the same."""
        try:
            await erasing.tidy(self.desk, closing=True)
        except (CommandRejected, JournalError):
            self.desk.missed("not-erased")

    async def _follow_link(self) -> None:
        """Record on the current branch what became of the connection, and say once that there is none."""
        link, ledger = self.desk.link, self.desk.ledger
        if link.status == "down" and not self._told_down:
            self._told_down = True
            self.desk.voice.say("link", why_down(link.error), "warning")
            await self.desk.note(MemoryLost(connection=None, error=link.error or "unknown"))
        if link.status == "up" and self._told_down:
            self._told_down = False
            self.desk.voice.say("link", "Memory is reachable again.")
        if ledger is None:
            return
        project = self.desk.profile.project
        described = link.described(ProjectName(project) if project else None)
        known = ledger.state.connection
        if described is not None:
            await self.desk.note(described)
        elif known is not None and link.connection is None:
            await self.desk.note(MemoryLost(connection=known.connection, error=link.error or "lost"))

    def _perform(self) -> float | None:
        """Start what is due in free lanes; return how long nothing else will be, None for as long as there is no news."""
        ledger = self.desk.ledger
        connection = self.desk.link.connection
        now_ms = self.desk.clock.now_ms()
        again: list[int] = []
        if ledger is not None:
            policy = Policy(connection.id if connection else None)
            branches = sorted(ledger.states.items(), key=lambda pair: pair[0] != ledger.current)
            for branch, state in branches:
                self.transcriber.tell(state)
                owed = due(state, policy, now_ms)
                again += [owed.look_again_ms] if owed.look_again_ms is not None else []
                for effect in owed.effects:
                    at_ms = self._put_off(effect, branch, now_ms)
                    again += [at_ms] if at_ms is not None else []
                    if at_ms is None and (branch == ledger.current or not isinstance(effect, Prefetch)):
                        self._start(effect, branch, now_ms)
            anew = self.recaller.wants_anew
            if connection is not None and anew is not None:
                self._start(Prefetch(ANEW, None), anew, now_ms)
            if connection is not None and self.adopter.owes(ledger.current):
                self._start(Reading(), ledger.current, now_ms)
        elif self.begun and connection is not None and not self.recaller.fetched(FIRST_BRANCH):
            self._start(Prefetch("start", None), FIRST_BRANCH, now_ms)
        again += [began_ms + REST_MS for lane, began_ms in self._resting.items() if self._rests(lane, now_ms)]
        if connection is None and self._needs_server(now_ms):
            self.desk.link.want()  # after a failure only when it has rested
        if not self._awaits_server():
            self._tell_quiet()
        return max(0.0, (min(again) - now_ms) / 1000) if again else None

    def _tell_quiet(self) -> None:
        for waiting in tuple(self._waiting):
            quiet, lanes = waiting
            if lanes.isdisjoint(self._busy):
                self._waiting.remove(waiting)
                quiet.set()

    def _needs_server(self, now_ms: int) -> bool:
        """Something is due for which a server is needed."""
        ledger = self.desk.ledger
        if ledger is None:
            return False
        owed = [effect for state in ledger.states.values() for effect in due(state, _IF_UP, now_ms).effects]
        return any(
            isinstance(e, Submit | Transcribe | Probe) or (isinstance(e, Prefetch) and self._may_recall(e.reason))
            for e in owed
        )

    def _awaits_server(self) -> bool:
        """A server is coming, at once or after its rest, and something is kept for it."""
        ledger = self.desk.ledger
        if ledger is None or not self.desk.link.expected:
            return False
        return any(c.status in ("ready", "in_doubt") for state in ledger.states.values() for c in state.captures)

    def _put_off(self, effect: Effect, branch: BranchId, now_ms: int) -> int | None:
        """When to begin with what cannot be done before, though it is owed; it keeps nothing else in its lane waiting."""
        return self.transcriber.again_ms(effect, branch, now_ms) if isinstance(effect, Transcribe) else None

    def _start(self, effect: Effect, branch: BranchId, now_ms: int) -> None:
        if effect.lane in self._busy or self._rests(effect.lane, now_ms):
            return
        if isinstance(effect, Prefetch) and not self._may_recall(effect.reason):
            return
        self._busy[effect.lane] = effect.key
        self._spawn(effect.key, partial(self._performed, effect, branch, self._seen(branch)))

    def _may_recall(self, reason: str) -> bool:
        """The switch is for what is recalled by itself; a person who asks is not asked back."""
        return self.desk.profile.project is not None and (self.desk.settings.auto_recall or reason == ANEW)

    def ask_anew(self, branch: BranchId) -> Anew:
        """Ask everything for `branch` again because a person wants it, at once even where a lane rests."""
        self._resting.pop("recall", None)
        wanted = self.recaller.ask_anew(branch)
        self.wake()
        return wanted

    async def _performed(self, effect: Effect, branch: BranchId, before: tuple[object, ...]) -> None:
        """Perform `effect`. If it could not be recorded or changed nothing, it is owed still, so its lane rests then."""
        stops = self.desk.stops
        try:
            await self._effect(effect, branch)
            if isinstance(effect, Submit | Probe) and not self.desk.settings.keep_bodies:
                await erasing.tidy(self.desk)
        except CommandRejected:
            pass  # the state moved on meanwhile, or does not allow it; what it owes now is computed anew
        except JournalError as error:
            self.desk.stopped(error)
        except Exception as error:  # noqa: BLE001 - becomes an event and a notice
            self._rest(effect.lane)
            await self._failed(effect.key.partition(":")[0], error)
        finally:
            if self.desk.stops > stops or self._seen(branch) == before:
                self._rest(effect.lane)
            self._busy.pop(effect.lane, None)
            self.wake()

    def _seen(self, branch: BranchId) -> tuple[object, ...]:
        """What an effect is computed from; as long as it is the same, the same is owed."""
        ledger = self.desk.ledger
        state = ledger.states.get(branch) if ledger else None
        brought = None if ledger else self.recaller.fetched(branch)
        return (state and state.position, brought, self.desk.link.connection, self.transcriber.unknown(branch))

    async def _effect(self, effect: Effect, branch: BranchId) -> None:
        match effect:
            case Begin():
                await self.adopter.before_capture(branch, effect.tip)
                await capturing.begin(self.desk, effect, branch)
            case Synthesise():
                await synthesising.synthesise(self.desk, effect, branch)
            case Submit():
                await capturing.submit(self.desk, effect, branch)
            case Transcribe():
                await self.transcriber.transcribe(effect, branch)
            case Probe():
                await reconciling.probe(self.desk, effect, branch)
            case Prefetch():
                ledger = self.desk.ledger
                state = ledger.states.get(branch) if ledger else None
                await self.recaller.prefetch(effect.reason, branch, state)
            case Reading():
                await self.adopter.read(branch)

    def _rest(self, lane: Lane) -> None:
        self._resting[lane] = self.desk.clock.now_ms()

    def _rests(self, lane: Lane, now_ms: int) -> bool:
        """A clock that was set back ends a rest: how much of it is over is not known."""
        began_ms = self._resting.get(lane)
        return began_ms is not None and began_ms <= now_ms < began_ms + REST_MS

    async def _failed(self, operation: str, error: Exception) -> None:
        """Say and record a failure that nobody foresaw; the same one after the other is recorded once."""
        kind = type(error).__name__
        self.desk.voice.say(
            "failure", f"Continuity: {operation} failed ({kind}); it will be tried again. See /bm-status.", "warning"
        )
        failed = OperationFailed(operation=operation, error=kind[:80], remedy="retry-later")
        if failed != self._last_failure or operation != "runner":
            self._last_failure = failed
            with suppress(Exception):  # what failed may be the recording itself; it was said above
                await self.desk.note(failed)
