"""What a history says of each capture, kept by the auditor itself: it remembers what the machine's state may forget."""

from __future__ import annotations

from journal.events import (
    CaptureBegun,
    CaptureProbed,
    CaptureResolved,
    NoteWithdrawn,
    ReceiptAdopted,
    WriteAnswered,
    WriteIntended,
)
from journal.events.writes import Outcome, Verdict
from journal.ids import BranchId, CaptureId
from replay.fold import Step

PRESENT: frozenset[Verdict] = frozenset({"present_same", "present_edited", "present_twin"})


class Account:
    """One capture as the rows so far tell it."""

    def __init__(self) -> None:
        self.begun_on: BranchId | None = None
        self.intended: set[int] = set()
        self.outcomes: dict[int, Outcome] = {}
        self.allowed: set[int] = set()
        """Attempts that a person ordered."""
        self.probed = False
        self.confirmed = False
        self.withdrawn = False
        self.evidence: set[str] = set()


class Accounts:
    """All captures of one history."""

    def __init__(self) -> None:
        self._of: dict[CaptureId, Account] = {}

    def get(self, capture: CaptureId) -> Account | None:
        """Return what is known of `capture`, if anything is."""
        return self._of.get(capture)

    def confirmed(self) -> frozenset[CaptureId]:
        """Return the captures that were ever confirmed; the notes of some may be gone since."""
        return frozenset(capture for capture, account in self._of.items() if account.confirmed)

    def saw(self, step: Step) -> None:
        """Enter one row. Rules look before this."""
        event = step.row.event
        match event:
            case CaptureBegun():
                self._account(event.capture_id).begun_on = step.row.branch
            case WriteIntended():
                self._account(event.capture_id).intended.add(event.attempt)
            case WriteAnswered():
                account = self._account(event.capture_id)
                account.outcomes[event.attempt] = event.outcome
                account.confirmed |= event.outcome == "accepted"
            case CaptureProbed():
                account = self._account(event.capture_id)
                account.probed = True
                account.confirmed |= event.verdict in PRESENT and bool(account.intended)
            case ReceiptAdopted():
                self._account(event.capture_id).confirmed = True
            case CaptureResolved():
                account = self._account(event.capture_id)
                account.confirmed |= event.decision == "accept"
                if event.decision == "rewrite":
                    account.allowed.add(event.attempt)
            case NoteWithdrawn():
                self._account(event.capture_id).withdrawn = True
            case _:
                pass
        self._evidence(step)

    def _evidence(self, step: Step) -> None:
        current = step.after.checkpoint
        if current is not None and current.evidence is not None:
            self._account(current.capture_id).evidence.add(current.evidence)

    def _account(self, capture: CaptureId) -> Account:
        return self._of.setdefault(capture, Account())
