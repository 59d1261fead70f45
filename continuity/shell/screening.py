"""Masks what a synthesis is to read, and leaves out what may hold a credential; it asks no model and sends nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import anyio.to_thread

from continuity.capture import PublicMessage
from continuity.privacy import mask_candidates, mask_messages, withhold
from continuity.shell.desk import Desk
from continuity.state import Capture

MASKED_AT_ONCE_CHARS = 20_000
"""So much is masked in a few milliseconds."""

type _Screened = tuple[Sequence[PublicMessage], int]
type _Screen = Callable[[Sequence[PublicMessage]], tuple[tuple[PublicMessage, ...], int]]


async def screened(desk: Desk, capture: Capture, messages: Sequence[PublicMessage], covered: int) -> _Screened:
    """Return the messages to read after the first `covered`, masked, and how often something was masked.

    With `mask_candidates`, a message that may hold a credential is left out of what happens by itself, and that is
    said. A person who asks for a checkpoint gets such messages with the value masked, earlier ones again among them.
    """
    masked, count = await _off_the_loop(mask_messages, messages[covered:])
    if not desk.settings.mask_candidates:
        return masked, count
    if capture.reason == "command":
        treated, more = await _off_the_loop(mask_candidates, masked)
        return (*await _left_out(messages[:covered]), *treated), count + more
    treated, withheld = await _off_the_loop(withhold, masked)
    if withheld:
        _say(desk, capture, withheld)
    return treated, count + withheld


async def screened_alone(desk: Desk, messages: Sequence[PublicMessage]) -> tuple[PublicMessage | None, int]:
    """Return the last of `messages`, masked as one of them, and how often something in it was.

    None with `mask_candidates` if it may hold a credential.
    """
    masked, count = await _off_the_loop(mask_messages, messages)
    _, before = await _off_the_loop(mask_messages, messages[:-1])
    if desk.settings.mask_candidates:
        _, withheld = await _off_the_loop(withhold, masked[-1:])
        if withheld:
            return None, 0
    return masked[-1], count - before


async def _left_out(messages: Sequence[PublicMessage]) -> Sequence[PublicMessage]:
    """What no automatic checkpoint took of `messages`, with the value masked."""
    masked, _ = await _off_the_loop(mask_messages, messages)
    treated, _ = await _off_the_loop(mask_candidates, masked)
    return [now for now, before in zip(treated, masked, strict=True) if now is not before]


async def _off_the_loop(screen: _Screen, messages: Sequence[PublicMessage]) -> tuple[tuple[PublicMessage, ...], int]:
    """Screen `messages`; much text in a thread, for the host shares our loop."""
    if sum(len(message.text) for message in messages) <= MASKED_AT_ONCE_CHARS:
        return screen(messages)
    return await anyio.to_thread.run_sync(screen, messages)


def _say(desk: Desk, capture: Capture, withheld: int) -> None:
    """Once for each tip, however often its handoff is tried."""
    left = "1 message is" if withheld == 1 else f"{withheld} messages are"
    desk.voice.say(
        f"withheld:{capture.source_tip}",
        f"Continuity: {left} left out of the checkpoint, for a credential may be in there that no rule knows. "
        "/bm-checkpoint takes such messages with the value masked; set `mask_candidates` to false to let them pass.",
        "warning",
    )
