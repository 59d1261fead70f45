"""What is said in the demo: the user's turns, the model's answers, and the facts that must survive all of it."""

from __future__ import annotations

from typing import NamedTuple

from tests.fakes.story import Turn


class Planted(NamedTuple):
    """One fact put into the conversation, to be found again in a brief."""

    what: str
    text: str


OBJECTIVE = Planted("objective", "The parcel importer survives a crash and never imports a parcel twice.")
DECISION = Planted("decision and reason", "Keep the ledger in SQLite, because one file can be copied and audited.")
FINDING = Planted("verified finding", "test_once.py imported 41 of 41 parcels exactly once.")
OPEN_ITEM = Planted("unfinished item", "The importer does not read the ledger when it starts.")
NEXT = Planted("next action", "Read the ledger at start and skip every parcel it lists.")
PLANTED = (OBJECTIVE, DECISION, FINDING, OPEN_ITEM, NEXT)

LATER_DECISION = Planted(
    "later decision and reason", "Flush the ledger before each import, because a lost line would import twice."
)
LATER_FINDING = Planted("later finding", "kill -9 during an import left one line too many and no parcel twice.")
LATER = (LATER_DECISION, LATER_FINDING)

TASK = Planted("active task", "Ask the depot which parcel numbers may repeat.")
OPEN_DECISION = Planted("open decision", "Whether a returned parcel gets a new number is not decided.")
OTHERS = (TASK, OPEN_DECISION)
"""What another agent left in the same notes."""

LOGS = ("night-1.log", "night-2.log")
LOG_WORD = "conveyor"
"""Stands in every line of the logs: in tool output, so never in memory."""
_LOG_LINES = 900

FIRST = Turn(
    f"""\
Make the parcel importer safe against a crash.
Objective: {OBJECTIVE.text}
Decision: {DECISION.text}
Unfinished: {OPEN_ITEM.text}
Next: {NEXT.text}""",
    f"I wrote the ledger and its test, and ran it.\nVerified: {FINDING.text}",
)
SECOND = Turn("Look through last night's logs for a parcel that came twice.", "No number comes twice in them.", LOGS)
THIRD = Turn("Where were we?", "At the ledger: it is written, and not read yet.")
FOURTH = Turn(
    f"Now the order of writing.\nDecision: {LATER_DECISION.text}",
    f"The ledger is flushed first now.\nVerified: {LATER_FINDING.text}",
)
FIFTH = Turn("The terminal died. Go on with the next action.", "I read the ledger at start now.")
FRESH = Turn("I am back. What is this folder about?", "The parcel importer; its next action is known.")
TURNS = (FIRST, SECOND, THIRD, FOURTH, FIFTH, FRESH)


def log_text(name: str) -> str:
    """Return a log that fills a context and says nothing worth keeping."""
    return "".join(f"{name} {number:05} {LOG_WORD} 7 passed parcel P-{number:06}\n" for number in range(_LOG_LINES))
