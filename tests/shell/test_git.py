"""A coding checkpoint says what git says of its checkout, or is filed without a branch; either is recalled as its work."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from continuity.checkout import Filed
from continuity.profile import GitFacts, Profile
from continuity.shell.git import git_facts
from journal.events import RecallAnswered
from tests.fakes.host import Conversation
from tests.shell.rig import rig

GIT = shutil.which("git") or "git"
LIAR = "#!/bin/sh\necho liar\n"


def git(checkout: Path, *arguments: str) -> str:
    done = subprocess.run([GIT, "-C", str(checkout), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def made(checkout: Path, *, commits: int = 1) -> Path:
    checkout.mkdir()
    git(checkout, "init", "--quiet", "--initial-branch", "peg")
    for _ in range(commits):
        git(checkout, "commit", "--quiet", "--allow-empty", "-m", "one")
    return checkout


def profile(checkout: Path, repository: str = "ada/one") -> Profile:
    return Profile(
        kind="coding",
        project="main",
        read_projects=(),
        repository=repository,
        root=str(checkout),
        scope=repository,
        cwd=str(checkout),
        checkpoint_folder="tau/one",
    )


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return made(tmp_path / "work")


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


async def test_git_tells_root_branch_and_commit(checkout: Path) -> None:
    told = GitFacts(root=str(checkout), branch="peg", sha=git(checkout, "rev-parse", "HEAD"))
    assert await git_facts(profile(checkout)) == Filed(profile=profile(checkout), git=told)


async def test_what_has_no_branch_or_no_commit_is_filed_as_general_work_of_its_scope(tmp_path: Path) -> None:
    unborn, detached = made(tmp_path / "unborn", commits=0), made(tmp_path / "detached")
    git(detached, "checkout", "--quiet", "--detach")
    for checkout, why in ((unborn, "no-commit"), (detached, "no-branch"), (tmp_path, "no-repository")):
        found = await git_facts(profile(checkout))
        assert (found.profile.kind, found.profile.note_type) == ("general", "session")
        assert (found.profile.scope, found.git, found.why) == ("ada/one", None, why)


@pytest.mark.parametrize("linked", [False, True])
async def test_no_entry_of_the_path_inside_the_checkout_chooses_the_git(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool
) -> None:
    liar = executable(checkout / "bin" / "git", LIAR)
    folder = liar.parent
    if linked:
        folder = tmp_path / "linked"
        folder.mkdir()
        (folder / "git").symlink_to(liar)
    monkeypatch.setenv("PATH", f"{folder}:{Path(GIT).parent}")
    told = (await git_facts(profile(checkout))).git
    assert told is not None
    assert told.branch == "peg"


async def test_no_relative_entry_of_the_path_chooses_the_git(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(checkout / "git", LIAR)
    monkeypatch.chdir(checkout)
    monkeypatch.setenv("PATH", f".::{Path(GIT).parent}")
    told = (await git_facts(profile(checkout))).git
    assert told is not None
    assert told.branch == "peg"


async def test_without_a_git_outside_the_checkout_nothing_is_claimed(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(checkout / "bin" / "git", LIAR)
    monkeypatch.setenv("PATH", str(checkout / "bin"))
    assert (await git_facts(profile(checkout))).why == "no-git"


async def test_no_variable_leads_git_to_another_repository(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = made(tmp_path / "other")
    git(other, "branch", "--move", "elsewhere")
    trace = tmp_path / "trace"
    for name, value in {
        "GIT_DIR": f"{other}/.git",
        "GIT_WORK_TREE": str(other),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.worktree",
        "GIT_CONFIG_VALUE_0": str(other),
        "GIT_TRACE": str(trace),
    }.items():
        monkeypatch.setenv(name, value)
    told = (await git_facts(profile(checkout))).git
    assert told is not None
    assert (told.root, told.branch) == (str(checkout), "peg")
    assert not trace.exists()


async def test_git_takes_no_optional_lock_and_asks_nobody(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = tmp_path / "seen"
    executable(tmp_path / "bin" / "git", f'#!/bin/sh\nenv > {seen}\nexec {GIT} "$@"\n')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert (await git_facts(profile(checkout))).git is not None
    assert {line for line in seen.read_text().splitlines() if line.startswith("GIT_")} == {
        "GIT_ALLOW_PROTOCOL=none",
        "GIT_NO_LAZY_FETCH=1",
        "GIT_OPTIONAL_LOCKS=0",
        "GIT_TERMINAL_PROMPT=0",
    }


def detached(checkout: Path) -> None:
    git(checkout, "checkout", "--quiet", "--detach")


def unborn(checkout: Path) -> None:
    git(checkout, "checkout", "--quiet", "--orphan", "fresh")


@pytest.mark.parametrize("leave", [detached, unborn])
async def test_work_done_without_a_branch_is_recalled_by_the_next_session_and_no_other_repositorys_is(
    tmp_path: Path, checkout: Path, leave: Callable[[Path], None]
) -> None:
    leave(checkout)
    ours: dict[str, Any] = {"root": str(checkout), "repository": "ada/one", "project": "main"}
    async with rig(tmp_path, repositories=(ours,)) as process:
        first = await process.open(name="first")
        await first.saved("light the lamp")
        (written,) = process.memory.notes.values()
        assert (written["frontmatter"]["type"], written["frontmatter"]["scope"]) == ("session", "ada/one")
        content, told = written["content"], {"ended": "2999-01-01T00:00:00+00:00", "session_id": "theirs"}
        process.memory.put("theirs.md", content, type="session", scope="eve/other", **told)
        process.memory.put("coded.md", content, type="coding_session", repository="eve/other", **told)
        second = await process.open(Conversation("t"), name="second")
        prompted = await second.prompt("go on")
        answered = {event.name: event for event in second.events(RecallAnswered)}
        shown = [hit.file_path for hit in answered["prior-work-without-branch"].hits if hit.treatment == "kept"]
        assert shown == [written["file_path"]]
        assert "Keep the lamp lit." in repr(prompted)
        assert "theirs.md" not in repr(prompted)
        assert "coded.md" not in repr(prompted)
