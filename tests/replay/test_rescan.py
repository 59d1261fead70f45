"""`rescan` finds what only the rules of today know in kept texts, tells where it is and never what, and erases it if told."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.privacy import RULE_SET_VERSION, mask
from journal.chain import body_digest
from journal.events import BodiesErased, Event, SynthesisFailed
from journal.events.capture import CaptureKind
from journal.lock import JournalLock
from journal.reader import open_reader
from journal.row import WriterRecord
from tests.facts import (
    CAPTURE,
    OTHER_CAPTURE,
    PROCESS,
    TIP,
    WRITER,
    answered,
    begun,
    connected,
    finished,
    intended,
    opened,
    settled,
)
from tests.fakes.journals import Recording
from tests.journal import kit as forging
from tests.replay.kit import findings, run

TOKEN = "ghp_" + "a1B2" * 9
CLEAN = "## Objective\nKeep the lamp lit, with [masked:github-token]."
LEAKED = f"## Objective\nPush with {TOKEN}, then with {TOKEN[:-1]}9."
REASON = f"it was {TOKEN}\x1b[2J"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path()


def leaking(path: Path) -> Path:
    """A journal with one clean text and two that were kept before a rule knew what is in them."""
    story = Recording().append(opened(), connected(), settled(), begun(), finished(CAPTURE, body_digest(CLEAN)))
    story.append(begun(OTHER_CAPTURE, prior=(body_digest(CLEAN), TIP)), finished(OTHER_CAPTURE, body_digest(LEAKED)))
    story.append(BodiesErased(digests=(body_digest("gone"),), reason="expired"))
    return story.append(settled(), bodies=(CLEAN, LEAKED, REASON)).write(path)


def clean(path: Path) -> Path:
    story = Recording().append(opened(), settled(), begun(), finished(CAPTURE, body_digest(CLEAN)), bodies=(CLEAN,))
    return story.write(path)


def kept(path: Path) -> set[str]:
    with open_reader(path) as reader:
        return {text for _, text in reader.bodies()}


def test_what_is_found_is_told_by_place_and_number(here: Path, snapshot: SnapshotAssertion) -> None:
    leaking(here / "a.journal")
    clean(here / "b.journal")
    ran = run("rescan", here)
    assert ran.code == 1
    assert ran.out == snapshot(name="text")
    assert ran.err == snapshot(name="talk")
    assert run("rescan", here, "--json").json == snapshot(name="json")


@pytest.mark.parametrize("options", [[], ["--json"], ["--erase"], ["--erase", "--json"]])
def test_no_value_that_is_found_is_told(here: Path, options: list[str]) -> None:
    ran = run("rescan", leaking(here / "a.journal"), *options)
    assert not any(TOKEN[start : start + 8] in ran.out + ran.err for start in range(len(TOKEN) - 8))


def test_where_nothing_is_found_all_is_sound(here: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("rescan", clean(here / "a.journal"))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot


def test_a_look_changes_no_byte(here: Path) -> None:
    path = leaking(here / "a.journal")
    before = forging.snapshot(here)
    run("rescan", path)
    assert forging.snapshot(here) == before


def test_what_is_erased_is_on_record_and_in_no_file(here: Path, snapshot: SnapshotAssertion) -> None:
    path = leaking(here / "a.journal")
    ran = run("rescan", path, "--erase")
    assert ran.code == 1
    assert ran.out == snapshot
    assert kept(path) == {CLEAN}
    assert all(TOKEN.encode() not in content for content in forging.snapshot(here).values())
    (newest,) = run("log", path, "-n", "1", "--json").lines
    assert (newest["type"], newest["data"]["reason"]) == ("bodies-erased.v1", "rescan")
    assert set(newest["data"]["digests"]) == {body_digest(LEAKED), body_digest(REASON)}


def test_after_an_erasure_the_journal_is_as_sound_as_before_and_nothing_is_found(here: Path) -> None:
    path = leaking(here / "a.journal")
    before = {each for each in findings(path) if each[0] != "tail"}
    state = run("state", path, "--json").json
    run("rescan", path, "--erase")
    assert {each for each in findings(path) if each[0] != "tail"} == before
    assert run("state", path, "--json").json["tip"] == state["tip"]
    assert run("rescan", path).code == 0


def test_what_is_left_is_exported_and_comes_back(here: Path) -> None:
    path = leaking(here / "a.journal")
    run("rescan", path, "--erase")
    run("export", path, "--bodies", "-o", here / "a.jsonl")
    assert run("import", here / "a.jsonl", "-o", here / "copy.journal").code == 0
    assert kept(here / "copy.journal") == {CLEAN}
    assert findings(here / "copy.journal") == findings(path)


@pytest.mark.parametrize("kind", ["note", "transcript"])
def test_a_note_that_is_not_stored_yet_is_told_and_kept(
    here: Path, kind: CaptureKind, snapshot: SnapshotAssertion
) -> None:
    path = unsent(here / "a.journal", kind)
    ran = run("rescan", path, "--erase")
    assert (ran.code, kept(path)) == (1, {LEAKED})
    assert ran.out == snapshot(name="text")
    assert ran.err == snapshot(name="talk")
    found = run("rescan", path, "--json").json["findings"]
    assert [(each["erased"], each["unstored"]) for each in found] == [(False, True)]


def test_a_note_that_is_stored_or_let_go_of_is_erased(here: Path) -> None:
    gone = SynthesisFailed(capture_id=OTHER_CAPTURE, error="body-missing", model_calls=0)
    stored = (intended(OTHER_CAPTURE, TIP, kind="note"), answered(capture=OTHER_CAPTURE))
    for number, ends in enumerate(([gone], stored)):
        path = unsent(here / f"{number}.journal", "note", *ends)
        assert run("rescan", path, "--erase").err.count("not erased") == 0
        assert kept(path) == set()


def unsent(path: Path, kind: CaptureKind, *after: Event) -> Path:
    """A journal with a handoff and a text of a person's that leak, of which the second is what `after` makes of it."""
    story = Recording().append(opened(), connected(), settled(), begun(), finished(CAPTURE, body_digest(REASON)))
    note = (begun(OTHER_CAPTURE, TIP, kind=kind), finished(OTHER_CAPTURE, body_digest(LEAKED)))
    return story.append(*note, *after, bodies=(LEAKED, REASON)).write(path)


