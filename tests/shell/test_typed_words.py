"""What a person types to be searched for, kept in view or given as a reason holds nothing that may be a credential."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from continuity.shell.settling import settlement
from continuity.tau.pending_command import pending
from journal.events import CaptureResolved, RecallPlanned, WriteAnswered
from journal.ids import Sha256
from journal.reader import open_reader
from tests.shell.rig import Rig, Talk, rig, until

MAYBE = "Xk29dLq07" + "TzPw81RmVb4"
SAID = f"the key for the lamp is {MAYBE}"


def body(talk: Talk, digest: Sha256 | None) -> str:
    assert digest is not None
    with open_reader(talk.path) as reader:
        return reader.body(digest) or ""


@pytest.mark.parametrize(("setting", "passes"), [(True, False), (False, True)])
async def test_a_prompt_is_searched_for_without_it_unless_the_settings_let_it_pass(
    tmp_path: Path, setting: bool, passes: bool
) -> None:
    async with rig(tmp_path, mask_candidates=setting) as process:
        process.memory.put("tasks/lamp.md", "Fill the lamp.", type="task", status="active")
        talk = await process.open()
        await talk.prompt(SAID)
        asked = json.dumps(process.memory.requests())
        (topic,) = [body(talk, each.topic_sha256) for each in talk.events(RecallPlanned) if each.topic_sha256]
        assert "lamp" in asked
        assert ("lamp" in topic, MAYBE.lower() in topic) == (True, passes)
        assert (MAYBE.lower() in asked.lower()) is passes


@pytest.mark.parametrize(("setting", "passes"), [(True, False), (False, True)])
async def test_what_is_to_be_kept_in_view_reaches_the_model_without_it_unless_it_may_pass(
    tmp_path: Path, setting: bool, passes: bool
) -> None:
    async with rig(tmp_path, mask_candidates=setting, capture_knowledge=False) as process:
        talk = await process.open()
        await talk.turn("Trim the lamp")
        await talk.session.request("command", SAID)
        await talk.settle()
        (asked,) = process.mind.asked
        assert "the key for the lamp is" in asked
        assert (MAYBE in asked) is passes


@pytest.mark.parametrize(("setting", "passes"), [(True, False), (False, True)])
async def test_a_reason_is_kept_without_it_unless_it_may_pass(tmp_path: Path, setting: bool, passes: bool) -> None:
    async with rig(tmp_path, mask_candidates=setting) as process:
        talk = await refused(process)
        command = f"abandon {talk.state.captures[0].capture_id} {SAID}"
        pending(talk.session, None, process.owner, process.clock.now_ms(), command)
        await until(lambda: talk.events(CaptureResolved), "the decision")
        reason = body(talk, talk.events(CaptureResolved)[0].reason_sha256)
        assert reason.startswith("the key for the lamp is")
        assert (MAYBE in reason) is passes


async def test_a_reason_given_at_a_shell_is_kept_without_it(tmp_path: Path) -> None:
    async with rig(tmp_path) as process:
        talk = await refused(process)
        (item,) = talk.session.settling.items
        _, bodies = settlement(item, "abandon", SAID)
        assert list(bodies.values()) == [SAID.replace(MAYBE, "[masked:possible-credential]")]


async def refused(process: Rig) -> Talk:
    talk = await process.open()
    process.memory.faults(write_note=[{"code": "NOTE_LOCKED"}])
    await talk.turn("light the lamp")
    await until(lambda: talk.events(WriteAnswered), "an answer")
    await talk.settle()
    return talk
