"""`unproven` lists what nobody knows the outcome of, over journals and folders, and leaves out nothing it could not read."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from journal.events import ToolAnswered
from tests.facts import DOUBTED, SAVED
from tests.fakes.journals import recorded
from tests.fakes.permissions import permissions_bind
from tests.journal import kit as forging
from tests.replay import stories
from tests.replay.kit import run


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path()


def test_captures_and_calls_are_listed_the_oldest_first(here: Path, snapshot: SnapshotAssertion) -> None:
    stories.forked().write(here / "forked.journal")
    recorded(here / "doubted.journal", *DOUBTED)
    recorded(here / "saved.journal", *SAVED)
    ran = run("unproven", here, "--json")
    assert ran.code == 0
    assert ran.json == snapshot(name="json")
    assert run("unproven", here / "saved.journal", here / "forked.journal", here).out == snapshot(name="text")


def test_a_call_that_was_answered_is_not_listed(here: Path) -> None:
    done = ToolAnswered(call_id=stories.CALL, outcome="accepted", code=None)
    path = recorded(here / "a.journal", *SAVED, stories.CALLED)
    assert [(each["tool"], each["status"]) for each in run("unproven", path, "--json").json] == [
        ("edit_note", "intended")
    ]
    assert run("unproven", recorded(here / "b.journal", *SAVED, stories.CALLED, done), "--json").json == []


def test_nothing_is_said_to_be_nothing(here: Path) -> None:
    assert run("unproven", recorded(here / "a.journal", *SAVED)) == (0, "nothing is unproven\n", "")
    assert run("unproven", here, "--json").json == []


def test_a_folder_without_a_journal_is_named(here: Path) -> None:
    (here / "empty").mkdir()
    assert run("unproven", here / "empty", "--json") == (0, "[]\n", "empty: no journal was found in this folder\n")
    recorded(here / "a.journal", *SAVED)
    assert run("unproven", here).err == ""


def test_one_that_cannot_be_read_is_named_and_the_others_are_listed(here: Path) -> None:
    recorded(here / "a.journal", *DOUBTED)
    (here / "b.journal").write_text("no journal")
    ran = run("unproven", here, "--json")
    assert (ran.code, len(ran.json)) == (3, 1)
    assert "b.journal" in ran.err


def test_one_that_is_broken_is_named_and_listed_as_far_as_it_is_proven(here: Path) -> None:
    path = recorded(here / "a.journal", *DOUBTED)
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET at_ms = 0 WHERE position = 8")
    ran = run("unproven", here, "--json")
    assert (ran.code, [each["status"] for each in ran.json]) == (1, ["in_doubt"])
    assert "1@8" in ran.err


@pytest.mark.parametrize("broken", [False, True], ids=["unreadable", "broken"])
def test_nothing_is_not_said_of_what_could_not_be_read(here: Path, broken: bool) -> None:
    path = recorded(here / "a.journal", *SAVED)
    if broken:
        with forging.raw(path) as connection:
            forging.without_guards(connection)
            connection.execute("UPDATE events SET at_ms = 0 WHERE position = 3")
    else:
        path.write_text("no journal")
    ran = run("unproven", path)
    assert (ran.code, ran.out) == (1 if broken else 3, "")
    assert "a.journal" in ran.err
    assert "hint: this is not all" in ran.err
    assert run("unproven", path, "--json").json == []


def test_a_folder_that_cannot_be_looked_into_is_named_and_the_others_are_listed(here: Path) -> None:
    recorded(here / "a.journal", *DOUBTED)
    (here / "closed").mkdir(mode=0)
    with permissions_bind():
        ran = run("unproven", here, "--json")
        inside = run("unproven", here / "closed" / "b.journal")
        alone = run("unproven", here / "closed")
    assert (ran.code, len(ran.json)) == (3, 1)
    assert "error: closed: Permission denied" in ran.err
    for each in (inside, alone):
        assert (each.code, each.out) == (3, "")
        assert "Permission denied" in each.err
        assert "no journal was found" not in each.err
