"""Makes a checkpoint's handoff: reads what is new, asks the model part by part, keeps each part. It sends nothing."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from continuity import handoff
from continuity.capture import PublicMessage
from continuity.commands import Observe
from continuity.due import Synthesise
from continuity.handoff import Chunk, Handoff, HandoffRefused, Through
from continuity.privacy import RULE_SET_VERSION
from continuity.shell.clock import Clock
from continuity.shell.desk import Desk, kept
from continuity.shell.pausing import spoken
from continuity.shell.ports import ModelFailed
from continuity.shell.screening import screened, screened_alone
from continuity.state import Capture
from journal.events import SynthesisAdvanced, SynthesisFailed, SynthesisFinished
from journal.ids import BranchId

HANDOFF_LIMIT_CHARS = 40_000
"""A longer answer is no handoff."""

_UNSAID = frozenset({None, "body-missing"})
"""What a capture's code is when no failure of the model was told of."""

MASKED_TOGETHER = 6
"""Messages that are looked at to mask one of them: a key torn over messages is followed no further."""


async def synthesise(desk: Desk, effect: Synthesise, branch: BranchId) -> None:
    """Fold what is new into the handoff, part by part; each part is kept, so no failure makes it be read again."""
    capture = desk.live(effect.capture_id, branch)
    if capture is None:
        return
    synthesis = _Synthesis(desk, capture, branch)
    try:
        if await synthesis.fold() and capture.code not in _UNSAID:
            desk.voice.say("synthesis", "Continuity could make the checkpoint now.")
    except (ModelFailed, TimeoutError) as error:
        code = error.code if isinstance(error, ModelFailed) else "timeout"
        failed = SynthesisFailed(capture_id=capture.capture_id, error=code, model_calls=synthesis.calls)
        await desk.note(failed, branch=branch)
        say = desk.voice.at_once if desk.asked else desk.voice.say
        say(
            "synthesis",
            f"Continuity made no checkpoint, for the model gave no summary of use ({code}). The last one stands, and the "
            "model is asked again later; /bm-checkpoint asks now.",
            "warning",
        )


