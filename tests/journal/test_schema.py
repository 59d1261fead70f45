"""The file itself refuses to be edited, whoever opens it and whatever words the statement uses."""

# ruff: noqa: S608  # a forger writes SQL by hand

import sqlite3
from collections.abc import Generator
from pathlib import Path

import anyio
import pytest

from journal import disk
from tests.facts import CAPTURE
from tests.journal import kit

DIGEST = "zeroblob(32)"
FOREIGN = "INTO events (id, branch, position, at_ms, type, payload, digest) VALUES"


@pytest.fixture
def file(tmp_path: Path) -> Generator[sqlite3.Connection]:
    anyio.run(kit.write_all_kinds, tmp_path / "a.journal")
    with kit.raw(tmp_path / "a.journal") as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection


def everything(connection: sqlite3.Connection) -> list[list[object]]:
    tables = ("header", "branches", "events", "submissions", "bodies")
    return [connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables]


def intent(attempt: str = "9", capture: str = f'"{CAPTURE}"') -> str:
    return f'\'{{"attempt":{attempt},"capture_id":{capture}}}\''


REFUSED = {
    "an update of the header": "UPDATE header SET session_id = 'other'",
    "an update of a branch": "UPDATE branches SET fork_position = 2 WHERE branch = 2",
    "an update of an event": "UPDATE events SET at_ms = 1",
    "an update that replaces": "UPDATE OR REPLACE events SET position = 2 WHERE position = 1",
    "an update of a submission": "UPDATE submissions SET attempt = 2",
    "an update of a body": "UPDATE bodies SET text = 'other'",
    "a deleted header": "DELETE FROM header",
    "a deleted branch": "DELETE FROM branches WHERE branch = 4",
    "a deleted event": "DELETE FROM events WHERE id = (SELECT max(id) FROM events)",
    "a deleted submission": "DELETE FROM submissions",
    "a second header": "INSERT INTO header VALUES (2, 1, '', '', NULL)",
    "a replaced header": "INSERT OR REPLACE INTO header VALUES (1, 1, '', '', NULL)",
    "a replaced event, by position": f"INSERT OR REPLACE {FOREIGN} (NULL, 1, 6, 0, 'a', '{{}}', {DIGEST})",
    "a replaced event, by rowid": f"INSERT OR REPLACE {FOREIGN} (1, 1, 7, 0, 'a', '{{}}', {DIGEST})",
    "a replaced newest event, by rowid": f"INSERT OR REPLACE {FOREIGN} (12, 4, 2, 0, 'a', '{{}}', {DIGEST})",
    "an upsert": f"INSERT {FOREIGN} (NULL, 1, 6, 0, 'a', '{{}}', {DIGEST}) ON CONFLICT DO UPDATE SET at_ms = 1",
    "a gap": f"INSERT {FOREIGN} (NULL, 1, 8, 0, 'a', '{{}}', {DIGEST})",
    "a position before the first": f"INSERT {FOREIGN} (NULL, 1, 0, 0, 'a', '{{}}', {DIGEST})",
    "a row before a fork's first": f"INSERT {FOREIGN} (NULL, 3, 5, 0, 'a', '{{}}', {DIGEST})",
    "no position": f"INSERT {FOREIGN} (NULL, 1, NULL, 0, 'a', '{{}}', {DIGEST})",
    "a rowid out of order": f"INSERT {FOREIGN} (-5, 1, 7, 0, 'a', '{{}}', {DIGEST})",
    "a digest of another size": f"INSERT {FOREIGN} (NULL, 1, 7, 0, 'a', '{{}}', zeroblob(31))",
    "a digest that is text": f"INSERT {FOREIGN} (NULL, 1, 7, 0, 'a', '{{}}', 'text')",
    "an event of no branch": f"INSERT {FOREIGN} (NULL, 9, 1, 0, 'a', '{{}}', {DIGEST})",
    "a replaced branch": f"INSERT OR REPLACE INTO branches VALUES (1, NULL, 0, {DIGEST})",
    "a branch out of order": f"INSERT INTO branches VALUES (6, 1, 3, {DIGEST})",
    "a branch of no parent": f"INSERT INTO branches VALUES (5, 9, 3, {DIGEST})",
    "a second first branch": f"INSERT INTO branches VALUES (5, NULL, 0, {DIGEST})",
    "a fork where nothing is": f"INSERT INTO branches VALUES (5, 1, 7, {DIGEST})",
    "a fork at a position the parent inherited": f"INSERT INTO branches VALUES (5, 2, 3, {DIGEST})",
    "a fork at nothing, not from the first": f"INSERT INTO branches VALUES (5, 2, 0, {DIGEST})",
    "a second submission": f"INSERT {FOREIGN} (NULL, 1, 7, 0, 'write-intended.v1', {intent('1')}, {DIGEST})",
    "a second submission that replaces": (
        f"INSERT OR REPLACE {FOREIGN} (NULL, 1, 7, 0, 'write-intended.v1', {intent('1')}, {DIGEST})"
    ),
    "a second submission that ignores": (
        f"INSERT OR IGNORE {FOREIGN} (NULL, 1, 7, 0, 'write-intended.v2', {intent('1')}, {DIGEST})"
    ),
    "an intent that names no capture": (
        f"INSERT OR IGNORE {FOREIGN} (NULL, 1, 7, 0, 'write-intended.v1', {intent(capture='null')}, {DIGEST})"
    ),
    "an intent that is no JSON": f"INSERT {FOREIGN} (NULL, 1, 7, 0, 'write-intended.v1', 'x', {DIGEST})",
    "a submission without its intent": f"INSERT INTO submissions VALUES ('{CAPTURE}', 2)",
    "a submission again": f"INSERT OR REPLACE INTO submissions VALUES ('{CAPTURE}', 1)",
    "two rows of which one is out of order": (
        f"INSERT {FOREIGN} (NULL, 1, 7, 0, 'a', '{{}}', {DIGEST}), (NULL, 1, 9, 0, 'a', '{{}}', {DIGEST})"
    ),
}


