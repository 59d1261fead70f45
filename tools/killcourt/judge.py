"""Holds what the journal says of each write against what is there. Pure; it knows nothing but the evidence.

A verdict is false when it claims what is not so: a note that is not there, other
bytes than there are, an absence where a note is, a call that was not sent and was.
`absent_open` and `unreachable` claim nothing; they are counted as open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, assert_never

import msgspec

from journal.events.writes import Verdict
from tools.killcourt.docket import Account, Evidence, Found, Killed, Said

type Standing = Literal["never sent", "stored", "absent", "open", "conflicted", "without a verdict"]
"""What the journal says in the end."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One capture, judged."""

    sitting: int
    capture: str
    kills: tuple[Killed, ...]
    """Usually one; none for a write that was let live."""
    ground: str
    """What the standing rests on: an answer, or the last verdict."""
    standing: Standing
    stored: bool
    """The truth: a note with this identity is there."""
    false: tuple[str, ...]
    duplicates: tuple[str, ...]
    unaccounted: tuple[str, ...]
    searched: Said | None
    first: Verdict | None
    """The verdict of the first probe; null when nothing was in doubt."""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """One sitting, judged."""

    cases: tuple[Case, ...]
    strays: tuple[str, ...]
    """Notes and calls that no journal accounts for."""
    disagreements: tuple[str, ...]
    """Notes that a server reads and no file holds, or the other way round; neither is a verdict of ours."""


def judge(evidence: Evidence) -> Judged:
    """Return every capture of the sitting's journal as a case, and what belongs to none."""
    cases = tuple(_case(evidence, account) for account in evidence.accounts)
    return Judged(cases=cases, strays=tuple(_strays(evidence)), disagreements=tuple(_disagreements(evidence)))


def _case(evidence: Evidence, account: Account) -> Case:
    notes = [note for note in evidence.found if note.capture == account.capture]
    sent = [asked for asked in evidence.asked if asked.capture == account.capture]
    ground, standing = _standing(account)
    return Case(
        sitting=evidence.sitting,
        capture=account.capture,
        kills=tuple(kill for kill in evidence.kills if kill.capture == account.capture),
        ground=ground,
        standing=standing,
        stored=bool(notes),
        false=tuple(_false(account, notes, len(sent))),
        duplicates=tuple(_duplicates(account, notes, len(sent))),
        unaccounted=tuple(_unaccounted(account, standing, [asked.intent_first for asked in sent], notes)),
        searched=evidence.searched.get(account.capture),
        first=account.probes[0].verdict if account.probes else None,
    )


def _standing(account: Account) -> tuple[str, Standing]:
    """The last word counts; a confirmation is never taken back by a later miss."""
    if "accepted" in account.outcomes:
        return "answered: accepted", "stored"
    for probed in account.probes:
        if probed.verdict in ("present_same", "present_edited", "present_twin"):
            return probed.verdict, "stored"
    if account.probes:
        last = account.probes[-1].verdict
        match last:
            case "absent_final":
                return last, "absent"
            case "conflicted":
                return last, "conflicted"
            case _:
                return last, "open"
    return _unread(account)


def _unread(account: Account) -> tuple[str, Standing]:
    """Without a read, only an answer to every attempt is a verdict."""
    if not account.intents:
        return "no intent", "never sent"
    if len(account.outcomes) < len(account.intents) or account.outcomes[-1] == "unknown":
        return "an intent", "without a verdict"
    if account.outcomes[-1] == "refused":
        return "answered: refused", "absent"
    return "answered: not sent", "never sent"


def _false(account: Account, notes: Sequence[Found], sent: int) -> Iterator[str]:
    """Yield every claim that is not so, the ones that were taken back later too."""
    intended = account.intents[-1] if account.intents else None
    same = [note for note in notes if note.body == intended]
    for outcome in account.outcomes:
        match outcome:
            case "accepted":
                if not same:
                    yield "accepted, but our note is not there"
            case "refused":
                if notes and len(account.intents) == 1:
                    yield "refused, but the note is there"
            case "not-sent":
                if sent > len(account.intents) - account.outcomes.count("not-sent"):
                    yield "not sent, but it reached a server"
            case "unknown":
                pass
            case _:
                assert_never(outcome)
    for probed in account.probes:
        wrong = _wrong(probed.verdict, notes, same)
        if wrong:
            yield f"{probed.verdict}, but {wrong}"


def _wrong(verdict: str, notes: Sequence[Found], same: Sequence[Found]) -> str | None:
    """Nobody edits, moves or writes beside us here, so every verdict has exactly one truth."""
    match verdict:
        case "present_same":
            return None if same else "our bytes are not there"
        case "present_edited" | "present_twin":
            if not notes:
                return "no note is there"
            return "the bytes are ours" if same else None
        case "conflicted":
            return None if len({note.body for note in notes}) > 1 else "nothing is in conflict"
        case "absent_final":
            return "the note is there" if notes else None
        case _:
            return None


def _duplicates(account: Account, notes: Sequence[Found], sent: int) -> Iterator[str]:
    paths = {note.path for note in notes}
    if len(paths) > 1:
        yield f"{len(paths)} notes of one capture"
    may = len(account.intents) - account.outcomes.count("not-sent")
    if sent > max(may, 0):
        yield f"{sent} calls for {max(may, 0)} intents"


def _unaccounted(
    account: Account, standing: Standing, intent_first: Sequence[bool], notes: Sequence[Found]
) -> Iterator[str]:
    if standing == "without a verdict":
        yield "an intent without a verdict"
    if not all(intent_first):
        yield "a call before its intent was on disk"
    if notes and not account.intents:
        yield "a note without an intent"


def _strays(evidence: Evidence) -> Iterator[str]:
    known = {account.capture for account in evidence.accounts}
    for path in sorted({note.path for note in evidence.found if note.capture not in known}):
        yield f"a note no journal accounts for: {path}"
    for asked in evidence.asked:
        if asked.capture not in known:
            yield f"a call no journal accounts for: {asked.capture}"


def _disagreements(evidence: Evidence) -> Iterator[str]:
    read = {(note.path, note.capture, note.body) for note in evidence.found if note.by == "read"}
    held = {(note.path, note.capture, note.body) for note in evidence.found if note.by == "file"}
    for path in sorted({path for path, _, _ in read ^ held}):
        ways = [name for name, seen in (("read", read), ("file", held)) if any(path == known[0] for known in seen)]
        yield f"{path}: {' and '.join(ways)}{' differ' if len(ways) == 2 else ' only'}"
