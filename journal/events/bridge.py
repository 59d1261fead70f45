"""Events of the agent's own memory tools, for those not annotated read-only. Arguments live nowhere but as a digest."""

from __future__ import annotations

from typing import Literal

from journal.events.base import Call, Connection, Digest, Fact, Name, Word, Writer
from journal.events.writes import Outcome


class ToolCalled(Fact, frozen=True, kw_only=True, tag="tool-called.v1"):
    """The agent's call is about to be forwarded, once."""

    call_id: Call
    name: Name
    target_sha256: Digest
    writer: Writer
    connection: Connection


class ToolAnswered(Fact, frozen=True, kw_only=True, tag="tool-answered.v1"):
    """What became of a forwarded call; `unknown` may have been stored and is never repeated by us."""

    call_id: Call
    outcome: Outcome
    code: Word | None


class ToolResolved(Fact, frozen=True, kw_only=True, tag="tool-resolved.v1"):
    """A person settled a call of unknown outcome: they found it done (accept), or ask no more (abandon)."""

    call_id: Call
    decision: Literal["accept", "abandon"]
    reason_sha256: Digest
