"""What a state owes the world now, and when to look again. Effects are owed by the state, never called from here."""

from __future__ import annotations

from typing import ClassVar, Literal

import msgspec

from continuity.state import Capture, State
from journal.events.capture import CaptureKind
from journal.ids import CaptureId, ConnectionId, EntryId, Sha256

type Lane = Literal["recall", "reconcile", "capture"]

SECOND = 1_000
PROBE_SPACING_MS = (0, 2 * SECOND, 10 * SECOND, 60 * SECOND, 300 * SECOND)
"""Wait before the next read of a doubted write, by how many were made."""

SUBMIT_SPACING_MS = (0, 1 * SECOND, 10 * SECOND, 60 * SECOND, 300 * SECOND)
"""Wait before a write that was not sent is attempted again, by how many attempts there were."""

RECALL_SPACING_MS = (0, 5 * SECOND, 30 * SECOND, 120 * SECOND, 600 * SECOND)
"""Wait before a round of questions that nobody answered is asked again, by how many there were."""

SYNTHESIS_BACKOFF_MS = (0, 15 * SECOND, 60 * SECOND, 300 * SECOND, 900 * SECOND)
"""Wait before the model is asked again, by how often it failed in a row."""


MOST_OPEN_TRANSCRIPTS = 5
"""Transcript notes whose outcome is open or bad, at most; further messages wait for somebody to settle one."""


class Policy(msgspec.Struct, frozen=True):
    """What is true of the shell at this moment."""

    connection: ConnectionId | None


class _Work(msgspec.Struct, frozen=True):
    """One effect: where it stands in line, and what names it."""

    lane: ClassVar[Lane]
    named_by: ClassVar[tuple[str, ...]]

    @property
    def key(self) -> str:
        """The same for the same owed work, whenever it is computed."""
        return ":".join([type(self).__name__.lower(), *(str(getattr(self, name)) for name in self.named_by)])


class Begin(_Work, frozen=True):
    """Begin the capture of what was gathered up to `tip`."""

    lane: ClassVar[Lane] = "capture"
    named_by: ClassVar[tuple[str, ...]] = ("tip",)
    tip: EntryId
    reason: str


class Synthesise(_Work, frozen=True):
    """Read what is new and ask the model for the handoff, from where it stopped."""

    lane: ClassVar[Lane] = "capture"
    named_by: ClassVar[tuple[str, ...]] = ("capture_id", "failures")
    capture_id: CaptureId
    failures: int


class Submit(_Work, frozen=True):
    """Send a finished capture, once, after its intent is on disk."""

    lane: ClassVar[Lane] = "capture"
    named_by: ClassVar[tuple[str, ...]] = ("capture_id", "attempt")
    capture_id: CaptureId
    attempt: int


class Transcribe(_Work, frozen=True):
    """Keep the next message of the transcript, or pass by what gets no note: after `after`, through `until`."""

    lane: ClassVar[Lane] = "capture"
    named_by: ClassVar[tuple[str, ...]] = ("after", "until")
    first: EntryId
    after: EntryId | None
    until: EntryId


class Probe(_Work, frozen=True):
    """Read, to find out what became of a write."""

    lane: ClassVar[Lane] = "reconcile"
    named_by: ClassVar[tuple[str, ...]] = ("capture_id", "probes")
    capture_id: CaptureId
    probes: int


class Prefetch(_Work, frozen=True):
    """Ask for everything a brief needs that does not depend on the prompt's topic."""

    lane: ClassVar[Lane] = "recall"
    named_by: ClassVar[tuple[str, ...]] = ("reason", "brief_sha256", "rounds")
    reason: str
    brief_sha256: Sha256 | None
    rounds: int = 0


type Effect = Begin | Synthesise | Submit | Transcribe | Probe | Prefetch


class Owed(msgspec.Struct, frozen=True):
    """Effects to perform, at most one a lane, and the time (UTC ms) to look again without news."""

    effects: tuple[Effect, ...]
    look_again_ms: int | None


def due(state: State, policy: Policy, now_ms: int) -> Owed:
    """Return what `state` owes at `now_ms`. Pure; the same state owes the same keys after a restart."""
    if state.opened is None or state.closed:
        return Owed((), None)
    found = (
        _capture_lane(state, policy, now_ms),
        _reconcile_lane(state, policy, now_ms),
        _recall_lane(state, policy, now_ms),
    )
    effects = tuple(effect for effect, _ in found if effect is not None)
    times = [at_ms for _, at_ms in found if at_ms is not None]
    return Owed(effects, min(times, default=None))


type Turn = tuple[Effect | None, int | None]


def _capture_lane(state: State, policy: Policy, now_ms: int) -> Turn:
    """One thing at a time: a person's note first, for no model is asked for it; then the checkpoint; then the transcript.

    What has to wait, for a model or a server that failed, keeps nothing else waiting.
    """
    if any(c.status == "intended" for c in state.captures):
        return None, None
    turns = (
        _ready(state, policy, now_ms, "note"),
        _checkpoint(state, policy, now_ms),
        _transcript(state, policy, now_ms),
    )
    effect = next((effect for effect, _ in turns if effect is not None), None)
    times = [at_ms for _, at_ms in turns if at_ms is not None]
    return (effect, None) if effect is not None else (None, min(times, default=None))


