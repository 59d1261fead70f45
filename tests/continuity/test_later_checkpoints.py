"""A later checkpoint holds what an earlier write that was not stored held: nobody has to decide of that one any more."""

from __future__ import annotations

import pytest

from continuity.state import State
from journal.events import Event, ReceiptAdopted
from journal.ids import CaptureId, EntryId
from tests.facts import (
    BODY,
    CAPTURE,
    DOUBTED,
    NOWHERE,
    OTHER_CAPTURE,
    PROJECT,
    answered,
    begun,
    connected,
    finished,
    intended,
    missed,
    opened,
    probed,
    seen,
    settled,
)
from tests.spec import state_after

NEXT_TIP = EntryId("bb02")
LATER: tuple[Event, ...] = (
    begun(OTHER_CAPTURE, NEXT_TIP),
    finished(OTHER_CAPTURE),
    intended(OTHER_CAPTURE, NEXT_TIP),
    answered(capture=OTHER_CAPTURE),
)
SENT: tuple[Event, ...] = (opened(), connected(), settled(), begun(), finished(), intended())


def open_after(*events: Event) -> list[tuple[CaptureId, str]]:
    return [(capture.capture_id, capture.status) for capture in state_after(*events).captures]


def test_a_lost_write_is_settled_by_the_next_checkpoint() -> None:
    lost = (*DOUBTED, probed("absent_final", *NOWHERE))
    assert open_after(*lost) == [(CAPTURE, "lost")]
    assert open_after(*lost, *LATER[:-1]) == [(CAPTURE, "lost"), (OTHER_CAPTURE, "intended")]
    assert open_after(*lost, *LATER) == []


def test_a_refused_write_is_settled_by_the_next_checkpoint() -> None:
    refused = (*SENT, answered("refused", code="NOTE_LOCKED"))
    assert open_after(*refused) == [(CAPTURE, "refused")]
    assert open_after(*refused, *LATER) == []


@pytest.mark.parametrize(
    ("probe", "status"),
    [
        (probed("absent_open", missed()), "in_doubt"),
        (probed("conflicted", seen(capture=OTHER_CAPTURE)), "conflicted"),
    ],
)
def test_a_write_that_may_be_stored_is_not(probe: Event, status: str) -> None:
    assert open_after(*DOUBTED, probe, *LATER) == [(CAPTURE, status)]


def test_a_lost_transcript_is_in_no_checkpoint() -> None:
    sent = (begun(kind="transcript"), finished(), intended(kind="transcript"))
    lost = (opened(), connected(), settled(), *sent, answered("unknown"), probed("absent_final", *NOWHERE))
    assert open_after(*lost, *LATER) == [(CAPTURE, "lost")]


def test_a_checkpoint_from_elsewhere_knows_nothing_of_a_lost_write() -> None:
    lost = (*DOUBTED, probed("absent_final", *NOWHERE))
    receipt = ReceiptAdopted(
        capture_id=OTHER_CAPTURE,
        attempt=1,
        kind="checkpoint",
        project=PROJECT,
        source_tip=NEXT_TIP,
        content_sha256=BODY,
        file_path="b.md",
        origin="tool",
    )
    assert open_after(*lost, receipt) == [(CAPTURE, "lost")]


def test_a_checkpoint_that_is_confirmed_late_does_not_hold_what_was_begun_after_it() -> None:
    doubted = (*SENT, answered("unknown"), *LATER[:-1], answered("refused", OTHER_CAPTURE, code="NOTE_LOCKED"))
    after: State = state_after(*doubted, probed("present_same", seen()))
    assert after.checkpoint is not None
    assert [(capture.capture_id, capture.status) for capture in after.captures] == [(OTHER_CAPTURE, "refused")]
