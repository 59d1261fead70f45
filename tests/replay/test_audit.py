"""An audit says what is broken, what nothing proves, and how far the rest is proven; it never calls unproven ok."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.capture import Anchor, receipt
from journal import filesystem
from journal.ids import JournalId
from journal.row import Row
from replay.rules import PROVES
from tests.facts import ADDRESS, BODY, CAPTURE, OTHER_CAPTURE, PROJECT, SAVED, TIP
from tests.fakes.journals import HEADER, Recording, recorded, session_file
from tests.journal import kit as forging
from tests.journal.test_integrity import forge
from tests.replay import stories
from tests.replay.kit import findings, run


def mirror(
    row: Row, *, status: str = "confirmed", journal: JournalId = HEADER.journal_id
) -> dict[str, str | int | None]:
    """The receipt that a session holds, anchored to `row`."""
    return receipt(
        project=PROJECT,
        identity=CAPTURE,
        kind="checkpoint",
        status="confirmed" if status == "confirmed" else "pending",
        source_tip=TIP,
        content_sha256=BODY,
        file_path=ADDRESS.file_path,
        anchor=Anchor(journal, row.branch, row.position, row.digest),
    )


@pytest.fixture
def story() -> Recording:
    return stories.forked()


@pytest.fixture
def path(story: Recording, tmp_path: Path) -> Path:
    return story.write(tmp_path / "a.journal")


def test_a_sound_journal_alone_is_unproven_at_its_tails_and_exits_0(path: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("audit", path)
    assert ran.code == 0
    assert ran.out == snapshot(name="text")
    assert run("audit", path, "--json").json == snapshot(name="json")
    assert run("audit", path, "--strict").code == 1


@pytest.mark.parametrize("payload", ['{"reason":"hunter2","type":"capture-requested.v1"}', '{"hunter2":1}', "hunter2"])
def test_what_is_broken_is_named_and_its_payload_never_quoted(path: Path, payload: str) -> None:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET payload = ? WHERE branch = 1 AND position = 3", (payload,))
    assert ("events", "broken", 1, 3) in findings(path)
    for command in ("audit", "state", "unproven"):
        ran = run(command, path)
        assert "hunter2" not in ran.out + ran.err


def test_ok_is_said_when_the_last_row_of_every_branch_is_vouched_for(
    story: Recording, path: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    session = session_file(tmp_path / "s.jsonl", mirror(story.at(1, 12)), mirror(story.at(2, 15)))
    ran = run("audit", path, "--session", session, "--strict")
    assert ran.code == 0
    assert ran.out == snapshot(name="text")
    assert run("audit", path, "--session", session, "--json").json == {
        "ok": True,
        "journal_mode": "wal",
        "file_system": "ext4",
        "file_system_supported": True,
        "proved_to": {
            "1": {"position": 12, "digest": story.at(1, 12).digest, "anchored": 12},
            "2": {"position": 15, "digest": story.at(2, 15).digest, "anchored": 15},
        },
        "findings": [],
    }


def test_the_rows_past_the_last_anchor_are_unproven(story: Recording, path: Path, tmp_path: Path) -> None:
    session = session_file(tmp_path / "s.jsonl", mirror(story.at(1, 7)), mirror(story.at(1, 3), status="pending"))
    assert findings(path, "--session", session) == {("tail", "unproven", 1, 8), ("tail", "unproven", 2, 8)}


def test_an_anchor_on_a_fork_vouches_for_its_parent_up_to_the_fork(
    story: Recording, path: Path, tmp_path: Path
) -> None:
    session = session_file(tmp_path / "s.jsonl", mirror(story.at(2, 15)))
    assert findings(path, "--session", session) == {("tail", "unproven", 1, 8)}


def cut(path: Path, branch: int, position: int) -> None:
    """Remove everything on `branch` from `position` on, and put the guards back."""
    with forging.raw(path) as connection:
        guards = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
        forging.without_guards(connection)
        connection.execute("DELETE FROM events WHERE branch = ? AND position >= ?", (branch, position))
        for sql in guards:
            connection.execute(sql)


def test_a_cut_tail_is_unproven_alone_and_broken_where_an_anchor_was_cut_off(
    story: Recording, path: Path, tmp_path: Path
) -> None:
    session = session_file(tmp_path / "s.jsonl", mirror(story.at(1, 12)))
    cut(path, 1, 12)
    assert run("audit", path).code == 0
    assert ("tail", "unproven", 1, 1) in findings(path)
    ran = run("audit", path, "--session", session)
    assert ran.code == 1
    assert "anchors  1@12" in ran.out
    assert "cut: the session names the row" in ran.out


def test_a_branch_that_was_cut_off_whole_is_broken_by_its_anchor(story: Recording, path: Path, tmp_path: Path) -> None:
    other = Recording().append(*SAVED).write(tmp_path / "b.journal")
    session = session_file(tmp_path / "s.jsonl", mirror(story.at(2, 15)))
    assert ("anchors", "broken", 2, 15) in findings(other, "--session", session)


def test_another_row_where_an_anchor_points_is_broken(story: Recording, tmp_path: Path) -> None:
    rewritten = Recording().append(*SAVED[:6], stories.CALLED).write(tmp_path / "b.journal")
    session = session_file(tmp_path / "s.jsonl", mirror(story.at(1, 7)))
    found = run("audit", rewritten, "--session", session, "--json").json["findings"]
    assert [f["detail"].partition(":")[0] for f in found if f["rule"] == "anchors"] == ["cut or replaced"]


def test_an_anchor_past_a_broken_row_vouches_for_nothing(story: Recording, path: Path, tmp_path: Path) -> None:
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET at_ms = 0 WHERE branch = 1 AND position = 9")
    session = session_file(tmp_path / "s.jsonl", mirror(story.at(1, 12)))
    proved = run("audit", path, "--session", session, "--json").json["proved_to"]["1"]
    assert (proved["position"], proved["anchored"]) == (8, None)


def test_a_receipt_of_a_write_that_the_journal_never_confirmed_is_broken(
    story: Recording, path: Path, tmp_path: Path
) -> None:
    forged = mirror(story.at(2, 14)) | {"capture_id": OTHER_CAPTURE}
    assert ("receipts", "broken", 2, 14) in findings(path, "--session", session_file(tmp_path / "s.jsonl", forged))


def test_receipts_about_other_journals_or_without_sense_are_counted_and_prove_nothing(
    story: Recording, path: Path, tmp_path: Path
) -> None:
    strange = mirror(story.at(1, 7), journal=JournalId("f" * 32))
    without_anchor = {key: value for key, value in mirror(story.at(1, 7)).items() if key != "journal_id"}
    session = session_file(tmp_path / "s.jsonl", strange, {"v": 2}, without_anchor)
    with session.open("ab") as file:
        file.write(b'{"type": "custom", half a line')
    found = [f for f in run("audit", path, "--session", session, "--json").json["findings"] if f["rule"] == "anchors"]
    assert [(f["severity"], f["branch"]) for f in found] == [("unproven", None), ("unproven", None)]
    assert [f["detail"][:1] for f in found] == ["1", "1"]


@pytest.mark.parametrize("content", [None, b"", b"no json\n", b"[1]\n"])
def test_a_session_that_is_none_is_unreadable(path: Path, tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "s.jsonl").write_bytes(content)
    ran = run("audit", path, "--session", tmp_path / "s.jsonl")
    assert (ran.code, ran.out) == (3, "")
    assert "s.jsonl" in ran.err


def test_an_event_of_a_later_version_is_unproven_and_ends_what_is_proven(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.journal", *SAVED[:6])
    with forging.raw(path) as connection:
        guards = [sql for (sql,) in connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'trigger'")]
    with forging.raw(path) as connection:
        forging.without_guards(connection)
    forge(path, "later.v9", '{"type":"later.v9"}')
    with forging.raw(path) as connection:
        for sql in guards:
            connection.execute(sql)
    ran = run("audit", path, "--json")
    assert (ran.code, ran.json["ok"], ran.json["proved_to"]["1"]["position"]) == (0, True, 6)
    assert ("unknown", "unproven", 1, 7) in findings(path)


def test_every_rule_says_what_it_proves(snapshot: SnapshotAssertion) -> None:
    ran = run("audit", "--rules")
    assert (ran.code, len(ran.out.splitlines())) == (0, len(PROVES))
    assert ran.out == snapshot


@pytest.mark.parametrize("command", ["audit", "state", "log", "export"])
def test_of_a_journal_that_was_cut_off_it_is_said_what_can_be_done(tmp_path: Path, command: str) -> None:
    path = stories.forked().write(tmp_path / "a.journal")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    ran = run(command, path)
    assert (ran.code, ran.out) == (3, "")
    assert "Restore a copy" in ran.err
    assert "continuity audit" not in ran.err


@pytest.fixture
def on_virtiofs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(f"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 0:9 / {tmp_path} rw - virtiofs shared rw\n")
    monkeypatch.setattr(filesystem, "TABLE", table)


@pytest.mark.usefixtures("on_virtiofs")
def test_a_journal_on_a_file_system_that_keeps_none_is_read_and_the_danger_said(
    path: Path, snapshot: SnapshotAssertion
) -> None:
    ran = run("audit", path)
    assert ran.code == 0
    assert ran.out.splitlines()[0] == snapshot
    view = run("audit", path, "--json").json
    assert (view["file_system"], view["file_system_supported"]) == ("virtiofs", False)


@pytest.mark.usefixtures("on_virtiofs")
def test_nothing_is_imported_onto_such_a_file_system_and_the_remedy_is_named(path: Path, tmp_path: Path) -> None:
    made = tmp_path / "b.journal"
    text = run("export", path).out
    ran = run("import", "-", "-o", made, input=text.encode())
    assert ran.code == 3
    assert "virtiofs" in ran.err
    assert "local disk" in ran.err
    assert not made.exists()


def test_a_journal_that_was_taken_out_of_its_log_says_so(path: Path) -> None:
    with forging.raw(path) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
    assert run("audit", path).out.startswith("file: journal mode delete, on ext4\n")
