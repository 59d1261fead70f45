"""The rules about what happened, asked of every proven row of a branch. They judge what is recorded and mend nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from continuity.sentences import short
from continuity.verdict import Wanted, verdict
from journal.events import (
    BranchForked,
    CaptureProbed,
    CaptureResolved,
    CaptureSuperseded,
    CheckpointReferenced,
    NoteEdited,
    NoteMoved,
    NoteWithdrawn,
    SynthesisAdvanced,
    SynthesisFailed,
    SynthesisFinished,
    ToolAnswered,
    ToolCalled,
    WriteAnswered,
    WriteIntended,
)
from journal.ids import CallId, Sha256
from journal.row import FIRST_BRANCH
from replay.fold import Step
from replay.rules import Finding, RuleId
from replay.rules.accounts import PRESENT, Accounts
from replay.rules.refold import differences

_OWED = (
    SynthesisAdvanced
    | SynthesisFinished
    | SynthesisFailed
    | CaptureSuperseded
    | WriteIntended
    | WriteAnswered
    | CaptureResolved
)
"""Events that only the branch which began a capture may record of it."""

_KNOWN = CaptureProbed | NoteMoved | NoteEdited | NoteWithdrawn
"""Events that a branch may also record of what it inherited as confirmed."""


class Auditor:
    """Judges one branch: every row of its history is taken in, only those it recorded itself are judged."""

    def __init__(self, branch: int) -> None:
        self.branch = branch
        self.accounts = Accounts()
        self._calls: set[CallId] = set()
        self._before: set[Sha256] = set()
        self._own = 0
        self._rules: Mapping[RuleId, Callable[[Step], Iterator[str]]] = {
            "intents": self._intents,
            "attempts": self._attempts,
            "confirmations": self._confirmations,
            "references": self._references,
            "verdicts": _verdicts,
            "inheritance": self._inheritance,
            "causes": self._causes,
            "refold": _refold,
        }

    def judge(self, step: Step) -> Iterator[Finding]:
        """Yield what is wrong with one row, then take it in."""
        row = step.row
        if row.branch == self.branch:
            self._own += 1
            for rule, look in self._rules.items():
                for detail in look(step):
                    yield Finding(rule, "broken", row.branch, row.position, detail)
        self.accounts.saw(step)
        self._before.add(row.digest)
        if isinstance(row.event, ToolCalled):
            self._calls.add(row.event.call_id)

    def _intents(self, step: Step) -> Iterator[str]:
        match step.row.event:
            case WriteAnswered(capture_id=capture, attempt=attempt):
                account = self.accounts.get(capture)
                if account is None or attempt not in account.intended:
                    yield f"{short(capture)} attempt {attempt} was answered and never intended"
                elif attempt in account.outcomes:
                    yield f"{short(capture)} attempt {attempt} was answered before"
            case ToolCalled(call_id=call) if call in self._calls:
                yield f"the call {call} was forwarded before"
            case ToolAnswered(call_id=call) if call not in self._calls:
                yield f"the call {call} was answered and never forwarded"
            case _:
                pass

    def _attempts(self, step: Step) -> Iterator[str]:
        event = step.row.event
        if not isinstance(event, WriteIntended):
            return
        account = self.accounts.get(event.capture_id)
        if account is None:
            return
        if account.confirmed:
            yield f"{short(event.capture_id)} was confirmed, and is written again"
        if not account.intended or event.attempt in account.allowed:
            return
        last = max(account.intended)
        outcome = account.outcomes.get(last, "unanswered")
        if event.attempt != last + 1 or outcome != "not-sent":
            yield f"{short(event.capture_id)} is written again after attempt {last} ended {outcome}"

    def _confirmations(self, step: Step) -> Iterator[str]:
        event = step.row.event
        match event:
            case WriteAnswered(outcome="accepted", file_path=None):
                yield f"{short(event.capture_id)} was accepted without a path"
            case CaptureResolved(decision="accept"):
                account = self.accounts.get(event.capture_id)
                if account is None or not account.probed:
                    yield f"{short(event.capture_id)} was accepted by a person before anything was read"
            case _:
                pass
        current = step.after.checkpoint
        if current is not None and current != step.before.checkpoint and None in (current.evidence, current.path):
            yield f"{short(current.capture_id)} became the checkpoint without evidence or path"

    def _references(self, step: Step) -> Iterator[str]:
        event = step.row.event
        if not isinstance(event, CheckpointReferenced):
            return
        account = self.accounts.get(event.capture_id)
        if account is None or not account.confirmed:
            yield f"{short(event.capture_id)} was not confirmed when a brief named it"
        elif account.withdrawn:
            yield f"{short(event.capture_id)} was gone when a brief named it"
        elif event.evidence not in account.evidence:
            had = ", ".join(sorted(account.evidence)) or "none"
            yield f"a brief claimed the evidence {event.evidence} for {short(event.capture_id)}; it had {had}"

    def _inheritance(self, step: Step) -> Iterator[str]:
        row, event = step.row, step.row.event
        first = self._own == 1 and row.branch != FIRST_BRANCH
        if isinstance(event, BranchForked) != first:
            yield "a branch begins without saying why it was forked" if first else "a fork in the middle of a branch"
        if isinstance(event, _OWED | _KNOWN):
            account = self.accounts.get(event.capture_id)
            begun_on = None if account is None else account.begun_on
            inherited = isinstance(event, _KNOWN) and account is not None and account.confirmed
            if begun_on != row.branch and not inherited:
                where = "nowhere" if begun_on is None else f"on branch {begun_on}"
                yield f"{short(event.capture_id)} was begun {where}, and is not this branch's to settle"

    def _causes(self, step: Step) -> Iterator[str]:
        cause = step.row.cause
        if cause is not None and cause not in self._before:
            yield f"its cause {short(cause)} is no earlier row of this history"


def _verdicts(step: Step) -> Iterator[str]:
    event = step.row.event
    if not isinstance(event, CaptureProbed):
        return
    capture = step.before.capture(event.capture_id)
    if capture is None:
        if event.verdict in PRESENT:
            yield f"{short(event.capture_id)} is found {event.verdict}, and this branch does not know what was sent"
        return
    wanted = Wanted(capture.capture_id, capture.source_tip, capture.content_sha256)
    proven = verdict(wanted, event)
    if proven != event.verdict:
        yield f"{short(event.capture_id)} is called {event.verdict}; the reads prove {proven}"


def _refold(step: Step) -> Iterator[str]:
    yield from differences(step.before, step.row.event)
