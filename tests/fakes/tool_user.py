"""A model that calls the tools it is told to when somebody prompts, all at once, and then stops."""

from __future__ import annotations

from collections.abc import Mapping

from tau_agent.messages import ToolResultMessage

from tests.fakes.scripted_model import Body, Json, Reply, Request, default_answer, messages_of, purpose_of
from tests.fakes.tau_session import LiveSession


class ToolUser:
    """Answers as the default does, but for the next prompt's `wanted` calls; use as a scripted model's `answer`."""

    def __init__(self) -> None:
        self.wanted: tuple[tuple[str, Mapping[str, Json]], ...] = ()

    def __call__(self, body: Body) -> str | Reply:
        if purpose_of(body) != "agent" or messages_of(body)[-1][0] == "tool" or not self.wanted:
            return default_answer(body)
        (first, *others), self.wanted = self.wanted, ()
        return Reply("", tool=first, also=tuple(others))

    async def use(self, live: LiveSession, *calls: tuple[str, Mapping[str, Json]]) -> list[ToolResultMessage]:
        """Prompt once and return the results of `calls`."""
        before = len(results(live))
        self.wanted = calls
        await live.prompt("use them")
        return results(live)[before:]


def results(live: LiveSession) -> list[ToolResultMessage]:
    return [message for message in live.tau.messages if isinstance(message, ToolResultMessage)]


def offered_in(request: Request) -> dict[str, Mapping[str, Json]]:
    """Return the functions a request offers, each by its name."""
    tools = request.body["tools"]
    assert isinstance(tools, list)
    functions = [tool["function"] for tool in tools if isinstance(tool, dict)]
    return {str(each["name"]): each for each in functions if isinstance(each, dict)}
