"""What `probe` and `resolve` say as JSON: versioned shapes, from which `schemas/cli` is generated. No text for people is here."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from continuity.shell.online import Sent, Standing
from continuity.shell.unattended import Settled
from journal.events.lifecycle import ProjectSource
from journal.events.writes import Decision, Observation, Outcome, ServerState, Verdict, Way
from journal.lock import lock_path

SETTLING: frozenset[Verdict] = frozenset({"present_same", "present_edited", "present_twin", "absent_final"})
"""Verdicts after which nobody has to find out anything more."""

type Kind = Literal["capture", "call"]


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of these shapes; keys come in the order written here."""


class Read(Shape, frozen=True, kw_only=True):
    """One read that was made, as it was answered."""

    by: Way
    found: Literal["note", "nothing", "unreachable"]
    file_path: str | None
    capture_id: str | None
    """The identity the note declares; null when it declares none."""
    source_tip: str | None
    declared_sha256: str | None
    """The digest of the body that the note itself declares."""
    content_sha256: str | None
    """The digest of the body as it was read."""
    checksum: str | None


class Owner(Shape, frozen=True, kw_only=True):
    """The process that has a journal open."""

    pid: int
    since_ms: int | None


class ProbeView(Shape, frozen=True, kw_only=True):
    """What became of one open thing, as far as reading tells."""

    schema: Literal["continuity.probe/1"] = "continuity.probe/1"
    path: str
    """The journal's file."""
    session: str
    journal: str
    branch: int
    reference: str
    kind: Kind
    tool: str | None
    """Null for a write; as is `target`."""
    target: str | None
    """What the call was aimed at, masked; null when it is not kept any more."""
    project: str | None
    """Null for a call, as is everything of a read."""
    file_path: str | None
    attempt: int | None
    reads: list[Read]
    writing_server: ServerState | None
    """What was proven of the server it was sent through, before the reads began."""
    project_source: ProjectSource | None
    index_proven: bool | None
    """The search found a note known to be stored, so that its silence means something."""
    verdict: Verdict | None
    settled: bool
    """It is recorded, and nobody has to find out anything more."""
    recorded: bool
    owner: Owner | None
    """Who has the journal open, if that is why nothing was recorded."""


class ResolveView(Shape, frozen=True, kw_only=True):
    """What a person decided, and what came of it."""

    schema: Literal["continuity.resolve/1"] = "continuity.resolve/1"
    path: str
    session: str
    journal: str
    branch: int
    reference: str
    kind: Kind
    decision: Decision
    attempt: int | None
    """Of what was sent; null when nothing was."""
    outcome: Outcome | None
    code: str | None
    file_path: str | None
    """Where the server says that it is."""
    evidence: Literal["answered"] | None
    owed: bool
    """The new attempt was not made yet; the session makes it when it is resumed."""


SETTLE_SHAPES: dict[str, type[Shape]] = {"probe": ProbeView, "resolve": ResolveView}
"""The shape behind each command's `--json`."""


def probe_of_call(standing: Standing, target: str | None) -> ProbeView:
    """Return what can be said of a call, which no read settles."""
    return _probe(standing, target=target)


def probe_of_capture(standing: Standing, settled: Settled) -> ProbeView:
    """Return what the one look in `settled` found."""
    (drawn,) = settled.verdicts
    told = _probe(standing, reads=[_read(seen) for seen in drawn.observations])
    return msgspec.structs.replace(
        told,
        writing_server=drawn.writing_server,
        project_source=drawn.project_source,
        index_proven=drawn.index_proven,
        verdict=drawn.verdict,
        settled=settled.recorded and drawn.verdict in SETTLING,
        recorded=settled.recorded,
        owner=owner_of(settled),
    )


def _probe(standing: Standing, *, target: str | None = None, reads: list[Read] | None = None) -> ProbeView:
    item, found = standing.item, standing.left
    return ProbeView(
        path=str(found.path),
        session=found.header.session_id,
        journal=found.header.journal_id,
        branch=item.branch,
        reference=item.reference,
        kind=item.kind,
        tool=item.tool,
        target=target,
        project=item.project,
        file_path=item.file_path,
        attempt=item.attempt,
        reads=reads or [],
        writing_server=None,
        project_source=None,
        index_proven=None,
        verdict=None,
        settled=False,
        recorded=False,
        owner=None,
    )


def _read(seen: Observation) -> Read:
    return Read(
        by=seen.by,
        found=seen.found,
        file_path=seen.file_path,
        capture_id=seen.capture_id,
        source_tip=seen.source_tip,
        declared_sha256=seen.declared_sha256,
        content_sha256=seen.content_sha256,
        checksum=seen.checksum,
    )


def owner_of(settled: Settled) -> Owner | None:
    """Return who has the journal open, and since when; None if nobody has, or it left no words."""
    if settled.owner is None or settled.owner.holder is None:
        return None
    return Owner(pid=settled.owner.holder.process.pid, since_ms=_since(lock_path(settled.left.path)))


def _since(lock: Path) -> int | None:
    """The words in a lock's file are written when it is taken."""
    try:
        return lock.stat().st_mtime_ns // 1_000_000
    except OSError:
        return None


def resolved(standing: Standing, decision: Decision, sent: Sent | None) -> ResolveView:
    """Return what came of a decision; `sent` is what became of a new attempt."""
    item, found = standing.item, standing.left
    answer = sent.answer if sent is not None else None
    accepted = answer is not None and answer.outcome == "accepted"
    return ResolveView(
        path=str(found.path),
        session=found.header.session_id,
        journal=found.header.journal_id,
        branch=item.branch,
        reference=item.reference,
        kind=item.kind,
        decision=decision,
        attempt=answer.attempt if answer is not None else None,
        outcome=answer.outcome if answer is not None else None,
        code=answer.code if answer is not None else None,
        file_path=answer.file_path if answer is not None else None,
        evidence="answered" if accepted else None,
        owed=sent is not None and (answer is None or answer.outcome == "not-sent"),
    )
