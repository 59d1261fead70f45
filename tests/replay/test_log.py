"""The log lists every row of every branch, whatever became of it: newest first for people, oldest first for programs."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.facts import settled
from tests.fakes.journals import Recording
from tests.journal import kit as forging
from tests.journal.test_integrity import forge
from tests.replay import stories
from tests.replay.kit import run

KEYS = ["branch", "position", "id", "at_ms", "tip", "cause", "type", "data", "digest"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stories.forked().write(tmp_path / "a.journal")


def test_it_is_read_from_the_newest_down(path: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("log", path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot


def test_json_is_one_object_a_line_in_the_order_of_recording(path: Path) -> None:
    lines = run("log", path, "--json").lines
    recorded = [(row.branch, row.position, row.digest) for row in stories.forked().rows]
    assert [(line["branch"], line["position"], line["digest"]) for line in lines] == recorded
    assert all(list(line) == KEYS and line["id"] == line["digest"] for line in lines)


def test_json_says_all_there_is_of_a_row(path: Path, snapshot: SnapshotAssertion) -> None:
    line = run("log", path, "--json").lines[6]
    assert line == snapshot
    assert "type" not in line["data"]


def test_a_branch_and_a_number_narrow_it(path: Path) -> None:
    lines = run("log", path, "--json", "--branch", "2", "-n", "3").lines
    assert [(line["branch"], line["position"]) for line in lines] == [(2, 13), (2, 14), (2, 15)]


def test_a_branch_that_is_not_there_is_misuse(path: Path) -> None:
    assert [run(command, path, "--branch", "99")[:2] for command in ("log", "state")] == [(2, ""), (2, "")]
    assert "there is no branch 99" in run("log", path, "--branch", "99").err


def test_a_changed_row_is_listed_as_it_is_and_named(path: Path) -> None:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET payload = '{\"type\": no json \x1b' WHERE branch = 1 AND position = 9")
    ran = run("log", path, "--json")
    assert ran.code == 1
    assert ran.lines[8]["data"] == '{"type": no json \x1b'
    assert len(ran.lines) == len(stories.forked().rows)
    assert ran.err.startswith("broken: 1@9: ")
    assert "\\x1b" in run("log", path).out


@pytest.mark.parametrize("payload", ['{"a":1}', '{"type":"work-settled.v1","a":1,"a":2}', '{"type":"other.v1"}', "[]"])
def test_a_payload_that_json_would_change_is_given_as_text(path: Path, payload: str) -> None:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET payload = ? WHERE branch = 1 AND position = 3", (payload,))
    assert run("log", path, "--json").lines[2]["data"] == payload


def test_bytes_that_are_no_text_come_through_as_json(path: Path) -> None:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET payload = CAST(x'ff' AS TEXT) WHERE branch = 1 AND position = 3")
    assert run("log", path, "--json").lines[2]["data"] == "\udcff"
    assert "\\udcff" in run("log", path).out


def test_an_event_of_a_later_version_is_listed_raw(tmp_path: Path) -> None:
    story = Recording().append(*(settled(),) * 6)
    path = story.write(tmp_path / "a.journal")
    with forging.raw(path) as connection:
        forging.without_guards(connection)
    forge(path, "later.v9", '{"type":"later.v9","x":1}')
    ran = run("log", path, "--json")
    assert (ran.code, ran.lines[-1]["data"]) == (1, {"x": 1})
    assert "later.v9" in ran.err
