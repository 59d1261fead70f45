"""A person who wanders through real Tau sessions: every step is something one can do in Tau, in any order and at once.

Tau is the released one, but for the number of recent tokens that its compactions keep, which is small: so a compaction
has something to fold after a turn or two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import anyio
import anyio.to_thread
import pytest
import tau_coding.session

from tests.fakes.lived import Lived
from tests.fakes.scripted_model import Body, Reply, ScriptedModel, default_answer, messages_of, purpose_of

KEPT_TOKENS = 60
THRESHOLD = 50_000
_MUCH = (90_000, 5)
"""Tokens after which the context counts as larger than the threshold."""
_FOLDS, _FAILS, _READS, _WAITS = "much: ", "refused: ", "read: ", "stopped: "


class Step(NamedTuple):
    """Something a person does; `where` chooses among the places there are, and `hurried` waits for no effect of it."""

    what: str = "rest"
    where: int = 0
    hurried: bool = False


def small_contexts(patch: pytest.MonkeyPatch) -> None:
    """Let Tau's compactions keep little, until `patch` is undone."""
    patch.setattr(tau_coding.session, "DEFAULT_COMPACTION_KEEP_RECENT_TOKENS", KEPT_TOKENS)


def answer(body: Body) -> str | Reply:
    """Answer a prompt as its first word wants it answered."""
    said = messages_of(body)
    if purpose_of(body) != "agent":
        return default_answer(body)
    asked = next((text for role, text in reversed(said) if role == "user" and ": " in text[:12]), "")
    if asked.startswith(_FAILS):
        return Reply("no credit left", status=400)
    if asked.startswith(_READS) and said[-1][0] != "tool":
        return Reply("", tool=("read", {"path": "notes.txt"}))
    return Reply(f"Done with {asked}.", tokens=_MUCH if asked.startswith(_FOLDS) else (10, 5))


class Wanderer:
    """A person on the way, and where the sessions they had are."""

    def __init__(self, one: Lived, model: ScriptedModel) -> None:
        self.one = one
        self.model = model
        self.sessions = [str(one.session_id)]
        self._said = 0
        self._back: str | None = None
        self._steps: Mapping[str, Callable[[int], Awaitable[None]]] = {
            "rest": self._rest,
            "prompt": self._prompt,
            "tool": self._tool,
            "long": self._long,
            "grown": self._grown,
            "refused": self._refused,
            "stopped": self._stopped,
            "compact": self._compact,
            "detailed": self._detailed,
            "compact in vain": self._compact_in_vain,
            "move": self._move,
            "summarised": self._summarised,
            "back": self._go_back,
            "reload": self._reload,
            "new": self._new,
            "resume": self._resume,
        }

    @property
    def begun(self) -> list[str]:
        """The sessions that were ever spoken in, oldest first: before that Tau keeps no file."""
        return [name for name in self.sessions if self.file(name).exists()]

    @property
    def tau(self) -> tau_coding.session.CodingSession:
        return self.one.live.tau

    def file(self, session_id: str) -> Path:
        return self.one.live.file.with_name(f"{session_id}.jsonl")

    async def go(self, step: Step) -> None:
        """Take one step, and unless hurried wait until it has had its effects."""
        self._threshold(THRESHOLD)
        await self._steps[step.what](step.where)
        if step.what != "rest" and not step.hurried:
            await self.one.settle()

    async def _rest(self, _: int) -> None:
        """Nothing happens."""

    async def _say(self, kind: str) -> None:
        self._said += 1
        await self.one.prompt(f"{kind}{self._said} {'and on ' * 12}")

    async def _prompt(self, _: int) -> None:
        await self._say("do: ")

    async def _tool(self, _: int) -> None:
        await self._say(_READS)

    async def _long(self, _: int) -> None:
        """Tau compacts after the answer."""
        await self._say(_FOLDS)

    async def _grown(self, _: int) -> None:
        """Tau compacts before the next prompt."""
        self._threshold(None)
        await self._say(_FOLDS)

    async def _refused(self, _: int) -> None:
        await self._say(_FAILS)

    async def _stopped(self, _: int) -> None:
        asked = len(self.model.requests_for("agent"))
        with self.model.holding("agent"):
            turn = asyncio.ensure_future(self._say(_WAITS))
            await anyio.to_thread.run_sync(self.model.wait_for, "agent", asked + 1)
            turn.cancel()
            await asyncio.wait({turn})

    async def _compact(self, _: int) -> None:
        try:
            await self.tau.compact()
        except ValueError:
            return  # nothing to fold

    async def _detailed(self, _: int) -> None:
        try:
            await self.tau.compact_detailed("the newest above all")
        except ValueError:
            return

    async def _compact_in_vain(self, _: int) -> None:
        self.model.answer = lambda body: Reply("no", status=400) if purpose_of(body) == "compaction" else answer(body)
        try:
            await self.tau.compact()
        except (ValueError, RuntimeError):
            return
        finally:
            self.model.answer = answer

    async def _move(self, where: int) -> None:
        await self._to(where, summarize=False)

    async def _summarised(self, where: int) -> None:
        await self._to(where, summarize=True)

    async def _to(self, where: int, *, summarize: bool) -> None:
        choices = await self.tau.tree_choices()
        if choices:
            self._back = next((choice.entry_id for choice in choices if choice.active), self._back)
            await self.tau.branch_to_entry(choices[where % len(choices)].entry_id, summarize=summarize)

    async def _go_back(self, _: int) -> None:
        """Return to where the last move set out from."""
        there = {choice.entry_id for choice in await self.tau.tree_choices()}
        if self._back in there:
            await self.tau.branch_to_entry(str(self._back))

    async def _reload(self, _: int) -> None:
        await self.tau.reload()

    async def _new(self, _: int) -> None:
        await self.tau.new_session()
        self.sessions.append(str(self.tau.session_id))

    async def _resume(self, where: int) -> None:
        """Go to another session that was ever spoken in, or to the very one that is open."""
        if self.begun:
            await self.tau.resume(self.begun[where % len(self.begun)])

    def _threshold(self, tokens: int | None) -> None:
        vars(self.tau)["_auto_compact_token_threshold"] = tokens
