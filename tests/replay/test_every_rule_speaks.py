"""No promise is without a rule, and no rule without a crafted journal on which it, and nothing before it, finds the fault.

The table is complete over `PROVES`: a rule that is added without a journal that makes it speak fails here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace

from journal.events import CaptureProbed
from journal.events.writes import Verdict
from journal.row import Row
from replay.rules import PROVES, RuleId
from tests.facts import DOUBTED, NOWHERE, OTHER_BODY, OTHER_CAPTURE, SAVED, missed, probed, seen
from tests.fakes.journals import Recording, recorded, session_file
from tests.journal import kit as forging
from tests.journal.test_integrity import forge
from tests.replay import stories
from tests.replay.kit import findings
from tests.replay.test_audit import mirror
from tests.replay.test_audit_rules import BROKEN

PROMISES: dict[str, frozenset[RuleId]] = {
    "no remote write without its intent on disk first": frozenset({"intents", "submissions"}),
    "an intent is submitted once, and an ambiguous one is settled by reading": frozenset(
        {"attempts", "submissions", "verdicts", "inheritance"}
    ),
    "saved is said with evidence, and only a confirmed checkpoint is referenced": frozenset(
        {"confirmations", "references", "receipts", "notes"}
    ),
    "replay gives the state that was lived": frozenset(
        {
            *("file", "guards", "header", "branches", "contiguity", "chain", "events", "unknown", "bodies"),
            *("causes", "refold", "anchors", "tail"),
        }
    ),
}

type Crafted = Callable[[Path], tuple[Path, tuple[str | Path, ...]]]
"""Makes a journal at a path; returns where it is and the options its audit takes."""


def _edited(*statements: str) -> Crafted:
    """A sound journal after a forger's SQL, with its guards put back."""

    def craft(folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
        path = stories.forked().write(folder / "a.journal")
        with forging.raw(path) as connection:
            guards = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
            forging.without_guards(connection)
            for statement in statements:
                connection.execute(statement)
            for sql in guards:
                connection.execute(sql)
        return path, ()

    return craft


def _without_a_guard(folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
    path = stories.forked().write(folder / "a.journal")
    with forging.raw(path) as connection:
        connection.execute("DROP TRIGGER events_are_not_deleted")
    return path, ()


def _with_lost_pages(folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
    """An index that says something else than its table."""
    path = recorded(folder / "a.journal", *SAVED)
    with forging.raw(path) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        pages = dict(connection.execute("SELECT name, rootpage FROM sqlite_schema WHERE name LIKE '%events%'"))
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    index = pages["sqlite_autoindex_events_1"]
    content = bytearray(path.read_bytes())
    content[(index - 1) * size + 3 : (index - 1) * size + 5] = b"\x00\x01"
    path.write_bytes(content)
    return path, ()


def _by_a_later_version(folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
    path = recorded(folder / "a.journal", *SAVED[:6])
    with forging.raw(path) as connection:
        forging.without_guards(connection)
    forge(path, "later.v9", '{"type":"later.v9"}')
    return path, ()


def _changed_body(folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
    return _edited("UPDATE bodies SET text = 'another'")(folder)


def _told(name: str) -> Crafted:
    """One of the journals that break a rule about what happened."""

    def craft(folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
        return BROKEN[name][0]().write(folder / "a.journal"), ()

    return craft


def _mirrored(change: Callable[[Row], dict[str, str | int | None]], story: Callable[[], Recording]) -> Crafted:
    """A journal and a session whose receipt says something else."""

    def craft(folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
        made = story()
        session = session_file(folder / "s.jsonl", change(made.at(1, 7)))
        return made.write(folder / "a.journal"), ("--session", session)

    return craft


def _saved() -> Recording:
    return Recording().append(*SAVED)


def _note_gone(folder: Path) -> tuple[Path, tuple[str | Path, ...]]:
    return recorded(folder / "a.journal", *SAVED), ("--notes", folder)


SPEAKS: dict[RuleId, Crafted] = {
    "file": _with_lost_pages,
    "guards": _without_a_guard,
    "header": _edited("UPDATE header SET session_id = 'other'"),
    "branches": _edited("UPDATE branches SET fork_position = 6 WHERE branch = 2"),
    "contiguity": _edited("DELETE FROM events WHERE branch = 2 AND position = 10"),
    "chain": _edited("UPDATE events SET at_ms = at_ms + 1 WHERE branch = 1 AND position = 4"),
    "events": _edited("UPDATE events SET payload = '{}' WHERE branch = 1 AND position = 3"),
    "unknown": _by_a_later_version,
    "submissions": _edited("DELETE FROM submissions"),
    "bodies": _changed_body,
    "intents": _told("an answer without its intent"),
    "attempts": _told("a write repeated after an ambiguous outcome"),
    "confirmations": _told("a confirmation without a path"),
    "references": _told("a brief that names what was never confirmed"),
    "verdicts": _told("a verdict that the reads do not prove"),
    "inheritance": _told("a fork that sends what its parent owed"),
    "causes": _told("a cause that is no earlier row"),
    "refold": _told("a close that forgets what is owed"),
    "anchors": _mirrored(lambda row: mirror(row) | {"digest": "0" * 64}, _saved),
    "receipts": _mirrored(lambda row: mirror(row) | {"capture_id": OTHER_CAPTURE}, _saved),
    "tail": lambda folder: (recorded(folder / "a.journal", *SAVED), ()),
    "notes": _note_gone,
}


def test_every_promise_has_rules_and_every_rule_serves_one() -> None:
    assert all(PROMISES.values())
    assert frozenset[RuleId]().union(*PROMISES.values()) == set(PROVES)


def test_every_rule_has_a_journal_made_to_break_it() -> None:
    assert set(SPEAKS) == set(PROVES) == set(get_args(RuleId.__value__))


@pytest.mark.parametrize("rule", PROVES)
def test_a_rule_speaks_on_the_journal_made_for_it_and_not_on_a_sound_one(tmp_path: Path, rule: RuleId) -> None:
    (tmp_path / "sound").mkdir()
    path, options = SPEAKS[rule](tmp_path)
    assert rule in {found for found, _, _, _ in findings(path, *options)}
    if rule not in ("tail", "notes"):
        story = stories.forked()
        session = session_file(tmp_path / "sound" / "s.jsonl", mirror(story.at(1, 12)), mirror(story.at(2, 15)))
        assert findings(story.write(tmp_path / "sound" / "a.journal"), "--session", session) == set()


def test_every_rule_about_what_happened_is_broken_alone_by_some_journal() -> None:
    """No such rule is only ever found beside another: taking it away would leave a fault that nobody names."""
    alone = {rule for _, expected in BROKEN.values() for rule in {r for r, _, _ in expected} if len(expected) == 1}
    together = {rule for _, expected in BROKEN.values() for rule, _, _ in expected}
    assert together - alone <= {"attempts"}, "`attempts` stands beside `refold`, which decides the same intent again"


OBSERVED: dict[Verdict, CaptureProbed] = {
    "present_same": probed("present_same", seen()),
    "present_edited": probed("present_edited", seen(body=OTHER_BODY)),
    "present_twin": probed("present_twin", seen(body=OTHER_BODY, declared=OTHER_BODY)),
    "conflicted": probed("conflicted", seen(capture=None)),
    "absent_open": probed("absent_open", *NOWHERE, server="alive"),
    "absent_final": probed("absent_final", *NOWHERE),
    "unreachable": probed("unreachable", missed("address", "unreachable")),
}
"""Each verdict with observations that prove it."""


@pytest.mark.parametrize("proven", OBSERVED)
def test_a_verdict_is_judged_by_its_observations_and_never_by_its_own_word(tmp_path: Path, proven: Verdict) -> None:
    assert set(OBSERVED) == set(get_args(Verdict.__value__))
    for claimed in OBSERVED:
        claim = replace(OBSERVED[proven], verdict=claimed)
        found = {rule for rule, *_ in findings(recorded(tmp_path / f"{claimed}.journal", *DOUBTED, claim))}
        assert ("verdicts" in found) == (claimed != proven), claimed
