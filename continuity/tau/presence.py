"""What a person sees of us in Tau: notices, each said once, and the status page. It never speaks to the model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from continuity.checkout import around, explained
from continuity.due import transcript_stopped
from continuity.pending import age
from continuity.shell.desk import PINNING, Desk
from continuity.shell.holding import Second
from continuity.shell.link import MemoryLink
from continuity.shell.ports import NoticeLevel
from continuity.shell.session import Session
from continuity.state import OWED, PENDING, Capture, State
from continuity.tau.host import Tau, notify

_REMEMBERED = 8
"""Generations that may still be alive; a host holds few sessions at once."""

_LEVELS = {
    "A": "A: the host announces compactions and branches",
    "B": "B: stock Tau; a compaction you start or a change of branch is noticed at your next prompt",
    "C": "C: no session file, so nothing is saved or recalled",
}


class Presence:
    """Speaks through whichever generation of the extension is alive; lives as long as the process."""

    def __init__(self) -> None:
        self._taus: list[Tau] = []
        self._said: dict[str, str] = {}
        self._unsaid: dict[object, tuple[str, NoticeLevel]] = {}
        """By topic; an answer, which replaces no other, by a key of its own."""

    def use(self, tau: Tau) -> None:
        """Speak through `tau` from now on, and say what could not be said before.

        When it is gone, whoever was there before it and still is speaks again:
        a session's child may come and go.
        """
        self._taus = [tau, *self._taus[:_REMEMBERED]]
        unsaid, self._unsaid = self._unsaid, {}
        for key, (text, level) in unsaid.items():
            self._show(key, text, level)

    def say(self, topic: str, text: str, level: NoticeLevel = "info") -> None:
        """Show `text` unless it is what was last said on `topic`."""
        if self._said.get(topic) == text:
            return
        self._said[topic] = text
        self._show(topic, text, level)

    def answer(self, text: str, level: NoticeLevel = "info") -> None:
        """Show what a person asked for, each time, and keep nothing of it once it is shown."""
        self._show(object(), text, level)

    def _show(self, key: object, text: str, level: NoticeLevel) -> None:
        if not self._shown(text, level):
            self._unsaid[key] = (text, level)

    def _shown(self, text: str, level: NoticeLevel) -> bool:
        while self._taus:
            if notify(self._taus[0], text, level):
                return True
            del self._taus[0]
        return False


def status(
    session: Session | None, link: MemoryLink | None, trouble: str | None, now_ms: int, *, adhoc: Path | None = None
) -> str:
    """Return the status page: where memory goes, whether it is reachable, and what is proven.

    `adhoc` is the journal of this process's own, if calls were recorded there.
    """
    lines = ["Continuity"]
    if trouble is not None:
        lines.append(f"  settings     {trouble}")
    lines.append(f"  connection   {_connection(link)}")
    if session is not None:
        lines += _session(session, now_ms)
    elif trouble is None:
        lines.append("  session      none (this session has no file): tools only")
    if adhoc is not None:
        lines.append(f"  calls        those that may change something are recorded in {adhoc.name}")
    return "\n".join(lines)


def _connection(link: MemoryLink | None) -> str:
    if link is None:
        return "none"
    connection = link.connection
    if connection is not None:
        return f"up: {connection.server}, process {connection.process.pid}"
    return f"{link.status}{f' ({link.error})' if link.error else ''}"


def _session(session: Session, now_ms: int) -> list[str]:
    desk, state = session.desk, session.state
    project = desk.profile.project
    where = f"{project}, folder {desk.profile.checkpoint_folder}" if project else "no project configured: tools only"
    lines = [f"  level        {_LEVELS[session.host.level]}", f"  destination  {where} ({desk.profile.kind} work)"]
    lines += [f"  work         {sentence}" for sentence in _explained(desk)]
    if session.pausing.paused:
        lines.append(f"  record       {_off(session, now_ms)}")
    if desk.trouble is not None:
        lines.append(f"  recording    stopped: {desk.trouble}")
    if desk.missing:
        lines.append(f"  not recorded {desk.missing} notification(s)")
    if session.blocked is not None:
        lines.append(f"  journal      {session.blocked}")
        if session.second is not None:
            lines.append(f"  captures     {_waiting_for(session.second)}")
    elif desk.ledger is None or state is None:
        lines.append(f"  journal      {'begins with the first prompt' if session.begun else 'is being opened'}")
    else:
        lines.append(f"  journal      {desk.ledger.path.name}, branch {state.branch} at {state.position}")
        if desk.ledger.journal.log_is_pinned:
            lines.append(f"  log          {desk.ledger.journal.log_bytes // 2**20} MB beside it: {PINNING}")
        lines.append(f"  last save    {_saved(state.checkpoint)}")
        lines += [f"  last note    {_saved(state.noted)}"] if state.noted is not None else []
        lines += [f"  transcript   {_transcript(state)}"] if state.behind else []
        lines += _unsettled(desk.ledger.states.values(), now_ms)
        waits = "; saved once a turn brings an answer" if state.gathered.unanswered else ""
        lines.append(f"  gathered     {state.gathered.characters} new characters since the last capture{waits}")
    return [*lines, f"  switches     {_switches(session)}"]


def _transcript(state: State) -> str:
    stopped = transcript_stopped(state)
    if stopped:
        return f"stopped: {stopped} notes are not settled; /bm-pending settles them"
    return "not all messages are stored yet"


def unsaved(session: Session) -> str | None:
    """Return what a person who quits is told of what is not known to be stored, and when it will be; None if all is."""
    if not session.unsaved:
        return None
    state, resumed = session.state, f"tau --session {session.desk.session_id}"
    stopped = transcript_stopped(state) if state is not None else 0
    said = [] if stopped and state is not None and not _saved_later(session, state) else [_when_saved(session, resumed)]
    if stopped:
        what = f"the transcript of this session stopped: {stopped} notes are not settled"
        said.append(f"{what}. /bm-pending settles them after {resumed}")
    return f"Continuity: {'; '.join(said)}"


def _saved_later(session: Session, state: State) -> bool:
    """Whether anything is owed besides the messages that a stopped transcript waits with."""
    wanted = session.desk.settings.capture_knowledge and state.unsaved_tip is not None
    return wanted or any(capture.status in OWED for capture in state.captures)


def _when_saved(session: Session, resumed: str) -> str:
    what = f"saved when the session is resumed: {resumed}"
    if session.pausing.paused:
        what = f"from before it went off the record, and is saved after {resumed} and /bm-resume"
    return f"the newest work of this session is kept here and not known to be stored in memory. It is {what}"


def _explained(desk: Desk) -> Iterator[str]:
    """What of this work's filing is not as a person may expect, as far as it is known by now."""
    surroundings, filed = around(desk.profile), desk.filed
    if surroundings is not None and (filed is None or filed.why not in ("nested", "other-root")):
        yield surroundings
    if filed is not None:
        yield from explained(filed)


