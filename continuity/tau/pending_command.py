"""The command `/bm-pending`: takes a person's words apart and answers at once. What may be done is the shell's to say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import get_args

from continuity.pending import NoSuchOpen, Open, SeveralOpen, age, choices, matching, next_step, shown, too_long, why
from continuity.shell.owner import Owner
from continuity.shell.session import Session
from continuity.shell.settling import CannotSettle, Settling, named
from continuity.unstored import Unstored, counted, unstored, waits_for
from journal.events.writes import Decision

USAGE = "/bm-pending [probe [REF] | accept REF | abandon REF | rewrite REF] [reason]"
DESCRIPTION = "What is not settled: list it, read it now, decide it"
DECISIONS: tuple[Decision, ...] = get_args(Decision.__value__)


def pending(session: Session | None, adhoc: Settling | None, owner: Owner, now_ms: int, arguments: str) -> str | None:
    """Return what is shown at once; reads and decisions go on under `owner`, and what comes of them is said later.

    `adhoc` is for the calls in this process's own journal, if one was made.
    None when the session's journal is being opened, as in print mode: the answer follows.
    """
    known = (session.settling if session is not None else None, adhoc)
    journals = [each for each in known if each is not None and each.can_record]
    if not journals and session is not None and not session.begun:
        owner.spawn("pending", partial(_once_begun, session, adhoc, owner, now_ms, arguments))
        return None
    if not journals:
        return _without_journal(session)
    word, _, rest = arguments.strip().partition(" ")
    try:
        if not word:
            unknown = session is not None and not session.settling.can_record
            listed = _listed([item for each in journals for item in each.items], now_ms)
            if unknown:
                return f"{_without_journal(session)}\nIn this process's own journal:\n{listed}"
            waiting = _waiting(session, now_ms) if session is not None else None
            return listed if waiting is None else f"{listed}\n{waiting}"
        if word == "probe":
            return _probe(journals, owner, rest.split())
        if word in DECISIONS:
            return _decide(journals, owner, word, rest.strip())
    except (NoSuchOpen, SeveralOpen, CannotSettle) as error:
        return f"{error}; {error.hint}. Nothing was done."
    return f"{shown(word)} is none of its words: {USAGE}"


async def _once_begun(session: Session, adhoc: Settling | None, owner: Owner, now_ms: int, arguments: str) -> None:
    await session.hold(make=False)
    session.desk.voice.answer(pending(session, adhoc, owner, now_ms, arguments) or "")


def _waiting(session: Session, now_ms: int) -> str | None:
    """What this session keeps and nobody sent yet, with what it waits for as far as this process knows."""
    desk = session.desk
    left = unstored(desk.ledger.states.values(), live=True) if desk.ledger is not None else None
    if left is None:
        return None
    return f"Not stored yet: {counted(left.texts)} for {age(now_ms - left.since_ms)}; {'; '.join(_reasons(session, left))}."


def _reasons(session: Session, left: Unstored) -> Iterator[str]:
    link, project = session.desk.link, session.desk.profile.project
    yield waits_for(left)
    if project is None:
        yield "no project is configured now"
    elif link.connection is None:
        yield f"memory is not connected{f' ({link.error})' if link.error else ''}"
    elif link.projects.lack(project):
        yield f"Basic Memory has no project {project!r}, or several"
    if session.pausing.paused:
        yield "off the record, so no checkpoint is made before /bm-resume"


def _of(journals: Sequence[Settling], reference: str) -> tuple[Settling, str]:
    """The journal in which `reference` names something, and its whole identity."""
    item = matching([item for each in journals for item in each.items], reference)
    return next((each, item.reference) for each in journals if item in each.items)


def _without_journal(session: Session | None) -> str:
    if session is None:
        return "Nothing is pending: this session has no file, and no call that changes memory was made yet."
    if session.blocked is not None:
        return f"What is pending cannot be told: {session.blocked}."
    if not session.begun:
        return "The journal is being opened; ask again in a moment."
    return "Nothing is pending: this session's journal begins with the first prompt."


def _probe(journals: Sequence[Settling], owner: Owner, words: Sequence[str]) -> str:
    if len(words) > 1:
        return f"probe takes one reference at most: {USAGE}"
    if words:
        settling, reference = _of(journals, words[0])
        asked = [(settling, settling.readable(reference))]
    else:
        asked = [(each, each.readable(None)) for each in journals]
    items = [item for _, found in asked for item in found]
    if not items:
        return "No write is open on any branch of this session: there is nothing to read."
    for settling, found in asked:
        if found:
            owner.spawn("pending probe", partial(settling.read, found))
    return f"Reading now: {', '.join(item.short for item in items)}. What is found is said here."


def _decide(journals: Sequence[Settling], owner: Owner, decision: Decision, words: str) -> str:
    word, _, reason = words.partition(" ")
    if not word:
        return f"{decision} needs the reference of what it is about: /bm-pending lists them. Nothing was done."
    trouble = too_long(reason)
    if trouble is not None:
        return f"{trouble}. Nothing was done."
    settling, reference = _of(journals, word)
    item = settling.decidable(decision, reference)
    owner.spawn(f"pending {decision}", partial(settling.resolve, item, decision, reason))
    return f"Recording: {decision} {named(item)}. It is said here once it is on disk."


def _listed(items: Sequence[Open], now_ms: int) -> str:
    if not items:
        return "Nothing is pending on any branch of this session."
    unsure, unsent = sum(item.unproven for item in items), sum(item.unsent for item in items)
    counts = (
        (unsure, "unproven"),
        (len(items) - unsure - unsent, "not stored and waiting for you"),
        (unsent, "decided and not sent yet"),
    )
    head = ", ".join(f"{count} {what}" for count, what in counts if count)
    return "\n".join([f"Pending: {head}", *(line for item in items for line in _lines(item, now_ms))])


def _lines(item: Open, now_ms: int) -> list[str]:
    step = next_step(item, live=True)
    offered = (f"/bm-pending {word} {item.short}" for word in (*(("probe",) if item.readable else ()), *choices(item)))
    others = " or ".join(f"`{command}`" for command in offered if command not in step)
    return [
        f"  {item.short}  {item.status.replace('_', ' ')}, {age(now_ms - item.since_ms)} old",
        f"    what     {_what(item)}, on branch {item.branch}",
        *([f"    where    {item.file_path}"] if item.file_path else []),
        f"    why      {why(item, live=True)}",
        f"    next     {step}",
        *([f"    else     {others}"] if others else []),
    ]


def _what(item: Open) -> str:
    return f"call of {item.tool}" if item.kind == "call" else f"{item.what} to {item.project}"
