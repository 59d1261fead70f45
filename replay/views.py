"""Shapes as text for people, every word from a journal escaped; a state's text also says what was never sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from continuity.console import escaped
from continuity.pending import age
from continuity.sentences import counted, short, utc
from continuity.state import Capture, Gathered, State, Status
from continuity.unstored import Unstored, told
from replay.render import id_length, table
from replay.shapes import AuditView, BranchesView, FindingView, NotStored, StateView, Unproven, WhyView

_NONE = "-"


_KEPT: Mapping[Status, str] = {
    "begun": "begun, not summarised yet",
    "ready": "ready, not sent yet",
    "refused": "refused by the server, and stored nowhere else",
    "lost": "sent, and proven not to be stored",
}
"""Statuses of a capture that is here and is no note, in words."""


def state_text(view: StateView, state: State) -> str:
    """Return what a branch amounts to: `view`, which is all the JSON has, and what of `state` waits to be saved."""
    recall, checkpoint = view.recall, view.checkpoint
    rows = [
        ("session", escaped(view.session)),
        ("journal", escaped(view.journal)),
        ("branch", f"{view.branch}@{view.position}"),
        ("tip", escaped(view.tip or _NONE)),
    ]
    if checkpoint is None:
        rows.append(("checkpoint", "none confirmed"))
    else:
        labels = "".join(f", {label} since" for label in checkpoint.labels)
        proof = f"evidence {checkpoint.evidence or 'none'}{labels}"
        rows.append(("checkpoint", _capture(checkpoint.capture_id, checkpoint.attempt, proof)))
        rows.append(("", _place(checkpoint.project, checkpoint.file_path)))
    for number, pending in enumerate(view.pending):
        status = f"{pending.status} since {utc(pending.since_ms)}"
        rows.append(("" if number else "pending", _capture(pending.capture_id, pending.attempt, status)))
        rows.append(("", _place(pending.project, pending.file_path)))
    if not view.pending:
        rows.append(("pending", "nothing"))
    rows += _unsaved(state)
    rows += _off_the_record(state)
    rows.append(("recall", f"due: {escaped(recall.due)}" if recall.due else "nothing due"))
    if recall.brief_sha256 is not None:
        given = utc(recall.delivered_ms) if recall.delivered_ms else _NONE
        rows.append(("", f"brief {short(recall.brief_sha256)} delivered {given}"))
    if recall.failures:
        rows.append(("", f"failed: {escaped(', '.join(recall.failures))}"))
    return "\n".join(table(rows))


def _unsaved(state: State) -> list[tuple[str, str]]:
    """Rows for what is on this machine alone: captures that are no note, and what gathered since the newest began."""
    waiting = [_waiting(capture) for capture in state.captures if capture.status in _KEPT]
    rows = [("" if number else "kept", text) for number, text in enumerate(waiting)]
    if state.gathered.characters or state.gathered.owed:
        rows.append(("unsaved", _gathered(state.gathered)))
    return rows


def _off_the_record(state: State) -> list[tuple[str, str]]:
    """Rows for what was said off the record: no later checkpoint and no transcript has it."""
    ended = [
        f"from {escaped(span.after or 'the beginning')} to {escaped(span.through)}"
        for span in state.off
        if span.through and span.through != span.after
    ]
    lasting = [f"since {utc(state.paused_ms)}, and still"] if state.paused else []
    return [("" if number else "off record", text) for number, text in enumerate((*ended, *lasting))]


def _waiting(capture: Capture) -> str:
    failed = f", {counted(capture.failures, 'failure')} in a row" if capture.failures else ""
    return f"{short(capture.capture_id)} {_KEPT[capture.status]}{failed}"


def _gathered(gathered: Gathered) -> str:
    text = f"{counted(gathered.characters, 'character')} in {counted(gathered.messages, 'message')}"
    since = f" since {utc(gathered.since_ms)}" if gathered.since_ms else ""
    owed = f", due: {escaped(gathered.owed)}" if gathered.owed else ""
    return f"{text}{since}{owed}"


def _capture(capture_id: str, attempt: int, what: str) -> str:
    return f"{short(capture_id)} attempt {attempt}, {what}"


def _place(project: str, file_path: str | None) -> str:
    return escaped(f"{project}: {file_path or _NONE}")


def branches_text(view: BranchesView) -> str:
    """Return the branches, a line each."""
    rows = [("branch", "leaves", "rows", "to", "last written", "tip", "")]
    rows += [
        (
            str(each.branch),
            _NONE if each.parent is None else f"{each.parent}@{each.fork_position}",
            str(each.events),
            f"{each.branch}@{each.position}",
            _NONE if each.last_ms is None else utc(each.last_ms),
            escaped(each.tip or _NONE),
            "written last" if each.written_last else "",
        )
        for each in view.branches
    ]
    return "\n".join(table(rows))


def unproven_text(items: Sequence[Unproven], now_ms: int, unsent: Sequence[NotStored] = ()) -> str:
    """Return what is not settled, a paragraph each, and how much it is; then a line for each journal with unsent texts."""
    waiting = "\n".join(_unsent(each, now_ms) for each in unsent)
    return "\n\n".join(part for part in (_unproven(items, now_ms), waiting) if part) or "nothing is unproven"


def _unsent(each: NotStored, now_ms: int) -> str:
    left = Unstored(ready=each.ready, unmade=each.unmade, failed=each.failed, since_ms=each.since_ms)
    return escaped(told(left, each.session, now_ms, live=each.live))


def _unproven(items: Sequence[Unproven], now_ms: int) -> str:
    if not items:
        return ""
    unsure = sum(each.unproven for each in items)
    unsent = sum(each.status == "ready" for each in items)
    decided = len(items) - unsure - unsent
    total = ", ".join(
        [
            *([f"{unsure} unproven"] if unsure else []),
            *([f"{decided} not stored and waiting for a decision"] if decided else []),
            *([f"{unsent} decided and not sent yet"] if unsent else []),
        ]
    )
    return "\n\n".join([*("\n".join(_unsettled(each, now_ms)) for each in items), total])


def _unsettled(item: Unproven, now_ms: int) -> list[str]:
    known = "decided and not sent yet" if item.status == "ready" else f"{item.status}, not stored"
    standing = item.status.replace("_", " ") if item.unproven else known
    held = ", held by a running process" if item.live else ""
    rows = [
        ("where", escaped(f"{item.path} branch {item.branch}, session {item.session}{held}")),
        ("since", f"{utc(item.since_ms)}, {age(now_ms - item.since_ms)} ago"),
        ("why", escaped(item.why)),
        ("next", escaped(item.next_step)),
    ]
    return [f"{_named(item)}: {standing}", *(f"  {line}" for line in table(rows))]


def _named(item: Unproven) -> str:
    if item.capture_id is None:
        return escaped(f"{short(item.reference)} tool {item.tool}")
    again = f" attempt {item.attempt}" if item.attempt and item.attempt > 1 else ""
    return escaped(f"{short(item.reference)} {item.kind}{again} to {item.project}: {item.file_path or _NONE}")


def why_text(view: WhyView) -> str:
    """Return a story: its rows, what each read found below them, and what is known now."""
    what = "row" if view.kind == "row" else view.kind
    length = id_length(step.id for step in view.steps)
    cells = [
        (
            f"{step.branch}@{step.position}",
            step.id[:length],
            utc(step.at_ms),
            escaped(step.type.rpartition(".v")[0] or step.type),
            escaped(step.said) + (" <- asked for" if step.asked else ""),
        )
        for step in view.steps
    ]
    lines = [escaped(f"{short(view.reference)} {what}, in {view.path} branch {view.branch}, session {view.session}")]
    for line, step in zip(table(cells), view.steps, strict=True):
        lines += [line, *(f"        {escaped(detail)}" for detail in step.details)]
    lines.append(escaped(f"known: {view.known.status.replace('_', ' ')}: {view.known.text}"))
    if view.known.next_step is not None:
        lines.append(escaped(f"next: {view.known.next_step}"))
    return "\n".join(lines)


def audit_text(view: AuditView, asked: int, words: Mapping[str, str]) -> str:
    """Return what an audit found with `asked` rules; `words` are ok, unproven and broken as they are to be shown."""
    lines = [_stored(view)]
    lines += [_proved(branch, proved.position, proved.anchored) for branch, proved in view.proved_to.items()]
    lines += _findings(view.findings, words)
    broken = sum(finding.severity == "broken" for finding in view.findings)
    unsure = len(view.findings) - broken
    if broken:
        verdict = f"{words['broken']}: {counted(broken, 'finding')} broken, {unsure} unproven"
    elif unsure:
        verdict = f"{words['unproven']}: nothing is broken, {counted(unsure, 'finding')} unproven"
    else:
        verdict = f"{words['ok']}: every rule holds"
    return "\n".join([*lines, f"{verdict}; {asked} rules asked, `continuity audit --rules` lists them"])


def _stored(view: AuditView) -> str:
    where = escaped(view.file_system or "a file system nobody can name")
    advice = "" if view.file_system_supported else ", where no journal is safe: move it to a local disk"
    return f"file: journal mode {view.journal_mode or 'not to be read'}, on {where}{advice}"


def _proved(branch: str, position: int, anchored: int | None) -> str:
    outside = "no receipt outside vouches for it" if anchored is None else f"vouched for from outside to row {anchored}"
    return f"branch {branch}: proven to row {position}, {outside}"


def _findings(findings: Sequence[FindingView], words: Mapping[str, str]) -> list[str]:
    cells = [(each.severity, each.rule, _where(each), escaped(each.detail)) for each in findings]
    return [
        line.replace(each.severity, words[each.severity], 1) for line, each in zip(table(cells), findings, strict=True)
    ]


def _where(finding: FindingView) -> str:
    if finding.branch is None:
        return _NONE
    return f"branch {finding.branch}" if finding.position is None else f"{finding.branch}@{finding.position}"
