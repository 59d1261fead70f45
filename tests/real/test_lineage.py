"""Where a real Tau says that a session goes on, there it goes on: what is only looked at, repaired or old forks nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from journal.events import CaptureBegun, CompactionEnded, CompactionNoticed
from journal.reader import open_reader
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.lived import Lived, lived, sound
from tests.fakes.repair import leave_a_call_open
from tests.fakes.scripted_model import Body, Json, Reply, ScriptedModel, messages_of, purpose_of
from tests.fakes.story import Story
from tests.shell.rig import recorded

type Line = dict[str, Json]


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


def lines_of(file: Path) -> list[Line]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def branches(path: Path) -> int:
    with open_reader(path) as reader:
        return len(reader.branches)


async def first_prompt(one: Lived) -> str:
    return next(e.id for e in await one.live.entries() if e.type == "message" and e.message.role == "user")


async def test_a_look_back_that_wrote_nothing_is_forgotten_by_us_as_by_tau(scene: FakeScenario) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        await one.saved("two")
        before = one.live.file.read_bytes()
        await one.live.tau.branch_to_entry(await first_prompt(one))
        session_id, file, path = one.session_id, one.live.file, one.path()
    assert file.read_bytes() == before
    async with lived(scene, session_id) as two:
        await two.saved("go on")
        assert "two" in [getattr(m, "text", "") for m in two.live.tau.messages]
    assert branches(path) == 1
    assert sound(path, file)


async def test_a_history_that_tau_repaired_is_no_branch_and_is_not_read_again(
    scene: FakeScenario, model: ScriptedModel
) -> None:
    async with lived(scene) as one:
        await one.saved("one")
        await one.saved("something said before the repair")
        session_id, file, path = one.session_id, one.live.file, one.path()
    leave_a_call_open(file, before="before the repair")
    asked = len(model.requests_for("synthesis"))
    async with lived(scene, session_id) as two:
        assert "tau.session-history-repair" in file.read_text(encoding="utf-8")
        await two.saved("go on")
    (request,) = model.requests_for("synthesis")[asked:]
    assert "before the repair" not in request.messages[-1][1].partition("The conversation, part")[2]
    assert (branches(path), len(recorded(path, CaptureBegun))) == (1, 3)
    assert sound(path, file)


async def test_a_session_of_the_first_format_is_taken_up_where_tau_takes_it_up(scene: FakeScenario) -> None:
    scene.memory.put("tasks/foghorn.md", "Mend the foghorn.", type="task", status="active")
    async with lived(scene) as one:
        await one.saved("one")
        await one.saved("two")
        session_id, file, path = one.session_id, one.live.file, one.path()
    old = of_old(lines_of(file))
    assert "custom_message" not in {str(line["type"]) for line in old}
    file.write_text("".join(json.dumps(line) + "\n" for line in old), encoding="utf-8")
    async with lived(scene, session_id) as two:
        await two.saved("go on")
        messages = "\n".join(str(getattr(m, "content", "")) for m in two.live.tau.messages)
        assert messages.count("Mend the foghorn.") == 1
    assert branches(path) == 1
    assert "custom_message" not in file.read_text(encoding="utf-8")


def of_old(lines: list[Line]) -> list[Line]:
    """What extensions said is a message with a role of its own, and pointers name some tip."""
    made: list[Line] = []
    for number, line in enumerate(lines):
        made += [with_a_role(line) if line["type"] == "custom_message" else line]
        made += [{"type": "leaf", "id": f"leaf-{number}", "entry_id": lines[0]["id"]}]
    return made


def with_a_role(line: Line) -> Line:
    body: Line = {name: line[name] for name in ("custom_type", "content", "display", "details") if name in line}
    rest = {name: value for name, value in line.items() if name not in body}
    return {**rest, "type": "message", "message": {"role": "custom", "timestamp": 1, **body}}


def overflowing_once(prompt: str) -> Callable[[Body], str | Reply]:
    """A model for which the context is too long when it is first given `prompt`."""
    refusals = iter([Reply("maximum context length exceeded", status=400)])

    def answer(body: Body) -> str | Reply:
        asked = purpose_of(body) == "agent" and prompt in messages_of(body)[-1][1]
        return next(refusals, "Mended.") if asked else Story()(body)

    return answer


async def test_a_compaction_that_an_overflow_forces_costs_one_checkpoint_with_the_prompt_in_it(
    scene: FakeScenario, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "answer", overflowing_once("mend the foghorn"))
    scene.set(cadence={"characters": 1_000_000, "minutes": 600})
    async with lived(scene) as one:
        await one.prompt("x" * 60_000)
        await one.prompt("y" * 60_000)
        await one.prompt("mend the foghorn")
        await one.settle()
        await one.prompt("go on")
        await one.settle()
        begun = recorded(one.path(), CaptureBegun)
        said = {e.id: getattr(e.message, "text", "") for e in await one.live.entries() if e.type == "message"}
        assert [(each.reason, said[each.source_tip]) for each in begun] == [("compaction", "mend the foghorn")]
        assert [ended.reason for ended in recorded(one.path(), CompactionEnded)] == ["overflow"]
        assert len(recorded(one.path(), CompactionNoticed)) == 1
