"""Takes a model's answer as a handoff or refuses it, visibly; it mends nothing that is missing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from continuity.handoff.prompt import END_LINE
from continuity.privacy import mask
from continuity.privacy.quoting import printable

HEADINGS = ("Objective", "Decisions", "Verified work", "Unfinished work", "Next action")
"""What every handoff holds, in the order it is written and recalled."""

type RefusalReason = Literal["empty", "null", "oversized", "cut-off", "missing-heading", "empty-section"]

_KNOWN = {name.lower(): name for name in (*HEADINGS, "Observations", "Relations")}
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?P<name>[A-Za-z][A-Za-z ]{0,30}?)[ \t]*:?[ \t]*#*[ \t]*")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})")
_NOTHING = frozenset({"null", "none", "nil", "undefined", "n/a", "{}", "[]", '""', "''"})
_REQUIRED_TEXT = ("Objective", "Next action")


class Handoff(msgspec.Struct, frozen=True):
    """A whole handoff, masked, in our own order of headings."""

    text: str
    observations: str
    """The model's own observation lines, if it gave any."""
    maskings: int


class HandoffRefused(msgspec.Struct, frozen=True):
    """An answer that is no handoff. The one before it stands."""

    reason: RefusalReason
    what: str = ""
    """The heading that is missing or empty."""


def accept_handoff(answer: str, limit: int) -> Handoff | HandoffRefused:
    """Return the handoff in `answer`, of at most `limit` characters, or why there is none.

    Text before the first known heading is dropped, frontmatter with it: a body that began with one would choose its
    own note type. Nothing else need see to that, for every handoff begins with our own first heading. The end line is
    required, because a stream cut off looks like one that ended.
    """
    lines = _unwrapped(printable(answer).lstrip("\ufeff").strip())
    if not lines:
        return HandoffRefused("empty")
    if "\n".join(lines).strip().lower() in _NOTHING or [lines[0].lower(), *lines[1:]] == ["null", END_LINE]:
        return HandoffRefused("null")
    if len(answer) > limit:
        return HandoffRefused("oversized")
    if lines[-1].strip() != END_LINE:
        return HandoffRefused("cut-off")
    masked = mask("\n".join(lines[:-1]))
    found = sections(masked.text)
    for name in HEADINGS:
        if name not in found:
            return HandoffRefused("missing-heading", name)
        if name in _REQUIRED_TEXT and not found[name]:
            return HandoffRefused("empty-section", name)
    return Handoff(_canonical(found), found.get("Observations", ""), masked.count)


def _canonical(found: Mapping[str, str]) -> str:
    text = "\n\n".join(f"## {name}\n\n{found[name] or 'None.'}" for name in HEADINGS)
    return f"{text}\n"


def kept_text(handoff: Handoff) -> str:
    """Return the text that is kept in bodies and given to the next synthesis; `from_kept` reads it back."""
    if not handoff.observations:
        return handoff.text
    return f"{handoff.text}\n## Observations\n\n{handoff.observations}\n"


def from_kept(text: str) -> Handoff | None:
    """Return the handoff kept as `text`, or None if it is none."""
    found = sections(text)
    if any(name not in found for name in HEADINGS):
        return None
    return Handoff(_canonical(found), found.get("Observations", ""), 0)


def sections(text: str) -> Mapping[str, str]:
    """Return the text under each heading we know; one that comes twice is one section. Fenced lines are no headings."""
    found: dict[str, list[str]] = {}
    current: list[str] | None = None
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        heading = None if fence else _HEADING.fullmatch(line)
        name = _KNOWN.get(heading["name"].lower()) if heading else None
        if mark and not fence:
            fence = mark["mark"]
        elif mark and line.strip().startswith(fence) and not line.strip(f" {fence[0]}"):
            fence = ""
        if name is not None:
            current = found.setdefault(name, [])
        elif current is not None:
            current.append(line)
    return {name: "\n".join(lines).strip() for name, lines in found.items()}


def _unwrapped(text: str) -> list[str]:
    """The lines of an answer, without a fence around the whole of it."""
    lines = text.split("\n") if text else []
    if len(lines) > 2 and _FENCE.match(lines[0]) and lines[-1].strip() and not lines[-1].strip().strip("`~"):
        lines = lines[1:-1]
        while lines and not lines[-1].strip():
            lines.pop()
    return lines
