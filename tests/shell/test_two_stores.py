"""Whichever of journal and host session a crash left behind the other, the journal recovers, and nothing is done twice."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from continuity.capture import RECEIPT_NAMESPACE
from continuity.shell.bridging import forward
from journal.events import CaptureProbed, ReceiptAdopted, ToolAnswered, WriteAnswered
from tests.fakes.host import Conversation
from tests.fakes.journals import session_file
from tests.replay.kit import findings, run
from tests.shell.calls import write
from tests.shell.rig import Rig, Talk, names, recorded, replayed, rig, until


def crashed(path: Path, to: Path) -> Path:
    """Keep what is on disk now, as a process that dies now leaves it."""
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{path}{suffix}", f"{to}{suffix}")
    return to


def restored(path: Path, copy: Path) -> None:
    """Let the session find `copy` in the place of its journal."""
    for suffix in ("-wal", "-shm", ""):
        Path(f"{path}{suffix}").unlink(missing_ok=True)
    for suffix in ("", "-wal"):
        shutil.copyfile(f"{copy}{suffix}", f"{path}{suffix}")


async def test_a_confirmation_the_host_never_heard_of_is_mirrored_by_the_next_prompt_and_written_no_second_time(
    tmp_path: Path,
) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        await talk.saved("one")
        path, copy = talk.path, crashed(talk.path, tmp_path / "copy")
    restored(path, copy)
    assert findings(path, "--session", session_file(tmp_path / "s.jsonl")) == {("tail", "unproven", 1, 1)}
    async with rig(tmp_path) as process:
        talk = await process.open(conversation)
        receipt = (await talk.prompt("two")).receipt
        assert receipt is not None
        conversation.receipt(receipt)
        assert (await talk.prompt("three")).receipt is None
        assert process.memory.calls()["write_note"] == 1
        assert [answer.outcome for answer in recorded(path, WriteAnswered)] == ["accepted"]


async def before_its_answer(tmp_path: Path, talk: Talk) -> Path:
    """What a crash leaves that comes after the note was stored and before its answer is on disk."""
    await talk.turn("one")
    await until(lambda: "write-intended" in names(talk.path), "an intent")
    return crashed(talk.path, tmp_path / "copy")


def writes_of(process: Rig, path: str) -> int:
    """How often the server was asked to write the note at `path`."""
    lines = (process.memory.folder / "calls.jsonl").read_text().splitlines()
    asked = [call["params"]["arguments"] for call in map(json.loads, lines) if call["name"] == "write_note"]
    return sum(f"{each['directory']}/{each['title']}.md" == path for each in asked)


async def test_a_receipt_without_its_event_is_a_finding_and_its_write_is_not_made_again(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.memory.faults(write_note=["store", "hold"])
        talk = await process.open(conversation)
        copy = await before_its_answer(tmp_path, talk)
        process.memory.release()
        await talk.settle()
        receipt = (await talk.prompt("two")).receipt
        assert receipt is not None
        conversation.receipt(receipt)
        path = talk.path
    restored(path, copy)
    session = session_file(tmp_path / "s.jsonl", receipt)
    rules = {(rule, severity) for rule, severity, *_ in findings(path, "--session", session)}
    assert {("receipts", "broken"), ("anchors", "broken")} <= rules
    assert run("audit", path, "--session", session).code == 1
    assert RECEIPT_NAMESPACE in session.read_text()
    async with rig(tmp_path) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        await talk.settle()
        assert writes_of(process, str(receipt["file_path"])) == 1
        (adopted,) = talk.events(ReceiptAdopted)
        checkpoint = talk.state.checkpoint
        assert checkpoint is not None
        assert adopted.capture_id == receipt["capture_id"]
        assert adopted.capture_id not in {capture.capture_id for capture in talk.state.captures}
        assert talk.state == replayed(path)


async def test_the_journal_alone_is_enough_where_the_host_kept_nothing(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path) as process:
        process.memory.faults(write_note=["store", "hold"])
        talk = await process.open(conversation)
        copy = await before_its_answer(tmp_path, talk)
        process.memory.release()
        await talk.settle()
        path = talk.path
    restored(path, copy)
    async with rig(tmp_path) as process:
        process.memory.faults()
        talk = await process.open(conversation)
        await talk.settle()
        assert process.memory.calls()["write_note"] == 1
        assert [probe.verdict for probe in talk.events(CaptureProbed)][:1] == ["present_same"]
        assert talk.state.checkpoint is not None


async def test_the_outcome_of_a_call_is_on_disk_when_the_host_is_given_its_result(tmp_path: Path) -> None:
    conversation = Conversation()
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open(conversation)
        await talk.prompt("hello")
        reply = await forward(process.link, talk.session.desk, write(title="one"))
        copy, path = crashed(talk.path, tmp_path / "copy"), talk.path
        assert not reply.is_error
    assert [answer.outcome for answer in recorded(copy, ToolAnswered)] == ["accepted"]
    restored(path, copy)
    async with rig(tmp_path, capture_knowledge=False) as process:
        talk = await process.open(conversation)
        assert talk.state.calls == ()
        assert process.memory.calls()["write_note"] == 1
