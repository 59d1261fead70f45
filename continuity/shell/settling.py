"""What a person asks of what is open in a session: list it, read it now, decide it. It sends no note and takes no lock.

A read or a decision is acknowledged at once by whoever took the command; what
came of it is said here, with the row that records it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from continuity.commands import CommandRejected, Resolve, ResolveCall
from continuity.pending import REASON_CHARS, VERDICTS, Open, choices, matching, missing, observation, open_items
from continuity.privacy import mask_words
from continuity.shell.desk import Desk, kept
from continuity.shell.opening import trouble
from continuity.shell.reconciling import observe
from continuity.shell.saying import recorded_as
from continuity.state import Capture, State
from continuity.verdict import wanted_of
from journal.errors import JournalError
from journal.events import CaptureProbed
from journal.events.writes import Decision
from journal.ids import CallId, CaptureId, Sha256
from journal.row import Row


class CannotSettle(Exception):
    """What was asked cannot be done, and nothing was done; `hint` says what can."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


class Settling:
    """A person's say over what is open in one journal that this process writes, on whatever branch of it."""

    def __init__(self, desk: Desk, wake: Callable[[], None]) -> None:
        """`wake` makes the machine look again at what it owes."""
        self._desk = desk
        self._wake = wake

    @property
    def can_record(self) -> bool:
        """There is a journal, and it is this process's to write."""
        return self._desk.ledger is not None

    @property
    def items(self) -> tuple[Open, ...]:
        """What is open now, branch by branch."""
        ledger = self._desk.ledger
        if ledger is None:
            return ()
        return tuple(item for branch, state in ledger.states.items() for item in open_items(branch, state))

    def readable(self, reference: str | None) -> tuple[Open, ...]:
        """Return what a read asked for by `reference` is about: all that was sent without one.

        Raises:
            NoSuchOpen, SeveralOpen: The reference names nothing, or more than one.
            CannotSettle: It names a call, which no read settles, or what was not sent yet.
        """
        if reference is None:
            return tuple(item for item in self.items if item.readable)
        item = matching(self.items, reference)
        if item.kind == "call":
            what = f"{item.short} is a call of {item.tool}, and no read tells what became of it"
            raise CannotSettle(what, _may(item))
        if item.unsent:
            raise CannotSettle(f"{item.short} was not sent yet, so there is nothing to read", _may(item))
        return (item,)

    def decidable(self, decision: Decision, reference: str) -> Open:
        """Return what a decision is about, if it may be made now.

        Raises:
            NoSuchOpen, SeveralOpen: The reference names nothing, or more than one.
            CannotSettle: What is known of it does not allow the decision.
        """
        item = matching(self.items, reference)
        if decision not in choices(item):
            raise CannotSettle(f"{item.short} cannot be settled by {decision}: {_why_not(item, decision)}", _may(item))
        return item

    async def read(self, items: Sequence[Open]) -> None:
        """Read each of `items` now, whatever the spacing, and say what every read found and what it proves."""
        link = self._desk.link
        connection = await link.up(self._desk.settings.timeout_seconds)
        if connection is None:
            self._desk.voice.answer(
                f"Memory cannot be reached ({link.error or 'no answer in time'}): nothing was read.", "warning"
            )
            return
        for item in items:
            state, capture = self._where(item)
            if state is None or capture is None:
                self._desk.voice.answer(f"{item.short} was settled meanwhile; see /bm-pending.")
                continue
            try:
                rows = await self._desk.apply(await observe(self._desk, connection, state, capture), branch=item.branch)
            except CommandRejected:
                self._desk.voice.answer(
                    f"{item.short} moved on while it was read; /bm-pending shows what it is now.", "warning"
                )
            except JournalError as error:
                self._unrecorded(error)
            else:
                self._tell_read(item, capture, rows)

    async def resolve(self, item: Open, decision: Decision, reason: str) -> None:
        """Record a person's decision and say that it is recorded; a new attempt is then the machine's to make."""
        if decision == "rewrite" and not await self._has_text(item):
            self._desk.voice.answer(
                f"The text of {item.short} was erased, so it cannot be written again; nothing was recorded. "
                f"`/bm-pending abandon {item.short}` lets it go, /bm-checkpoint saves what is new.",
                "warning",
            )
            return
        try:
            candidates = self._desk.settings.mask_candidates
            command, bodies = settlement(item, decision, reason, candidates=candidates)
            rows = await self._desk.apply(command, branch=item.branch, bodies=bodies)
        except CommandRejected as error:
            self._desk.voice.answer(f"{item.short} was not settled: {error.reason}. See /bm-pending.", "warning")
        except JournalError as error:
            self._unrecorded(error)
        else:
            self._desk.voice.answer(f"{_DONE[decision].format(item=named(item), short=item.short)} {_proof(rows)}")
            if decision == "rewrite":
                self._desk.link.want(at_once=True)
            self._wake()

    async def _has_text(self, item: Open) -> bool:
        _, capture = self._where(item)
        return capture is not None and await self._desk.body(capture.handoff_sha256) is not None

    def _where(self, item: Open) -> tuple[State | None, Capture | None]:
        """The state of its branch, and the capture in it, as far as they are there still."""
        ledger = self._desk.ledger
        state = ledger.states.get(item.branch) if ledger is not None else None
        return state, state.live(CaptureId(item.reference)) if state is not None else None

    def _tell_read(self, item: Open, capture: Capture, rows: Sequence[Row]) -> None:
        probed = next((row.event for row in rows if isinstance(row.event, CaptureProbed)), None)
        if probed is None:
            return
        wanted = wanted_of(capture)
        lines = [f"{named(item)} was read now:"]
        lines += [f"  {observation(seen, wanted)}" for seen in probed.observations] or ["  nobody was asked"]
        lines.append(f"  the server it was sent through: {probed.writing_server}")
        lines += [f"  not proven yet: {lack}" for lack in missing(probed)]
        left = next((each for each in self.items if each.reference == item.reference), None)
        standing = f"It is {left.status.replace('_', ' ')}; {_may(left)}." if left is not None else "It is settled."
        lines.append(f"Verdict {probed.verdict}: {VERDICTS[probed.verdict]}. {standing} {_proof(rows)}")
        self._desk.voice.answer("\n".join(lines), "info" if left is None else "warning")
        self._wake()

    def _unrecorded(self, error: JournalError) -> None:
        self._desk.stopped(error)
        self._desk.voice.answer(f"Nothing was recorded: {trouble(error)}.", "error")


