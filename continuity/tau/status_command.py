"""The command `/bm-status`: one page, most important first, each line true at the moment it is shown. It asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from continuity.checkout import around, explained
from continuity.due import transcript_stopped
from continuity.pending import age
from continuity.shell.desk import PINNING, Desk
from continuity.shell.holding import Second
from continuity.shell.link import MemoryLink
from continuity.shell.owner import Owner
from continuity.shell.saying import reason_down
from continuity.shell.session import Session
from continuity.spent import told as cost
from continuity.state import OWED, PENDING, Capture, State
from continuity.tau.pages import how_known
from continuity.unstored import unstored

USAGE = "/bm-status"
DESCRIPTION = "Where memory goes, and what of it is proven"

type Row = tuple[str, str]

_LEVELS = {
    "A": "A: the host announces compactions and branches",
    "B": "B: stock Tau; a compaction you start or a change of branch is noticed at your next prompt",
    "C": "C: no session file, so nothing is saved or recalled",
}


def shown(session: Session | None, owner: Owner, page: Callable[[], str]) -> str | None:
    """Return `page`; None while the session's journal is being opened, as in print mode: then it follows under `owner`."""
    if session is None or session.begun:
        return page()
    owner.spawn("status", partial(_once_begun, session, page))
    return None


async def _once_begun(session: Session, page: Callable[[], str]) -> None:
    """What is proven stands in the journal; and a server that is just being started is worth a moment."""
    await session.hold(make=False)
    link = session.desk.link
    if link.coming:
        await link.up(session.desk.settings.recall_wait_seconds)
    session.desk.voice.answer(page())


def status(
    session: Session | None,
    link: MemoryLink | None,
    trouble: str | None,
    now_ms: int,
    *,
    adhoc: Path | None = None,
    unsaid: Sequence[str] = (),
) -> str:
    """Return the status page: what is proven, where memory goes, whether it is reachable, and what is switched on.

    `adhoc` is the journal of this process's own, if calls were recorded there; `unsaid` are notices that wait.
    """
    rows: list[Row] = [("settings", trouble)] if trouble is not None else []
    if session is not None:
        rows += _session(session, now_ms)
    else:
        rows.append(("connection", _connection(link)))
        if trouble is None:
            rows.append(("level", _LEVELS["C"]))
            rows.append(("session", "none (this session has no file): tools only"))
    if adhoc is not None:
        rows.append(("calls", f"those that may change something are recorded in {adhoc.name}"))
    rows += [("" if number else "unsaid", text) for number, text in enumerate(unsaid)]
    lines = [f"  {name:<13}{part}" for name, text in rows for name, part in _parts(name, text)]
    return "\n".join([f"Continuity: {_verdict(session, trouble)}", *lines])


def _parts(name: str, text: str) -> Iterator[Row]:
    """A text of several lines stands under its own beginning."""
    for number, part in enumerate(text.split("\n")):
        yield "" if number else name, part


def _verdict(session: Session | None, trouble: str | None) -> str:
    """What a person wants to know first, in one line, with what helps."""
    if trouble is not None:
        return "off, because its settings cannot be used; correct them and /reload"
    if session is None:
        return "tools only, nothing is saved or recalled by itself"
    desk = session.desk
    if desk.trouble is not None or session.blocked is not None:
        return "nothing is recorded now, so nothing is saved; why stands below"
    if desk.profile.project is None:
        return "tools only; `continuity setup` names where to save"
    if session.pausing.paused:
        return "off the record until /bm-resume"
    return _how_saved(session, desk)


def _how_saved(session: Session, desk: Desk) -> str:
    """What is true of all branches: one that was left goes on being saved."""
    states = tuple(desk.ledger.states.values()) if desk.ledger is not None else ()
    captures, state = [capture for each in states for capture in each.captures], session.state
    unproven = sum(capture.status in PENDING for capture in captures)
    if unproven:
        return f"{unproven} save{' is' if unproven == 1 else 's are'} not proven: /bm-pending"
    if state is None:
        return "nothing to save yet"
    if any(capture.status not in OWED for capture in captures):
        return "something is not stored and waits for you: /bm-pending"
    if any(capture.status == "ready" or capture.failures for capture in captures):
        return "something is not stored yet"
    if unstored(states, live=True) is not None:
        return "saving"
    if not desk.settings.capture_knowledge:
        return "saves only when asked, for `capture_knowledge` is off"
    if state.gathered.characters:
        return "the newest is not saved yet; /bm-checkpoint saves now"
    if any(each.gathered.tip is not None for each in states):
        return "something that was said on another branch is not saved yet"
    return "all is saved" if all(each.drained for each in states) else "saving"


