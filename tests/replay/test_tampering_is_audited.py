"""Whatever is edited, removed, swapped or inserted in a copied journal makes `audit` exit 1 and name the place.

The journal's own tests prove that its bytes are watched. Here the same
forgeries, on a journal with a fork, two intents and a brief, go through every
rule of the audit: none may be missed, and none may keep the audit from ending.
"""

# ruff: noqa: S608  # a forger writes SQL by hand

from __future__ import annotations

import sqlite3
from collections.abc import Generator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest

from journal.reader import Reader
from replay.audit import audit
from tests.journal import kit as forging
from tests.journal.test_tampering import COLUMNS, Value, others, where
from tests.replay import stories
from tests.replay.kit import run

type Statement = tuple[str, Sequence[Value]]
type Place = tuple[int | None, int | None]

ROWS = [(row.branch, row.position) for row in stories.forked().rows]
NEWEST = {(1, 12), (2, 15)}


class Forger:
    """The journal in a forger's hands: each forgery is undone after it was audited."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.refused = 0
        """Forgeries that the file's own columns did not take."""

    def places(self, *statements: Statement) -> set[Place] | None:
        """Where something is broken after `statements`, the missing guards apart; None if they were refused."""
        self._connection.execute("BEGIN")
        try:
            for sql, values in statements:
                self._connection.execute(sql, values)
            found = audit(Reader(Path("forged"), self._connection)).findings
        except sqlite3.IntegrityError:
            self.refused += 1
            return None
        finally:
            self._connection.execute("ROLLBACK")
        broken = [finding for finding in found if finding.severity == "broken" and finding.rule != "guards"]
        assert all(finding.detail for finding in broken)
        return {(finding.branch, finding.position) for finding in broken}

    def rows(self, table: str) -> list[tuple[Value, ...]]:
        columns = ", ".join(COLUMNS[table])
        return self._connection.execute(f"SELECT {columns} FROM {table} ORDER BY 1, 2").fetchall()


@pytest.fixture(scope="module")
def forger(tmp_path_factory: pytest.TempPathFactory) -> Generator[Forger]:
    path = stories.forked().write(tmp_path_factory.mktemp("forged") / "a.journal")
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
        yield Forger(connection)


def test_the_untouched_copy_is_not_broken(forger: Forger) -> None:
    assert forger.places() == set()


@pytest.mark.parametrize("column", COLUMNS["events"])
def test_every_edit_of_an_event_is_located(forger: Forger, column: str) -> None:
    index, tried = COLUMNS["events"].index(column), 0
    for row in forger.rows("events"):
        for other in others(row[index]):
            edit = (f"UPDATE events SET {column} = ? WHERE branch = ? AND position = ?", (other, *row[:2]))
            found = None if other == row[index] else forger.places(edit)
            if found is not None:
                moved = column in ("branch", "position")
                after = (row[0], row[1] + 1) if isinstance(row[1], int) else row[:2]
                assert row[:2] in found or (moved and (after in found or _moved(row, index, other) in found)), (
                    row,
                    other,
                )
                tried += 1
    assert tried >= len(ROWS)


def _moved(row: tuple[Value, ...], index: int, value: Value) -> tuple[Value, ...]:
    return (*row[:index], value, *row[index + 1 :])[:2]


@pytest.mark.parametrize("table", ["branches", "submissions", "header"])
def test_every_edit_of_another_row_is_found(forger: Forger, table: str) -> None:
    tried = 0
    for row in forger.rows(table):
        condition, key = where(table, row)
        for index, column in enumerate(COLUMNS[table]):
            for other in others(row[index]):
                if other == row[index]:
                    continue
                found = forger.places((f"UPDATE {table} SET {column} = ? WHERE {condition}", (other, *key)))
                assert found is None or found, (row, column, other)
                tried += found is not None
    assert tried


@pytest.mark.parametrize("place", ROWS)
def test_every_removed_event_is_located_but_the_newest(forger: Forger, place: tuple[int, int]) -> None:
    found = forger.places(("DELETE FROM events WHERE branch = ? AND position = ?", place))
    assert found == set() if place in NEWEST else found is not None and place in found


@pytest.mark.parametrize("table", ["branches", "submissions", "header"])
def test_every_removed_row_of_another_table_is_found(forger: Forger, table: str) -> None:
    for row in forger.rows(table):
        condition, key = where(table, row)
        assert forger.places((f"DELETE FROM {table} WHERE {condition}", key))


def test_any_two_events_that_changed_places_are_found(forger: Forger) -> None:
    move = "UPDATE events SET branch = ?, position = ? WHERE branch = ? AND position = ?"
    for one, two in combinations(ROWS, 2):
        found = forger.places((move, (0, 0, *one)), (move, (*one, *two)), (move, (*two, 0, 0)))
        assert found is not None
        assert {one, two} & found


