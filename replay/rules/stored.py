"""The rules about stored bytes; the journal itself knows how to find what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from journal.integrity import What, damage
from journal.reader import Reader
from replay.rules import Finding, RuleId

_RULES: Mapping[What, RuleId] = {
    "file": "file",
    "guards": "guards",
    "header": "header",
    "branch": "branches",
    "order": "contiguity",
    "chain": "chain",
    "event": "events",
    "unknown": "unknown",
    "submission": "submissions",
    "body": "bodies",
}


def stored(reader: Reader) -> Iterator[Finding]:
    """Yield everything that is wrong with the file. An event of a later version is sound, and unproven to us."""
    for found in damage(reader):
        later = found.what == "unknown"
        yield Finding(
            rule=_RULES[found.what],
            severity="unproven" if later else "broken",
            branch=found.branch if found.branch or found.position else None,
            position=found.position or None,
            detail=f"{found.detail}; state and the other rules stop before it" if later else found.detail,
        )
