"""An event that is delivered twice is taken once by each handler, and what happens again is taken again."""

from __future__ import annotations

from continuity.tau.host.hearing import Handler, hear
from tests.fakes.extension_api import FakeTau


def listening(*names: str) -> tuple[FakeTau, list[tuple[str, object]]]:
    tau, heard = FakeTau(), list[tuple[str, object]]()
    for name in names:
        hear(tau.api, name, noting(name, heard))
    return tau, heard


def noting(name: str, heard: list[tuple[str, object]]) -> Handler:
    return lambda event, _: heard.append((name, event))


def test_an_event_delivered_twice_is_taken_once() -> None:
    tau, heard = listening("message_end")
    tau.tell("message_end", ["hello"])
    tau.tell("message_end", ["hello"])
    assert heard == [("message_end", ["hello"])]


def test_every_handler_takes_an_event() -> None:
    tau, heard = listening("agent_start", "agent_start")
    tau.tell("agent_start")
    tau.tell("agent_start")
    assert heard == [("agent_start", None)] * 2


def test_what_happens_again_after_something_else_is_taken_again() -> None:
    tau, heard = listening("agent_start", "agent_settled")
    for name in ("agent_start", "agent_settled") * 2:
        tau.tell(name)
        tau.tell(name)
    assert [name for name, _ in heard] == ["agent_start", "agent_settled"] * 2


def test_two_generations_hear_for_themselves() -> None:
    (one, first), (other, second) = listening("agent_start"), listening("agent_start")
    one.tell("agent_start")
    other.tell("agent_start")
    assert first == second == [("agent_start", None)]