def _checkpoint(state: State, policy: Policy, now_ms: int) -> Turn:
    """A begun one first, then a ready one, then what was gathered."""
    for capture in state.captures:
        if capture.kind == "checkpoint" and capture.status == "begun":
            at_ms = _after(capture.failed_ms, SYNTHESIS_BACKOFF_MS, capture.failures, now_ms)
            effect = Synthesise(capture.capture_id, capture.failures)
            return (effect, None) if at_ms <= now_ms else (None, at_ms)
    turn = _ready(state, policy, now_ms, "checkpoint")
    return turn if turn != (None, None) else _gathered(state, now_ms)


def _ready(state: State, policy: Policy, now_ms: int, kind: CaptureKind) -> Turn:
    """The oldest of a kind that may be sent now, or when the first may be; without a server none."""
    if policy.connection is None:
        return None, None
    waiting = [(_next_attempt(c, now_ms), c) for c in state.captures if (c.kind, c.status) == (kind, "ready")]
    if not waiting:
        return None, None
    may = next((c for at_ms, c in waiting if at_ms <= now_ms), None)
    return (Submit(may.capture_id, may.attempt), None) if may is not None else (None, min(at for at, _ in waiting))


def _transcript(state: State, policy: Policy, now_ms: int) -> Turn:
    """The message that is kept already, then the next one. Off the record, or while several are open, none."""
    had, opened = state.transcript, state.opened
    if had is None or opened is None or opened.destination is None or state.paused:
        return None, None
    turn = _ready(state, policy, now_ms, "transcript")
    if turn != (None, None):
        return turn
    kept = [c for c in state.captures if c.kind == "transcript"]
    behind = len(kept) >= MOST_OPEN_TRANSCRIPTS or any(c.status == "ready" for c in kept)
    if behind or policy.connection is None or had.until is None or not had.owes:
        return None, None
    return Transcribe(had.first, had.through, had.until), None


def transcript_stopped(state: State) -> int:
    """Return how many notes somebody has to settle before the transcript goes on; none if it goes on by itself."""
    under_way = ("begun", "ready", "intended")
    unsettled = sum(c.kind == "transcript" and c.status not in under_way for c in state.captures)
    return unsettled if state.behind and unsettled >= MOST_OPEN_TRANSCRIPTS else 0


def _next_attempt(capture: Capture, now_ms: int) -> int:
    """A write that was not sent is not hurried: what kept it back may take a while."""
    return _after(capture.intent.at_ms, SUBMIT_SPACING_MS, capture.attempt, now_ms) if capture.intent is not None else 0


def _gathered(state: State, now_ms: int) -> Turn:
    """Nothing is owed for an unchanged tip, off the record, without a place to write to, or by the cadence of a failed turn."""
    opened, had = state.opened, state.gathered
    if opened is None or opened.destination is None or had.tip is None or state.paused:
        return None, None
    if had.owed is not None:
        return Begin(had.tip, had.owed), None
    if not opened.policy.capture or had.unanswered:
        return None, None
    due_ms = _since(had.since_ms, opened.policy.cadence_ms, now_ms)
    if had.characters >= opened.policy.cadence_characters or due_ms <= now_ms:
        return Begin(had.tip, "cadence"), None
    return None, due_ms


def _reconcile_lane(state: State, policy: Policy, now_ms: int) -> Turn:
    """The doubted write whose turn comes first; without a server there is nobody to ask."""
    if policy.connection is None:
        return None, None
    doubted = [(_next_probe(c, now_ms), c) for c in state.captures if c.status == "in_doubt"]
    if not doubted:
        return None, None
    at_ms, capture = min(doubted, key=lambda pair: pair[0])
    if at_ms > now_ms:
        return None, at_ms
    return Probe(capture.capture_id, capture.probes), None


def _next_probe(capture: Capture, now_ms: int) -> int:
    return _after(capture.probed_ms, PROBE_SPACING_MS, capture.probes, now_ms)


def _after(last_ms: int, spacing: tuple[int, ...], count: int, now_ms: int) -> int:
    return _since(last_ms, spacing[min(count, len(spacing) - 1)], now_ms)


def _since(last_ms: int, wait_ms: int, now_ms: int) -> int:
    """When `wait_ms` have passed since `last_ms`. A clock that was set back says nothing of that: then it is now."""
    return last_ms + wait_ms if last_ms <= now_ms else now_ms


def _recall_lane(state: State, policy: Policy, now_ms: int) -> Turn:
    """A brief that is due is prepared before the prompt comes, once; a doubt nobody has read yet may change it."""
    opened, recall = state.opened, state.recall
    if opened is None or opened.destination is None or not opened.policy.recall:
        return None, None
    if recall.due is None or recall.planned or policy.connection is None:
        return None, None
    if any(c.status == "in_doubt" and c.probes == 0 for c in state.captures):
        return None, None
    at_ms = _after(recall.asked_ms, RECALL_SPACING_MS, recall.rounds, now_ms)
    effect = Prefetch(recall.due, recall.brief_sha256, recall.rounds)
    return (effect, None) if at_ms <= now_ms else (None, at_ms)
