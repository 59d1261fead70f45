"""`state` is the fold of a branch's proven rows, of any branch and at any of its rows."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.sentences import utc
from journal.events import CaptureRequested, Event, NoteEdited, NoteMoved, Paused, Resumed, SynthesisFailed
from tests.facts import (
    CAPTURE,
    DOUBTED,
    OTHER_BODY,
    SAVED,
    answered,
    begun,
    connected,
    finished,
    intended,
    opened,
    probed,
    seen,
    settled,
)
from tests.fakes.journals import Recording, recorded
from tests.journal import kit as forging
from tests.replay import stories
from tests.replay.kit import Ran, run

CONFLICT = probed("conflicted", seen(capture=None))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stories.forked().write(tmp_path / "a.journal")


def test_it_is_the_branch_written_last_unless_another_is_named(path: Path, snapshot: SnapshotAssertion) -> None:
    assert run("state", path, "--json").json == snapshot(name="written last")
    assert run("state", path, "--json", "--branch", "1").json == snapshot(name="first")
    assert run("state", path).out == snapshot(name="text")


def test_it_is_what_was_known_at_a_row(path: Path) -> None:
    def at(position: int) -> tuple[int, int, bool, list[str]]:
        view = run("state", path, "--json", "--branch", "2", "--at", str(position)).json
        return view["branch"], view["position"], view["checkpoint"] is not None, [p["status"] for p in view["pending"]]

    assert at(0) == (2, 0, False, [])
    assert at(6) == (2, 6, False, ["intended"])
    assert at(7) == (2, 7, True, [])
    assert at(14) == (2, 14, True, ["intended"])
    assert at(15) == (2, 15, True, ["in_doubt"])


@pytest.mark.parametrize("options", [("--branch", "3"), ("--at", "16"), ("--branch", "1", "--at", "13")])
def test_a_place_that_is_not_there_is_misuse(path: Path, options: tuple[str, ...]) -> None:
    ran = run("state", path, *options)
    assert (ran.code, ran.out) == (2, "")
    assert "hint: " in ran.err


def test_a_conflict_is_pending_and_carries_the_address_and_the_time_of_its_intent(tmp_path: Path) -> None:
    story = Recording().append(*DOUBTED, CONFLICT)
    (pending,) = run("state", story.write(tmp_path / "a.journal"), "--json").json["pending"]
    assert pending == {
        "capture_id": CAPTURE,
        "attempt": 1,
        "status": "conflicted",
        "project": "main",
        "file_path": "tau/checkpoints/tau-checkpoint-cccc.md",
        "since_ms": story.rows[5].at_ms,
    }


def test_what_is_off_the_record_is_told_with_where_it_ended_or_since_when_it_lasts(tmp_path: Path) -> None:
    story = Recording().append(opened(), Paused(), tip="aa01").append(Resumed(), tip="bb02")
    assert "off record  from aa01 to bb02\n" in run("state", story.write(tmp_path / "a.journal")).out
    story.append(settled(10), Paused(), tip="cc03")
    told = run("state", story.write(tmp_path / "b.journal")).out
    assert f"off record  from aa01 to bb02\n            since {utc(story.rows[-1].at_ms)}, and still\n" in told


def test_a_checkpoint_carries_its_labels(tmp_path: Path) -> None:
    moved = NoteMoved(capture_id=CAPTURE, file_path="archive/kept.md")
    edited = NoteEdited(capture_id=CAPTURE, content_sha256=OTHER_BODY)
    path = recorded(tmp_path / "a.journal", *SAVED, moved, edited)
    checkpoint = run("state", path, "--json").json["checkpoint"]
    assert (checkpoint["file_path"], checkpoint["labels"]) == ("archive/kept.md", ["moved", "edited"])
    assert "evidence answered, moved since, edited since" in run("state", path).out


BEGUN = (opened(), connected(), settled(), begun())
FAILED = SynthesisFailed(capture_id=CAPTURE, error="timeout", model_calls=1)
REFUSED = (*BEGUN, finished(), intended(), answered("refused", code="full"))


@pytest.mark.parametrize(
    ("events", "line"),
    [
        (BEGUN, "kept        cccccccccc begun, not summarised yet"),
        ((*BEGUN, FAILED, FAILED), "kept        cccccccccc begun, not summarised yet, 2 failures in a row"),
        ((*BEGUN, finished()), "kept        cccccccccc ready, not sent yet"),
        (REFUSED, "kept        cccccccccc refused by the server, and stored nowhere else"),
    ],
    ids=["begun", "failing", "ready", "refused"],
)
def test_text_shows_what_is_kept_and_is_no_note(tmp_path: Path, events: tuple[Event, ...], line: str) -> None:
    path = recorded(tmp_path / "a.journal", *events)
    assert line in run("state", path).out.splitlines()
    assert run("state", path, "--json").json["pending"] == []


def test_text_shows_what_gathered_since_the_newest_capture_began(tmp_path: Path) -> None:
    story = Recording().append(*BEGUN, settled(120), settled(1, messages=1))
    since = utc(story.rows[4].at_ms)
    assert f"unsaved     121 characters in 3 messages since {since}\n" in run("state", story.write(tmp_path / "a")).out
    story.append(CaptureRequested(reason="quit", focus_sha256=None))
    assert f"since {since}, due: quit\n" in run("state", story.write(tmp_path / "b")).out


def test_text_says_nothing_of_what_is_saved(tmp_path: Path) -> None:
    lines = run("state", recorded(tmp_path / "a.journal", *SAVED)).out.splitlines()
    assert [line for line in lines if line.startswith(("kept", "unsaved"))] == []


def broken_at_6(path: Path) -> Ran:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET at_ms = 0 WHERE branch = 1 AND position = 6")
    return run("state", path, "--json")


def test_it_stops_before_the_first_bad_row_and_names_it(path: Path) -> None:
    ran = broken_at_6(path)
    assert (ran.code, ran.json["position"]) == (1, 5)
    assert ran.err.startswith("broken: 1@6: the digest does not follow")
    assert "after 5 rows" in ran.err


def test_a_branch_that_left_before_the_bad_row_is_whole(path: Path) -> None:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET at_ms = 0 WHERE branch = 1 AND position = 12")
    assert run("state", path, "--json").code == 0
    assert run("state", path, "--json", "--branch", "1").code == 1


def test_branches_are_listed_with_where_they_leave(path: Path, snapshot: SnapshotAssertion) -> None:
    assert run("branches", path, "--json").json == snapshot(name="json")
    assert run("branches", path).out == snapshot(name="text")
