"""One brief a prompt and never two in Tau's queue: a left-over one gets the new text, and a retry gets none."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from tau_agent.events import MessageStartEvent
from tau_agent.messages import CustomMessage, UserMessage
from tau_coding.extensions import SessionStartEvent

from continuity.tau.entries import BRIEF_TYPE, Json, MessageKey
from continuity.tau.host import HostGone, Message, Reason
from continuity.tau.host.insertion import Insertion, Outstanding
from tests.fakes.extension_api import FakeTau, context

PROMPT = Message(MessageKey("user", "hello", 1))


@pytest.fixture
def tau() -> FakeTau:
    return FakeTau()


@pytest.fixture
def tokens() -> Iterator[str]:
    return (f"token-{number}" for number in count())


def inserted(tau: FakeTau, tokens: Iterator[str], outstanding: Outstanding | None = None) -> Insertion:
    return Insertion(tau.api, outstanding or Outstanding(), lambda: next(tokens))


def delivered(tau: FakeTau, number: int = -1) -> CustomMessage:
    """Tau takes a message from its queue and tells so; returns it as it goes to the model and to the file."""
    queued = tau.queued[number]
    details: dict[str, Json] = {name: str(value) for name, value in queued.details.items()}
    message = CustomMessage(custom_type=queued.custom_type, content=queued.text, details=details, timestamp=2)
    tau.tell("message_start", MessageStartEvent(message=message))
    return message


def test_a_brief_steers_the_prompts_own_run_and_costs_no_turn(tau: FakeTau, tokens: Iterator[str]) -> None:
    insertion = inserted(tau, tokens)
    tau.tell("agent_start")
    assert insertion.takes(PROMPT)
    assert insertion.put("the brief", {"digest": "d"}, context()) == "queued"
    (queued,) = tau.queued
    assert (queued.text, queued.custom_type, queued.details) == (
        "the brief",
        BRIEF_TYPE,
        {"digest": "d", "token": "token-0"},
    )
    assert (queued.deliver_as, queued.trigger_turn) == ("steer", False)


def test_only_the_first_message_of_a_run_is_its_prompt(tau: FakeTau, tokens: Iterator[str]) -> None:
    insertion = inserted(tau, tokens)
    assert not insertion.takes(PROMPT)  # no run began
    tau.tell("agent_start")
    assert not insertion.takes(Message(MessageKey("assistant", "hm", 1)))
    assert not insertion.takes(Message(MessageKey("custom", "b", 1), custom_type=BRIEF_TYPE))
    assert insertion.takes(PROMPT)
    assert not insertion.takes(PROMPT)


def test_a_retry_of_the_same_run_takes_no_brief_and_the_next_prompt_does(tau: FakeTau, tokens: Iterator[str]) -> None:
    insertion = inserted(tau, tokens)
    tau.tell("agent_start")
    assert insertion.takes(PROMPT)
    tau.tell("auto_retry_start")
    tau.tell("agent_start")
    assert not insertion.takes(PROMPT)
    tau.tell("agent_settled")
    tau.tell("agent_start")
    assert insertion.takes(PROMPT)


def test_a_run_that_settled_leaves_nothing_armed(tau: FakeTau, tokens: Iterator[str]) -> None:
    insertion = inserted(tau, tokens)
    tau.tell("agent_start")
    tau.tell("agent_settled")
    assert not insertion.takes(PROMPT)
    tau.tell("auto_retry_start")
    tau.tell("agent_settled")
    tau.tell("agent_start")
    assert insertion.takes(PROMPT)


def test_a_left_over_brief_gets_the_new_text_when_it_is_delivered(tau: FakeTau, tokens: Iterator[str]) -> None:
    insertion = inserted(tau, tokens)
    insertion.put("old", {"digest": "1"}, context())
    assert insertion.put("new", {"digest": "2"}, context()) == "replaces"
    assert insertion.put("newest", {"digest": "3"}, context()) == "replaces"
    assert len(tau.queued) == 1
    message = delivered(tau)
    assert (message.content, message.details) == ("newest", {"digest": "3", "token": "token-0"})


def test_a_delivered_brief_makes_room_for_the_next(tau: FakeTau, tokens: Iterator[str]) -> None:
    insertion = inserted(tau, tokens)
    insertion.put("one", {"digest": "1"}, context())
    assert delivered(tau).content == "one"
    assert insertion.put("two", {"digest": "2"}, context()) == "queued"
    assert delivered(tau).content == "two"


@pytest.mark.parametrize(
    "other",
    [
        UserMessage(content="hello", timestamp=1),
        CustomMessage(custom_type=BRIEF_TYPE, content="another's", details={"token": "token-9"}, timestamp=1),
        CustomMessage(custom_type="other", content="another's", details={"token": "token-0"}, timestamp=1),
        CustomMessage(custom_type=BRIEF_TYPE, content="another's", timestamp=1),
    ],
)
def test_no_other_message_is_touched(tau: FakeTau, tokens: Iterator[str], other: UserMessage | CustomMessage) -> None:
    insertion = inserted(tau, tokens)
    insertion.put("old", {"digest": "1"}, context())
    insertion.put("new", {"digest": "2"}, context())
    before = other.model_copy(deep=True)
    tau.tell("message_start", MessageStartEvent(message=other))
    tau.tell("message_start", "no such event")
    assert other == before
    assert delivered(tau).content == "new"


def test_each_session_has_a_queue_of_its_own(tau: FakeTau, tokens: Iterator[str]) -> None:
    insertion = inserted(tau, tokens)
    assert insertion.put("one", {}, context("one")) == "queued"
    assert insertion.put("two", {}, context("two")) == "queued"


@pytest.mark.parametrize(("reason", "placed"), [("reload", "replaces"), ("branch", "replaces"), ("resume", "queued")])
def test_the_queue_is_kept_over_a_reload_and_empty_in_another_session(
    tau: FakeTau, tokens: Iterator[str], reason: Reason, placed: str
) -> None:
    outstanding = Outstanding()
    inserted(tau, tokens, outstanding).put("one", {}, context())
    next_generation = FakeTau()
    insertion = inserted(next_generation, tokens, outstanding)
    next_generation.tell("session_start", SessionStartEvent(reason=reason))
    assert insertion.put("two", {}, context()) == placed


def test_a_generation_that_was_replaced_queues_nothing(tau: FakeTau, tokens: Iterator[str]) -> None:
    outstanding = Outstanding()
    insertion = inserted(tau, tokens, outstanding)
    tau.gone = True
    with pytest.raises(HostGone):
        insertion.put("one", {}, context())
    assert outstanding.tokens == {}
