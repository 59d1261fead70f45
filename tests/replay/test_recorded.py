"""Journals recorded from real runs fold to the same state, tell the same story and audit the same, for ever.

Every text in `tests/journals` is picked up by its name. `tools/record.py` records them again; before 0.1.0 a
changed shape of an event is a reason to, afterwards none is.
"""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.replay.kit import run

TEXTS = sorted((Path(__file__).parents[1] / "journals").glob("*.jsonl"))


def test_there_are_recorded_journals() -> None:
    assert TEXTS


@pytest.fixture(params=TEXTS, ids=lambda text: text.stem)
def text(request: pytest.FixtureRequest) -> Path:
    path = request.param
    assert isinstance(path, Path)
    return path


@pytest.fixture
def journal(text: Path, tmp_path: Path) -> Path:
    path = tmp_path / "recorded.journal"
    assert run("import", text, "-o", path).code == 0
    return path


def test_exporting_it_again_gives_the_same_bytes(text: Path, journal: Path) -> None:
    written = text.read_bytes()
    bodies = ("--bodies",) if b'"record":"body"' in written else ()
    assert run("export", journal, *bodies).out.encode() == written


def test_every_branch_folds_to_the_state_it_had(journal: Path, snapshot: SnapshotAssertion) -> None:
    for branch in run("branches", journal, "--json").json["branches"]:
        number = str(branch["branch"])
        assert run("state", journal, "--json", "--branch", number).json == snapshot(name=f"branch {number}")


def test_it_tells_the_same_story(journal: Path, snapshot: SnapshotAssertion) -> None:
    assert run("log", journal).out == snapshot


def test_it_is_as_sound_as_it_was(journal: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("audit", journal)
    assert ran.code == 0, ran.out
    assert ran.out == snapshot


def test_each_of_its_writes_has_its_story(
    journal: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(journal.parent)
    sent = [line for line in run("log", journal.name, "--json").lines if line["type"] == "write-intended.v1"]
    assert sent
    for identity in dict.fromkeys(line["data"]["capture_id"] for line in sent):
        ran = run("why", identity[:10], "--in", journal.name)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == snapshot(name=identity[:10])


def test_each_of_its_briefs_has_its_origins(
    journal: Path, snapshot: SnapshotAssertion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(journal.parent)
    session = run("state", journal.name, "--json").json["session"]
    for line in run("log", journal.name, "--json").lines:
        if line["type"] == "brief-delivered.v1":
            place = f"{line['branch']}@{line['position']}"
            ran = run("why", "--brief", session, "--in", journal.name, "--at", place)
            assert (ran.code, ran.err) == (0, "")
            assert ran.out == snapshot(name=place)


def test_what_it_left_open_is_still_open(journal: Path, snapshot: SnapshotAssertion) -> None:
    left = run("unproven", journal, "--json").json
    assert [(each["reference"], each["status"], each["why"], each["next_step"]) for each in left] == snapshot
