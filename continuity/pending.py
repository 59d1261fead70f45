"""What is open in one branch, as a person is told it: what happened, what is known, what to do. It settles nothing."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from continuity.state import PENDING, Capture, OpenCall, State, Status
from continuity.verdict import Lack, Wanted, lacks
from journal.events.capture import CaptureKind
from journal.events.writes import CaptureProbed, Decision, Observation, Verdict, Way
from journal.ids import BranchId, ProjectName, WriterId

LISTED: frozenset[Status] = frozenset({*PENDING, "lost", "refused"})
"""Statuses of a capture that a person can act on; of the last two it is known that nothing is stored.

One that a person wants sent again is listed too until that is begun: its session may never come back.
"""

SHORTEST = 4
"""Characters of a reference, at least; an identity in full may be shorter."""

REASON_CHARS = 2_000
"""Characters of a reason, at most."""

_SHORT = 10
_SHOWN = 64
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their category that show nothing."""

_READ: dict[Verdict | None, str] = {
    None: "not found, and it may still land",
    "absent_open": "not found, and it may still land",
    "unreachable": "the memory server could not be asked",
    "conflicted": "something else is there",
}


class Open(msgspec.Struct, frozen=True, kw_only=True):
    """One write, or one forwarded tool call, that is not settled."""

    reference: str
    """The capture's or the call's whole identity."""
    branch: BranchId
    status: Status
    kind: Literal["capture", "call"]
    what: CaptureKind | None
    """Null for a call, as are the next three."""
    project: ProjectName | None
    file_path: str | None
    attempt: int | None
    tool: str | None
    """Null for a capture."""
    since_ms: int
    probes: int
    probed_ms: int | None
    verdict: Verdict | None
    """Of the newest read."""
    code: str | None
    writer: WriterId | None
    """Who sent it."""

    @property
    def short(self) -> str:
        """The beginning of the reference, enough to recognise it and to name it."""
        return self.reference[:_SHORT]

    @property
    def unproven(self) -> bool:
        """Nobody knows what became of it; else it is known not to be stored."""
        return self.kind == "call" or self.status in PENDING

    @property
    def unsent(self) -> bool:
        """A person decided that it is sent again, and it was not sent yet."""
        return self.status == "ready"

    @property
    def readable(self) -> bool:
        """A read may tell what became of it."""
        return self.kind == "capture" and not self.unsent


def open_items(branch: BranchId, state: State) -> tuple[Open, ...]:
    """Return what a person can act on in `branch`: captures first, each kind the oldest first."""
    captures = (_capture(branch, each) for each in state.captures if each.status in LISTED or each.decided)
    return (*captures, *(_call(branch, each) for each in state.calls))


def _capture(branch: BranchId, capture: Capture) -> Open:
    sent = capture.intent
    return Open(
        reference=capture.capture_id,
        branch=branch,
        status=capture.status,
        kind="capture",
        what=capture.kind,
        project=capture.project,
        file_path=capture.path,
        attempt=capture.attempt,
        tool=None,
        since_ms=sent.at_ms if sent is not None else capture.begun_ms,
        probes=capture.probes,
        probed_ms=capture.probed_ms or None,
        verdict=capture.verdict,
        code=capture.code,
        writer=sent.event.writer if sent is not None else None,
    )


def _call(branch: BranchId, call: OpenCall) -> Open:
    return Open(
        reference=call.call_id,
        branch=branch,
        status="in_doubt" if call.unknown else "intended",
        kind="call",
        what=None,
        project=None,
        file_path=None,
        attempt=None,
        tool=call.name,
        since_ms=call.since_ms,
        probes=0,
        probed_ms=None,
        verdict=None,
        code=None,
        writer=call.writer,
    )


# -- words -------------------------------------------------------------------


def age(elapsed_ms: int) -> str:
    """Return how long ago something was, in the largest unit that it fills."""
    for unit, length_ms in (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000)):
        number = elapsed_ms // length_ms
        if number >= 1:
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return "less than a minute"


