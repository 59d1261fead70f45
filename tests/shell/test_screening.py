"""What may hold a credential stays out of a checkpoint nobody asked for; the person is told, and may ask for it."""

from pathlib import Path

import pytest

from continuity.privacy import WITHHELD
from continuity.shell.settings import Cadence
from journal.events import SynthesisFinished
from tests.shell.rig import rig

VALUE = "Xk29dLq07TzPw81RmVb4"
DOUBTFUL = f"the session id is {VALUE}, keep it"
CERTAIN = "the password is " + "hunter22, keep it"


async def test_a_message_with_a_candidate_is_left_out_and_its_value_goes_nowhere(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn(DOUBTFUL, "The lamp is lit.")
        await talk.settle()
        (asked,) = process.mind.asked
        assert VALUE not in asked
        assert "keep it" not in asked
        assert WITHHELD in asked
        assert "The lamp is lit." in asked
        (finished,) = talk.events(SynthesisFinished)
        assert finished.maskings == 1


async def test_it_is_told_once_a_turn_how_many_and_by_which_switch_and_never_what(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.turn(DOUBTFUL, f"I see: {DOUBTFUL}")
        await talk.settle()
        told = [text for topic, text, _ in process.voice.notices if topic.startswith("withheld")]
        assert len(told) == 1
        assert "2 messages are left out" in told[0]
        assert "mask_candidates" in told[0]
        assert not [text for _, text, _ in process.voice.notices if VALUE in text]
        await talk.turn(DOUBTFUL, "Done.")
        await talk.settle()
        told = [text for topic, text, _ in process.voice.notices if topic.startswith("withheld")]
        assert "1 message is left out" in told[1]


async def test_a_person_who_asks_gets_it_with_the_value_masked_also_what_was_left_out_before(tmp_path: Path) -> None:
    async with rig(tmp_path, cadence=Cadence(characters=40)) as process:
        talk = await process.open()
        await talk.turn(DOUBTFUL, "The lamp is lit.")
        await talk.settle()
        await talk.turn("go on", "The horn too.")
        await talk.session.request("command")
        await talk.settle()
        by_itself, by_hand = process.mind.asked
        assert WITHHELD in by_itself
        assert "the session id is [masked:possible-credential], keep it" in by_hand
        assert "The horn too." in by_hand
        assert "The lamp is lit." not in by_hand  # what was taken before is not read again
        assert VALUE not in by_hand


async def test_with_the_switch_off_a_candidate_passes_and_a_credential_does_not(tmp_path: Path) -> None:
    async with rig(tmp_path, mask_candidates=False) as process:
        talk = await process.open()
        await talk.turn(DOUBTFUL, CERTAIN)
        await talk.settle()
        (asked,) = process.mind.asked
        assert VALUE in asked
        assert "hunter22" not in asked
        assert not [topic for topic, _, _ in process.voice.notices if topic.startswith("withheld")]


@pytest.mark.parametrize("size", [0, 30_000])
async def test_a_long_conversation_is_screened_like_a_short_one(tmp_path: Path, size: int) -> None:
    async with rig(tmp_path, summary_chunk_chars=50_000) as process:
        talk = await process.open()
        await talk.turn(DOUBTFUL, "lamp " * (size // 5) + CERTAIN)
        await talk.settle()
        asked = "".join(process.mind.asked)
        assert VALUE not in asked
        assert "hunter22" not in asked