def _connection(link: MemoryLink | None) -> str:
    if link is None:
        return "none"
    connection = link.connection
    if connection is not None:
        return f"up: {connection.server}, process {connection.process.pid}"
    match link.status:
        case "connecting":
            return "the memory server is being started"
        case "down":
            return f"down ({link.error}): {reason_down(link.error)}" if link.error else "down"
        case _:
            lost = "lost; " if link.error else ""
            return f"{lost}none now: the memory server is started when something needs it"


def _session(session: Session, now_ms: int) -> Iterator[Row]:
    desk, state = session.desk, session.state
    yield from _hindrances(session, now_ms)
    if desk.ledger is not None and state is not None:
        yield from _proven(desk, state, now_ms)
    yield "destination", _destination(desk)
    for sentence in _explained(desk):
        yield "work", sentence
    yield "connection", _connection(desk.link)
    yield "level", _LEVELS[session.host.level]
    if desk.ledger is not None and state is not None:
        yield "journal", f"{desk.ledger.path.name}, branch {state.branch} at {state.position}"
        if desk.ledger.journal.log_is_pinned:
            yield "log", f"{desk.ledger.journal.log_bytes // 2**20} MB beside it: {PINNING}"
        yield "cost", cost(desk.ledger.spent)
    elif session.blocked is None:
        yield "journal", "begins with the first prompt" if session.begun else "is being opened"
    yield "switches", _switches(session)


def _hindrances(session: Session, now_ms: int) -> Iterator[Row]:
    """What keeps anything from being saved, each with what helps."""
    desk = session.desk
    if session.pausing.paused:
        yield "record", _off(session, now_ms)
    if desk.trouble is not None:
        yield "recording", f"stopped: {desk.trouble}"
        yield "", "check space and rights of its folder: `continuity paths` names it"
    if desk.missing:
        yield "not recorded", f"{desk.missing} notification(s)"
    if session.blocked is not None:
        yield "journal", session.blocked
        if session.second is not None:
            yield "captures", _waiting_for(session.second)


def _proven(desk: Desk, state: State, now_ms: int) -> Iterator[Row]:
    """What is stored and how that is known, then what is not."""
    yield "last save", _saved(state.checkpoint, now_ms)
    if state.noted is not None:
        yield "last note", _saved(state.noted, now_ms)
    yield from _unsettled(desk, now_ms)
    if state.behind:
        yield "transcript", _transcript(state)
    waits = "; saved once a turn brings an answer" if state.gathered.unanswered else ""
    new = f"{state.gathered.characters:,} new characters" if state.gathered.characters else "nothing new"
    yield "gathered", f"{new} since the last capture{waits}"


def _destination(desk: Desk) -> str:
    project = desk.profile.project
    if project is None:
        return f"no project configured: tools only ({desk.profile.kind} work)"
    source = desk.link.projects.source(project)
    where = f" ({source})" if source != "unknown" else ""
    return f"project {project}{where}, folder {desk.profile.checkpoint_folder} ({desk.profile.kind} work)"


def _transcript(state: State) -> str:
    stopped = transcript_stopped(state)
    if stopped:
        return f"stopped: {stopped} notes are not settled; /bm-pending settles them"
    return "not all messages are stored yet"


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


def _saved(stored: Capture | None, now_ms: int) -> str:
    if stored is None:
        return "none on this branch yet"
    since = [name for name, on in (("moved since", stored.moved), ("edited since", stored.edited)) if on]
    sent_ms = stored.intent.at_ms if stored.intent is not None else stored.begun_ms
    when = f"{age(now_ms - sent_ms)} ago"
    return f"{stored.path}\n{when}\nproof: {', '.join([how_known(stored), *since])}"


def _unsettled(desk: Desk, now_ms: int) -> Iterable[Row]:
    """What is not known to be stored, on whatever branch: first what nobody is sure of."""
    states = desk.ledger.states.values() if desk.ledger is not None else ()
    found = [capture for state in states for capture in state.captures]
    for capture in sorted(found, key=lambda c: c.status not in PENDING):
        yield "unproven" if capture.status in PENDING else "not saved", _how_far(capture, now_ms)


def _how_far(capture: Capture, now_ms: int) -> str:
    since = capture.intent.at_ms if capture.intent else capture.begun_ms
    name = capture.path or f"{capture.kind} {capture.capture_id[:12]}"
    begun = "not made yet and will be tried again" if capture.failures else "being made"
    unsent = {"begun": begun, "ready": "ready and waits for memory"}
    status = unsent.get(capture.status) or capture.status.replace("_", " ")
    code = f" ({capture.code})" if capture.code else ""
    times = "once" if capture.probes == 1 else f"{capture.probes} times"
    read = f", read {times}" if capture.status in PENDING and capture.probes else ""
    remedy = "; /bm-checkpoint tries now" if capture.status == "begun" and capture.failures else ""
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
