"""A real Tau's prompt begins a turn: what waited for it is said, once."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.lived import lived
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.fakes.walk import at_home


async def test_a_warning_that_waited_is_said_with_the_next_prompt(tmp_path: Path) -> None:
    with ScriptedModel(Story()) as model, at_home(tmp_path, model, announced=False) as scene:
        async with lived(scene) as one:
            presence = one.serving.presence
            presence.say("first", "One.")
            presence.say("second", "Two.", "warning")
            assert presence.unsaid[-1] == "Two."
            await one.prompt("on")
            assert "Two." not in presence.unsaid
            presence.say("second", "Two.", "warning")
            assert "Two." not in presence.unsaid
