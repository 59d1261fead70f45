"""Which earlier row led to an event. It follows identities and families, never time, so replay finds the same causes."""

from __future__ import annotations

from journal.events import (
    BriefDelivered,
    CaptureBegun,
    CaptureRequested,
    CheckpointReferenced,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    Event,
    RecallAnswered,
    RecallFailed,
    RecallPlanned,
    SessionOpened,
    ToolCalled,
    WorkBegun,
    WorkSettled,
)
from journal.ids import Sha256
from journal.row import Row

_THREADS: dict[type[Event], str] = {
    SessionOpened: "session",
    WorkBegun: "work",
    WorkSettled: "work",
    CompactionStarted: "compaction",
    CompactionEnded: "compaction",
    CompactionNoticed: "compaction",
    CaptureRequested: "request",
    RecallPlanned: "recall",
    RecallAnswered: "recall",
    RecallFailed: "recall",
    BriefDelivered: "recall",
    CheckpointReferenced: "recall",
}
_LED_BY: dict[type[Event], tuple[str, ...]] = {
    CaptureRequested: ("compaction", "work", "session"),
    CaptureBegun: ("request", "work", "session"),
    RecallPlanned: ("compaction", "session"),
    WorkBegun: ("session",),
    WorkSettled: ("work", "session"),
    ToolCalled: ("work", "session"),
}


class Causes:
    """The last row of every thread of one branch, kept beside its state."""

    def __init__(self, seen: dict[str, Sha256] | None = None) -> None:
        self._last: dict[str, Sha256] = dict(seen or {})

    def of(self, event: Event) -> Sha256 | None:
        """Return the digest of the row that led to `event`, or none."""
        own = thread_of(event)
        if own is not None and own in self._last and type(event) not in _LED_BY:
            return self._last[own]
        led_by = _LED_BY.get(type(event), ())
        return next((self._last[name] for name in led_by if name in self._last), None)

    def saw(self, row: Row) -> None:
        """Take note of a recorded row."""
        thread = thread_of(row.event)
        if thread is not None:
            self._last[thread] = row.digest
        if isinstance(row.event, CaptureBegun):
            self._last.pop("request", None)


def thread_of(event: Event) -> str | None:
    """Return the name of the thread an event belongs to: its capture, its call, or its family's."""
    identity = getattr(event, "capture_id", None) or getattr(event, "call_id", None)
    if isinstance(event, CheckpointReferenced):
        return "recall"
    return str(identity) if identity is not None else _THREADS.get(type(event))
