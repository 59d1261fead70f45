"""The command `/bm-pending`: takes a person's words apart and answers at once. What may be done is the shell's to say."""

from __future__ import annotations

from functools import partial
from typing import get_args

from continuity.pending import NoSuchOpen, Open, SeveralOpen, age, choices, next_step, why
from continuity.shell.owner import Owner
from continuity.shell.session import Session
from continuity.shell.settling import CannotSettle, Settling, named
from journal.events.writes import Decision

USAGE = "/bm-pending [probe [REF] | accept REF | abandon REF | rewrite REF] [reason]"
DESCRIPTION = "What is not settled: list it, read it now, decide it"
DECISIONS: tuple[Decision, ...] = get_args(Decision.__value__)


def pending(session: Session | None, owner: Owner, now_ms: int, arguments: str) -> str:
    """Return what is shown at once; reads and decisions go on under `owner`, and what comes of them is said later."""
    if session is None:
        return "Nothing of this session is kept, for it has no file: nothing can be pending."
    if session.desk.ledger is None:
        return _without_journal(session)
    word, _, rest = arguments.strip().partition(" ")
    try:
        if not word:
            return _listed(session.settling.items, now_ms)
        if word == "probe":
            return _probe(session.settling, owner, rest.split())
        if word in DECISIONS:
            return _decide(session.settling, owner, word, rest.strip())
    except (NoSuchOpen, SeveralOpen, CannotSettle) as error:
        return f"{error}; {error.hint}. Nothing was done."
    return f"{word!r} is none of its words: {USAGE}"


def _without_journal(session: Session) -> str:
    if session.blocked is not None:
        return f"What is pending cannot be told: {session.blocked}."
    if not session.begun:
        return "The journal is being opened; ask again in a moment."
    return "Nothing is pending: this session's journal begins with the first prompt."


def _probe(settling: Settling, owner: Owner, words: list[str]) -> str:
    if len(words) > 1:
        return f"probe takes one reference at most: {USAGE}"
    items = settling.readable(words[0] if words else None)
    if not items:
        return "No write is open on any branch of this session: there is nothing to read."
    owner.spawn("pending probe", partial(settling.read, items))
    return f"Reading now: {', '.join(item.short for item in items)}. What is found is said here."


def _decide(settling: Settling, owner: Owner, decision: Decision, words: str) -> str:
    reference, _, reason = words.partition(" ")
    if not reference:
        return f"{decision} needs the reference of what it is about: /bm-pending lists them. Nothing was done."
    item = settling.decidable(decision, reference)
    owner.spawn(f"pending {decision}", partial(settling.resolve, item, decision, reason))
    return f"Recording: {decision} {named(item)}. It is said here once it is on disk."


def _listed(items: tuple[Open, ...], now_ms: int) -> str:
    if not items:
        return "Nothing is pending on any branch of this session."
    unsure = sum(item.unproven for item in items)
    head = f"Pending: {unsure} unproven, {len(items) - unsure} not stored and waiting for you"
    return "\n".join([head, *(line for item in items for line in _lines(item, now_ms))])


def _lines(item: Open, now_ms: int) -> list[str]:
    can = (*(("probe",) if item.kind == "capture" else ()), *choices(item))
    return [
        f"  {named(item)}, branch {item.branch}: {item.status.replace('_', ' ')}, {age(now_ms - item.since_ms)} old",
        f"    why      {why(item, live=True)}",
        f"    next     {next_step(item, live=True)}",
        f"    choices  {', '.join(can) or 'none yet'}",
    ]
