"""What memory asked of the model in one journal, derived from its rows; what no row tells is not guessed."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from journal.events import Event, SynthesisAdvanced, SynthesisFailed, SynthesisFinished


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Calls for summaries, and the tokens of those whose cost is on record."""

    calls: int = 0
    failed: int = 0
    """How many of them brought nothing of use."""
    finished: int = 0
    """How many of them finished a summary: with that the tokens are recorded."""
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def known(self) -> bool:
        """Whether the tokens are those of every call: a part that was folded or failed on the way tells none."""
        return self.calls == self.finished


def spend(spent: Spent, event: Event) -> Spent:
    """Return what was spent after `event`: each part of a summary, and each attempt that failed in a call, is one call."""
    match event:
        case SynthesisAdvanced():
            return replace(spent, calls=spent.calls + 1)
        case SynthesisFailed(model_calls=asked) if asked:
            return replace(spent, calls=spent.calls + 1, failed=spent.failed + 1)
        case SynthesisFinished(model=model) if model is not None:
            return replace(
                spent,
                calls=spent.calls + 1,
                finished=spent.finished + 1,
                tokens_in=spent.tokens_in + event.tokens_in,
                tokens_out=spent.tokens_out + event.tokens_out,
            )
        case _:
            return spent


def together(several: tuple[Spent, ...]) -> Spent:
    """Return what several branches spent, each counted for what it recorded itself."""
    return Spent(
        calls=sum(each.calls for each in several),
        failed=sum(each.failed for each in several),
        finished=sum(each.finished for each in several),
        tokens_in=sum(each.tokens_in for each in several),
        tokens_out=sum(each.tokens_out for each in several),
    )


def told(spent: Spent) -> str:
    """Return it in words for a person."""
    if not spent.calls:
        return "memory asked the model nothing in this session"
    failed = f", {spent.failed} without an answer of use" if spent.failed else ""
    calls = f"{spent.calls} model call{'' if spent.calls == 1 else 's'} of memory's own in this session{failed}"
    if not spent.tokens_in + spent.tokens_out:
        return f"{calls}; the model told no tokens"
    least = "" if spent.known else "at least "
    return f"{calls}; {least}{spent.tokens_in:,} tokens in, {spent.tokens_out:,} out"
