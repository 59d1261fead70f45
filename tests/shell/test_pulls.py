"""A checkpoint names the pull request of its branch if gh tells of it in time; whatever goes wrong costs those fields alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from continuity.checkout import Filed
from continuity.profile import PullRequest
from continuity.shell.git import git_facts
from continuity.shell.programs import MOST_BYTES
from continuity.shell.pulls import PULL_SECONDS, judged
from journal.events import WriteIntended
from tests.fakes.checkouts import GIT, SYSTEM, executable, git, made, profile
from tests.shell.rig import recorded, rig, until

TOLD: dict[str, Any] = {
    "number": 7,
    "title": "Light the lamp",
    "url": "https://github.com/ada/one/pull/7",
    "state": "OPEN",
    "baseRefName": "main",
    "headRefName": "peg",
}
REQUEST = PullRequest(number="7", title=TOLD["title"], url=TOLD["url"], state="open", base="main", head="peg")
FIELDS = {
    "pull_request_number": "7",
    "pull_request_url": TOLD["url"],
    "pull_request_state": "open",
    "pull_request_base": "main",
    "pull_request_head": "peg",
}
"""What a note has of it, its title apart."""
TOKEN = "ghp_" + "R7x2Lq9Zt4Wm1Vb8Kc3Nd6Pf5Hj0Gs2Ya1Eu"


class Stand:
    """A checkout with a remote on GitHub, and a folder for programs before those of the system."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        self.checkout = made(root / "work", remote="git@github.com:ada/one.git")
        self.seen = root / "seen"
        self.bin = root / "bin"
        self.bin.mkdir()
        (self.bin / "git").symlink_to(GIT)
        self.path(self.bin)
        self._set = monkeypatch

    def path(self, *folders: Path) -> str:
        return ":".join([*map(str, folders), SYSTEM])

    def gh(self, script: str, folder: Path | None = None) -> None:
        executable((folder or self.bin) / "gh", f"#!/bin/sh\n{script}\n")

    def says(self, **fields: Any) -> None:
        answer = self.root / "answer.json"
        answer.write_text(json.dumps(TOLD | fields))
        self.gh(f'pwd > {self.seen}; echo "$@" >> {self.seen}; env >> {self.seen}; cat {answer}')

    async def asked(self, *, seconds: float = PULL_SECONDS) -> PullRequest | None:
        found: Filed = await git_facts(profile(self.checkout), pull_seconds=seconds)
        assert found.git is not None, "a pull request never costs the rest"
        return found.git.pull_request


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stand:
    made_up = Stand(tmp_path, monkeypatch)
    monkeypatch.setenv("PATH", made_up.path(made_up.bin))
    return made_up


async def test_gh_tells_the_pull_request_of_the_branch(stand: Stand) -> None:
    stand.says(isDraft=True)
    assert await stand.asked() == REQUEST
    where, words, *_ = stand.seen.read_text().splitlines()
    assert where == "/"
    assert words == ("pr view --repo github.com/ada/one --json number,title,url,state,baseRefName,headRefName -- peg")


@pytest.mark.parametrize(("theirs", "ours"), [("CLOSED", "closed"), ("MERGED", "merged"), ("QUEUED", "")])
async def test_a_state_is_one_of_ours_or_left_out(stand: Stand, theirs: str, ours: str) -> None:
    stand.says(state=theirs)
    told = await stand.asked()
    assert told is not None
    assert told.state == ours


