"""Whoever changes, removes, swaps or inserts anything in the file but a tail is found out, at the place where it was done.

Each case is one forgery by somebody who dropped the guards. The rowid is left
out: it tells only the order of recording. What remains undetectable without an
anchor outside the file is exactly this: a branch's newest row that is no intent
and that no fork leaves, and after it, by the same reasoning, the one before.
"""

# ruff: noqa: S608  # a forger writes SQL by hand

import sqlite3
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import combinations, permutations
from pathlib import Path
from typing import NamedTuple

import anyio
import pytest

from journal.errors import JournalError
from journal.integrity import Damage, damage
from journal.reader import Reader
from tests.journal import kit

type Value = str | bytes | int | None

COLUMNS = {
    "header": ("id", "format", "journal_id", "session_id", "root"),
    "branches": ("branch", "parent", "fork_position", "genesis"),
    "events": ("branch", "position", "at_ms", "tip", "cause", "type", "payload", "digest"),
    "submissions": ("capture", "attempt"),
}
PLACES = ((1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (2, 4), (2, 5), (2, 6), (3, 6), (3, 7), (4, 1))
UNPROVEN = {(1, 6), (2, 6), (3, 7), (4, 1)}
"""The newest row of each branch."""


class Forger(NamedTuple):
    """The file in a forger's hands: each forgery is undone after it was looked at."""

    connection: sqlite3.Connection

    def findings(self, *statements: tuple[str, Sequence[Value]]) -> list[Damage] | None:
        """What is found after `statements`, the missing guards apart; None if the file refused even without them."""
        self.connection.execute("BEGIN")
        try:
            for sql, values in statements:
                self.connection.execute(sql, values)
            found = damage(Reader(Path("forged"), self.connection))
            return [finding for finding in found if finding.what != "guards"]
        except sqlite3.IntegrityError:
            return None
        finally:
            self.connection.execute("ROLLBACK")

    def proves(self, statements: Sequence[tuple[str, Sequence[Value]]], branch: int, position: int) -> bool:
        """Tell whether verification of `branch` still proves its rows up to `position`."""
        self.connection.execute("BEGIN")
        try:
            for sql, values in statements:
                self.connection.execute(sql, values)
            return bool(list(Reader(Path("forged"), self.connection).verified(branch, position)))
        except (sqlite3.IntegrityError, JournalError):
            return False
        finally:
            self.connection.execute("ROLLBACK")

    def rows(self, table: str) -> list[tuple[Value, ...]]:
        columns = ", ".join(COLUMNS[table])
        return self.connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()


@pytest.fixture(scope="module")
def forger(tmp_path_factory: pytest.TempPathFactory) -> Generator[Forger]:
    path = tmp_path_factory.mktemp("forged") / "a.journal"
    anyio.run(kit.write_all_kinds, path)
    with kit.raw(path) as connection:
        kit.without_guards(connection)
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        yield Forger(connection)


def others(value: Value) -> Iterator[Value]:
    """Values that could stand in the place of `value`."""
    match value:
        case int():
            yield from (value + 1, value - 1, value + 1000)
        case str():
            yield from (value + " ", value[1:], value.swapcase(), "x" + value[1:])
        case bytes():
            yield from (bytes([value[0] ^ 1]) + value[1:], value[:-1] + bytes([value[-1] ^ 0x80]), value.hex())
        case None:
            yield from (b"\xaa" * 32, "text", 0)
    if value is not None:
        yield None


def where(table: str, row: Sequence[Value]) -> tuple[str, tuple[Value, ...]]:
    keys = {"header": 1, "branches": 1, "events": 2, "submissions": 2}[table]
    return " AND ".join(f"{name} = ?" for name in COLUMNS[table][:keys]), tuple(row[:keys])


def test_the_untouched_file_has_no_findings(forger: Forger) -> None:
    assert forger.findings() == []
    assert tuple((row[0], row[1]) for row in forger.rows("events")) == PLACES


@pytest.mark.parametrize(("table", "column"), [(table, column) for table in COLUMNS for column in COLUMNS[table]])
def test_an_edited_column_is_found(forger: Forger, table: str, column: str) -> None:
    tried = 0
    for row in forger.rows(table):
        condition, key = where(table, row)
        for other in others(row[COLUMNS[table].index(column)]):
            if other == row[COLUMNS[table].index(column)]:
                continue
            sql = f"UPDATE {table} SET {column} = ? WHERE {condition}"
            found = forger.findings((sql, (other, *key)))
            assert found != [], (row, other)
            tried += found is not None
    assert tried


@pytest.mark.parametrize("column", COLUMNS["events"][2:])
@pytest.mark.parametrize(("branch", "position"), PLACES)
def test_an_edited_event_is_located_and_no_longer_proven(
    forger: Forger, branch: int, position: int, column: str
) -> None:
    (row,) = (row for row in forger.rows("events") if row[:2] == (branch, position))
    for other in others(row[COLUMNS["events"].index(column)]):
        if other == row[COLUMNS["events"].index(column)]:
            continue
        edit = (f"UPDATE events SET {column} = ? WHERE branch = ? AND position = ?", (other, branch, position))
        found = forger.findings(edit)
        if found is not None:
            assert (branch, position) in {(finding.branch, finding.position) for finding in found}, (other, found)
            same_meaning = column == "tip" and isinstance(other, str) and isinstance(row[3], bytes)
            assert same_meaning or not forger.proves([edit], branch, position)


@pytest.mark.parametrize(("branch", "position"), PLACES)
def test_a_removed_event_is_found_unless_it_was_a_tail(forger: Forger, branch: int, position: int) -> None:
    found = forger.findings(("DELETE FROM events WHERE branch = ? AND position = ?", (branch, position)))
    if (branch, position) in UNPROVEN:
        assert found == []
    else:
        assert (branch, position) in {(finding.branch, finding.position) for finding in found or ()}


@pytest.mark.parametrize("table", ["header", "branches", "submissions"])
def test_a_removed_row_of_another_table_is_found(forger: Forger, table: str) -> None:
    for row in forger.rows(table):
        condition, key = where(table, row)
        assert forger.findings((f"DELETE FROM {table} WHERE {condition}", key))


@pytest.mark.parametrize("branch", [1, 2, 3, 4])
def test_a_branch_removed_whole_is_found_unless_it_was_the_last(forger: Forger, branch: int) -> None:
    found = forger.findings(
        ("DELETE FROM events WHERE branch = ?", (branch,)), ("DELETE FROM branches WHERE branch = ?", (branch,))
    )
    assert (found == []) == (branch == 4)


def swapped(
    columns: Sequence[str], one: tuple[Value, ...], two: tuple[Value, ...]
) -> list[tuple[str, Sequence[Value]]]:
    names = COLUMNS["events"]
    sql = f"UPDATE events SET {', '.join(f'{name} = ?' for name in columns)} WHERE branch = ? AND position = ?"
    return [
        (sql, (*(two[names.index(name)] for name in columns), *one[:2])),
        (sql, (*(one[names.index(name)] for name in columns), *two[:2])),
    ]


@pytest.mark.parametrize(
    "columns",
    [*((name,) for name in COLUMNS["events"][2:]), ("type", "payload"), ("payload", "digest"), COLUMNS["events"][2:]],
    ids="+".join,
)
def test_swapped_contents_are_found_at_both_places(forger: Forger, columns: Sequence[str]) -> None:
    for one, two in combinations(forger.rows("events"), 2):
        if all(one[COLUMNS["events"].index(name)] == two[COLUMNS["events"].index(name)] for name in columns):
            continue
        found = {(finding.branch, finding.position) for finding in forger.findings(*swapped(columns, one, two)) or ()}
        assert {one[:2], two[:2]} <= found


def test_swapped_places_are_found(forger: Forger) -> None:
    move = "UPDATE events SET branch = ?, position = ? WHERE branch = ? AND position = ?"
    for one, two in combinations(PLACES, 2):
        assert forger.findings((move, (0, 0, *one)), (move, (*one, *two)), (move, (*two, 0, 0)))


def test_a_row_moved_to_the_end_of_any_branch_is_found(forger: Forger) -> None:
    ends = {1: 7, 2: 7, 3: 8, 4: 2}
    move = "UPDATE events SET branch = ?, position = ? WHERE branch = ? AND position = ?"
    for place in PLACES:
        for end in ends.items():
            assert forger.findings((move, (*end, *place)))


@pytest.mark.parametrize(
    "place", [(1, 7), (2, 7), (3, 8), (4, 2), (1, 0), (2, 3), (3, 5), (4, 0), (5, 1), (0, 1), (1, -1)]
)
def test_an_inserted_copy_of_any_row_is_found(forger: Forger, place: tuple[int, int]) -> None:
    sql = f"INSERT INTO events ({', '.join(COLUMNS['events'])}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    for row in forger.rows("events"):
        assert forger.findings((sql, (*place, *row[2:])))


def test_an_inserted_row_of_another_table_is_found(forger: Forger) -> None:
    rows: dict[str, Sequence[Value]] = {
        "header": (2, 1, "j", "s", None),
        "submissions": ("c" * 64, 2),
        "branches": (5, 1, 3, b"g" * 32),
    }
    for table, row in rows.items():
        marks = ", ".join("?" * len(row))
        assert forger.findings((f"INSERT INTO {table} VALUES ({marks})", row))


def test_branches_that_changed_places_are_found(forger: Forger) -> None:
    renumber = "UPDATE {} SET branch = ? WHERE branch = ?".format
    for one, two in permutations((1, 2, 3, 4), 2):
        moves = [
            (renumber(table), move) for table in ("branches", "events") for move in ((0, one), (one, two), (two, 0))
        ]
        assert forger.findings(*moves)


def test_an_edit_with_its_digest_made_right_is_found_at_the_next_row(forger: Forger) -> None:
    for branch, position in PLACES:
        edit = ("UPDATE events SET digest = zeroblob(32) WHERE branch = ? AND position = ?", (branch, position))
        found = {(finding.branch, finding.position) for finding in forger.findings(edit) or ()}
        assert (branch, position + 1) in found or (branch, position) in UNPROVEN
