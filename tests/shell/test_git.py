"""A coding checkpoint says what git says of its checkout, or is filed without a branch; either is recalled as its work."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from continuity.checkout import Filed
from continuity.profile import GitFacts
from continuity.shell.git import git_facts
from journal.events import RecallAnswered
from tests.fakes.checkouts import GIT, SYSTEM, executable, git, made, profile
from tests.fakes.host import Conversation
from tests.shell.rig import rig, until

LIAR = "#!/bin/sh\necho liar\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    return made(tmp_path / "work")


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


def subfolder(checkout: Path) -> Path:
    (checkout / "part").mkdir()
    return checkout / "part"


def moved_elsewhere(checkout: Path) -> Path:
    git(checkout, "config", "core.worktree", str(checkout.parent))
    return checkout


def deleted(checkout: Path) -> Path:
    return checkout / "gone"


@pytest.mark.parametrize(
    ("root", "why"), [(subfolder, "other-root"), (moved_elsewhere, "other-root"), (deleted, "no-folder")]
)
async def test_what_git_does_not_confirm_to_be_the_approved_root_is_general_work(
    checkout: Path, root: Callable[[Path], Path], why: str
) -> None:
    found = await git_facts(profile(root(checkout)))
    assert (found.profile.kind, found.git, found.why) == ("general", None, why)


async def test_a_repository_inside_the_approved_checkout_is_not_looked_into_and_makes_no_claim_about_it(
    checkout: Path,
) -> None:
    inner = made(checkout / "inner")
    assert (await git_facts(profile(checkout, cwd=inner))).why == "nested"
    assert (await git_facts(profile(checkout, cwd=checkout))).git is not None
    assert (await git_facts(profile(inner, cwd=inner))).git is not None


async def test_a_worktree_and_a_clone_have_a_root_a_branch_and_a_commit_of_their_own(
    checkout: Path, tmp_path: Path
) -> None:
    git(checkout, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "tree"))
    git(tmp_path, "clone", "--quiet", str(checkout), str(tmp_path / "other name"))
    for root, branch in ((tmp_path / "tree", "side"), (tmp_path / "other name", "peg")):
        told = (await git_facts(profile(root))).git
        assert told == GitFacts(root=str(root), branch=branch, sha=git(root, "rev-parse", "HEAD"))


async def test_a_branch_is_named_in_full_where_a_tag_has_its_name(checkout: Path) -> None:
    git(checkout, "tag", "peg")
    told = (await git_facts(profile(checkout))).git
    assert told is not None
    assert told.branch == "peg"


PROGRAMS = (
    *("core.fsmonitor", "core.pager", "pager.rev-parse", "pager.config", "alias.rev-parse", "core.sshCommand"),
    *("core.gitProxy", "core.editor", "core.askPass", "credential.helper", "diff.external", "gpg.program"),
    *("filter.x.smudge", "filter.x.process", "uploadpack.packObjectsHook", "interactive.diffFilter"),
)


async def test_no_program_that_a_repository_configures_is_run(checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    evil = executable(tmp_path / "evil", f"#!/bin/sh\necho $0 >> {ran}\n")
    for key in PROGRAMS:
        git(checkout, "config", key, str(evil))
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        (checkout / ".git" / "hooks" / hook).symlink_to(evil)
    assert (await git_facts(profile(checkout))).git is not None
    assert not ran.exists()
    git(checkout, "status")
    assert ran.exists(), "the trap would have been sprung by a question that reads the index"


async def test_a_partial_clone_fetches_nothing(checkout: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    evil = executable(tmp_path / "evil", f"#!/bin/sh\ntouch {ran}\n")
    sha = git(checkout, "rev-parse", "HEAD")
    (checkout / ".git" / "objects" / sha[:2] / sha[2:]).unlink()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::{evil}",
        "protocol.ext.allow": "always",
    }.items():
        git(checkout, "config", key, value)
    assert (await git_facts(profile(checkout))).git is not None
    assert not ran.exists()
    git(checkout, "cat-file", "-p", "HEAD", check=False)
    assert ran.exists(), "the trap would have been sprung by a question that reads the commit"


HANGS = "#!/bin/sh\nsleep 600 &\necho $$ $! > {told}\nwait\n"


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_a_git_that_does_not_answer_in_time_is_ended_and_nothing_is_claimed(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "pids"
    executable(tmp_path / "bin" / "git", HANGS.format(told=told))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{SYSTEM}")
    assert (await git_facts(profile(checkout), seconds=1.0)).why == "no-answer"
    pids = [int(pid) for pid in told.read_text().split()]
    await until(lambda: all(map(gone, pids)), "the end of git and of what it started")


async def test_whoever_stops_waiting_leaves_no_git_behind(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "pids"
    executable(tmp_path / "bin" / "git", HANGS.format(told=told))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{SYSTEM}")
    async with anyio.create_task_group() as group:
        group.start_soon(git_facts, profile(checkout))
        await until(lambda: told.exists() and told.read_text().endswith("\n"), "a running git")
        group.cancel_scope.cancel()
    pids = [int(pid) for pid in told.read_text().split()]
    assert len(pids) == 2
    await until(lambda: all(map(gone, pids)), "the end of git and of what it started")
