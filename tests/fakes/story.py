"""A model with a script: it answers the turns of a story, and makes a handoff of the lines that are marked in what it is given.

The handoff is a pure function of the request: what the prior handoff and the conversation in it say. A fact it was
never shown cannot get into it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from continuity.brief import LABEL
from tests.fakes.scripted_model import Body, Reply, Request, default_answer, messages_of, purpose_of

_HEADINGS = {
    "Objective": "Objective",
    "Decision": "Decisions",
    "Verified": "Verified work",
    "Unfinished": "Unfinished work",
    "Next": "Next action",
}
"""What a line may begin with, and the section it belongs to."""
_MARKED = re.compile(rf"(?P<mark>{'|'.join(_HEADINGS)}|Done): (?P<text>\S.*)")
_LISTED = re.compile(r"(?:- )?(?P<text>\S.*)")
_ONE = ("Objective", "Next")
"""Sections of which the newest line replaces the one before."""
_NEWEST = "Newest request: "


class Turn(NamedTuple):
    """What the user says and what the agent does with it."""

    prompt: str
    answer: str
    reads: tuple[str, ...] = ()
    """Files the agent reads first, one tool call each."""


class Story:
    """Answers every request of a session; use as the `answer` of a scripted model."""

    def __init__(self, turns: Sequence[Turn] = ()) -> None:
        self._turns = {turn.prompt: turn for turn in turns}

    def __call__(self, body: Body) -> str | Reply:
        match purpose_of(body):
            case "agent":
                return self._agent(body)
            case "synthesis":
                return handoff_of(messages_of(body)[-1][1])
            case _:
                return default_answer(body)

    def _agent(self, body: Body) -> str | Reply:
        said = messages_of(body)
        at = _newest_prompt(said)
        turn = self._turns.get(said[at][1]) if said else None
        if turn is None:
            return "Understood."
        done = sum(role == "tool" for role, _ in said[at:])
        if done < len(turn.reads):
            return Reply("", tool=("read", {"path": turn.reads[done]}))
        return turn.answer


def is_brief(text: str) -> bool:
    """Tell whether a message is the text we put into the conversation."""
    return text.startswith(LABEL)


def briefs_in(request: Request) -> tuple[str, ...]:
    """Return our own messages that came with a request's newest prompt, and nothing of what people said."""
    said = request.messages
    return tuple(text for role, text in said[_newest_prompt(said) + 1 :] if role == "user" and is_brief(text))


def _newest_prompt(said: Sequence[tuple[str, str]]) -> int:
    return max((n for n, (role, text) in enumerate(said) if role == "user" and not is_brief(text)), default=-1)


def handoff_of(asked: str) -> str:
    """Return the handoff of one synthesis request: the prior one, and what the marked lines add to it."""
    before, _, conversation = asked.partition("\nThe conversation, part ")
    kept = {mark: list(_section(before, heading)) for mark, heading in _HEADINGS.items()}
    for line in conversation.split("\n"):
        found = _MARKED.fullmatch(line)
        if found is None:
            continue
        mark, text = found["mark"], found["text"]
        if mark == "Done":
            kept["Unfinished"] = [item for item in kept["Unfinished"] if item != text]
        elif mark in _ONE:
            kept[mark] = [text]
        elif text not in kept[mark]:
            kept[mark].append(text)
    kept["Objective"] = [*kept["Objective"][:1], f"{_NEWEST}{_newest(before)}"]
    return "\n\n".join([*(_written(mark, items) for mark, items in kept.items()), "END-OF-HANDOFF"])


def _section(text: str, heading: str) -> Iterator[str]:
    """Yield the items under a heading of the prior handoff."""
    body = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    for line in body.split("\n"):
        if line.startswith(("```", "~~~")):
            return
        found = _LISTED.fullmatch(line)
        if found is not None and found["text"] != "None." and not found["text"].startswith(_NEWEST):
            yield found["text"].removeprefix("Verified: ")


def _newest(before: str) -> str:
    asked = before.partition("\nThe user's newest request")[2].split("\n")
    return asked[2][:200] if len(asked) > 2 else "not told."


def _written(mark: str, items: Sequence[str]) -> str:
    """Return one section; the objective and the next action are sentences, the others lists."""
    if mark in _ONE:
        lines = list(items)
    else:
        lines = [f"- {'Verified: ' if mark == 'Verified' else ''}{item}" for item in items]
    return "\n".join([f"## {_HEADINGS[mark]}", "", *(lines or ["None."])])
