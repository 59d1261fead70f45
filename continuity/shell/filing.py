"""Says how the checkpoint that is being made is filed, and explains once what is not as the settings have it."""

from __future__ import annotations

from continuity.checkout import Filed, explained
from continuity.shell.desk import Desk


async def filed_now(desk: Desk) -> Filed:
    """Ask about the checkout, remember the answer for the status, and say each explanation when it is new."""
    found = desk.filed = await desk.checkout(desk.profile)
    for sentence in explained(found):
        about = sentence.partition(" ")[0]
        desk.voice.say(f"filing:{about}:{desk.session_id}", f"Continuity: {sentence}.")
    return found
