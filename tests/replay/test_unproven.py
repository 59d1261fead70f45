"""`unproven` lists what nobody knows the outcome of, over journals and folders, and leaves out nothing it could not read."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from journal.events import CaptureResolved, ToolAnswered
from journal.lock import JournalLock
from journal.row import WriterRecord
from replay.views import unproven_text
from replay.widely import over
from tests.facts import (
    BODY,
    CAPTURE,
    DOUBTED,
    NOWHERE,
    PROCESS,
    SAVED,
    WRITER,
    answered,
    begun,
    finished,
    missed,
    opened,
    probed,
    settled,
)
from tests.fakes.journals import BEGAN_MS, recorded
from tests.fakes.permissions import permissions_bind
from tests.journal import kit as forging
from tests.replay import stories
from tests.replay.kit import run

NOW_MS = BEGAN_MS + 3 * 86_400_000
MADE = (opened(), settled(), begun(), finished())


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
    named = over([here / "saved.journal", here / "forked.journal", here])
    assert unproven_text(named.items, NOW_MS) == snapshot(name="text")


def test_a_call_that_was_answered_is_not_listed(here: Path) -> None:
    done = ToolAnswered(call_id=stories.CALL, outcome="accepted", code=None)
    path = recorded(here / "a.journal", *SAVED, stories.CALLED)
    assert [(each["tool"], each["status"]) for each in run("unproven", path, "--json").json] == [
        ("edit_note", "intended")
    ]
    assert run("unproven", recorded(here / "b.journal", *SAVED, stories.CALLED, done), "--json").json == []


def test_what_is_proven_not_to_be_stored_waits_for_a_person_and_is_not_called_unproven(
    here: Path, snapshot: SnapshotAssertion
) -> None:
    recorded(here / "lost.journal", *DOUBTED, probed("absent_final", *NOWHERE))
    recorded(here / "refused.journal", *SAVED[:-1], answered("refused", code="NOTE_LOCKED"))
    items = over([here]).items
    assert [(each.status, each.unproven, each.choices) for each in items] == [
        ("lost", False, ["rewrite", "abandon"]),
        ("refused", False, ["rewrite", "abandon"]),
    ]
    assert unproven_text(items, NOW_MS) == snapshot


def test_what_is_to_be_sent_again_is_told_apart_from_what_waits_for_a_decision(here: Path) -> None:
    again = CaptureResolved(capture_id=CAPTURE, attempt=2, decision="rewrite", reason_sha256=BODY, file_path=None)
    recorded(here / "a.journal", *DOUBTED, probed("absent_final", *NOWHERE), again)
    shown = unproven_text(over([here]).items, NOW_MS).splitlines()
    assert shown[0].endswith("attempt 2 to main: -: decided and not sent yet")
    assert shown[-1] == "1 decided and not sent yet"


def test_the_last_look_is_told_with_what_it_found(here: Path) -> None:
    unasked = probed("unreachable", missed("address", "unreachable"))
    (item,) = run("unproven", recorded(here / "a.journal", *DOUBTED, unasked), "--json").json
    assert (item["probes"], item["probed_ms"], item["verdict"]) == (1, BEGAN_MS + 8_000, "unreachable")
    assert "the memory server could not be asked" in item["why"]


def test_a_journal_that_a_running_process_holds_is_settled_by_its_own_session(here: Path) -> None:
    path = recorded(here / "a.journal", *DOUBTED)
    (free,) = run("unproven", path, "--json").json
    with JournalLock.acquire(path, WriterRecord(writer=WRITER, process=PROCESS)):
        (held,) = run("unproven", path, "--json").json
        shown = run("unproven", path).out
    assert (free["live"], held["live"]) == (False, True)
    assert "`continuity probe cccccccccc`" in free["next_step"]
    assert "`/bm-pending probe cccccccccc`" in held["next_step"]
    assert "held by a running process" in shown


def test_without_a_path_the_state_folder_is_looked_over(here: Path) -> None:
    recorded(here / "a.journal", *DOUBTED)
    state = {"CONTINUITY_HOME": str(here.resolve())}
    assert [each["path"] for each in run("unproven", "--json", env=state).json] == [str(here.resolve() / "a.journal")]
    in_home = {"TAU_HOME": str(here.resolve())}
    ran = run("unproven", env=in_home)
    assert (ran.code, ran.out) == (0, "nothing is unproven\n")
    assert "state/extensions/continuity: no journal was found in this folder" in ran.err


def test_a_named_path_must_be_there(here: Path) -> None:
    ran = run("unproven", here / "typo")
    assert (ran.code, ran.out) == (3, "")
    assert "typo" in ran.err


def test_a_variable_that_depends_on_the_checkout_is_misuse(here: Path) -> None:
    ran = run("unproven", env={"CONTINUITY_HOME": "state"})
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: CONTINUITY_HOME: must name an absolute path")


def test_what_was_never_sent_is_told_after_what_is_open_a_line_a_journal(here: Path) -> None:
    (here / "open").mkdir()
    recorded(here / "open" / "doubted.journal", *DOUBTED)
    recorded(here / "made.journal", *MADE)
    line = (
        "not stored yet: session session-1, 1 text for 2 days (sent as soon as memory answers): "
        "`tau --session session-1` stores it"
    )
    alone, both = over([here / "made.journal"]), over([here, here / "open"])
    assert unproven_text(alone.items, NOW_MS, alone.unsent) == line
    assert unproven_text(both.items, NOW_MS, both.unsent).splitlines()[-3:] == ["1 unproven", "", line]
    ran = run("unproven", here, here / "open", "--json")
    assert (ran.code, [each["kind"] for each in ran.json]) == (0, ["checkpoint", "not-stored"])
    assert ran.json[-1]["next_step"] == "`tau --session session-1` stores it"


def test_what_was_never_sent_is_stored_by_the_session_that_runs(here: Path) -> None:
    path = recorded(here / "made.journal", *MADE)
    with JournalLock.acquire(path, WriterRecord(writer=WRITER, process=PROCESS)):
        (found,) = run("unproven", path, "--json").json
        assert (found["live"], found["next_step"]) == (True, "its running session stores it")
        assert run("unproven", path).out.endswith("its running session stores it\n")


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


def test_a_link_in_a_circle_is_named_and_the_others_are_listed(here: Path) -> None:
    recorded(here / "doubted.journal", *DOUBTED)
    (here / "circle.journal").symlink_to("circle.journal")
    ran = run("unproven", here, "--json")
    assert (ran.code, len(ran.json)) == (3, 1)
    assert "circle.journal: not a file" in ran.err


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
