"""`show` gives one row in full, found by any unambiguous reference."""

from itertools import pairwise
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from journal.chain import body_digest
from journal.events import BodiesErased
from tests.facts import CAPTURE, begun, connected, finished, opened, settled
from tests.fakes.journals import Recording
from tests.replay import stories
from tests.replay.kit import run

BODY = "## Objective\nship it: é\u2028\x1b[2J"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return stories.forked().write(tmp_path / "a.journal")


@pytest.mark.parametrize(
    ("reference", "place"),
    [("@", (2, 15)), ("@-", (2, 14)), ("@---------", (1, 6)), ("2@15", (2, 15)), ("2@3", (1, 3)), ("1@12", (1, 12))],
)
def test_a_place_is_a_reference(path: Path, reference: str, place: tuple[int, int]) -> None:
    shown = run("show", path, reference, "--json").json
    assert (shown["branch"], shown["position"]) == place


def test_the_beginning_of_a_digest_is_a_reference(path: Path) -> None:
    digest = stories.forked().at(1, 7).digest
    for reference in (digest, digest[:8], digest[:8].upper()):
        assert run("show", path, reference, "--json").json["position"] == 7


def test_a_beginning_that_two_rows_share_is_refused_with_both(tmp_path: Path) -> None:
    story = Recording().append(*(settled(number) for number in range(700)))
    digests = sorted((row.digest, row.position) for row in story.rows)
    pair = next((one, two) for one, two in pairwise(digests) if one[0][:4] == two[0][:4])
    ran = run("show", story.write(tmp_path / "a.journal"), pair[0][0][:4])
    assert ran.code == 2
    assert all(f"1@{position}" in ran.err for _, position in pair)


@pytest.mark.parametrize("reference", ["", "@@", "abc", "zzzz", "3@1", "1@13", "1@0", "0@1", "@" + "-" * 15, "0" * 64])
def test_what_names_no_row_is_misuse_and_says_what_would(path: Path, reference: str) -> None:
    ran = run("show", path, "--", reference)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert "\nhint: " in ran.err


def test_the_branches_that_there_are_are_named_in_a_sentence(path: Path, tmp_path: Path) -> None:
    assert "hint: the branches are 1 and 2\n" in run("show", path, "3@1").err
    single = Recording().append(settled()).write(tmp_path / "single.journal")
    assert "hint: the only branch is 1\n" in run("show", single, "3@1").err
    assert "hint: its first row is 1@1\n" in run("show", single, "@-").err
    assert "hint: nothing was recorded yet\n" in run("show", Recording().write(tmp_path / "empty.journal"), "@").err


def test_the_texts_that_a_row_names_are_shown_with_it(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    ready = finished(CAPTURE, body_digest(BODY))
    story = Recording().append(opened(), connected(), settled(), begun(), ready, bodies=(BODY,))
    path = story.write(tmp_path / "a.journal")
    assert run("show", path, "@", "--json").json["bodies"] == {body_digest(BODY): BODY}
    assert run("show", path, "@").out == snapshot


def test_a_text_that_was_erased_is_told_as_such_with_the_row_that_says_so(tmp_path: Path) -> None:
    ready, gone = finished(CAPTURE, body_digest(BODY)), BodiesErased(digests=(body_digest(BODY),), reason="expired")
    path = Recording().append(opened(), settled(), begun(), ready, gone).write(tmp_path / "a.journal")
    shown = run("show", path, "1@4", "--json").json
    assert (shown["bodies"], shown["erased"]) == ({}, {body_digest(BODY): "1@5: 1 kept text, expired"})
    assert f"{body_digest(BODY)[:10]}: erased, see 1@5: 1 kept text, expired" in run("show", path, "1@4").out
    assert run("show", path, "1@3", "--json").json["erased"] == {}
