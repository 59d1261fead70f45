"""What memory asked of the model in one journal, derived from its rows; what no row tells is not guessed."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from continuity.sentences import counted
from journal.events import CaptureBegun, Event, SessionOpened, SynthesisAdvanced, SynthesisFailed, SynthesisFinished


class Spent(msgspec.Struct, frozen=True, kw_only=True):
    """Calls for summaries, and the tokens of those whose cost is on record.

    Tokens are recorded once a summary is finished, with those of its parts in
    the same process; of a call that failed or was cut off no row tells any.
    """

    calls: int = 0
    failed: int = 0
    """How many of them brought nothing of use."""
    priced: int = 0
    """Of how many the tokens are on record."""
    parts: int = 0
    """Calls for parts of a summary that is not finished: their tokens come with it."""
    asking: bool = False
    """A capture was begun and is not finished: a call for it may be under way."""
    cut: bool = False
    """A process ended meanwhile, and a call that it made may be on no record."""
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def known(self) -> bool:
        """Whether the tokens are those of every call."""
        return self.calls == self.priced and not self.cut


def spend(spent: Spent, event: Event) -> Spent:
    """Return what was spent after `event`: each part of a summary, and each attempt that failed in a call, is one call."""
    match event:
        case CaptureBegun(kind="checkpoint"):
            return replace(spent, asking=True)
        case SessionOpened():
            ended = spent.asking and event.reason not in ("reload", "branch")  # the process goes on
            return replace(spent, parts=0, cut=spent.cut or ended)
        case SynthesisAdvanced():
            return replace(spent, calls=spent.calls + 1, parts=spent.parts + 1)
        case SynthesisFailed(model_calls=asked) if asked:
            return replace(spent, calls=spent.calls + 1, failed=spent.failed + 1)
        case SynthesisFinished(model=model) if model is not None:
            return _finished(spent, event)
        case _:
            return spent


def _finished(spent: Spent, event: SynthesisFinished) -> Spent:
    return replace(
        spent,
        calls=spent.calls + 1,
        priced=spent.priced + spent.parts + 1,
        parts=0,
        asking=False,
        tokens_in=spent.tokens_in + event.tokens_in,
        tokens_out=spent.tokens_out + event.tokens_out,
    )


def together(several: tuple[Spent, ...]) -> Spent:
    """Return what several branches spent, each counted for what it recorded itself."""
    return Spent(
        calls=sum(each.calls for each in several),
        failed=sum(each.failed for each in several),
        priced=sum(each.priced for each in several),
        parts=sum(each.parts for each in several),
        asking=any(each.asking for each in several),
        cut=any(each.cut for each in several),
        tokens_in=sum(each.tokens_in for each in several),
        tokens_out=sum(each.tokens_out for each in several),
    )


def told(spent: Spent) -> str:
    """Return it in words for a person."""
    if not spent.calls:
        return "a model call of memory's own was cut off by an end" if spent.cut else _NONE
    failed = f", {spent.failed} without an answer of use" if spent.failed else ""
    many = f"{'at least ' if spent.cut else ''}{counted(spent.calls, 'model call')}"
    calls = f"{many} of memory's own in this session{failed}"
    if not spent.priced:
        return f"{calls}; {'its' if spent.calls == 1 else 'their'} tokens are not on record"
    if not spent.tokens_in + spent.tokens_out:
        return f"{calls}; the model told no tokens"
    least = "" if spent.known else "at least "
    return f"{calls}; {least}{spent.tokens_in:,} tokens in, {spent.tokens_out:,} out"


_NONE = "memory asked the model nothing in this session"