def settlement(
    item: Open, decision: Decision, reason: str, *, candidates: bool = True
) -> tuple[Resolve | ResolveCall, Mapping[Sha256, str]]:
    """Return the command that records a person's `decision` of `item`, and its reason as it is kept: masked and bounded.

    Raises:
        CommandRejected: It is a call, and a call is never made again.
    """
    digest, bodies = kept(mask_words(reason.strip(), candidates=candidates).text[:REASON_CHARS])
    if item.kind == "capture":
        return Resolve(capture_id=CaptureId(item.reference), decision=decision, reason_sha256=digest), bodies
    if decision == "rewrite":
        raise CommandRejected("resolve-call", "a call is never made again")
    return ResolveCall(call_id=CallId(item.reference), decision=decision, reason_sha256=digest), bodies


_DONE: dict[Decision, str] = {
    "accept": "{item} counts as done, by your decision.",
    "abandon": "{item} is given up, by your decision: it is neither read for nor sent again.",
    "rewrite": "{item} is written again by your decision: sent once, create-only, as soon as memory answers.",
}


def named(item: Open) -> str:
    """Return what `item` is, in words that name it."""
    if item.kind == "call":
        return f"{item.short} (call of {item.tool})"
    return f"{item.short} ({item.what} to {item.project}: {item.file_path or 'no path yet'})"


def _proof(rows: Sequence[Row]) -> str:
    return " ".join(map(recorded_as, rows[:1]))


def _may(item: Open) -> str:
    """What can be done with `item` now."""
    can = ["probe"] if item.readable else []
    offered = ", ".join(f"`/bm-pending {each} {item.short}`" for each in (*can, *choices(item)))
    return f"what can be done: {offered}" if offered else "its answer is still awaited"


def _why_not(item: Open, decision: Decision) -> str:
    if item.status == "intended":
        return "its answer is still awaited"
    if item.unsent:
        return "it is to be sent again already, as soon as memory answers"
    if decision == "rewrite":
        return "a call is never made again" if item.kind == "call" else "it may be stored, or may still land"
    return "no read found a note that could be accepted"
