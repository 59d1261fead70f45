"""A verdict follows from identities and bodies that were read, never from an address or a miss alone."""

from __future__ import annotations

import pytest

from continuity.verdict import Lack, Wanted, lacks, verdict
from journal.events.lifecycle import ProjectSource
from journal.events.writes import CaptureProbed, Observation, ServerState, Verdict, Way
from journal.ids import EntryId
from tests.facts import (
    BODY,
    CAPTURE,
    NOWHERE,
    OTHER_BODY,
    OTHER_CAPTURE,
    TIP,
    missed,
    probed,
    seen,
)

WANTED = Wanted(CAPTURE, TIP, BODY)
ELSEWHERE = "archive/moved.md"


def judged(
    *observations: Observation, server: ServerState = "gone", source: ProjectSource = "local", index: bool = True
) -> Verdict:
    probe = probed("unreachable", *observations, server=server, source=source, index=index)
    return verdict(WANTED, probe)


@pytest.mark.parametrize("by", ["address", "title", "id_search", "file"])
def test_our_identity_with_our_bytes_is_present_same_wherever_it_is(by: Way) -> None:
    assert judged(seen(by, path=ELSEWHERE)) == "present_same"


def test_a_note_that_no_longer_matches_its_own_digest_is_edited() -> None:
    assert judged(seen(body=OTHER_BODY)) == "present_edited"


def test_a_self_consistent_note_with_another_body_is_a_twin() -> None:
    assert judged(seen(body=OTHER_BODY, declared=OTHER_BODY)) == "present_twin"


def test_another_identity_at_our_address_is_a_conflict() -> None:
    assert judged(seen(capture=OTHER_CAPTURE)) == "conflicted"


def test_another_identity_in_the_file_at_our_address_is_a_conflict() -> None:
    assert judged(missed(), seen("file", capture=OTHER_CAPTURE)) == "conflicted"


def test_our_capture_id_with_another_source_tip_is_not_ours() -> None:
    assert judged(seen(tip=EntryId("bb02"))) == "conflicted"


def test_another_identity_found_only_by_title_is_no_conflict() -> None:
    found = seen("title", capture=OTHER_CAPTURE, path=ELSEWHERE)
    assert judged(missed("address"), found, missed("id_search")) == "absent_open"


def test_two_notes_with_our_identity_and_different_bodies_are_a_conflict() -> None:
    assert judged(seen(), seen("title", path=ELSEWHERE, body=OTHER_BODY)) == "conflicted"


def test_one_note_that_changed_between_two_reads_is_no_conflict() -> None:
    assert judged(seen(), seen("title", body=OTHER_BODY)) == "present_same"


def test_two_notes_with_our_identity_and_one_body_are_present() -> None:
    assert judged(seen(), seen("title", path=ELSEWHERE)) == "present_same"


def test_a_search_hit_with_our_identity_refutes_absence() -> None:
    assert judged(missed("address"), missed("title"), seen("id_search")) == "present_same"


def test_our_identity_without_a_body_is_not_called_the_same() -> None:
    assert judged(seen(body=None)) == "present_edited"


def test_absence_is_final_when_three_ways_of_asking_are_empty_and_nothing_can_land() -> None:
    assert judged(*NOWHERE) == "absent_final"


@pytest.mark.parametrize(
    "verdict_found",
    [
        judged(*NOWHERE, server="alive"),
        judged(*NOWHERE, server="unknown"),
        judged(*NOWHERE, source="cloud"),
        judged(*NOWHERE, source="unknown"),
        judged(*NOWHERE, index=False),
    ],
    ids=["server alive", "server unknown", "cloud", "source unknown", "index silent"],
)
def test_absence_stays_open_while_it_may_still_land(verdict_found: Verdict) -> None:
    assert verdict_found == "absent_open"


@pytest.mark.parametrize(
    ("probe", "lack"),
    [
        (probed("absent_open", *NOWHERE, server="alive"), "server"),
        (probed("absent_open", *NOWHERE, source="cloud"), "project"),
        (probed("absent_open", *NOWHERE, index=False), "index"),
        (probed("absent_open", *NOWHERE[:2]), "reads"),
    ],
)
def test_what_keeps_absence_open_is_named(probe: CaptureProbed, lack: Lack) -> None:
    assert lacks(probe) == (lack,)


@pytest.mark.parametrize("left_out", [1, 2])
def test_absence_stays_open_when_one_way_of_asking_was_left_out(left_out: int) -> None:
    asked = NOWHERE[:left_out] + NOWHERE[left_out + 1 :]
    assert judged(*asked) == "absent_open"


def test_absence_stays_open_when_a_search_could_not_be_made() -> None:
    assert judged(missed(), missed("title"), missed("id_search", "unreachable")) == "absent_open"


def test_an_address_that_cannot_be_read_is_unreachable() -> None:
    assert judged(missed("address", "unreachable"), missed("title")) == "unreachable"


def test_no_read_at_all_is_unreachable() -> None:
    assert judged() == "unreachable"