@pytest.mark.parametrize("place", [(1, 13), (2, 16), (3, 1), (1, 0), (0, 1), (2, 7)])
def test_every_inserted_copy_of_an_event_is_found(forger: Forger, place: tuple[int, int]) -> None:
    sql = f"INSERT INTO events ({', '.join(COLUMNS['events'])}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    for row in forger.rows("events"):
        assert forger.places((sql, (*place, *row[2:])))


def test_every_inserted_row_of_another_table_is_found(forger: Forger) -> None:
    rows: dict[str, Sequence[Value]] = {
        "submissions": ("c" * 64, 2),
        "branches": (3, 1, 3, b"g" * 32),
        "header": (2, 1, "j", "s", None),
    }
    for table, row in rows.items():
        marks = ", ".join("?" * len(row))
        assert forger.places((f"INSERT INTO {table} VALUES ({marks})", row))


BY_COMMAND: dict[str, tuple[str, str]] = {
    "an edited time": ("UPDATE events SET at_ms = at_ms + 1 WHERE branch = 1 AND position = 4", "chain        1@4 "),
    "an edited tip": ("UPDATE events SET tip = 'other' WHERE branch = 2 AND position = 9", "chain        2@9 "),
    "an edited cause": (
        "UPDATE events SET cause = zeroblob(32) WHERE branch = 1 AND position = 3",
        "chain        1@3 ",
    ),
    "an edited digest": (
        "UPDATE events SET digest = zeroblob(32) WHERE branch = 1 AND position = 6",
        "chain        1@6 ",
    ),
    "a removed row": ("DELETE FROM events WHERE branch = 2 AND position = 10", "contiguity   2@10 "),
    "a row on another branch": (
        "UPDATE events SET branch = 3 WHERE branch = 1 AND position = 12",
        "branches     3@12 ",
    ),
    "an inserted row": (
        "INSERT INTO events SELECT 99, branch, 13, at_ms, tip, cause, type, payload, digest FROM events WHERE id = 3",
        "chain        1@13 ",
    ),
    "a removed branch": ("DELETE FROM branches WHERE branch = 2", "branches     2@8 "),
    "a branch that leaves elsewhere": ("UPDATE branches SET fork_position = 6 WHERE branch = 2", "branches     2@6 "),
    "a removed submission": ("DELETE FROM submissions WHERE capture LIKE 'c%'", "submissions  1@6 "),
    "an inserted submission": ("INSERT INTO submissions VALUES (printf('%064d', 7), 1)", "submissions  - "),
    "an edited header": ("UPDATE header SET session_id = 'other'", "header       branch 1 "),
    "a removed guard": ("DROP TRIGGER IF EXISTS header_is_not_deleted", "guards       - "),
}


@pytest.mark.parametrize("name", BY_COMMAND)
def test_the_command_exits_1_and_names_the_place(tmp_path: Path, name: str) -> None:
    forgery, named = BY_COMMAND[name]
    path = stories.forked().write(tmp_path / "a.journal")
    with forging.raw(path) as connection:
        guards = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        forging.without_guards(connection)
        connection.execute(forgery)
        for guard, sql in guards:
            if guard not in forgery:
                connection.execute(sql)
    ran = run("audit", path)
    assert ran.code == 1
    assert any(
        line.replace("  ", " ").startswith("broken " + " ".join(named.split())) for line in _squeezed(ran.out)
    ), ran.out
    assert ran.out.splitlines()[-1].startswith("broken: ")


def _squeezed(text: str) -> list[str]:
    return [" ".join(line.split()) + " " for line in text.splitlines()]


@pytest.mark.parametrize("pragma", ["application_id = 1", "user_version = 99", "user_version = 0"])
def test_another_format_or_version_is_unreadable(tmp_path: Path, pragma: str) -> None:
    path = stories.forked().write(tmp_path / "a.journal")
    with forging.raw(path) as connection:
        connection.execute(f"PRAGMA {pragma}")
    for command in ("audit", "log", "state", "branches", "unproven", "export"):
        ran = run(command, path)
        assert (ran.code, ran.out.replace("nothing is unproven\n", "")) == (3, ""), command
        assert "hint: " in ran.err or command == "unproven"


def test_a_file_that_sqlite_cannot_follow_is_broken_or_unreadable_and_never_a_traceback(tmp_path: Path) -> None:
    path = stories.forked().write(tmp_path / "a.journal")
    whole, text = path.read_bytes(), run("export", path).out
    for at in range(0, len(whole), 1024):
        path.write_bytes(whole[:at] + bytes(b ^ 0xFF for b in whole[at : at + 64]) + whole[at + 64 :])
        ran = run("audit", path)
        assert ran.code in (0, 1, 3)
        assert ran.code != 0 or run("export", path).out == text  # what was changed holds nothing
