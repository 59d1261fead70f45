"""A real Tau killed between our journal and its own session file, whichever was first, goes on and writes nothing twice."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Generator
from pathlib import Path

import pytest

from journal.events import Event, ReceiptAdopted, WriteAnswered, WriteIntended
from replay.session import mirrored
from tests.fakes import sudden_death
from tests.fakes.fake_scenario import FakeScenario
from tests.fakes.scenario import until
from tests.fakes.scripted_model import ScriptedModel
from tests.fakes.story import Story
from tests.replay.kit import findings
from tests.shell.rig import recorded, replayed

pytestmark = pytest.mark.timeout(240)  # each test lives through several starts of Tau


@pytest.fixture(scope="module")
def model() -> Generator[ScriptedModel]:
    with ScriptedModel(Story()) as scripted:
        yield scripted


class Scene:
    """A Tau that can be told to die around a row of its journal, and what its session file and journal hold."""

    def __init__(self, root: Path, model: ScriptedModel) -> None:
        self.fake = FakeScenario(root, model)
        sudden_death.install(self.fake.home)
        self.session_id = ""
        self.file = root / "none"

    @property
    def journal(self) -> Path:
        return self.fake.journal(self.session_id)

    @property
    def confirmed(self) -> list[str]:
        """The captures that receipts in Tau's session file call confirmed."""
        return [receipt.capture_id for receipt in mirrored(self.file).receipts if receipt.status == "confirmed"]

    def dies_with_the_answer(self, *, recorded: bool) -> str:
        """Let Tau die when its first checkpoint was answered, before or after that is on disk; return the capture."""
        sudden_death.die_at(self.fake.home, "write-answered.v1", recorded=recorded)
        with self.fake.tau() as tau:
            self.session_id, self.file = tau.session_id, tau.session_file
            tau.prompt("one")
            assert tau.wait_ended() == -signal.SIGKILL
        sudden_death.die_at(self.fake.home, None)
        (intended,) = self.events(WriteIntended)
        return str(intended.capture_id)

    def events[E: Event](self, kind: type[E]) -> list[E]:
        return recorded(self.journal, kind)

    def goes_on_until_mirrored(self, capture: str) -> None:
        """Resume, and prompt until the receipt of `capture` stands in Tau's session file."""
        with self.fake.tau(self.session_id) as tau:
            until(lambda: replayed(self.journal).checkpoint, "the confirmation")
            tau.prompt("two")
            until(lambda: capture in self.confirmed or None, "the receipt")
            assert tau.quit() == 0

    def writes_of(self, capture: str) -> int:
        """How often the server was asked to write the note of `capture`."""
        addresses = {intent.address.title for intent in self.events(WriteIntended) if intent.capture_id == capture}
        log = (self.fake.memory.folder / "calls.jsonl").read_text()
        calls = [call for call in map(json.loads, log.splitlines()) if call["name"] == "write_note"]
        return sum(call["params"]["arguments"]["title"] in addresses for call in calls)


def test_killed_after_our_row_and_before_taus_entry_the_next_prompt_makes_the_entry(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = Scene(tmp_path, model)
    capture = scene.dies_with_the_answer(recorded=True)
    assert [answer.outcome for answer in scene.events(WriteAnswered)] == ["accepted"]
    assert scene.confirmed == []
    assert {severity for _, severity, *_ in findings(scene.journal, "--session", scene.file)} == {"unproven"}
    scene.goes_on_until_mirrored(capture)
    assert scene.writes_of(capture) == 1
    assert {severity for _, severity, *_ in findings(scene.journal, "--session", scene.file)} <= {"unproven"}


def test_an_entry_of_taus_whose_row_was_lost_is_a_finding_and_its_write_is_not_repeated(
    tmp_path: Path, model: ScriptedModel
) -> None:
    scene = Scene(tmp_path, model)
    capture = scene.dies_with_the_answer(recorded=False)
    kept = tmp_path / "kept"
    kept.mkdir()
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{scene.journal}{suffix}", kept / f"j{suffix}")
    scene.goes_on_until_mirrored(capture)
    for suffix in ("-wal", "-shm", ""):
        Path(f"{scene.journal}{suffix}").unlink(missing_ok=True)
    for suffix in ("", "-wal"):
        shutil.copyfile(kept / f"j{suffix}", f"{scene.journal}{suffix}")
    broken = {rule for rule, severity, *_ in findings(scene.journal, "--session", scene.file) if severity == "broken"}
    assert broken >= {"receipts", "anchors"}
    with scene.fake.tau(scene.session_id) as tau:
        adopted = until(lambda: scene.events(ReceiptAdopted) or None, "the adoption")
        tau.prompt("three")
        assert tau.quit() == 0
    assert capture in [receipt.capture_id for receipt in adopted]
    assert scene.writes_of(capture) == 1
