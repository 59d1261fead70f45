"""Which branch the host's active path continues, and what is known to lie deepest on it. It compares ids, never times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

import msgspec

from continuity.state import State
from journal.ids import BranchId, EntryId


class Trail(msgspec.Struct, frozen=True):
    """One branch as lineage sees it: where its own rows' tips changed, oldest first."""

    branch: BranchId
    tips: tuple[tuple[int, EntryId], ...]
    """(position of the last row with this tip, tip) of the branch's own rows."""


class Stay(msgspec.Struct, frozen=True):
    """The path continues this branch."""

    branch: BranchId


class ForkAt(msgspec.Struct, frozen=True):
    """The path left every branch; it shares most with `parent` up to `position`."""

    parent: BranchId
    position: int
    left_tip: EntryId | None


def choose(path: Sequence[EntryId], trails: Sequence[Trail], current: BranchId) -> Stay | ForkAt:
    """Return the branch whose last tip lies deepest on `path`, or where to fork.

    `path` is the public messages from the root to the active tip; `current` is
    the branch written last, which wins a tie and is the one that was left. A
    branch that went on elsewhere may share more of the path than one that ends
    on it, where that one began at a look and nothing was said on it yet.
    """
    depth = {entry: index for index, entry in enumerate(path)}
    standing = [
        (depth[t.tips[-1][1]], t.branch == current, t.branch) for t in trails if t.tips and t.tips[-1][1] in depth
    ]
    shared = max((depth[tip] for t in trails for _, tip in t.tips if tip in depth), default=-1)
    if standing and max(standing)[0] == shared:
        return Stay(max(standing)[2])
    empty = [t for t in trails if not t.tips and t.branch == current]
    if empty and not standing:
        return Stay(current)
    return _fork(depth, trails, current)


def _fork(depth: dict[EntryId, int], trails: Sequence[Trail], current: BranchId) -> ForkAt:
    """At the row that shares most of the path; before everything when nothing is shared."""
    left = next((t.tips[-1][1] for t in trails if t.branch == current and t.tips), None)
    shared = [(depth[tip], position, trail.branch) for trail in trails for position, tip in trail.tips if tip in depth]
    if not shared:
        return ForkAt(trails[0].branch, 0, left)
    _, position, branch = max(shared)
    return ForkAt(branch, position, left)


def newest(path: Sequence[EntryId], *, beyond: Iterable[EntryId]) -> Iterator[EntryId]:
    """Yield the entries of `path` from its end upwards, as far as the first that is one of `beyond`."""
    passed = frozenset(beyond)
    return takewhile(lambda entry: entry not in passed, reversed(path))


def deepest(path: Sequence[EntryId], tips: Iterable[EntryId], *, beyond: Iterable[EntryId]) -> EntryId | None:
    """Return the one of `tips` that lies deepest on `path`, if it lies deeper than each of `beyond`.

    What is not on the path lies nowhere: it is never chosen and hides nothing.
    """
    wanted = frozenset(tips)
    return next((entry for entry in newest(path, beyond=beyond) if entry in wanted), None)


def reached(state: State) -> tuple[EntryId, ...]:
    """Return the tips that this branch's checkpoint stands for, or may stand for once what it owes is settled.

    A receipt from elsewhere that lies no deeper brings nothing here, and would hide the branch's own when that lands.
    """
    coming = (c for c in state.captures if c.kind == "checkpoint" and c.status not in ("conflicted", "lost", "refused"))
    return tuple(c.source_tip for c in (state.checkpoint, *coming) if c is not None)


def starts_from_note(path: Sequence[EntryId], state: State) -> bool:
    """Tell whether the checkpoint's note, and no handoff made here, is what the next synthesis has to start from.

    So it is where the newest handoff is none of this path, or is overtaken by a checkpoint that was adopted, and
    where somebody edited the note since its handoff was made.
    """
    checkpoint, basis = state.checkpoint, state.handoff
    if checkpoint is None:
        return False
    if basis is None:
        return True
    if basis.capture_id == checkpoint.capture_id:
        return checkpoint.edited and basis.sha256 == checkpoint.handoff_sha256
    return deepest(path, [checkpoint.source_tip], beyond=[basis.tip]) is not None
