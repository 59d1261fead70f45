"""Puts into words what `probe` and `resolve` found and did: data on stdout, talk on stderr. It decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from continuity.console import FINDINGS, SOUND, UNREADABLE, escaped, escaped_json, out, say

if TYPE_CHECKING:
    from continuity.cli.shapes import Shape
    from continuity.shell.online import Sent, Standing
    from continuity.shell.unattended import Settled
    from journal.events.writes import Decision


def show_call(standing: Standing, *, as_json: bool) -> None:
    """No read tells what became of a call; what it was aimed at tells a person where to look."""
    from continuity.cli.shapes import probe_of_call
    from continuity.pending import why
    from continuity.shell.online import target_of
    from journal.ids import CallId
    from journal.lock import holder

    item, path = standing.item, standing.left.path
    target = target_of(path, item.branch, CallId(item.reference))
    if as_json:
        print_json(probe_of_call(standing, target))
        return
    out(f"{escaped(item.short)}  {escaped(item.tool or '')}: {why(item, live=holder(path).live)}")
    out(f"aimed at  {escaped(target) if target is not None else 'not kept any more'}")
    out("no read of ours settles a call: look there yourself, then")
    out(f"`continuity resolve {item.short} --accept` or `--abandon`, with --reason TEXT")


def show_probe(standing: Standing, settled: Settled, *, as_json: bool) -> int:
    """Print one probe; return the exit code."""
    from continuity.cli.shapes import SETTLING, probe_of_capture
    from continuity.pending import VERDICTS, missing, observation
    from continuity.verdict import wanted_of

    (drawn,) = settled.verdicts
    capture = settled.left.states[standing.item.branch].capture(drawn.capture_id)
    view = probe_of_capture(standing, settled)
    if as_json:
        print_json(view)
    elif capture is not None:
        wanted = wanted_of(capture)
        out(f"{escaped(standing.item.short)}  {escaped(f'{capture.project}: {capture.path or "-"}')}")
        for seen in drawn.observations:
            out(f"  {escaped(observation(seen, wanted))}")
        out(f"  the server it was sent through is {drawn.writing_server}; the project is {drawn.project_source}")
        for lack in missing(drawn):
            out(f"  not proven yet: {lack}")
        out(f"{drawn.verdict}: {VERDICTS[drawn.verdict]}")
    if settled.owner is not None:
        say(f"not recorded: {_owner(settled)}. Its own session settles it; there `/bm-pending` shows it")
    elif drawn.verdict in ("conflicted", "absent_final"):
        say(f"hint: `continuity resolve {standing.item.short}` records what you decide")
    if drawn.verdict == "unreachable":
        return UNREADABLE
    return SOUND if settled.recorded and drawn.verdict in SETTLING else FINDINGS


def _owner(settled: Settled) -> str:
    from datetime import UTC, datetime

    from continuity.cli.shapes import owner_of

    owner = owner_of(settled)
    if owner is None:
        return "another process has this journal open"
    at = None if owner.since_ms is None else datetime.fromtimestamp(owner.since_ms / 1000, UTC)
    since = f" since {at.isoformat(timespec='seconds')}" if at is not None else ""
    return f"process {owner.pid} has this journal open{since}"


_WILL: Mapping[Decision, str] = {
    "accept": "count {what} as done, by your word",
    "abandon": "let go of {what}: it is neither read for nor sent again",
    "rewrite": "send {what} once more, as a new note; nothing is overwritten",
}


def announce(standing: Standing, decision: Decision) -> None:
    """Say what is known of it and what will be done, before it is done."""
    from continuity.pending import why

    item = standing.item
    what = f"the call of {item.tool}" if item.kind == "call" else f"{item.project}: {item.file_path or '-'}"
    say(f"{item.short} in {standing.left.path}, branch {item.branch}: {why(item, live=False)}")
    say(f"this will {_WILL[decision].format(what=what)}")


DONE: Mapping[Decision, str] = {
    "accept": "accepted, by your decision",
    "abandon": "abandoned, by your decision",
    "rewrite": "to be written again, by your decision",
}


def show_sent(standing: Standing, sent: Sent, *, as_json: bool) -> int:
    """Say what became of a new attempt; return the exit code."""
    answer, session = sent.answer, standing.left.header.session_id
    if answer is None or answer.outcome == "not-sent":
        why = sent.error or (answer.code if answer is not None else None) or "it was not sent"
        say(f"the decision is recorded, and the note is not written yet ({why})")
        again = f"`continuity resolve {standing.item.short} --rewrite` tries again"
        say(f"hint: the session writes it when it is resumed: tau --session {session}; {again}")
        return UNREADABLE
    if answer.outcome == "accepted":
        if not as_json:
            out(
                f"stored at {escaped(answer.file_path or '-')} as attempt {answer.attempt} (evidence: answered by the server)"
            )
        return SOUND
    say(f"attempt {answer.attempt} was sent; the server's answer: {answer.outcome} ({answer.code or 'no code'})")
    say(f"hint: `continuity probe {standing.item.short}` reads what became of it")
    return FINDINGS


def print_json(view: Shape) -> None:
    """Print one shape."""
    import json

    import msgspec

    out(escaped_json(json.dumps(msgspec.to_builtins(view), indent=2, ensure_ascii=False)))
