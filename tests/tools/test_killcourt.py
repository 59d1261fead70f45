"""The killcourt is a strict judge: each way of being wrong raises its own count, and being right raises none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from journal.events import CaptureBegun, CaptureProbed, Event, WriteAnswered, WriteIntended
from journal.events.writes import NoteAddress, Observation
from journal.ids import Sha256
from tools.killcourt.docket import (
    Account,
    Asked,
    Evidence,
    Found,
    Killed,
    Probed,
    accounts,
    asked,
    body_digest,
    note,
)
from tools.killcourt.judge import judge
from tools.killcourt.plan import kill, sittings
from tools.killcourt.table import Table, tabulate, text

A, B, BODY, OTHER = "a" * 64, "b" * 64, "1" * 64, "2" * 64
PATH = "tau/checkpoints/tau-checkpoint-a.md"

ACCOUNT = Account(capture=A, intents=(BODY,), outcomes=(), probes=(), paths=(PATH,))
NOTE = Found(path=PATH, capture=A, body=BODY, by="file")
READ = msgspec.structs.replace(NOTE, by="read")
CALL = Asked(capture=A, intent_first=True)
KILLED = Killed(
    number=0,
    victim="server",
    anchor="sent",
    delay_ms=1.0,
    warm=False,
    capture=A,
    phase="sent",
    on_disk=False,
)


def probed(*verdicts: Any) -> tuple[Probed, ...]:
    return tuple(Probed(verdict=verdict, bodies=()) for verdict in verdicts)


def account(**changes: Any) -> Account:
    return msgspec.structs.replace(ACCOUNT, **changes)


def evidence(one: Account | None = ACCOUNT, *found: Found, **more: Any) -> Evidence:
    plain: dict[str, Any] = {
        "sitting": 0,
        "stage": "headless",
        "kills": (KILLED,),
        "mistrials": (),
        "accounts": () if one is None else (one,),
        "asked": (CALL,),
        "found": found,
        "searched": {},
    }
    return Evidence(**plain | more)


def counts(table: Table) -> tuple[int, int, int]:
    return len(table.false_verdicts), len(table.duplicates), len(table.unaccounted)


ACCEPTED = account(outcomes=("accepted",))
SAME, FINAL = account(probes=probed("present_same")), account(probes=probed("absent_open", "absent_final"))


@pytest.mark.parametrize(
    "right",
    [
        evidence(ACCEPTED, NOTE, READ),
        evidence(SAME, NOTE, READ),
        evidence(FINAL),
        evidence(account(probes=probed("absent_open"))),
        evidence(account(probes=probed("absent_open")), NOTE),
        evidence(account(probes=probed("unreachable", "present_same")), NOTE),
        evidence(account(outcomes=("refused",))),
        evidence(account(outcomes=("not-sent",)), asked=()),
        evidence(account(intents=(BODY, BODY), outcomes=("not-sent", "accepted")), NOTE),
        evidence(account(intents=()), asked=()),
        evidence(account(probes=probed("present_edited")), msgspec.structs.replace(NOTE, body=OTHER)),
    ],
)
def test_what_is_so_raises_no_count(right: Evidence) -> None:
    table = tabulate([right])
    assert counts(table) == (0, 0, 0)
    assert table.sound


@pytest.mark.parametrize(
    "wrong",
    [
        evidence(ACCEPTED),
        evidence(ACCEPTED, msgspec.structs.replace(NOTE, body=OTHER)),
        evidence(SAME),
        evidence(SAME, msgspec.structs.replace(NOTE, body=OTHER)),
        evidence(FINAL, NOTE),
        evidence(FINAL, READ),
        evidence(account(probes=probed("present_twin")), NOTE),
        evidence(account(probes=probed("present_edited"))),
        evidence(account(probes=probed("conflicted")), NOTE),
        evidence(account(outcomes=("refused",)), NOTE),
        evidence(account(probes=probed("absent_final", "present_same")), NOTE),
    ],
)
def test_a_claim_that_is_not_so_is_a_false_verdict(wrong: Evidence) -> None:
    table = tabulate([wrong])
    assert counts(table) == (1, 0, 0)
    assert not table.sound


def test_not_sent_is_false_when_the_call_reached_a_server() -> None:
    table = tabulate([evidence(account(outcomes=("not-sent",)))])
    assert counts(table) == (1, 1, 0)


@pytest.mark.parametrize(
    "double",
    [
        evidence(ACCEPTED, NOTE, msgspec.structs.replace(NOTE, path="elsewhere.md")),
        evidence(ACCEPTED, NOTE, asked=(CALL, CALL)),
    ],
)
def test_two_notes_or_two_calls_for_one_intent_are_a_duplicate(double: Evidence) -> None:
    assert counts(tabulate([double])) == (0, 1, 0)


@pytest.mark.parametrize(
    "silent",
    [
        evidence(ACCOUNT),
        evidence(account(outcomes=("unknown",)), NOTE),
        evidence(account(intents=(BODY, BODY), outcomes=("not-sent",))),
        evidence(ACCEPTED, NOTE, asked=(msgspec.structs.replace(CALL, intent_first=False),)),
        evidence(account(intents=()), NOTE, asked=()),
        evidence(None, NOTE, asked=()),
        evidence(None),
        evidence(ACCEPTED, NOTE, msgspec.structs.replace(NOTE, path="x.md", capture=B)),
        evidence(ACCEPTED, NOTE, msgspec.structs.replace(NOTE, path="x.md", capture=None)),
    ],
)
def test_what_no_journal_accounts_for_is_counted(silent: Evidence) -> None:
    assert counts(tabulate([silent])) == (0, 0, 1)


def test_a_note_that_only_a_server_reads_is_there_and_is_shown() -> None:
    table = tabulate([evidence(SAME, READ)])
    assert table.sound
    assert table.disagreements == (f"sitting 0: {PATH}: read only",)


def test_a_mistrial_is_no_kill_and_is_never_dropped() -> None:
    table = tabulate([evidence(ACCEPTED, NOTE, kills=(), mistrials=("kill 0: no server to kill",))], wanted=1)
    assert (table.kills, table.mistrials, table.let_live) == (0, ("sitting 0: kill 0: no server to kill",), 1)
    assert table.missing == 1


def test_kills_of_a_sitting_that_never_ended_are_missing() -> None:
    assert tabulate([evidence(ACCEPTED, NOTE)], wanted=3).missing == 2


def test_open_absences_and_conflicts_are_listed() -> None:
    conflict = account(probes=probed("conflicted"))
    notes = (NOTE, msgspec.structs.replace(NOTE, path="x.md", body=OTHER))
    table = tabulate([evidence(account(probes=probed("absent_open"))), evidence(conflict, *notes)])
    assert (len(table.open_absences), len(table.conflicts)) == (1, 1)


@pytest.mark.parametrize(
    ("searched", "found", "expected"),
    [
        ("found", (NOTE,), (1, 0, 0, 0)),
        ("nothing", (NOTE,), (0, 1, 0, 0)),
        ("found", (), (0, 0, 1, 0)),
        ("unreachable", (), (0, 0, 0, 1)),
    ],
)
def test_the_rule_search_by_metadata_is_judged_on_the_same_kills(
    searched: str, found: tuple[Found, ...], expected: tuple[int, ...]
) -> None:
    one = SAME if found else FINAL
    rules = {rule.name: rule for rule in tabulate([evidence(one, *found, searched={A: searched})]).rules}
    rival, ours = rules["search by metadata, then"], rules["the journal's verdict in the end"]
    assert (rival.right, rival.missed, rival.invented, rival.silent) == expected
    assert (ours.asked, ours.right) == (1, 1)


def test_an_early_open_verdict_is_silent_and_never_wrong() -> None:
    rules = {rule.name: rule for rule in tabulate([evidence(FINAL, searched={A: "nothing"})]).rules}
    assert (rules["the journal's first verdict"].silent, rules["the journal's first verdict"].missed) == (1, 0)


def test_the_table_shows_every_count_and_every_finding() -> None:
    shown = text(tabulate([evidence(FINAL, NOTE), evidence(None, NOTE, mistrials=("kill 9: why",))]))
    for line in ("false verdicts", "duplicates", "unaccounted", "conflicts", "absences still open", "mistrials"):
        assert line in shown
    assert "absent_final, but the note is there" in shown
    assert "a note no journal accounts for" in shown
    assert "kill 9: why" in shown


# -- reading the evidence ----------------------------------------------------


def intended(**changes: Any) -> WriteIntended:
    plain: dict[str, Any] = {
        "capture_id": A,
        "attempt": 1,
        "mode": "create",
        "kind": "checkpoint",
        "project": "main",
        "source_tip": "t",
        "address": NoteAddress(folder="tau/checkpoints", title="tau-checkpoint-a"),
        "content_sha256": BODY,
        "note_type": "session",
        "metadata_sha256": OTHER,
        "writer": "w",
        "connection": "c",
    }
    return WriteIntended(**plain | changes)


def begun() -> CaptureBegun:
    facts: dict[str, Any] = {"capture_id": A, "attempt": 1, "kind": "checkpoint", "project": "main", "source_tip": "t"}
    return CaptureBegun(**facts, reason="cadence", prior_sha256=None, prior_tip=None, focus_sha256=None)


def test_an_account_keeps_intents_outcomes_probes_and_paths() -> None:
    answered: dict[str, Any] = {"capture_id": A, "attempt": 1, "outcome": "unknown", "code": "connection-lost"}
    seen: dict[str, Any] = {"by": "address", "found": "note", "capture_id": A, "source_tip": "t", "checksum": None}
    looked = Observation(**seen, declared_sha256=Sha256(BODY), content_sha256=Sha256(BODY), file_path=PATH)
    reads: dict[str, Any] = {"capture_id": A, "attempt": 1, "connection": "c", "observations": (looked,)}
    events: tuple[Event, ...] = (
        begun(),
        intended(),
        WriteAnswered(**answered, file_path=None, permalink=None, checksum=None),
        CaptureProbed(
            **reads, writing_server="gone", project_source="local", index_proven=True, verdict="present_same"
        ),
    )
    kept = account(outcomes=("unknown",), probes=(Probed(verdict="present_same", bodies=(BODY,)),))
    assert accounts(events) == (kept,)


def test_a_call_counts_when_it_was_passed_on_and_says_whether_its_intent_came_first() -> None:
    line: dict[str, object] = {"what": "passed", "direction": "request", "tool": "write_note", "capture": A}
    written = {"submitted": True, "newest_of_capture": "write-intended.v1"}
    early = {"submitted": False, "newest_of_capture": "capture-begun.v1"}
    lines = [line | {"journals": [early, written]}, line | {"what": "request-dropped"}, line | {"journals": [early]}]
    assert asked(lines) == (CALL, msgspec.structs.replace(CALL, intent_first=False))


@pytest.mark.parametrize("quoted", [f"'{A}'", f'"{A}"', A])
def test_a_file_says_its_identity_and_its_body(quoted: str) -> None:
    file = f"---\ntitle: x\ncapture_id: {quoted}\n---\n\n# Body\n---\ncapture_id: {B}\n"
    found = note(PATH, file)
    assert (found.capture, found.body) == (A, body_digest(f"# Body\n---\ncapture_id: {B}"))


def test_a_file_without_frontmatter_has_no_identity() -> None:
    assert note("x.md", f"capture_id: {A}\n").capture is None


# -- the plan ----------------------------------------------------------------


def test_a_kill_depends_on_seed_and_number_alone() -> None:
    assert kill(1, 7) == kill(1, 7)
    assert kill(1, 7) != kill(2, 7)


def test_every_kill_is_planned_once_and_a_whole_tau_has_its_share() -> None:
    planned = list(sittings(1, 1000, 24))
    assert [each.number for one in planned for each in one.kills] == list(range(1000))
    assert sum(len(one.kills) for one in planned if one.stage == "tau") == 40


def test_more_kills_continue_the_sittings_of_fewer() -> None:
    few, many = list(sittings(1, 30, 24)), list(sittings(1, 1000, 24))
    assert few[0] == many[0]
    assert few[1].kills == many[1].kills[:6]


def seen(pick: Callable[[int], object]) -> set[object]:
    return {pick(number) for number in range(200)}


def test_every_victim_and_every_anchor_has_its_turn() -> None:
    assert seen(lambda number: kill(1, number).victim) == {"server", "writer", "both"}
    assert seen(lambda number: kill(1, number).anchor) == {"turn", "ready", "sent", "answered"}
    assert all(0 <= kill(1, number).delay_ms <= 200 for number in range(200))


def test_a_sitting_is_judged_from_its_evidence_alone() -> None:
    kept = evidence(ACCEPTED, NOTE)
    again = msgspec.json.decode(msgspec.json.encode(kept), type=Evidence)
    assert judge(again) == judge(kept)
