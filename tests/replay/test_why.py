"""`why` tells a story from the prompt to what is known now, of what is named in whatever journal, and guesses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from journal.chain import body_digest
from journal.events import (
    BasisTaken,
    CaptureResolved,
    CaptureSuperseded,
    Event,
    NoteEdited,
    NoteMoved,
    NoteWithdrawn,
    ReceiptAdopted,
    ToolAnswered,
    ToolResolved,
    WorkBegun,
)
from journal.events.writes import Decision, Outcome
from journal.ids import EntryId
from journal.lock import JournalLock
from journal.row import WriterRecord
from tests.facts import (
    ADDRESS,
    BODY,
    CAPTURE,
    DOUBTED,
    HANDOFF,
    NEXT_WRITER,
    NOWHERE,
    OTHER_BODY,
    OTHER_CAPTURE,
    PROCESS,
    PROJECT,
    SAVED,
    TIP,
    WRITER,
    answered,
    begun,
    finished,
    intended,
    opened,
    probed,
    seen,
    settled,
)
from tests.fakes.journals import Recording, recorded
from tests.fakes.permissions import permissions_bind
from tests.journal import kit as forging
from tests.replay import stories
from tests.replay.kit import Ran, run
from tests.replay.test_terminal import HOSTILE, dangerous

PROMPT = WorkBegun(how="prompt", characters=12)
REASON = "the project was moved\x1b[2J"
LOST = probed("absent_final", *NOWHERE)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path()


def known(path: Path, reference: str = CAPTURE[:8]) -> tuple[str, str]:
    told = run("why", reference, "--in", path, "--json").json["known"]
    return told["status"], told["text"]


def places(ran: Ran) -> list[tuple[str, str]]:
    return [(f"{step['branch']}@{step['position']}", step["link"]) for step in ran.json["steps"]]


def resolved(decision: Decision, *, attempt: int = 1) -> CaptureResolved:
    return CaptureResolved(
        capture_id=CAPTURE,
        attempt=attempt,
        decision=decision,
        reason_sha256=body_digest(REASON),
        file_path=ADDRESS.file_path,
    )


def adopted() -> ReceiptAdopted:
    return ReceiptAdopted(
        capture_id=CAPTURE,
        attempt=1,
        kind="checkpoint",
        project=PROJECT,
        source_tip=TIP,
        content_sha256=BODY,
        file_path=ADDRESS.file_path,
        origin="sibling",
    )


# -- the story ---------------------------------------------------------------


def test_a_killed_write_is_told_from_the_prompt_to_the_read_that_settled_it(
    here: Path, snapshot: SnapshotAssertion
) -> None:
    path = stories.killed().write(here / "killed.journal")
    ran = run("why", CAPTURE, "--in", path)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot(name="text")
    assert run("why", CAPTURE, "--in", path, "--json").json == snapshot(name="json")


def test_every_kind_of_row_about_a_capture_is_in_its_story(here: Path, snapshot: SnapshotAssertion) -> None:
    story = Recording().append(opened(), PROMPT, *DOUBTED[1:], probed("absent_open", *NOWHERE, server="alive"))
    story.append(LOST, resolved("rewrite", attempt=2), bodies=(REASON,))
    story.append(intended(attempt=2), answered(attempt=2))
    story.append(NoteMoved(capture_id=CAPTURE, file_path="archive/moved.md"))
    story.append(NoteEdited(capture_id=CAPTURE, content_sha256=OTHER_BODY))
    story.append(settled(), begun(OTHER_CAPTURE, EntryId("bb02")), tip="bb02")
    assert run("why", CAPTURE[:4], "--in", story.write(here / "a.journal")).out == snapshot


def test_an_opening_is_in_the_story_only_if_it_ended_the_writer_that_was_waited_for(here: Path) -> None:
    story = Recording().append(*DOUBTED, probed("present_same", seen()))
    story.append(opened("resume", writer=WRITER, ended=(NEXT_WRITER,)), opened("resume", ended=(WRITER,)))
    links = places(run("why", CAPTURE, "--in", story.write(here / "a.journal"), "--json"))
    assert links == [
        ("1@1", "cause"),
        ("1@3", "cause"),
        ("1@4", "own"),
        ("1@5", "own"),
        ("1@6", "own"),
        ("1@7", "writer-ended"),
        ("1@9", "own"),
    ]


def test_a_call_is_told_from_its_prompt_to_a_persons_word(here: Path, snapshot: SnapshotAssertion) -> None:
    story = Recording().append(opened(), PROMPT, stories.CALLED, stories.LOST_CALL)
    done = ToolResolved(call_id=stories.CALL, decision="accept", reason_sha256=body_digest(REASON))
    path = story.append(done, bodies=(REASON,)).write(here / "a.journal")
    assert run("why", stories.CALL, "--in", path).out == snapshot


def test_a_row_about_neither_is_told_with_what_led_to_it(here: Path, snapshot: SnapshotAssertion) -> None:
    path = stories.forked().write(here / "a.journal")
    assert run("why", "1@11", "--in", path).out == snapshot
    assert places(run("why", "1@11", "--in", path, "--json")) == [
        ("1@1", "cause"),
        ("1@8", "cause"),
        ("1@9", "cause"),
        ("1@10", "cause"),
        ("1@11", "own"),
    ]


def test_a_row_of_a_capture_is_marked_in_the_captures_story(here: Path) -> None:
    path = stories.killed().write(here / "a.journal")
    digest = stories.killed().at(1, 7).digest
    by_digest, by_place = (run("why", each, "--in", path, "--json") for each in (digest[:10].upper(), "1@7"))
    assert by_digest.json == by_place.json
    assert (by_digest.json["kind"], by_digest.json["reference"]) == ("checkpoint", CAPTURE)
    assert [step["position"] for step in by_digest.json["steps"] if step["asked"]] == [7]


def test_what_a_branch_that_was_left_began_is_not_mixed_with_its_siblings_own(here: Path) -> None:
    story = Recording().append(*SAVED[:4], tip=TIP)
    second = story.fork(1, 3, stories.LEFT)
    story.append(begun(), finished(), intended(), branch=second)
    story.append(CaptureSuperseded(capture_id=CAPTURE, by_tip=EntryId("bb02")))
    path = story.write(here / "a.journal")
    assert [place for place, link in places(run("why", CAPTURE, "--in", path, "--json")) if link == "own"] == [
        "2@5",
        "2@6",
        "2@7",
    ]


def test_nothing_in_a_story_can_act_on_a_terminal(here: Path) -> None:
    path = stories.hostile(HOSTILE[:80]).write(here / "a\x1b[2J.journal")
    for reference in ("1@3", "1@5", "7" * 12):
        for options in ((), ("--json",)):
            ran = run("why", reference, "--in", path, *options)
            assert ran.code == 0
            assert dangerous(ran.out + ran.err) == set()


def test_it_changes_no_byte(here: Path) -> None:
    path = stories.killed().write(here / "a.journal")
    before = {file.name: file.read_bytes() for file in here.iterdir()}
    run("why", CAPTURE)
    run("why", CAPTURE, "--in", path)
    assert {file.name: file.read_bytes() for file in here.iterdir()} == before


# -- what is known -----------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "status", "words"),
    [
        (SAVED[:4], "begun", "not summarised yet"),
        (SAVED[:5], "ready", "summarised, and not sent yet"),
        (SAVED[:6], "intended", "sent, and no answer was recorded; nobody looked for it yet, by row 1@6"),
        (SAVED, "confirmed", f"stored at main: {ADDRESS.file_path}; evidence answered, by row 1@7"),
        (DOUBTED, "in_doubt", "sent, and no answer was recorded; nobody looked for it yet, by row 1@7"),
        (
            (*DOUBTED, LOST),
            "lost",
            "sent, and proven not to be stored: read once, and nothing can land any more, by row 1@9",
        ),
        (
            (*DOUBTED, adopted()),
            "confirmed",
            f"stored at main: {ADDRESS.file_path}; evidence adopted, by row 1@9",
        ),
        (
            (
                *SAVED,
                NoteMoved(capture_id=CAPTURE, file_path="b.md"),
                NoteEdited(capture_id=CAPTURE, content_sha256=BODY),
            ),
            "confirmed",
            "stored at main: b.md, moved, edited since; evidence answered, by row 1@7",
        ),
        (
            (*SAVED, probed("present_same", seen())),
            "confirmed",
            f"stored at main: {ADDRESS.file_path}; evidence read, by row 1@8",
        ),
        (
            (*SAVED, NoteWithdrawn(capture_id=CAPTURE)),
            "withdrawn",
            "it was stored, and is proven to be gone since, by row 1@8",
        ),
        (
            (*SAVED[:5], CaptureSuperseded(capture_id=CAPTURE, by_tip=EntryId("bb02"))),
            "superseded",
            "never sent: the newer tip bb02 took its place, by row 1@6",
        ),
        ((*DOUBTED, LOST, resolved("abandon")), "abandoned", "given up by a person, by row 1@10"),
        (
            (*DOUBTED, probed("conflicted", seen(capture=OTHER_CAPTURE)), resolved("accept")),
            "confirmed",
            f"taken for stored, by a person's decision, at main: {ADDRESS.file_path}; evidence read, by row 1@10",
        ),
        (
            (*SAVED, BasisTaken(capture_id=CAPTURE, source_tip=TIP, handoff_sha256=HANDOFF, edited=False)),
            "confirmed",
            f"stored at main: {ADDRESS.file_path}; evidence answered, by row 1@7",
        ),
    ],
)
def test_the_last_line_says_what_is_known_and_by_which_row(
    here: Path, events: tuple[Event, ...], status: str, words: str
) -> None:
    assert known(recorded(here / "a.journal", *events)) == (status, words)


@pytest.mark.parametrize(
    ("outcome", "code", "words"),
    [
        ("accepted", None, "the server answered that it is done, by row 1@3"),
        ("refused", "BAD", "the server refused it (BAD), by row 1@3"),
        ("not-sent", "gone", "it was not sent (gone), by row 1@3"),
    ],
)
def test_a_call_that_ended_says_how(here: Path, outcome: Outcome, code: str | None, words: str) -> None:
    done = ToolAnswered(call_id=stories.CALL, outcome=outcome, code=code)
    path = recorded(here / "a.journal", opened(), stories.CALLED, done)
    assert known(path, stories.CALL) == (outcome, words)


def test_what_newer_captures_did_to_the_branch_says_nothing_of_an_older_one(here: Path) -> None:
    newer = (settled(), begun(OTHER_CAPTURE, EntryId("bb02")), finished(OTHER_CAPTURE))
    sent = (intended(OTHER_CAPTURE, EntryId("bb02")), answered("accepted", OTHER_CAPTURE))
    assert known(recorded(here / "a.journal", *SAVED, *newer, *sent))[0] == "confirmed"


def test_what_is_open_says_what_to_do_and_where_it_is_done(here: Path) -> None:
    path = recorded(here / "a.journal", *DOUBTED)
    assert run("why", CAPTURE, "--in", path).out.endswith("next: `continuity probe cccccccccc` reads now\n")
    with JournalLock.acquire(path, WriterRecord(writer=WRITER, process=PROCESS)):
        assert run("why", CAPTURE, "--in", path).out.endswith("next: `/bm-pending probe cccccccccc` reads now\n")


# -- where it is -------------------------------------------------------------


def test_it_is_found_in_whatever_session_of_the_state_folder(here: Path) -> None:
    stories.forked().write(here / "forked.journal")
    recorded(here / "other.journal", *SAVED[:2])
    state = {"CONTINUITY_HOME": str(here.resolve())}
    assert run("why", OTHER_CAPTURE[:6], "--json", env=state).json["path"] == str(here.resolve() / "forked.journal")
    digest = stories.forked().at(2, 8).digest
    assert run("why", digest[:12], "--json", env=state).json["steps"][-1]["id"] == digest


def test_of_a_capture_in_several_journals_the_one_that_began_it_is_meant(here: Path) -> None:
    recorded(here / "a.journal", opened(), adopted())
    recorded(here / "b.journal", *SAVED)
    assert run("why", CAPTURE, "--in", here, "--json").json["path"] == "b.journal"
    assert run("why", CAPTURE, "--in", here / "a.journal", "--json").json["steps"][-1]["type"] == "receipt-adopted.v1"


def test_a_journal_that_cannot_be_read_is_named_and_the_rest_is_searched(here: Path) -> None:
    recorded(here / "a.journal", *SAVED)
    (here / "b.journal").write_text("no journal")
    found = run("why", CAPTURE, "--in", here)
    assert (found.code, found.out != "") == (0, True)
    assert "b.journal" in found.err
    missed = run("why", OTHER_CAPTURE, "--in", here)
    assert (missed.code, missed.out) == (3, "")
    assert "nothing that can be read is named" in missed.err


def test_a_folder_that_cannot_be_looked_into_is_named(here: Path) -> None:
    (here / "closed").mkdir(mode=0)
    with permissions_bind():
        ran = run("why", CAPTURE, "--in", here)
    assert (ran.code, ran.out) == (3, "")
    assert "closed: Permission denied" in ran.err


def test_a_broken_row_ends_what_is_told_and_is_named(here: Path) -> None:
    path = stories.killed().write(here / "a.journal")
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET at_ms = 0 WHERE position = 8")
    ran = run("why", CAPTURE, "--in", path, "--json")
    assert (ran.code, ran.json["steps"][-1]["position"]) == (1, 7)
    assert "1@8" in ran.err
    behind = run("why", "1@9", "--in", path)
    assert (behind.code, behind.out) == (1, "")
    assert "1@8" in behind.err


@pytest.mark.parametrize(
    ("reference", "hint"),
    [
        ("abc", "a reference is the beginning of a capture's or a call's identity"),
        ("", "a reference is the beginning of a capture's or a call's identity"),
        ("1@3", "name the one that is meant: --in FILE"),
        ("@-", "name the one that is meant: --in FILE"),
        ("0000ffff", "`continuity unproven` lists what is open"),
    ],
)
def test_what_names_nothing_is_misuse_and_says_what_would(here: Path, reference: str, hint: str) -> None:
    recorded(here / "a.journal", *SAVED)
    ran = run("why", "--in", here, "--", reference)
    assert (ran.code, ran.out) == (2, "")
    assert f"hint: {hint}" in ran.err


def test_what_names_several_is_misuse_and_says_which(here: Path) -> None:
    story = Recording().append(opened(), begun(), finished(), begun(OTHER_CAPTURE, EntryId("bb02")))
    twin = CAPTURE[:20] + "0" * 44
    story.append(begun(type(CAPTURE)(twin), EntryId("cc03")))
    path = story.write(here / "a.journal")
    ran = run("why", CAPTURE[:6], "--in", path)
    assert (ran.code, ran.out) == (2, "")
    assert f"2 things are named {CAPTURE[:6]}" in ran.err
    assert run("why", CAPTURE, "--in", path).code == 0
    story.write(here / "b.journal")
    copies = run("why", CAPTURE, "--in", here)
    assert copies.code == 2
    assert "name one with --in: a.journal, b.journal" in copies.err


def test_a_journal_that_is_not_there_is_no_folder_without_one(here: Path) -> None:
    assert run("why", CAPTURE, "--in", "typo.journal").code == 3
    assert run("why", CAPTURE, "--in", "typo").code == 3
    nowhere = run("why", CAPTURE, env={"CONTINUITY_HOME": str(here.resolve() / "unmade")})
    assert (nowhere.code, nowhere.out) == (2, "")
    assert "unmade is named" in nowhere.err


@pytest.mark.parametrize("reference", ["f" * 100_000, "@" + "-" * 99_999], ids=["identity", "place"])
def test_a_long_reference_is_not_repeated_whole(here: Path, reference: str) -> None:
    recorded(here / "a.journal", *SAVED)
    missed = run("why", reference, "--in", here)
    assert missed.code != 0
    assert "' and 99,936 characters more" in missed.err
    assert len(missed.err) < 1_000