class _Pace:
    """Whether one more part fits into the time of an attempt, if it takes as long as the slowest one so far.

    A request that is cut off by the deadline was paid for nothing.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._clock = clock
        self._until_ms = clock.now_ms() + seconds * 1000
        self._slowest_ms = 0
        self._since_ms = clock.now_ms()

    @property
    def allows_another(self) -> bool:
        """The first is always allowed; a clock that was set tells nothing, and then the deadline does."""
        return self._slowest_ms == 0 or self._clock.now_ms() + self._slowest_ms <= self._until_ms

    def made_one(self) -> None:
        """Take note of how long this one took."""
        now_ms = self._clock.now_ms()
        self._slowest_ms = max(self._slowest_ms, now_ms - self._since_ms)
        self._since_ms = now_ms


class _Synthesis:
    """One run at one capture's handoff, and what it costs."""

    def __init__(self, desk: Desk, capture: Capture, branch: BranchId) -> None:
        self._desk = desk
        self._capture = capture
        self._branch = branch
        self._done = capture.progress.chunks if capture.progress else 0
        self._tokens = desk.tokens.get(capture.capture_id, (0, 0))
        self._maskings = 0
        self._model: str | None = None
        self.calls = 0

    async def fold(self) -> bool:
        """Go through the parts not read yet; the last one finishes the capture. Tell whether it came to that.

        Where the time of one attempt is not enough for all of them it ends before a part that would not fit: nothing
        failed, so what is left is owed at once. Reading and masking have no part in that time.

        Raises:
            ModelFailed: The model gave no handoff; what was folded before is recorded.
            TimeoutError: The model was too slow for one part; what was folded before is recorded.
        """
        capture, progress = self._capture, self._capture.progress
        messages = await self._desk.source.messages(capture.source_tip)
        if not messages or messages[-1].entry_id != capture.source_tip:
            raise ModelFailed("nothing-to-read")  # a tip that was not read is not saved
        prior = await self._desk.body(progress.handoff_sha256 if progress else capture.prior_sha256)
        if prior is None:
            progress, self._done = None, 0  # nothing was folded yet, or its text was erased: all is read again
        read = {message.entry_id for message in messages[: _covered(messages, capture) if prior is not None else 0]}
        messages = spoken(self._desk, self._branch, messages)
        covered = sum(message.entry_id in read for message in messages)
        masked, self._maskings = await screened(self._desk, capture, messages, covered)
        after = Through(progress.through_entry, progress.through_offset) if progress else None
        focus = await self._desk.body(capture.focus_sha256)
        parts = tuple(handoff.chunks(masked, self._desk.settings.summary_chunk_chars, after=after))
        newest = handoff.newest_request(masked) or await self._asked_before(messages[:covered])
        pace = _Pace(self._desk.clock, self._desk.settings.summary_timeout_seconds)
        with anyio.fail_after(self._desk.settings.summary_timeout_seconds):
            for number, part in enumerate(parts, start=1):
                if not pace.allows_another:
                    return False
                made = await self._ask(handoff.request(part, prior=prior, newest=newest, focus=focus))
                prior = handoff.kept_text(made)
                self._done += 1
                if number < len(parts):
                    await self._advance(part, prior)
                pace.made_one()
        if prior is None:
            raise ModelFailed("nothing-to-read")
        await self._finish(prior)
        return True

    async def _asked_before(self, messages: Sequence[PublicMessage]) -> str | None:
        """Return what the user said last of what was read already: where only answers are new it governs still."""
        asked = next((at for at in range(len(messages), 0, -1) if messages[at - 1].role == "user"), 0)
        if not asked:
            return None
        alone, _ = await screened_alone(self._desk, messages[max(0, asked - MASKED_TOGETHER) : asked])
        return handoff.newest_request([alone]) if alone is not None else None

    async def _ask(self, text: str) -> Handoff:
        self.calls += 1
        answer = await self._desk.model.summarize(
            text, instructions=handoff.INSTRUCTIONS, timeout=self._desk.settings.summary_timeout_seconds
        )
        self._tokens = (self._tokens[0] + answer.tokens_in, self._tokens[1] + answer.tokens_out)
        self._desk.tokens[self._capture.capture_id] = self._tokens
        self._model = answer.model[:200]
        made = handoff.accept_handoff(answer.text, HANDOFF_LIMIT_CHARS)
        if isinstance(made, HandoffRefused):
            raise ModelFailed(made.reason)
        self._maskings += made.maskings
        return made

    async def _advance(self, part: Chunk, text: str) -> None:
        digest, bodies = kept(text)
        advanced = SynthesisAdvanced(
            capture_id=self._capture.capture_id,
            through_entry=part.through_entry,
            through_offset=part.through_offset,
            handoff_sha256=digest,
            chunks=self._done,
        )
        await self._desk.apply(Observe(advanced), branch=self._branch, bodies=bodies)

    async def _finish(self, text: str) -> None:
        digest, bodies = kept(text)
        finished = SynthesisFinished(
            capture_id=self._capture.capture_id,
            handoff_sha256=digest,
            characters=len(text),
            chunks=self._done,
            maskings=self._maskings,
            rule_set=RULE_SET_VERSION,
            model=self._model,
            tokens_in=self._tokens[0],
            tokens_out=self._tokens[1],
        )
        await self._desk.apply(Observe(finished), branch=self._branch, bodies=bodies)
        self._desk.tokens.pop(self._capture.capture_id, None)


def _covered(messages: Sequence[PublicMessage], capture: Capture) -> int:
    """How many messages the prior handoff covers; none, if that handoff's tip is not on this path."""
    places = (index + 1 for index, message in enumerate(messages) if message.entry_id == capture.prior_tip)
    return next(places, 0)
