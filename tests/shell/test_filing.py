"""What keeps a checkpoint from being filed as the coding work it is, is said once and shown; settling one needs no git."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from continuity.due import PROBE_SPACING_MS
from journal.events import CaptureProbed, WriteAnswered, WriteIntended
from tests.fakes.checkouts import git, made
from tests.shell.rig import Rig, Talk, rig, until


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return made(tmp_path / "work", remote="git@github.com:ada/one.git")


def approved(checkout: Path) -> dict[str, Any]:
    return {"repositories": ({"root": str(checkout), "repository": "ada/one", "project": "main"},)}


def filing(process: Rig) -> list[str]:
    return [text for topic, text, _ in process.voice.notices if topic.startswith("filing")]


def work(talk: Talk) -> list[str]:
    """What the status page says of the work, line by line."""
    return [line.removeprefix("  work         ") for line in talk.page.splitlines() if line.startswith("  work ")]


def types(process: Rig) -> list[str]:
    return [note["frontmatter"]["type"] for note in process.memory.notes.values()]


async def test_a_reason_is_said_once_however_many_checkpoints_it_costs_and_shown_until_it_is_gone(
    tmp_path: Path, checkout: Path
) -> None:
    git(checkout, "checkout", "--quiet", "--detach")
    async with rig(tmp_path, **approved(checkout)) as process:
        talk = await process.open()
        assert work(talk) == [], "nobody asked yet"
        await talk.saved("one")
        await talk.saved("two")
        reason = "filed as general work of ada/one: no branch is checked out"
        assert (filing(process), work(talk)) == ([f"Continuity: {reason}."], [reason])
        git(checkout, "checkout", "--quiet", "peg")
        await talk.saved("three")
        assert (len(filing(process)), work(talk)) == (1, [])
        assert types(process) == ["session", "session", "coding_session"]


async def test_a_changed_remote_and_a_missing_commit_are_told_apart_and_each_once(
    tmp_path: Path, checkout: Path
) -> None:
    git(checkout, "checkout", "--quiet", "--orphan", "fresh")
    git(checkout, "remote", "set-url", "origin", "https://eve:" + "secret@github.com/eve/one.git")
    async with rig(tmp_path, **approved(checkout)) as process:
        talk = await process.open()
        for text in ("one", "two"):
            await talk.saved(text)
        assert work(talk) == [
            "filed as general work of ada/one: no commit yet",
            "git's remote names eve/one; work is filed as ada/one, as the settings say",
        ]
        assert filing(process) == [f"Continuity: {sentence}." for sentence in work(talk)]
        assert "secret" not in repr(process.voice.notices)


async def test_a_repository_inside_the_checkout_is_shown_before_and_after_a_checkpoint_of_its_work(
    tmp_path: Path, checkout: Path
) -> None:
    inner = made(checkout / "inner")
    async with rig(tmp_path, cwd=inner, **approved(checkout)) as process:
        talk = await process.open()
        (before,) = work(talk)
        assert before.startswith(f"{inner} is a repository of its own inside the approved checkout of ada/one")
        await talk.saved("one")
        (after,) = work(talk)
        assert after.startswith("filed as general work of ada/one: this folder is in a repository of its own")
        assert types(process) == ["session"]


async def test_general_work_in_no_checkout_has_nothing_to_explain(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    async with rig(tmp_path) as process:
        talk = await process.open()
        await talk.saved("one")
        assert (filing(process), work(talk)) == ([], [])


async def test_a_doubted_coding_checkpoint_is_settled_though_git_and_the_checkout_are_gone(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with rig(tmp_path, **approved(checkout), timeout_seconds=2.0) as process:
        talk = await process.open()
        process.memory.faults(write_note=["store", "exit"], index="hidden")
        await talk.turn("light the lamp")
        await until(lambda: talk.events(WriteAnswered), "an outcome")
        assert [intent.note_type for intent in talk.events(WriteIntended)] == ["coding_session"]
        await process.kill()
    shutil.rmtree(checkout)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    async with rig(tmp_path, **approved(checkout)) as process:
        process.memory.faults()
        again = await process.open(talk.conversation)
        process.clock.advance(PROBE_SPACING_MS[-1])
        await until(lambda: again.state.checkpoint, "a verdict")
        assert again.events(CaptureProbed)[-1].verdict == "present_same"
        assert process.memory.calls()["write_note"] == 1
        assert filing(process) == []
