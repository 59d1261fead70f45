"""What a sitting left behind, as plain data that can be judged again at any time. It draws no conclusion."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, cast

import msgspec

from journal.events import CaptureBegun, CaptureProbed, Event, WriteAnswered, WriteIntended
from journal.events.writes import Outcome, Verdict
from tools.killcourt.plan import Anchor, Stage, Victim

type Phase = Literal["before the intent", "intended", "sent", "answered", "recorded"]
type Said = Literal["found", "nothing", "unreachable"]

_FIELD = re.compile(r"(?m)^(\w+):[ ]*(.*?)[ ]*$")


class Killed(msgspec.Struct, frozen=True, kw_only=True):
    """One kill as it was done."""

    number: int
    victim: Victim
    anchor: Anchor
    delay_ms: float
    warm: bool
    capture: str | None
    """The capture under way; null when none had begun."""
    phase: Phase
    """How far the write had come when the kill was over."""
    on_disk: bool
    """Whether the note's file was there just after the kill."""


class Probed(msgspec.Struct, frozen=True, kw_only=True):
    """One probe's verdict, and the body it was drawn from."""

    verdict: Verdict
    bodies: tuple[str, ...]


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What one journal says of one capture."""

    capture: str
    intents: tuple[str, ...]
    """The digest of the body of each attempt."""
    outcomes: tuple[Outcome, ...]
    probes: tuple[Probed, ...]
    paths: tuple[str, ...]
    """Where the writes were asked to land or said to have landed."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One `write_note` that was passed on to a server."""

    capture: str | None
    intent_first: bool
    """Its intent and its submission were on disk before it was passed on."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One note as it was found after everything had settled."""

    path: str
    capture: str | None
    body: str
    """Digest of the body, in the form our intents have."""
    by: Literal["read", "file"]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Everything of one sitting."""

    sitting: int
    stage: Stage
    kills: tuple[Killed, ...]
    mistrials: tuple[str, ...]
    accounts: tuple[Account, ...]
    asked: tuple[Asked, ...]
    found: tuple[Found, ...]
    searched: Mapping[str, Said]
    """What the rule "search by metadata" said at the first probe, by capture."""


def accounts(events: Iterable[Event]) -> tuple[Account, ...]:
    """Return what a branch's history says of each capture, in the order in which they began. Pure."""
    found: dict[str, Account] = {}
    for event in events:
        match event:
            case CaptureBegun() | WriteIntended() | WriteAnswered() | CaptureProbed():
                known = found.get(event.capture_id) or _empty(event.capture_id)
                found[event.capture_id] = _followed(known, event)
            case _:
                pass
    return tuple(found.values())


def _empty(capture: str) -> Account:
    return Account(capture=capture, intents=(), outcomes=(), probes=(), paths=())


def _followed(known: Account, event: Event) -> Account:
    match event:
        case WriteIntended():
            paths = (*known.paths, event.address.file_path)
            return msgspec.structs.replace(known, intents=(*known.intents, event.content_sha256), paths=paths)
        case WriteAnswered():
            paths = known.paths if event.file_path is None else (*known.paths, event.file_path)
            return msgspec.structs.replace(known, outcomes=(*known.outcomes, event.outcome), paths=paths)
        case CaptureProbed():
            bodies = tuple(o.content_sha256 for o in event.observations if o.content_sha256 is not None)
            probed = Probed(verdict=event.verdict, bodies=bodies)
            return msgspec.structs.replace(known, probes=(*known.probes, probed))
        case _:
            return known


def asked(lines: Iterable[Mapping[str, object]]) -> tuple[Asked, ...]:
    """Return the writes in a relay's log that were passed on to a server. Pure."""
    wanted = {"what": "passed", "direction": "request", "tool": "write_note"}.items()
    return tuple(_asked(line) for line in lines if wanted <= line.items())


def _asked(line: Mapping[str, object]) -> Asked:
    capture = line.get("capture")
    seen = cast("Sequence[Mapping[str, object]]", line.get("journals") or ())
    first = any(look.get("submitted") and look.get("newest_of_capture") == "write-intended.v1" for look in seen)
    return Asked(capture=capture if isinstance(capture, str) else None, intent_first=first)


def files(notes: Path) -> tuple[Found, ...]:
    """Return every Markdown file under `notes`, read by rules of our own: no server and no product code is asked."""
    return tuple(
        note(str(path.relative_to(notes)), path.read_bytes().decode("utf-8", "replace"))
        for path in sorted(notes.rglob("*.md"))
    )


def note(path: str, text: str) -> Found:
    """Return a file's identity and the digest of its body. Pure."""
    head, body = "", text
    if text.startswith("---\n"):
        head, _, body = text[4:].partition("\n---\n")
    fields = {name: value.strip("'\"") for name, value in _FIELD.findall(head)}
    return Found(path=path, capture=fields.get("capture_id"), body=body_digest(body), by="file")


def body_digest(text: str) -> str:
    """Return the digest of a body as the note contract defines it, spelled out here a second time on purpose."""
    return hashlib.sha256(json.dumps(text.strip(), ensure_ascii=False).encode()).hexdigest()
