"""A refusal is the server's word; a person may have it read, and what is read counts as it does anywhere."""

from __future__ import annotations

from continuity.commands import RecordProbe, Resolve
from journal.events import CaptureResolved
from journal.ids import Sha256
from tests.facts import (
    ADDRESS,
    CAPTURE,
    CONNECTION,
    NOWHERE,
    OTHER_CAPTURE,
    SAVED,
    answered,
    missed,
    probed,
    seen,
)
from tests.spec import given, state_after

REFUSED = (*SAVED[:-1], answered("refused", code="NOTE_LOCKED"))
REASON = Sha256("7" * 64)


def test_a_refused_note_that_is_there_after_all_is_confirmed_by_reading() -> None:
    state = state_after(*REFUSED, probed("present_same", seen()))
    assert state.captures == ()
    assert state.checkpoint is not None
    assert (state.checkpoint.capture_id, state.checkpoint.evidence) == (CAPTURE, "read")


def test_a_read_that_found_nothing_leaves_the_refusal_and_is_counted() -> None:
    (capture,) = state_after(*REFUSED, probed("absent_open", *NOWHERE, server="alive")).captures
    assert (capture.status, capture.code, capture.probes) == ("refused", "NOTE_LOCKED", 1)


def test_a_stranger_at_the_address_of_a_refused_note_is_a_conflict() -> None:
    (capture,) = state_after(*REFUSED, probed("conflicted", seen(capture=OTHER_CAPTURE))).captures
    assert capture.status == "conflicted"


def test_a_read_of_a_refused_note_is_recorded() -> None:
    reads = (missed("address"),)
    command = RecordProbe(
        capture_id=CAPTURE,
        attempt=1,
        status="refused",
        connection=CONNECTION,
        observations=reads,
        writing_server="alive",
        project_source="local",
        index_proven=False,
    )
    given(*REFUSED).when(command).then(probed("absent_open", *reads, server="alive", index=False))


def test_what_was_read_and_not_found_may_still_be_written_again() -> None:
    again = CaptureResolved(
        capture_id=CAPTURE, attempt=2, decision="rewrite", reason_sha256=REASON, file_path=ADDRESS.file_path
    )
    command = Resolve(capture_id=CAPTURE, decision="rewrite", reason_sha256=REASON)
    given(*REFUSED, probed("absent_open", *NOWHERE, server="alive")).when(command).then(again)
