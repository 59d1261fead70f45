"""Counts what was judged and shows it as text or JSON. Pure; a count is never left out because it is zero."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from tools.killcourt.docket import Evidence
from tools.killcourt.judge import Case, Judged, judge

_MOMENTS = ("before the intent", "intended", "sent", "answered", "recorded")
_VICTIMS = ("server", "writer", "both")


_CLAIMS = {
    "stored": True,
    "present_same": True,
    "present_edited": True,
    "present_twin": True,
    "found": True,
    "absent": False,
    "absent_final": False,
    "nothing": False,
}
"""What a word claims of the note's being there; every other word claims nothing."""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """How one way of telling did on the same kills."""

    name: str
    asked: int
    right: int
    missed: int
    """It said absent, and the note was there: whoever trusts it writes twice."""
    invented: int
    """It said stored, and no note was there."""
    silent: int
    """It said nothing that could be relied on."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the killed writes with one ground."""

    ground: str
    stored: int
    absent: int


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """The whole outcome."""

    format: int = 1
    kills: int
    mistrials: tuple[str, ...]
    """What the harness itself failed at; such kills do not count as kills."""
    missing: int
    """Kills that were wanted and are in no evidence: not done yet, mistrials, or of a sitting the harness did not end."""
    whole_tau: int
    """Kills of these with a whole Tau as the writer."""
    victims: dict[str, int]
    moments: dict[str, int]
    between: int
    """Kills when no capture was under way."""
    verdicts: tuple[Row, ...]
    let_live: int
    """Other writes of the same sessions, judged as strictly."""
    false_verdicts: tuple[str, ...]
    duplicates: tuple[str, ...]
    unaccounted: tuple[str, ...]
    conflicts: tuple[str, ...]
    open_absences: tuple[str, ...]
    disagreements: tuple[str, ...]
    rules: tuple[Rule, ...]

    @property
    def sound(self) -> bool:
        """Nothing false, nothing double, nothing unaccounted for."""
        return not (self.false_verdicts or self.duplicates or self.unaccounted)


def tabulate(sittings: Iterable[Evidence], *, wanted: int = 0) -> Table:
    """Judge every sitting and count; `wanted` kills were asked for."""
    heard = [(evidence, judge(evidence)) for evidence in sittings]
    cases = [case for _, judged in heard for case in judged.cases]
    kills = [kill for evidence, _ in heard for kill in evidence.kills]
    victims = Counter[str](kill.victim for kill in kills)
    moments = Counter[str](kill.phase for kill in kills)
    return Table(
        kills=len(kills),
        mistrials=tuple(f"sitting {e.sitting}: {why}" for e, _ in heard for why in e.mistrials),
        missing=max(0, wanted - len(kills)),
        whole_tau=sum(len(evidence.kills) for evidence, _ in heard if evidence.stage == "tau"),
        victims={victim: victims[victim] for victim in _VICTIMS},
        moments={moment: moments[moment] for moment in _MOMENTS},
        between=len(kills) - sum(len(case.kills) for case in cases),
        verdicts=tuple(_rows(case for case in cases if case.kills)),
        let_live=sum(not case.kills for case in cases),
        false_verdicts=_named((case, case.false) for case in cases),
        duplicates=_named((case, case.duplicates) for case in cases),
        unaccounted=(*_named((case, case.unaccounted) for case in cases), *_strays(heard)),
        conflicts=_named((case, ("conflicted",)) for case in cases if case.standing == "conflicted"),
        open_absences=_named((case, (case.ground,)) for case in cases if case.standing == "open"),
        disagreements=tuple(f"sitting {e.sitting}: {what}" for e, j in heard for what in j.disagreements),
        rules=tuple(_rules(cases)),
    )


def _named(found: Iterable[tuple[Case, Sequence[str]]]) -> tuple[str, ...]:
    return tuple(f"sitting {case.sitting}, {case.capture[:12]}: {what}" for case, whats in found for what in whats)


def _strays(heard: Iterable[tuple[Evidence, Judged]]) -> Iterator[str]:
    return (f"sitting {evidence.sitting}: {what}" for evidence, judged in heard for what in judged.strays)


def _rows(cases: Iterable[Case]) -> Iterator[Row]:
    counts = Counter((case.ground, case.stored) for case in cases)
    for ground in sorted({ground for ground, _ in counts}):
        yield Row(ground=ground, stored=counts[ground, True], absent=counts[ground, False])


def _rules(cases: Sequence[Case]) -> Iterator[Rule]:
    """The ways of telling, on the killed writes that were in doubt and that were asked about in every way."""
    doubted = [case for case in cases if case.kills and case.first is not None and case.searched is not None]
    yield _rule("the journal's verdict in the end", [(_CLAIMS.get(case.standing), case.stored) for case in doubted])
    yield _rule("the journal's first verdict", [(_CLAIMS.get(case.first or ""), case.stored) for case in doubted])
    yield _rule("search by metadata, then", [(_CLAIMS.get(case.searched or ""), case.stored) for case in doubted])
    yield _rule("look into the folder at the kill", [(case.kills[-1].on_disk, case.stored) for case in doubted])


def _rule(name: str, said: Sequence[tuple[bool | None, bool]]) -> Rule:
    return Rule(
        name=name,
        asked=len(said),
        right=sum(claim is truth for claim, truth in said),
        missed=sum(claim is False and truth for claim, truth in said),
        invented=sum(claim is True and not truth for claim, truth in said),
        silent=sum(claim is None for claim, _ in said),
    )


def text(table: Table) -> str:
    """Return the table for people."""
    return "\n".join(_lines(table)) + "\n"


def _lines(table: Table) -> Iterator[str]:
    yield f"{table.kills} kills, {table.whole_tau} of them with a whole Tau; {table.let_live} other writes were let live"
    yield "  who        " + ", ".join(f"{name} {count}" for name, count in table.victims.items())
    yield "  when       " + ", ".join(f"{name} {count}" for name, count in table.moments.items())
    yield ""
    yield f"{'what the journal says of a killed write':<42}{'stored':>8}{'absent':>8}"
    for row in table.verdicts:
        yield f"  {row.ground:<40}{row.stored:>8}{row.absent:>8}"
    yield f"  {'(no capture was under way)':<40}{table.between:>16}"
    yield ""
    yield f"{'rule, on the same doubts':<42}{'asked':>8}{'right':>8}{'missed':>8}{'invented':>10}{'silent':>8}"
    for rule in table.rules:
        yield f"  {rule.name:<40}{rule.asked:>8}{rule.right:>8}{rule.missed:>8}{rule.invented:>10}{rule.silent:>8}"
    yield ""
    for name, found in _findings(table):
        yield f"{name:<42}{len(found):>8}"
        yield from (f"    {one}" for one in found)
    yield f"{'kills wanted and not done':<42}{table.missing:>8}"


def _findings(table: Table) -> Iterator[tuple[str, Sequence[str]]]:
    yield "false verdicts", table.false_verdicts
    yield "duplicates", table.duplicates
    yield "unaccounted", table.unaccounted
    yield "conflicts", table.conflicts
    yield "absences still open", table.open_absences
    yield "server and folder disagree", table.disagreements
    yield "mistrials (the harness failed)", table.mistrials