def why(item: Open, *, live: bool) -> str:
    """Return one sentence: what happened, and what is known; `live` when a running process holds its journal."""
    if item.kind == "call":
        return _why_call(item, live=live)
    if item.unsent:
        return "to be sent again, by a person's decision, and not sent yet: it is stored nowhere but here"
    if item.status == "refused":
        code = f" ({item.code})" if item.code else ""
        return f"the server refused it{code}: it is stored nowhere but here"
    if item.status == "lost":
        return f"sent, and proven not to be stored: {_read_times(item)}, and nothing can land any more"
    if item.status == "conflicted":
        return f"sent, and another note, or a second one of its own, is where it belongs; {_looked(item)}"
    return f"{_sent(item, live=live)}; {_looked(item)}"


def _why_call(item: Open, *, live: bool) -> str:
    if item.status == "in_doubt":
        return "forwarded, and no answer is recorded: it may have taken effect, and reading cannot prove it"
    if live:
        return "forwarded; the running session waits for its answer"
    return "forwarded, and its process ended before an answer was recorded: it may have taken effect"


def _sent(item: Open, *, live: bool) -> str:
    if item.code is not None:
        return f"sent, and what came back ({item.code}) does not say whether it was stored"
    if item.status == "intended" and live:
        return "sent; the running session waits for the server's answer"
    return "sent, and no answer was recorded"


def _looked(item: Open) -> str:
    return (
        f"{_read_times(item)}: {_READ[item.verdict]}"
        if item.probes and item.verdict in _READ
        else "nobody looked for it yet"
    )


def _read_times(item: Open) -> str:
    return "read once" if item.probes == 1 else f"read {item.probes} times"


def next_step(item: Open, *, live: bool) -> str:
    """Return one imperative sentence with the command; in a journal that is `live` only its own session acts."""
    if item.unsent:
        return _send(item, live=live)
    probe = f"{'/bm-pending' if live else 'continuity'} probe {item.short}"
    allowed = choices(item, live=live)
    if item.kind == "call":
        effect = f"look whether {item.tool} took effect, then decide: {_decide(item, allowed, live=live)}"
        return effect if allowed else "wait for the answer"
    if item.status in ("lost", "refused"):
        return f"decide: {_decide(item, allowed, live=live)}"
    if "accept" in allowed:
        return f"look at the note, then decide: {_decide(item, allowed, live=live)}"
    if not allowed:
        return f"wait for the answer; `{probe}` reads before it comes"
    what = " and names what is not proven yet" if item.verdict == "absent_open" else ""
    return f"`{probe}` reads now{what}"


def _send(item: Open, *, live: bool) -> str:
    if live:
        return f"wait: it is sent as soon as memory answers; `/bm-pending abandon {item.short}` lets go of it"
    command = f"continuity resolve {item.short}"
    return f"`{command} --rewrite` sends it, `{command} --abandon --reason WHY` lets go of it"


def _decide(item: Open, allowed: Sequence[Decision], *, live: bool) -> str:
    if live:
        return " or ".join(f"`/bm-pending {decision} {item.short}`" for decision in allowed)
    first, *others = allowed
    instead = "".join(f", or `--{decision}`" for decision in others)
    return f"`continuity resolve {item.short} --{first} --reason WHY`{instead}"


def choices(item: Open, *, live: bool = True) -> tuple[Decision, ...]:
    """Return what a person may decide now. What is sent and not answered is doubted once no process can be waiting."""
    doubted = item.status == "in_doubt" or (item.status == "intended" and not live)
    if item.kind == "call":
        return ("accept", "abandon") if doubted else ()
    if item.status in ("lost", "refused"):
        return ("rewrite", "abandon")
    if item.unsent:
        return ("abandon",)
    if item.status != "conflicted" and not doubted:
        return ()
    return ("accept", "abandon") if item.verdict == "conflicted" else ("abandon",)


# -- what was read -----------------------------------------------------------

_WAYS: dict[Way, str] = {
    "address": "at its address",
    "title": "by its title",
    "id_search": "by search for its identity",
    "file": "in its file",
}

VERDICTS: dict[Verdict, str] = {
    "present_same": "it is stored as it was sent",
    "present_edited": "it is stored, and was edited since",
    "present_twin": "it is stored: another process or tool saved the same",
    "conflicted": "something else is there, or several notes claim to be it; nothing was overwritten",
    "absent_open": "it was not found, and it may still land",
    "absent_final": "it is not stored, and nothing can land any more",
    "unreachable": "nobody could be asked, so nothing is known",
}
"""What each verdict says to a person."""


