"""Every event names the row that led to it, by identity and family: the chain runs from the prompt to the verdict."""

from __future__ import annotations

from continuity.causes import Causes
from journal.events import (
    CaptureRequested,
    CheckpointReferenced,
    Event,
    Gap,
    RecallPlanned,
    ToolAnswered,
    ToolCalled,
    WorkBegun,
)
from journal.ids import CallId
from tests.facts import (
    BODY,
    CAPTURE,
    CONNECTION,
    OTHER_CAPTURE,
    WRITER,
    answered,
    begun,
    connected,
    finished,
    intended,
    opened,
    probed,
    seen,
    settled,
)
from tests.spec import rows


def chain(*events: Event) -> list[int | None]:
    """The position of each event's cause."""
    causes = Causes()
    found: list[int | None] = []
    for row in rows(*events):
        cause = causes.of(row.event)
        found.append(None if cause is None else int(cause, 16))
        causes.saw(row)
    return found


def test_a_verdict_leads_back_to_the_prompt() -> None:
    prompt = WorkBegun(how="prompt", characters=5)
    assert chain(
        opened(),
        prompt,
        settled(),
        begun(),
        finished(),
        intended(),
        answered("unknown"),
        probed("present_same", seen()),
    ) == [None, 1, 2, 3, 4, 5, 6, 7]


def test_a_requested_capture_was_led_by_the_request_and_the_next_one_is_not() -> None:
    asked = CaptureRequested(reason="command", focus_sha256=None)
    assert chain(opened(), settled(), asked, begun(), settled(), begun(OTHER_CAPTURE)) == [None, 1, 2, 3, 2, 5]


def test_an_answer_of_a_tool_leads_back_to_the_prompt_in_which_it_was_called() -> None:
    called = ToolCalled(
        call_id=CallId("call-1"), name="edit_note", target_sha256=BODY, writer=WRITER, connection=CONNECTION
    )
    done = ToolAnswered(call_id=CallId("call-1"), outcome="accepted", code=None)
    prompt = WorkBegun(how="prompt", characters=5)
    assert chain(opened(), prompt, called, done) == [None, 1, 2, 3]
    assert chain(opened(), called, done) == [None, 1, 2]


def test_a_reference_belongs_to_the_recall_that_made_it() -> None:
    planned = RecallPlanned(reason="start", topic_sha256=None, queries=())
    referenced = CheckpointReferenced(capture_id=CAPTURE, evidence="read", brief_sha256=BODY)
    assert chain(opened(), planned, referenced) == [None, 1, 2]


def test_an_event_without_a_thread_has_no_cause() -> None:
    assert chain(opened(), connected(), Gap(reason="disk", count=1, since_ms=1)) == [None, None, None]


def test_causes_can_be_taken_up_where_they_were_left() -> None:
    first = rows(opened())[0]
    assert Causes({"session": first.digest}).of(settled()) == first.digest
