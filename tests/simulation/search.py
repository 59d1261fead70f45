"""Walks through every interleaving of the intent protocol, breadth first, to a stated depth; each world is seen once.

Before a move the invariants are taken from the world itself: what is on the
disk (the state, which is its fold), what was sent, what is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from continuity.state import Capture, State
from tests.simulation.protocol import Call, Move, Note, Setting, capture_of, forked, moves, tip_of


class Found(NamedTuple):
    """What a search came to; `broken` names the invariant and the shortest way to break it."""

    worlds: int
    moves: int
    depth: int
    exhausted: bool
    broken: str | None
    path: tuple[str, ...] = ()


def search(depth: int, start: Setting | None = None) -> Found:
    """Visit every world within `depth` moves of the beginning; a world is remembered by its hash, and by its parent's."""
    first = start or Setting()
    came_from: dict[int, int | None] = {hash(first): None}
    edge, made = [first], 0
    for level in range(depth):
        following: list[Setting] = []
        for world in edge:
            known = hash(world)
            for move in moves(world):
                made += 1
                broken = next(wrong(world, move), None)
                if broken is not None:
                    way = (*_way(came_from, first, known), move[0])
                    return Found(len(came_from), made, level + 1, False, broken, way)
                if (after := hash(move[1])) not in came_from:
                    came_from[after] = known
                    following.append(move[1])
        edge = following
        if not edge:
            return Found(len(came_from), made, level, True, None)
    return Found(len(came_from), made, depth, False, None)


def _way(came_from: dict[int, int | None], first: Setting, last: int) -> tuple[str, ...]:
    """The moves that led from `first` to the world with the hash `last`."""
    chain: list[int] = []
    at: int | None = last
    while at is not None:
        chain.append(at)
        at = came_from[at]
    names: list[str] = []
    world = first
    for wanted in chain[-2::-1]:
        name, world = next(move for move in moves(world) if hash(move[1]) == wanted)
        names.append(name)
    return tuple(names)


def wrong(before: Setting, move: Move) -> Iterator[str]:
    """What does not hold after `move`."""
    name, after = move
    yield from _calls(before, after)
    ours = [note.bears for note in after.notes if note.ours]
    if len(set(ours)) < len(ours):
        yield "two notes of ours for one capture"
    for capture in after.state.captures:
        yield from _open(after, capture)
    yield from _left(before, move)
    yield from _checkpoint(before.state.checkpoint, after)
    inherited = forked(after)
    kept = (_name(inherited.checkpoint), _name(after.state.checkpoint))
    if inherited.captures or inherited.gathered.tip is not None or kept[0] != kept[1]:
        yield "a fork inherits owed work, or lost a receipt"
    if name.startswith("crash") and after.state != before.state:
        yield "a crash changed what is on disk"


def _calls(before: Setting, after: Setting) -> Iterator[str]:
    """Each attempt is sent once, after its intent, and never beside another that is there or may still land."""
    sent = [(call.tip, call.attempt) for call in after.calls]
    if len(set(sent)) < len(sent):
        yield "an attempt was submitted twice"
    for call in set(after.calls) - set(before.calls):
        capture = _live(after.state, call.tip)
        if call.stage == "intended" and (capture is None or capture.status != "intended"):
            yield "a call is about to be made without its intent"
        if call.stage == "intended" and _there_or_coming(before, call.tip):
            yield "a write was submitted again that is there or may still land"


def _there_or_coming(world: Setting, tip: int) -> bool:
    return bool(_ours(world, tip)) or any(_pending(world, call) for call in world.calls if call.tip == tip)


def _ours(world: Setting, tip: int) -> list[Note]:
    return [note for note in world.notes if note.ours and note.bears == tip]


def _pending(world: Setting, call: Call) -> bool:
    return call.stage == "sent" and call.server in world.alive


def _open(world: Setting, capture: Capture) -> Iterator[str]:
    tip = tip_of(capture)
    if capture.status == "lost" and _there_or_coming(world, tip):
        yield "counts as lost, and is there or may still land"
    refused = [call for call in world.calls if (call.tip, call.attempt) == (tip, capture.attempt)]
    if capture.status == "refused" and not any(call.said == "refused" for call in refused):
        yield "counts as refused, and no server refused it"
    own = capture.intent is not None and capture.intent.event.writer == f"w{world.writer}"
    if capture.status == "intended" and world.up and own and all(call.heard for call in refused):
        yield "waits for an answer that nobody will hear"


def _left(before: Setting, move: Move) -> Iterator[str]:
    """A capture leaves the state only settled."""
    name, after = move
    for capture in before.state.captures:
        tip = tip_of(capture)
        if _live(after.state, tip) is not None:
            continue
        confirmed = after.state.checkpoint is not None and after.state.checkpoint.capture_id == capture.capture_id
        newer = after.state.checkpoint is not None and tip_of(after.state.checkpoint) > tip
        superseded = name == "begin" and capture.status == "ready"
        if not (confirmed or newer or superseded or name.startswith("person: abandon")):
            yield f"capture {tip} was forgotten"
        held = newer and capture.status in ("lost", "refused")
        if not superseded and not held and not name.startswith("person") and not _ever(after, tip):
            yield f"capture {tip} counts as saved, and never was there"


def _ever(world: Setting, tip: int) -> bool:
    """A note with this identity exists, or existed: a server made one, or a twin is there or may have been deleted."""
    made = any(call.tip == tip and call.said == "accepted" for call in world.calls)
    deleted = world.left.rivals == 0 and world.left.touches == 0
    return made or deleted or any(note.bears == tip for note in world.notes)


def _checkpoint(known: Capture | None, after: Setting) -> Iterator[str]:
    current = after.state.checkpoint
    if known is not None and current is None:
        yield "the current checkpoint was dropped"
    if known is not None and current is not None and tip_of(current) < tip_of(known):
        yield "an older checkpoint became the current one"
    if current is not None and current.evidence == "answered":
        answered = (call.said == "accepted" and call.tip == tip_of(current) for call in after.calls)
        if not any(answered):
            yield "confirmed as answered, and no server answered so"


def _name(checkpoint: Capture | None) -> tuple[str, str | None] | None:
    """A checkpoint without its place, which is a rank here."""
    return None if checkpoint is None else (checkpoint.capture_id, checkpoint.evidence)


def _live(state: State, tip: int) -> Capture | None:
    return next((capture for capture in state.captures if capture.capture_id == capture_of(tip)), None)