def _off(session: Session, now_ms: int) -> str:
    since_ms = session.pausing.since_ms
    long = f" for {age(now_ms - since_ms)}" if since_ms is not None else ""
    return f"off the record{long}: nothing is saved until /bm-resume"


def _waiting_for(second: Second) -> str:
    who = f"process {second.holder.process.pid}" if second.holder is not None else "that process"
    return f"wait until {who} ends; what was said here is saved then, in a branch of its own if the two went apart"


def _saved(stored: Capture | None) -> str:
    if stored is None:
        return "none on this branch yet"
    labels = [name for name, on in (("moved", stored.moved), ("edited since", stored.edited)) if on]
    proof = "a person accepted it" if stored.accepted else f"evidence: {stored.evidence or 'none'}"
    return f"{stored.path} ({', '.join([proof, *labels])})"


def _unsettled(branches: Iterable[State], now_ms: int) -> list[str]:
    """What is made and not known to be stored, on whatever branch; one that is only begun is under way, or failed."""
    found = [c for state in branches for c in state.captures if c.status != "begun" or c.failures]
    return [f"  {'unproven    ' if c.status in PENDING else 'not saved   '} {_how_far(c, now_ms)}" for c in found]


def _how_far(capture: Capture, now_ms: int) -> str:
    since = capture.intent.at_ms if capture.intent else capture.begun_ms
    name = capture.path or f"{capture.kind} {capture.capture_id[:12]}"
    unsent = {"begun": "not made yet and will be tried again", "ready": "ready and waits for memory"}
    status = unsent.get(capture.status) or capture.status.replace("_", " ")
    code = f" ({capture.code})" if capture.code else ""
    read = f", read {capture.probes} time(s)" if capture.status in PENDING else ""
    remedy = "; /bm-checkpoint tries now" if capture.status == "begun" else ""
    return f"{name} is {status}{code}, for {age(now_ms - since)}{read}{remedy}"


def _switches(session: Session) -> str:
    settings = session.desk.settings
    named = (
        ("recall", settings.auto_recall),
        ("capture", settings.capture_knowledge),
        ("transcript", settings.capture_transcript),
        ("at compaction", settings.checkpoint_on_compact),
        ("at exit", settings.summarize_on_shutdown),
    )
    return ", ".join(f"{name} {'on' if on else 'off'}" for name, on in named)
