"""What an audit checks: every rule has an id and says what it proves when it finds nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from replay.shapes import FindingView, Severity

type RuleId = Literal[
    "file",
    "guards",
    "header",
    "branches",
    "contiguity",
    "chain",
    "events",
    "unknown",
    "submissions",
    "bodies",
    "intents",
    "attempts",
    "confirmations",
    "references",
    "verdicts",
    "inheritance",
    "causes",
    "refold",
    "anchors",
    "receipts",
    "tail",
    "notes",
]

PROVES: Mapping[RuleId, str] = {
    "file": "SQLite finds the file sound.",
    "guards": "The triggers that refuse edits are all there, as we wrote them.",
    "header": "There is one header, and every digest was computed over it.",
    "branches": "Every branch begins where its row says, at a row its parent recorded.",
    "contiguity": "Every branch counts its rows without a gap, in the order they were recorded.",
    "chain": "Every row's digest follows from the row and from all rows before it.",
    "events": "Every payload is exactly the closed, bounded shape its tag promises, so no free text is in it.",
    "unknown": "Every event is one this version knows, so that the rules below saw all of them.",
    "submissions": "Every attempt was intended once, and every intent holds its submission.",
    "bodies": "Every kept text is the one whose digest it is kept under.",
    "intents": "Every answer has its intent, and every tool result its call, earlier on the same branch; none came twice.",
    "attempts": "No write was repeated unless nothing had been sent, or a person decided it.",
    "confirmations": "Every confirmation names its evidence and where the note is.",
    "references": "Every checkpoint a brief named was confirmed by then, with the evidence the brief claimed.",
    "verdicts": "Every verdict is what its recorded reads prove about the intent.",
    "inheritance": "No branch touched a write that another branch began; a fork inherits what is confirmed and no more.",
    "causes": "Every cause is an earlier row of the same history.",
    "refold": "Every opening, close, fork, capture and intent is what deciding it again, in the replayed state, gives.",
    "anchors": "Every receipt that the session holds about this journal names a row that is still here, unchanged.",
    "receipts": "Every receipt of a confirmed write has its confirmation in this journal.",
    "tail": "A receipt outside the file vouches for every row, so none was cut off at the end.",
    "notes": "Every confirmed note is on disk where the journal says, byte for byte.",
}
"""In the order of checking: what cannot hold without what stands above it comes later."""


class Finding(NamedTuple):
    """One thing that is wrong, or that nothing proves; branch and position where it has them."""

    rule: RuleId
    severity: Severity
    branch: int | None
    position: int | None
    detail: str

    def view(self) -> FindingView:
        """Return the finding as it is shown."""
        return FindingView(
            rule=self.rule, severity=self.severity, branch=self.branch, position=self.position, detail=self.detail
        )