async def test_gh_asks_nobody_and_is_led_nowhere(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    led = {"GH_REPO": "eve/other", "GH_FORCE_TTY": "1", "GH_DEBUG": "api", "GIT_DIR": "/elsewhere", "GH_TOKEN": "mine"}
    for name, value in led.items():
        monkeypatch.setenv(name, value)
    stand.says()
    assert await stand.asked() == REQUEST
    seen = dict(line.split("=", 1) for line in stand.seen.read_text().splitlines()[2:] if "=" in line)
    assert {name for name in led if name in seen} == {"GH_TOKEN"}
    assert (seen["GH_PROMPT_DISABLED"], seen["GH_NO_UPDATE_NOTIFIER"], seen["GH_TELEMETRY"]) == ("1", "1", "false")


async def test_no_gh_inside_the_checkout_is_run_and_no_folder_of_it_is_searched_by_gh(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = stand.checkout / "bin"
    stand.gh(f"touch {stand.root}/ran; echo '{json.dumps(TOLD)}'", inside)
    monkeypatch.setenv("PATH", f".:{stand.path(inside, stand.bin)}")
    assert await stand.asked() is None
    stand.says()
    assert await stand.asked() == REQUEST
    assert f"PATH={stand.path(stand.bin)}" in stand.seen.read_text().splitlines()
    assert not (stand.root / "ran").exists()


@pytest.mark.parametrize(
    "script",
    [
        "exit 1",
        "echo 'To get started with GitHub CLI, please run: gh auth login' >&2; exit 4",
        "true",
        "echo '{'",
        "echo null",
        "echo '[]'",
        """echo '{"number": "seven", "headRefName": "peg"}'""",
        """echo '{"number": 0, "headRefName": "peg"}'""",
        """echo '{"number": 7}'""",
        """printf '\\377'""",
        f"""echo '{json.dumps(TOLD)}'; exit 1""",
        f"""head -c {MOST_BYTES} /dev/zero | tr '\\0' ' '; echo '{json.dumps(TOLD)}'""",
    ],
)
async def test_an_answer_that_is_none_costs_the_fields(stand: Stand, script: str) -> None:
    stand.gh(script)
    assert await stand.asked() is None


async def test_without_gh_there_is_none(stand: Stand) -> None:
    assert await stand.asked() is None


async def test_the_pull_request_of_another_branch_is_not_this_ones(stand: Stand) -> None:
    stand.says(headRefName="other")
    assert await stand.asked() is None
    git(stand.checkout, "checkout", "--quiet", "-b", "7")
    stand.says(headRefName="7")
    stand.seen.unlink(missing_ok=True)
    assert await stand.asked() is None
    assert not stand.seen.exists(), "gh would take the name for a number"


async def test_gh_is_not_asked_about_a_repository_that_no_remote_names(stand: Stand) -> None:
    stand.says()
    for url in ("git@evil.example:ada/one.git", "git@github.com:eve/one.git", "/srv/ada/one"):
        git(stand.checkout, "remote", "set-url", "origin", url)
        assert await stand.asked() is None
    assert not stand.seen.exists()


async def test_a_host_of_the_users_own_may_be_asked(stand: Stand, monkeypatch: pytest.MonkeyPatch) -> None:
    git(stand.checkout, "remote", "set-url", "origin", "git@ghe.example:ada/one.git")
    monkeypatch.setenv("GH_HOST", "GHE.example")
    stand.says()
    assert await stand.asked() == REQUEST
    assert "--repo ghe.example/ada/one" in stand.seen.read_text()


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


async def test_a_gh_that_does_not_answer_in_time_is_ended(stand: Stand) -> None:
    stand.gh(f"sleep 600 & echo $$ $! > {stand.seen}; wait")
    assert await stand.asked(seconds=1.0) is None
    pids = [int(pid) for pid in stand.seen.read_text().split()]
    assert len(pids) == 2
    await until(lambda: all(map(gone, pids)), "the end of gh and of what it started")


async def test_whoever_stops_waiting_leaves_no_gh_behind(stand: Stand) -> None:
    stand.gh(f"sleep 600 & echo $$ $! > {stand.seen}; wait")
    async with anyio.create_task_group() as group:
        group.start_soon(stand.asked)
        await until(lambda: stand.seen.exists() and stand.seen.read_text().endswith("\n"), "a running gh")
        group.cancel_scope.cancel()
    pids = [int(pid) for pid in stand.seen.read_text().split()]
    await until(lambda: all(map(gone, pids)), "the end of gh and of what it started")


async def test_a_checkpoint_says_its_pull_request_in_masked_bounded_text_and_nothing_else_is_said(
    stand: Stand,
) -> None:
    stand.says(title=f"Use {TOKEN}\n{'x' * 5000}")
    ours: dict[str, Any] = {"root": str(stand.checkout), "repository": "ada/one", "project": "main"}
    async with rig(stand.root, repositories=(ours,)) as process:
        talk = await process.open()
        await talk.saved("light the lamp")
        (written,) = process.memory.notes.values()
        told = {key: value for key, value in written["frontmatter"].items() if key.startswith("pull_request")}
        title = told.pop("pull_request_title")
        assert told == FIELDS
        assert (TOKEN in title, len(title)) == (False, 1000)
        assert [topic for topic, _, _ in process.voice.notices if topic.startswith("filing")] == []
        assert recorded(talk.path, WriteIntended)[0].note_type == "coding_session"
    kept = [path.read_bytes() for path in (stand.root / "state").rglob("*") if path.is_file()]
    assert kept
    assert not any(TOKEN.encode() in each for each in kept)


async def test_without_a_pull_request_a_checkpoint_lacks_those_fields_and_nobody_is_told(stand: Stand) -> None:
    stand.gh("exit 4")
    ours: dict[str, Any] = {"root": str(stand.checkout), "repository": "ada/one", "project": "main"}
    async with rig(stand.root, repositories=(ours,)) as process:
        await (await process.open()).saved("light the lamp")
        (written,) = process.memory.notes.values()
        assert (written["frontmatter"]["type"], written["frontmatter"]["branch"]) == ("coding_session", "peg")
        assert not [key for key in written["frontmatter"] if key.startswith("pull_request")]
        assert not [text for _, text, _ in process.voice.notices if "pull" in text]


def test_a_field_gh_leaves_out_is_left_out() -> None:
    assert judged(b'{"number": 7, "headRefName": "peg"}', "peg") == PullRequest(number="7", head="peg")
