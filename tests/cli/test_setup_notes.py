"""Of each note that a setup was to write it says what is known, also where something fails, and ends accordingly."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from continuity.cli.setup import applying, gather
from continuity.cli.setup.document import Wanted
from continuity.cli.setup.facts import Here
from continuity.cli.setup.memory import Memory, reached
from continuity.cli.setup.plan import Extras, plan
from continuity.notes import ENTITIES, schema_notes
from continuity.places import places
from tests.cli.desk import Desk, enter_at_each, furnished
from tests.replay.kit import run


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = furnished(tmp_path)
    monkeypatch.chdir(made.work)
    return made


# -- what is offered ---------------------------------------------------------


def test_a_schema_note_that_a_search_misses_is_not_offered(desk: Desk) -> None:
    for note in schema_notes():
        desk.fake.put(f"schemas/{note.title}.md", "theirs", type="schema")
    desk.fake.faults(index="lag")
    ran = desk.setup("--yes", "--project", "main", "--schemas")
    assert (ran.code, desk.fake.calls()["write_note"]) == (0, 0)


def test_a_note_that_is_there_unseen_is_not_overwritten(desk: Desk) -> None:
    desk.fake.put("schemas/Task.md", "theirs")
    desk.fake.faults(index="hidden")
    ran = desk.setup("--yes", "--project", "main", "--schemas")
    assert ran.code == 1
    assert desk.fake.notes["schemas/Task.md"]["content"] == "theirs"
    assert desk.fake.calls()["write_note"] == len(ENTITIES)


# -- what is read back -------------------------------------------------------


def test_each_note_that_was_stored_is_read_back(desk: Desk) -> None:
    ran = desk.setup("--yes", "--project", "main", "--schemas", "--verify")
    assert (ran.code, ran.err) == (0, "`continuity doctor` checks it.\n")
    assert ran.out.count("stored; evidence: read; verdict present_same") == len(ENTITIES) + 1


def test_a_note_that_is_read_back_as_other_words_is_not_as_it_should_be(desk: Desk) -> None:
    desk.fake.faults(write_note=[{"store": "other words"}])
    ran = desk.setup("--yes", "--project", "main", "--schemas")
    assert ran.code == 1
    assert ran.out.count("stored; evidence: answered; verdict present_edited") == len(ENTITIES)


def test_a_note_that_was_answered_and_is_not_there_is_not_said_to_be_stored(desk: Desk) -> None:
    desk.fake.faults(write_note=[])
    ran = desk.setup("--yes", "--project", "main", "--verify")
    assert ran.code == 1
    assert "stored, as the server said; evidence: answered; verdict absent_open" in ran.out


def test_a_write_of_which_nothing_is_known_is_told_with_the_way_to_find_out(desk: Desk) -> None:
    desk.fake.faults(write_note=[{"error": "disk trouble"}])
    ran = desk.setup("--yes", "--project", "main", "--verify")
    assert ran.code == 1
    (reference,) = re.findall(r"`continuity probe ([0-9a-f]{10})`", ran.out)
    assert "absent_open" in ran.out
    assert run("probe", reference, env=desk.environ).code == 1
    assert desk.fake.calls()["write_note"] == 1


def test_a_write_whose_answer_was_lost_is_settled_by_reading(desk: Desk) -> None:
    desk.fake.faults(write_note=["store", {"error": "too late"}])
    ran = desk.setup("--yes", "--project", "main", "--verify")
    assert ran.code == 0
    assert "stored; evidence: read; verdict present_same" in ran.out


def test_a_refused_write_says_so(desk: Desk) -> None:
    desk.fake.faults(write_note=[{"code": "NOTE_LOCKED"}])
    ran = desk.setup("--yes", "--project", "main", "--verify")
    assert ran.code == 1
    assert "refused by the server (NOTE_LOCKED), so nothing was stored" in ran.out


def test_a_server_that_dies_before_the_notes_costs_the_notes_alone(desk: Desk) -> None:
    desk.fake.faults(write_note=["exit"])
    ran = desk.setup("--yes", "--project", "main", "--verify")
    assert (ran.code, desk.now) == (1, {"project": "main"})
    assert "continuity probe" in ran.out


def test_words_that_were_stored_just_now_are_told_from_a_server_that_is_gone(
    desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    here = Here(desk.environ, desk.home, desk.work, places(desk.home / ".tau"))
    before = gather.before(here, desk.root)
    planned = plan(before, Wanted({}), Extras(schemas=(("main", ("task", "task")),)))
    with reached(here, before.kept.settings) as memory:
        assert isinstance(memory, Memory)
        assert applying.notes(planned, memory, before, before.kept.settings) == 0
    (_, again, _) = capsys.readouterr().out.splitlines()
    assert again == "main: schemas/Task: not sent again: the same words are stored"
    assert desk.fake.calls()["write_note"] == 1


# -- what is broken off ------------------------------------------------------


FULL = "CREATE TRIGGER full BEFORE INSERT ON events WHEN {} BEGIN SELECT RAISE(ABORT, 'no room'); END"
COUNT = "(SELECT count(*) FROM events WHERE type = '{}.v1')"


@pytest.mark.parametrize(
    ("when", "sent", "told"),
    [
        (
            f"{COUNT.format('write-answered')} = 2 AND NEW.type = 'capture-begun.v1'",
            2,
            "was not sent; nor was the one after it: ",
        ),
        (f"{COUNT.format('write-intended')} = 3", 3, "was sent, and what became of it could not be recorded: "),
    ],
)
def test_a_journal_that_fails_at_the_third_note_costs_no_word_on_the_two_before(
    desk: Desk, when: str, sent: int, told: str
) -> None:
    desk.fake.faults(write_note=["hold", "store"])
    with desk.at_terminal("--yes", "--project", "main", "--schemas") as terminal:
        while not desk.fake.calls()["write_note"]:
            assert terminal.alive
        (journal,) = places(desk.home / ".tau").state.glob("*.journal")
        with closing(sqlite3.connect(journal)) as file:
            file.execute(FULL.format(when))
        desk.fake.release()
        assert terminal.ended() == 3
    assert desk.fake.calls()["write_note"] == sent
    assert terminal.shown.count("stored; evidence: read; verdict present_same") == 2
    assert f"each write is recorded in {journal}\nerror: note 3 of 4 {told}" in terminal.shown
    assert "hint: continuity unproven\n" in terminal.shown
    assert terminal.shown.count("`continuity probe") == sent - 2


def test_only_where_none_was_sent_is_it_said_that_no_note_was(desk: Desk) -> None:
    state = places(desk.home / ".tau").state
    state.parent.mkdir(parents=True)
    state.write_text("no folder")
    ran = desk.setup("--yes", "--project", "main", "--schemas")
    assert (ran.code, desk.fake.calls()["write_note"]) == (3, 0)
    assert "error: no note was sent: " in ran.err


def test_a_note_under_way_at_ctrl_c_is_a_question_and_never_a_silence(desk: Desk) -> None:
    desk.fake.faults(write_note=["silent"])
    with desk.at_terminal("--general", "--no-schemas", "--verify") as terminal:
        enter_at_each(terminal, "Project (", "Leave it so?", "into Tau?", "four prompts", "Do it?")
        while not desk.fake.calls()["write_note"]:
            assert terminal.alive
        assert terminal.ended_by("\x03") == 1
    assert "see `continuity unproven`" in terminal.shown
    (left,) = run("unproven", "--json", env=desk.environ).json
    assert (left["kind"], left["status"], left["live"], left["code"]) == ("note", "in_doubt", False, "interrupted")
    assert "session-closed" in run("log", left["path"], "-n", "1", env=desk.environ).out
    assert desk.servers() == []


def test_ctrl_c_over_and_over_leaves_no_server_behind_that_takes_its_time(desk: Desk) -> None:
    desk.fake.faults(initialize="hang", stubborn=True)
    with desk.at_terminal() as terminal:
        while not desk.fake.requests():
            assert terminal.alive
        assert terminal.ended_by("\x03", patience=0.1) == 1
    assert "Ending the memory server ..." in terminal.shown
    assert "\nnothing was written\nAborted!\n" in terminal.shown
    assert desk.servers() == []
