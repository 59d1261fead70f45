"""A sound journal has no findings; what is found is named and located. Every single forgery is test_tampering's subject."""

# ruff: noqa: S608  # a forger writes SQL by hand

from pathlib import Path

import anyio
import pytest

from journal import chain
from journal.integrity import Damage
from tests.journal import kit
from tests.journal.kit import BODY


@pytest.fixture
def path(tmp_path: Path) -> Path:
    anyio.run(kit.write_all_kinds, tmp_path / "a.journal")
    return tmp_path / "a.journal"


def after(path: Path, *statements: str) -> list[tuple[str, int, int]]:
    """What is found after a forger's statements, the missing guards apart."""
    with kit.raw(path) as connection:
        kit.without_guards(connection)
        for statement in statements:
            connection.execute(statement)
    return [(what, branch, position) for what, branch, position, _ in kit.found(path) if what != "guards"]


def forge(path: Path, type_: str, payload: str) -> None:
    """Append a row to branch 1 whose digest is right."""
    with kit.raw(path) as connection:
        (previous,) = connection.execute("SELECT digest FROM events WHERE branch = 1 AND position = 6").fetchone()
        digest = chain.link(previous, (1, 7, 0, None, None, type_), payload.encode())
        sql = "INSERT INTO events (branch, position, at_ms, type, payload, digest) VALUES (1, 7, 0, ?, ?, ?)"
        connection.execute(sql, (type_, payload, digest))


def test_a_sound_journal_has_no_findings(path: Path) -> None:
    assert kit.found(path) == []


def test_one_edit_is_located_where_it_was_made(path: Path) -> None:
    assert after(path, "UPDATE events SET at_ms = 0 WHERE branch = 2 AND position = 5") == [("chain", 2, 5)]


def test_a_removed_row_is_located_where_it_is_missing(path: Path) -> None:
    assert ("order", 1, 4) in after(path, "DELETE FROM events WHERE branch = 1 AND position = 4")


def test_a_row_recorded_after_its_successor_is_out_of_order(path: Path) -> None:
    assert after(path, "UPDATE events SET id = 99 WHERE id = 5") == [("order", 1, 6)]


def test_a_missing_changed_or_added_guard_is_named(path: Path) -> None:
    with kit.raw(path) as connection:
        connection.execute("DROP TRIGGER events_are_not_deleted")
        connection.execute("DROP TRIGGER events_are_not_updated")
        connection.execute("CREATE TRIGGER events_are_not_updated BEFORE UPDATE ON events BEGIN SELECT 1; END")
        connection.execute("CREATE TABLE extra (a)")
    assert [finding.detail for finding in kit.found(path)] == [
        "events_are_not_deleted is missing",
        "events_are_not_updated is changed",
        "extra is not ours",
    ]


def test_a_tip_in_another_form_is_found_although_it_means_the_same(path: Path) -> None:
    sql = "UPDATE events SET tip = lower(hex(tip)) WHERE branch = 1 AND position = 4"
    assert after(path, sql) == [("event", 1, 4)]


def test_an_event_of_a_later_version_is_unknown_and_nothing_else(path: Path) -> None:
    forge(path, "telepathy.v1", "{}")
    assert kit.found(path) == [Damage("unknown", 1, 7, "no event 'telepathy.v1' is known here")]


def test_a_payload_that_is_not_what_its_tag_says_is_found_although_its_digest_is_right(path: Path) -> None:
    forge(path, "paused.v1", '{"type":"resumed.v1"}')
    assert [finding[:3] for finding in kit.found(path)] == [("event", 1, 7)]


def test_a_second_intent_of_one_attempt_is_found_although_its_digest_is_right(path: Path) -> None:
    with kit.raw(path) as connection:
        (payload,) = connection.execute("SELECT payload FROM events WHERE branch = 1 AND position = 5").fetchone()
        kit.without_guards(connection)
    forge(path, "write-intended.v1", payload)
    findings = [finding for finding in kit.found(path) if finding.what != "guards"]
    assert findings == [Damage("submission", 1, 7, "intended before, at 1@5")]


def test_a_removed_newest_intent_is_found_by_the_submission_that_remains(path: Path) -> None:
    sql = "DELETE FROM events WHERE branch = 1 AND position >= 5"
    assert after(path, sql) == [("submission", 0, 0)]


def test_a_changed_body_is_found_and_an_erased_one_is_not(path: Path) -> None:
    digest = chain.body_digest(BODY)
    assert after(path, f"DELETE FROM bodies WHERE digest = x'{digest}'") == []
    assert after(path, "UPDATE bodies SET text = text || '.'") == [("body", 0, 0)]
    assert after(path, "UPDATE bodies SET text = CAST(x'ff' AS TEXT)") == [("body", 0, 0)]


def test_a_format_other_than_the_files_is_found_in_the_header(path: Path) -> None:
    assert ("header", 0, 0) in after(path, "UPDATE header SET format = 2")


def test_a_journal_without_branches_is_found(path: Path) -> None:
    findings = after(path, "DELETE FROM branches", "DELETE FROM events", "DELETE FROM submissions")
    assert findings == [("branch", 1, 0)]


def test_a_fork_from_nothing_without_a_first_branch_is_found(path: Path) -> None:
    findings = after(path, "DELETE FROM branches WHERE branch = 1")
    assert {("branch", 2, 3), ("branch", 4, 0), ("branch", 1, 1)} <= set(findings)


def test_a_lost_table_is_a_finding_and_the_rest_is_still_looked_at(path: Path) -> None:
    findings = after(path, "DROP TABLE submissions", "UPDATE events SET at_ms = 0 WHERE branch = 4")
    assert ("file", 0, 0) in findings
    assert ("chain", 4, 1) in findings


def test_lost_pages_are_findings(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 6] = b"\xa5" * 4096 * 3
    path.write_bytes(content)
    assert "file" in {finding.what for finding in kit.found(path)}


@pytest.mark.parametrize(
    ("sql", "detail"),
    [
        ("UPDATE events SET type = NULL WHERE id = 3", "a column holds a value of another kind"),
        ("UPDATE branches SET genesis = 'text' WHERE branch = 4", "a branch's genesis is no digest"),
    ],
)
def test_a_value_that_no_table_of_ours_could_hold_is_a_finding(path: Path, sql: str, detail: str) -> None:
    loosened = "UPDATE sqlite_schema SET sql = replace(replace(sql, ' NOT NULL', ''), 'STRICT', '')"
    with kit.raw(path) as connection:
        kit.without_guards(connection)
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(f"{loosened} WHERE name IN ('events', 'branches')")
    assert "file" in {what for what, *_ in after(path, "PRAGMA ignore_check_constraints = ON", sql)}
    assert any(finding.detail.startswith(detail) for finding in kit.found(path))
