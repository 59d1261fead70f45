"""How far the transcript of a session is: begun, passed by, stored. It never moves a tip, a handoff or a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from continuity.state import Capture, Source, State, Transcript
from journal.events import TranscriptPassed, WorkBegun
from journal.ids import EntryId
from journal.row import Row

MOST_SOURCES = 40
"""Transcript notes that one checkpoint names, at most."""


def work_begun(state: State, row: Row, event: WorkBegun) -> State:
    """The first prompt since transcripts were switched on is the first message of them."""
    wanted = state.opened is not None and state.opened.policy.transcripts
    if not wanted or state.transcript is not None or event.how != "prompt" or row.tip is None:
        return state
    return replace(state, transcript=Transcript(row.tip))


def settled(state: State, tip: EntryId | None) -> State:
    """What was said up to `tip` is owed its notes; what of it was off the record is found out by whoever sees the path."""
    if state.transcript is None or state.paused:
        return state
    return replace(state, transcript=replace(state.transcript, until=tip))


def reached(state: State, entry: EntryId) -> State:
    """The message `entry` is dealt with, and with it all before it."""
    if state.transcript is None:
        return state
    return replace(state, transcript=replace(state.transcript, through=entry))


def transcript_passed(state: State, row: Row, event: TranscriptPassed) -> State:
    return reached(state, event.through)


def mapped(transcript: Transcript | None, new: Mapping[EntryId | None, EntryId]) -> Transcript | None:
    """The same messages under the ids they have now."""
    if transcript is None:
        return None
    first, through, until = transcript.first, transcript.through, transcript.until
    return Transcript(new.get(first, first), new.get(through, through), new.get(until, until))


def forked(state: State, tip: EntryId | None) -> State:
    """What the other branch owes is its own to write; here the messages after the fork count."""
    if state.transcript is None or tip is None:
        return replace(state, transcript=None)
    return replace(state, transcript=replace(state.transcript, through=tip, until=None))


def switched(state: State) -> State:
    """Where transcripts are switched off nothing is owed, and what was not sent is let go."""
    if state.opened is not None and state.opened.policy.transcripts:
        return state
    kept = tuple(c for c in state.captures if (c.kind, c.status) != ("transcript", "ready"))
    return replace(state, transcript=None, captures=kept)


def named(state: State, capture: Capture) -> State:
    """A transcript note is stored: the next checkpoint names it, by the address it was found at."""
    permalink = None if capture.moved else capture.permalink
    address = permalink or (capture.path or "").removesuffix(".md")
    if not address:
        return state
    source = Source(address, state.position + 1)  # the row that is being taken in
    return replace(state, sources=(*state.sources, source)[-MOST_SOURCES:])
