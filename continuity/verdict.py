"""What a set of reads proves about one write. It asks nobody and never trusts an address over an identity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from continuity.state import Capture
from journal.events.writes import CaptureProbed, Observation, Verdict
from journal.ids import CaptureId, EntryId, Sha256

ABSENCE_NEEDS = frozenset({"address", "title", "id_search"})
"""The three ways of asking that must all come back empty before absence can be final."""

type Lack = Literal["project", "server", "index", "reads"]


class Wanted(msgspec.Struct, frozen=True):
    """What a probe looks for: the identity a note must declare, and the body we sent."""

    capture_id: CaptureId
    source_tip: EntryId
    content_sha256: Sha256 | None


def wanted_of(capture: Capture) -> Wanted:
    """Return what a probe of `capture` looks for."""
    return Wanted(capture.capture_id, capture.source_tip, capture.content_sha256)


def verdict(wanted: Wanted, probe: CaptureProbed) -> Verdict:
    """Return what `probe`'s observations prove about `wanted`; the probe's own `verdict` field is not read.

    Identity decides: a note is ours when its frontmatter declares our capture
    id and our source tip, wherever it is.
    """
    ours = [o for o in probe.observations if _is_ours(wanted, o)]
    if ours:
        return _present(wanted, ours)
    if any(o.found == "note" and o.by in ("address", "file") for o in probe.observations):
        return "conflicted"
    return _absent(probe)


def _is_ours(wanted: Wanted, seen: Observation) -> bool:
    return seen.found == "note" and seen.capture_id == wanted.capture_id and seen.source_tip == wanted.source_tip


def _present(wanted: Wanted, ours: Sequence[Observation]) -> Verdict:
    """Several notes with our identity are one only if their bodies agree."""
    read = [o for o in ours if o.content_sha256 is not None]
    if len({o.file_path for o in read}) > 1 and len({o.content_sha256 for o in read}) > 1:
        return "conflicted"
    if any(o.content_sha256 == wanted.content_sha256 for o in read):
        return "present_same"
    if any(o.content_sha256 == o.declared_sha256 for o in read):
        return "present_twin"
    return "present_edited"


def lacks(probe: CaptureProbed) -> tuple[Lack, ...]:
    """Return what is not proven of `probe`, and would make its silence final."""
    asked = {o.by for o in probe.observations if o.found == "nothing"}
    needs: tuple[tuple[Lack, bool], ...] = (
        ("project", probe.project_source == "local"),
        ("server", probe.writing_server == "gone"),
        ("index", probe.index_proven),
        ("reads", asked >= ABSENCE_NEEDS and all(o.found == "nothing" for o in probe.observations)),
    )
    return tuple(lack for lack, met in needs if not met)


def _absent(probe: CaptureProbed) -> Verdict:
    """Not found: final only when nothing is left that could still land it."""
    by_address = [o for o in probe.observations if o.by == "address"]
    if not by_address or any(o.found == "unreachable" for o in by_address):
        return "unreachable"
    return "absent_open" if lacks(probe) else "absent_final"
