"""What is kept and was not sent yet is told apart from what is open: how much, since when, and what stores it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from continuity.unstored import Unstored, told, unstored, waits_for
from journal.events import CaptureRequested, CaptureResolved, Event, SessionClosed, SynthesisFailed
from tests.facts import (
    BODY,
    CAPTURE,
    DOUBTED,
    NOWHERE,
    OTHER_CAPTURE,
    POLICY,
    SAVED,
    TIP,
    answered,
    begun,
    finished,
    intended,
    opened,
    probed,
    settled,
)
from tests.spec import state_after

FAILED = SynthesisFailed(capture_id=CAPTURE, error="server-error", model_calls=1)
CLOSED = SessionClosed(reason="quit", unsaved_tip=TIP, drained=False)
WANTED = CaptureRequested(reason="quit", focus_sha256=None)
MADE = (opened(), settled(), begun(), finished())
HOUR = 3_600_000


def left(*events: Event, live: bool = False) -> Unstored | None:
    return unstored([state_after(*events)], live=live)


@pytest.mark.parametrize("live", [False, True])
@pytest.mark.parametrize(
    ("events", "kept"),
    [
        (MADE, (1, 0, 0)),
        ((*MADE, intended(), answered("not-sent")), (1, 0, 0)),
        (MADE[:-1], (0, 1, 0)),
        ((*MADE[:-1], FAILED), (0, 1, 1)),
        ((*MADE, begun(OTHER_CAPTURE, kind="note"), finished(OTHER_CAPTURE)), (2, 0, 0)),
        ((opened(), settled(), WANTED), (0, 1, 0)),
    ],
    ids=["made", "not-sent", "begun", "failed", "two", "due"],
)
def test_what_is_made_begun_or_due_is_not_stored_yet(
    events: tuple[Event, ...], kept: tuple[int, int, int], live: bool
) -> None:
    found = left(*events, live=live)
    assert found is not None
    assert (found.ready, found.unmade, found.failed) == kept


@pytest.mark.parametrize(
    "events",
    [
        SAVED,
        DOUBTED,
        (*DOUBTED, probed("absent_final", *NOWHERE)),
        (
            *DOUBTED,
            probed("absent_final", *NOWHERE),
            CaptureResolved(capture_id=CAPTURE, attempt=2, decision="rewrite", reason_sha256=BODY, file_path=None),
        ),
        (settled(), CLOSED),
        (opened(), CLOSED),
    ],
    ids=["stored", "doubted", "lost", "decided", "unopened", "nothing-new"],
)
def test_what_is_stored_open_or_nothing_is_not_told_again(events: tuple[Event, ...]) -> None:
    assert left(*events) is None


def test_what_a_process_left_gathered_is_told_and_what_a_running_one_gathers_is_not() -> None:
    assert left(opened(), settled()) == Unstored(ready=0, unmade=1, failed=0, since_ms=3_000)
    assert left(opened(), settled(), live=True) is None


@pytest.mark.parametrize("switch", ["capture", "on_shutdown"])
def test_what_the_settings_do_not_want_saved_at_the_end_was_not_left_behind(switch: str) -> None:
    assert left(opened(policy=replace(POLICY, **{switch: False})), settled(), CLOSED) is None


def test_what_has_no_project_to_go_to_is_not_called_unstored() -> None:
    assert left(opened(destination=None), settled(), CLOSED) is None


def test_all_branches_count_and_the_oldest_text_tells_since_when() -> None:
    later = state_after(opened(), opened(), settled(), begun(OTHER_CAPTURE))
    found = unstored([later, state_after(*MADE)], live=False)
    assert found == Unstored(ready=1, unmade=1, failed=0, since_ms=4_000)


def test_a_line_names_the_session_how_much_since_when_and_what_stores_it() -> None:
    one = Unstored(ready=1, unmade=0, failed=0, since_ms=0)
    assert told(one, "ab12", 3 * HOUR, live=False) == (
        "not stored yet: session ab12, 1 text for 3 hours (sent as soon as memory answers): "
        "`tau --session ab12` stores it"
    )
    assert told(replace(one, ready=2), "ab12", HOUR, live=True).endswith(
        "2 texts for 1 hour (sent as soon as memory answers): its running session stores them"
    )


def test_what_a_model_has_to_make_first_is_told_with_its_failures() -> None:
    unmade = Unstored(ready=0, unmade=1, failed=0, since_ms=0)
    assert waits_for(unmade) == "1 to be made by the model first"
    assert waits_for(replace(unmade, ready=2, failed=1)) == (
        "1 to be made by the model first, which failed at 1 so far; 2 sent as soon as memory answers"
    )
