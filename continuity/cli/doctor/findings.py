"""One finding of the doctor, and all of them as JSON; the schema of `continuity doctor --json` is generated from here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

type Word = Literal["ok", "warn", "fail"]


class Check(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one thing that was looked at is worth."""

    name: str
    result: Word
    found: str
    """One line on what is so."""
    remedy: str | None
    """What helps; null when nothing has to be done."""


class DoctorView(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Every check that could be made, in the order in which one thing needs another."""

    schema: Literal["continuity.doctor/1"] = "continuity.doctor/1"
    online: bool
    """Whether a memory server was to be asked."""
    result: Word
    checks: list[Check]


def ok(name: str, found: str) -> Check:
    """Nothing has to be done."""
    return Check(name=name, result="ok", found=found, remedy=None)


def warned(name: str, found: str, remedy: str) -> Check:
    """It works, though not as somebody may expect."""
    return Check(name=name, result="warn", found=found, remedy=remedy)


def failed(name: str, found: str, remedy: str) -> Check:
    """Something does not work as long as this is so."""
    return Check(name=name, result="fail", found=found, remedy=remedy)


def worst(checks: Sequence[Check]) -> Word:
    """Return the word for all of them together."""
    found = {check.result for check in checks}
    return "fail" if "fail" in found else "warn" if "warn" in found else "ok"