@pytest.mark.parametrize("sql", REFUSED.values(), ids=REFUSED.keys())
def test_it_is_refused_and_nothing_changes(file: sqlite3.Connection, sql: str) -> None:
    before = everything(file)
    with pytest.raises(sqlite3.Error):
        file.execute(sql)
    assert everything(file) == before


def test_the_next_position_of_a_branch_is_accepted(file: sqlite3.Connection) -> None:
    file.execute(f"INSERT {FOREIGN} (NULL, 3, 8, 0, 'a', '{{}}', {DIGEST}), (NULL, 3, 9, 0, 'a', '{{}}', {DIGEST})")
    assert file.execute("SELECT max(position) FROM events WHERE branch = 3").fetchone() == (9,)


def test_an_intent_writes_its_submission(file: sqlite3.Connection) -> None:
    file.execute(f"INSERT {FOREIGN} (NULL, 1, 7, 0, 'write-intended.v1', {intent('2')}, {DIGEST})")
    assert (CAPTURE, 2) in file.execute("SELECT capture, attempt FROM submissions").fetchall()


def test_a_body_can_be_erased_and_not_replaced(file: sqlite3.Connection) -> None:
    file.execute("INSERT OR REPLACE INTO bodies SELECT digest, 'other' FROM bodies")
    assert ("other",) not in file.execute("SELECT text FROM bodies").fetchall()
    file.execute("DELETE FROM bodies")
    assert file.execute("SELECT count(*) FROM bodies").fetchone() == (0,)


def test_the_guards_hold_for_a_connection_that_trusts_the_schema_too(file: sqlite3.Connection) -> None:
    file.execute("PRAGMA trusted_schema = ON")
    with pytest.raises(sqlite3.IntegrityError, match="already submitted"):
        file.execute(f"INSERT {FOREIGN} (NULL, 1, 7, 0, 'write-intended.v1', {intent('1')}, {DIGEST})")


def test_the_file_names_its_format(file: sqlite3.Connection) -> None:
    assert file.execute("PRAGMA application_id").fetchone() == (disk.APPLICATION_ID,)
    assert file.execute("PRAGMA user_version").fetchone() == (disk.FORMAT,)
    assert disk.APPLICATION_ID == 1413696082


def test_all_tables_are_strict(file: sqlite3.Connection) -> None:
    tables = file.execute("SELECT name FROM pragma_table_list WHERE strict").fetchall()
    assert {name for (name,) in tables} == {"header", "branches", "events", "submissions", "bodies"}
