"""Which branch of the journal the host's active path continues. It compares ids and never looks at time."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

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
    the branch written last, which wins a tie and is the one that was left.
    """
    depth = {entry: index for index, entry in enumerate(path)}
    standing = [
        (depth[t.tips[-1][1]], t.branch == current, t.branch) for t in trails if t.tips and t.tips[-1][1] in depth
    ]
    if standing:
        return Stay(max(standing)[2])
    empty = [t for t in trails if not t.tips and t.branch == current]
    if empty:
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