_LACKS: dict[Lack, str] = {
    "project": "the project is not proven to be a local one that is still the same",
    "server": "the server it was sent through is not proven to be gone: it is once that server has ended on this machine",
    "index": "search was not seen to find any note of this project: once another save is stored and found, its silence counts",
    "reads": "not every way of asking was answered: read again",
}


def missing(probed: CaptureProbed) -> tuple[str, ...]:
    """Return what is not proven yet, and keeps a write that was not found from counting as lost."""
    return tuple(_LACKS[lack] for lack in lacks(probed)) if probed.verdict == "absent_open" else ()


def observation(seen: Observation, wanted: Wanted) -> str:
    """Return what one read found of the note that is `wanted`."""
    return f"{_WAYS[seen.by]}: {_found(seen, wanted)}"


def _found(seen: Observation, wanted: Wanted) -> str:
    if seen.found != "note":
        return "nothing" if seen.found == "nothing" else "no answer"
    place = f" ({seen.file_path})" if seen.file_path else ""
    if (seen.capture_id, seen.source_tip) != (wanted.capture_id, wanted.source_tip):
        return f"another note{place}"
    if seen.content_sha256 is None:
        return f"its note, of which the text was not read{place}"
    if seen.content_sha256 == wanted.content_sha256:
        return f"its note, as it was sent{place}"
    if seen.content_sha256 == seen.declared_sha256:
        return f"its note as another process or tool wrote it{place}"
    return f"its note, edited since{place}"


# -- what a person types -----------------------------------------------------


def shown(typed: str) -> str:
    """Return what was typed in quotes, as much of it as an identity is long; the length of the rest is told."""
    over = len(typed) - _SHOWN
    return repr(typed) if over <= 0 else f"{typed[:_SHOWN]!r} and {over:,} characters more"


def legible(text: str) -> bool:
    """Tell whether there is anything in `text` to read: letters, numbers or signs that show, not blanks alone."""
    return any(char not in _BLANK and unicodedata.category(char)[0] in "LNPS" for char in text)


def too_long(reason: str) -> str | None:
    """Return why `reason` is not taken, if it is too long to be one; it is cut nowhere, as half a secret is not masked."""
    if len(reason) <= REASON_CHARS:
        return None
    return f"a reason has at most {REASON_CHARS:,} characters, and this one has {len(reason):,}"


class Referenced(Protocol):
    """Anything with an identity that a person may type the beginning of."""

    @property
    def reference(self) -> str:
        """The whole identity."""
        ...


class NoSuchOpen(Exception):
    """The reference names nothing that is open; `hint` says what to type instead."""

    def __init__(self, reference: str, hint: str) -> None:
        super().__init__(f"nothing open is named {shown(reference)}")
        self.reference = reference
        self.hint = hint


class SeveralOpen(Exception):
    """The reference names several; `hint` says what tells them apart."""

    def __init__(self, reference: str, found: Sequence[str]) -> None:
        super().__init__(f"{shown(reference)} names {len(found)} things that are open")
        self.reference = reference
        self.found = tuple(found)
        same = len(set(found)) == 1
        self.hint = "name one journal with --in" if same else f"type more of one: {', '.join(sorted(set(found)))}"


def matching[T: Referenced](items: Sequence[T], reference: str) -> T:
    """Return the one of `items` that `reference` names: a whole identity, or the beginning of just one.

    Raises:
        NoSuchOpen: There is none, or the reference is too short to be a beginning.
        SeveralOpen: There are several.
    """
    wanted = reference.strip().lower()
    exact = [each for each in items if each.reference.lower() == wanted]
    if not exact and len(wanted) < SHORTEST:
        raise NoSuchOpen(reference, f"a reference is the beginning of an identity, {SHORTEST} characters at least")
    found = exact or [each for each in items if each.reference.lower().startswith(wanted)]
    if not found:
        known = ", ".join(each.reference[:_SHORT] for each in items)
        raise NoSuchOpen(reference, f"open are {known}" if known else "nothing is open")
    if len(found) > 1:
        raise SeveralOpen(reference, [each.reference for each in found])
    return found[0]
