"""`why --brief` finds the session meant and tells of its newest brief, or of an earlier one; it guesses nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from journal.chain import body_digest
from journal.events import BriefDelivered, RecallPlanned, WorkBegun
from journal.events.recall import HitRef
from journal.ids import SessionId
from replay.shapes import BriefView
from tests.facts import SAVED, settled
from tests.fakes.journals import HEADER, Recording
from tests.journal import kit as forging
from tests.replay import stories
from tests.replay.kit import run
from tests.replay.test_terminal import HOSTILE, dangerous

SESSION = HEADER.session_id
TOPIC = "mend foghorn"


def story(session: str = SESSION) -> Recording:
    """A saved session, a brief of it, and a second one on a fork."""
    made = Recording(msgspec.structs.replace(HEADER, session_id=SessionId(session)))
    made.append(*SAVED, WorkBegun(how="prompt", characters=12))
    about = RecallPlanned(reason="start", topic_sha256=body_digest(TOPIC), queries=())
    planned, answered, delivered, referenced = stories.RECALLED
    made.append(planned, answered, about, delivered, referenced, bodies=(TOPIC,))
    second = made.fork(1, len(SAVED), stories.LEFT)
    made.append(planned, brief(), branch=second)
    return made


def brief(*sources: HitRef, characters: int = 77) -> BriefDelivered:
    return BriefDelivered(
        brief_sha256=stories.BRIEF, characters=characters, sources=sources, how="steered", entry=None, complete=True
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path()


@pytest.fixture
def journal(here: Path) -> Path:
    return story().write(here / "one.journal")


def broken(path: Path, position: int) -> None:
    """Damage one row of the first branch."""
    with forging.raw(path) as connection:
        forging.without_guards(connection)
        connection.execute("UPDATE events SET payload = '{}' WHERE branch = 1 AND position = ?", (position,))


def place(*options: str | Path) -> str:
    view = run("why", "--brief", SESSION, *options, "--json").json
    return f"{view['branch']}@{view['position']}"


def test_the_newest_brief_of_a_session_is_told_whichever_branch_it_is_on(
    journal: Path, snapshot: SnapshotAssertion
) -> None:
    ran = run("why", "--brief", SESSION[:4], "--in", journal)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == snapshot


def test_an_earlier_one_is_told_by_a_row_at_or_behind_it(journal: Path, snapshot: SnapshotAssertion) -> None:
    behind = len(SAVED) + 6
    assert place("--in", journal, "--at", f"1@{behind}") == f"1@{behind - 1}"
    assert run("why", "--brief", SESSION, "--in", journal, "--at", f"1@{behind}").out == snapshot


def test_its_json_is_what_its_schema_says(journal: Path, snapshot: SnapshotAssertion) -> None:
    ran = run("why", "--brief", SESSION, "--in", journal, "--at", f"1@{len(SAVED) + 6}", "--json")
    view = msgspec.json.decode(ran.out.encode(), type=BriefView)
    assert (view.topic, view.evidence) == (TOPIC, "answered")
    told = ran.json
    assert told.pop("id") == story().at(1, len(SAVED) + 5).digest
    assert told == snapshot


def test_without_a_path_it_looks_in_our_own_folder(here: Path) -> None:
    (here / "state").mkdir()
    story().write(here / "state" / "one.journal")
    ran = run("why", "--brief", SESSION, env={"CONTINUITY_HOME": str((here / "state").absolute())})
    assert ran.code == 0
    assert "77 characters" in ran.out


@pytest.mark.parametrize("at", ["1@3", "@-------"])
def test_where_no_brief_was_put_in_by_then_it_says_so(journal: Path, at: str) -> None:
    ran = run("why", "--brief", SESSION, "--in", journal, "--at", at)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: no brief was put into context by then\n")


def test_a_session_without_any_brief_says_so(here: Path) -> None:
    path = Recording().append(*SAVED).write(here / "one.journal")
    assert run("why", "--brief", SESSION, "--in", path).err.startswith("error: no brief was put into context by then\n")


def test_a_session_that_is_not_there_is_refused_by_name(journal: Path, here: Path) -> None:
    ran = run("why", "--brief", "elsewhere", "--in", here)
    assert (ran.code, ran.out) == (2, "")
    assert "no journal in . is of a session elsewhere" in ran.err


def test_a_beginning_that_two_sessions_share_is_refused(journal: Path, here: Path) -> None:
    story("session-12").write(here / "two.journal")
    story("session-2").write(here / "three.journal")
    ran = run("why", "--brief", "session-", "--in", here)
    assert ran.code == 2
    assert "3 journals are of sessions that begin so" in ran.err
    assert place("--in", here) == "2@10"


def test_a_beginning_too_short_to_mean_anything_is_refused(journal: Path) -> None:
    ran = run("why", "--brief", SESSION[:3], "--in", journal)
    assert (ran.code, ran.err.startswith("error: 'ses' is no session\n")) == (2, True)


@pytest.mark.parametrize(
    "words",
    [(), ("d384", "--brief", SESSION), ("d384", "--at", "@"), ("--at", "@")],
    ids=["nothing", "both", "at", "at alone"],
)
def test_what_is_asked_for_is_one_thing(words: tuple[str, ...]) -> None:
    ran = run("why", *words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: name either REF or --brief SESSION\n")


def test_a_journal_that_cannot_be_read_is_named_and_costs_itself(journal: Path, here: Path) -> None:
    (here / "broken.journal").write_bytes(b"no journal")
    ran = run("why", "--brief", SESSION, "--in", here)
    assert (ran.code, "broken.journal" in ran.err) == (0, True)
    assert run("why", "--brief", "elsewhere", "--in", here).code == 3


def test_a_brief_behind_a_broken_row_is_not_told(journal: Path) -> None:
    broken(journal, 2)
    ran = run("why", "--brief", SESSION, "--in", journal, "--at", "1@13")
    assert (ran.code, ran.out) == (1, "")


def test_a_brief_before_a_broken_row_is_told_and_the_row_is_named(journal: Path) -> None:
    broken(journal, 13)
    ran = run("why", "--brief", SESSION, "--in", journal, "--at", "1@12")
    assert ran.code == 1
    assert "900 characters" in ran.out
    assert "1@13" in ran.err


def test_words_from_elsewhere_do_nothing_to_a_terminal(here: Path) -> None:
    made = Recording().append(*SAVED, settled())
    hostile = msgspec.structs.replace(stories.HIT, file_path=HOSTILE, why=HOSTILE[:80], checksum=HOSTILE)
    made.append(brief(hostile))
    path = made.write(here / "one.journal")
    for form in ((), ("--json",)):
        ran = run("why", "--brief", SESSION, "--in", path, *form)
        assert ran.code == 0
        assert not dangerous(ran.out)