def test_a_journal_that_a_session_has_open_is_not_erased_in(here: Path) -> None:
    path, other = leaking(here / "a.journal"), leaking(here / "b.journal")
    with JournalLock.acquire(path, WriterRecord(writer=WRITER, process=PROCESS)):
        ran = run("rescan", here, "--erase", "--json")
    assert ran.code == 1
    assert f"not erased: {path}: process {PROCESS.pid} has it open" in ran.err
    assert {(each["journal"], each["erased"]) for each in ran.json["findings"]} == {
        (str(path), False),
        (str(other), True),
    }
    assert LEAKED in kept(path)


def test_what_a_reader_keeps_in_the_files_is_not_called_erased_and_a_later_erasure_finishes_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journal.disk.BUSY_SECONDS", 0.01)
    path = leaking(here / "a.journal")
    with forging.raw(path) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM events").fetchall()
        ran = run("rescan", path, "--erase", "--json")
        again = run("rescan", path, "--erase")
        assert TOKEN.encode() in b"".join(forging.snapshot(here).values())
    assert (ran.code, again.code) == (1, 1)
    assert [each["erased"] for each in ran.json["findings"]] == [False, False]
    assert ran.json["unfinished"] == [str(path)]
    assert all(f"not erased to the end: {path}: another program reads it" in each.err for each in (ran, again))
    assert run("rescan", path, "--erase").code == 0
    assert TOKEN.encode() not in b"".join(forging.snapshot(here).values())


def test_a_journal_in_use_in_which_nothing_is_found_is_left_alone(here: Path) -> None:
    path = clean(here / "a.journal")
    with forging.raw(path) as writer, JournalLock.acquire(path, WriterRecord(writer=WRITER, process=PROCESS)):
        writer.execute("PRAGMA user_version = 1")
        ran = run("rescan", path, "--erase")
        assert forging.snapshot(here)["a.journal-wal"]
    assert (ran.code, ran.err) == (0, "")


def test_what_cannot_be_read_is_named_and_keeps_no_other_from_being_looked_at(here: Path) -> None:
    leaking(here / "a.journal")
    (here / "b.journal").write_bytes(b"no journal")
    ran = run("rescan", here, "--json")
    assert ran.code == 3
    assert "b.journal: not an SQLite file; it was not looked into" in ran.err
    assert len(ran.json["findings"]) == 2


def test_nothing_is_written_behind_a_row_that_is_not_proven(here: Path) -> None:
    path = leaking(here / "a.journal")
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET at_ms = at_ms + 1 WHERE position = 2")
    ran = run("rescan", path, "--erase")
    assert ran.code == 3
    assert LEAKED in kept(path)


def test_without_a_path_it_is_our_own_folder_which_need_not_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONTINUITY_HOME", str(tmp_path / "state"))
    assert run("rescan").code == 0
    (tmp_path / "state").mkdir()
    leaking(tmp_path / "state" / "a.journal")
    assert run("rescan").code == 1


def test_the_rules_that_looked_are_named_and_find_nothing_in_what_they_masked(here: Path) -> None:
    found = run("rescan", clean(here / "a.journal"), "--json").json
    assert (found["rule_set"], found["journals"], found["texts"]) == (RULE_SET_VERSION, 1, 1)
    assert mask(mask(LEAKED).text).count == 0
