"""A note of a checkout that is written again is filed there again, whatever was erased meanwhile, or it is not written."""

from __future__ import annotations

from pathlib import Path

import pytest

from continuity import keeping
from continuity.evolve import fold
from journal import erasure
from journal.events import WriteIntended
from journal.ids import Sha256
from journal.reader import open_reader
from journal.row import Record
from tests.cli.test_probe_and_resolve import Person, git
from tests.shell.left_behind import SWALLOWED
from tests.shell.rig import recorded, replayed


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    made = Person(tmp_path)
    monkeypatch.chdir(tmp_path / "tau")
    return made


def lost_in_a_checkout(person: Person) -> str:
    """A checkpoint of a checkout that is proven not to be stored; returns what names it."""
    checkout = person.root / "work"
    checkout.mkdir()
    git(checkout, "init", "-q", "-b", "feature")
    git(checkout, "commit", "-q", "--allow-empty", "-m", "one")
    filed = {"kind": "coding", "root": str(checkout), "repository": "ada/lamp", "project": "main"}
    return person.left(SWALLOWED, repositories=(filed,))


def erase(path: Path, *digests: Sha256, reason: str) -> None:
    with open_reader(path) as reader:
        after = list(reader.verified(reader.last_branch()))[-1]
    told = [
        Record(event=event, at_ms=after.at_ms, tip=after.tip, cause=None) for event in keeping.erased(digests, reason)
    ]
    assert erasure.erase(path, after, told, digests)


def spare(path: Path) -> tuple[Sha256, ...]:
    """What the next process erases where texts are not kept."""
    with open_reader(path) as reader:
        states = [fold(reader.verified(each.branch)) for each in reader.branches]
        return keeping.spare(reader.digests(), states, closing=True)


def test_it_is_of_the_checkout_still_where_texts_are_not_kept(person: Person) -> None:
    reference = lost_in_a_checkout(person)
    erase(person.path, *spare(person.path), reason="not-kept")
    person.run("probe", reference)
    person.memory.faults(initialize="exit")
    person.run("resolve", reference, "--rewrite", "--reason", "lost", "--yes")
    person.memory.faults()
    erase(person.path, *spare(person.path), reason="not-kept")
    assert person.run("resolve", reference, "--rewrite", "--yes").code == 0
    first, *_, again = recorded(person.path, WriteIntended)
    assert first.note_type == again.note_type == "coding_session"


def test_it_is_not_written_as_other_work_once_its_checkout_is_not_known_any_more(person: Person) -> None:
    reference = lost_in_a_checkout(person)
    person.run("probe", reference)
    intent = recorded(person.path, WriteIntended)[-1]
    erase(person.path, intent.metadata_sha256, reason="rescan")
    ran = person.run("resolve", reference, "--rewrite", "--reason", "lost", "--yes")
    assert ran.code == 1
    assert "which checkout" in ran.err
    assert f"`/bm-pending rewrite {reference}`" in ran.err
    assert [capture.status for capture in replayed(person.path).captures] == ["lost"]
    assert person.writes == 2
