"""Asks every rule of a journal and says how far it is proven. It reads, judges, and changes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from continuity.state import Capture
from journal.errors import JournalDamaged, NoSuchPlace, RowUnreadable
from journal.events import NoteWithdrawn
from journal.filesystem import file_system, keeps_journals
from journal.ids import CaptureId
from journal.reader import Reader
from replay.fold import Step, steps
from replay.rules import PROVES, Finding
from replay.rules.history import Auditor
from replay.rules.outside import Vouched, anchors, notes, receipts, tail
from replay.rules.stored import stored
from replay.session import Mirrored
from replay.shapes import AuditView, Proved


class Storage(NamedTuple):
    """How the file is kept, and where."""

    journal_mode: str | None
    file_system: str | None

    @classmethod
    def of(cls, reader: Reader) -> Storage:
        """Ask SQLite and the mount table; a file that is too damaged to say leaves the first open."""
        try:
            mode = reader.journal_mode()
        except JournalDamaged:
            mode = None
        return cls(mode, file_system(reader.path))


class Audit(NamedTuple):
    """What an audit found."""

    storage: Storage
    findings: tuple[Finding, ...]
    proven: dict[int, tuple[int, str | None]]
    vouched: Vouched
    asked: int
    """How many rules were asked; without a session or a notes folder some are not."""

    @property
    def ok(self) -> bool:
        """Whether nothing is broken; what is unproven is not broken."""
        return all(finding.severity != "broken" for finding in self.findings)

    def view(self) -> AuditView:
        """Return the audit as `--json` prints it."""
        return AuditView(
            ok=self.ok,
            journal_mode=self.storage.journal_mode,
            file_system=self.storage.file_system,
            file_system_supported=keeps_journals(self.storage.file_system),
            proved_to={
                str(branch): Proved(position=position, digest=digest, anchored=self.vouched.get(branch))
                for branch, (position, digest) in self.proven.items()
            },
            findings=[finding.view() for finding in self.findings],
        )


class _Walk:
    """Reads every branch as far as it is proven and asks the rules about what happened."""

    def __init__(self, reader: Reader) -> None:
        self.findings: list[Finding] = []
        self.proven: dict[int, tuple[int, str | None]] = {}
        self.confirmed: set[CaptureId] = set()
        self.checkpoints: dict[CaptureId, tuple[int, int, Capture]] = {}
        """Every checkpoint that was ever current and is not known to be gone, as it was last known, and where."""
        self.whole = True
        """No branch had to be left before its end."""
        for row in reader.branches:
            self._read(reader, row.branch)

    def _read(self, reader: Reader, branch: int) -> None:
        auditor = Auditor(branch)
        self.proven[branch] = (0, None)
        try:
            for step in steps(reader, branch):
                self.findings.extend(auditor.judge(step))
                self.proven[branch] = (step.row.position, step.row.digest)
                self._note(step)
        except (RowUnreadable, NoSuchPlace):  # said, with its place, by the rules about stored bytes
            self.whole = False
        self.confirmed |= auditor.accounts.confirmed()

    def _note(self, step: Step) -> None:
        current, row = step.after.checkpoint, step.row
        if current is not None and current is not step.before.checkpoint:
            self.checkpoints[current.capture_id] = (row.branch, row.position, current)
        if isinstance(row.event, NoteWithdrawn):
            self.checkpoints.pop(row.event.capture_id, None)


def audit(reader: Reader, mirror: Mirrored | None = None, folder: Path | None = None) -> Audit:
    """Return what every rule says of the journal; of its anchors and notes only if `mirror` and `folder` are given."""
    storage, findings = Storage.of(reader), list(stored(reader))
    asked = len(PROVES) - 2 * (mirror is None) - (folder is None)
    try:
        walk = _Walk(reader)
        outside, vouched = _outside(reader, walk, mirror)
    except JournalDamaged as error:
        if all(finding.severity != "broken" for finding in findings):
            findings.append(Finding("file", "broken", None, None, error.what))
        return Audit(storage, tuple(findings), {}, {}, asked)
    on_disk = () if folder is None else notes(folder, walk.checkpoints)
    return Audit(storage, (*findings, *walk.findings, *outside, *on_disk), walk.proven, vouched, asked)


def _outside(reader: Reader, walk: _Walk, mirror: Mirrored | None) -> tuple[list[Finding], Vouched]:
    if mirror is None:
        return list(tail(reader, {}, asked=False)), {}
    proven = {branch: position for branch, (position, _) in walk.proven.items()}
    findings, vouched = anchors(reader, mirror, proven)
    if walk.whole:
        findings += receipts(mirror, reader.header.journal_id, walk.confirmed)
    return [*findings, *tail(reader, vouched, asked=True)], vouched
