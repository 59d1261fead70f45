"""One repository has one memory, whatever its checkouts are called and wherever they lie, once their roots are approved."""

from __future__ import annotations

import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import pytest

from continuity.memory.notes import read_note, search_notes
from journal.events import RecallAnswered
from tests.fakes.checkouts import git, made
from tests.fakes.host import HANDOFF, Conversation
from tests.fakes.real_memory import SECONDS, RealMemory, real_memory
from tests.shell.rig import Rig, rig

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

OURS, UNRELATED = "acme/app", "globex/app"
REMOTE = "git@github.com:acme/app.git"
NEXT = "Wire the zanzibar relay."
"""Stands in the checkpoint of the main checkout, and in the prompts that look for it."""
TASK, DECISION = "Grease the winch.", "Colza or petroleum?"


@pytest.fixture(scope="module")
async def memory(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[RealMemory]:
    async with real_memory(tmp_path_factory.mktemp("memory")) as running:
        yield running


@pytest.fixture
async def project(memory: RealMemory) -> str:
    return await memory.project()


class Seen(NamedTuple):
    """A brief, the notes it was made from, and the status page then."""

    brief: str
    kept: set[str]
    page: str


class Land:
    """Checkouts of one repository under one folder, an unrelated one, and what the user approved of them."""

    def __init__(self, root: Path, memory: RealMemory, project: str) -> None:
        self.root = root
        self.memory = memory
        self.project = project
        self.main = made(root / "app", remote=REMOTE)
        self.unrelated = made(root / "elsewhere" / "app", remote="git@github.com:globex/app.git")
        self._approved: list[dict[str, Any]] = []
        self.approve(self.main)
        self.approve(self.unrelated, UNRELATED)
        self.said: list[str] = []

    def approve(self, checkout: Path, repository: str = OURS) -> None:
        self._approved.append({"root": str(checkout), "repository": repository, "project": self.project})

    def worktree(self) -> Path:
        git(self.main, "worktree", "add", "--quiet", "-b", "side", str(self.root / "app-side"))
        return self.root / "app-side"

    def clone(self) -> Path:
        git(self.root, "clone", "--quiet", str(self.main), str(self.root / "other name"))
        return self.root / "other name"

    def link(self) -> Path:
        """A link to another clone: the path of neither is the main checkout's."""
        git(self.root, "clone", "--quiet", str(self.main), str(self.root / "behind"))
        (self.root / "link").symlink_to(self.root / "behind")
        return self.root / "link"

    def process(self, cwd: Path) -> AbstractAsyncContextManager[Rig]:
        waits: dict[str, Any] = {"timeout_seconds": SECONDS, "recall_wait_seconds": SECONDS}
        approved = tuple(self._approved)
        return rig(self.root, link=self.memory.link, cwd=cwd, project=self.project, repositories=approved, **waits)

    async def saves(self, cwd: Path, name: str = "first", text: str = NEXT) -> dict[str, str]:
        """One session there, whose checkpoint holds `text`; returns its frontmatter once it is found by it."""
        async with self.process(cwd) as running:
            running.mind.answer = lambda _: HANDOFF.format(next=text)
            talk = await running.open(Conversation(name), name)
            await talk.saved("Light the lamp.")
            self.said += [said for topic, said, _ in running.voice.notices if topic.startswith("filing")]
            assert talk.state.checkpoint is not None
            return await self._found(talk.state.checkpoint.capture_id)

    async def _found(self, capture_id: str) -> dict[str, str]:
        connection = self.memory.link.connection
        assert connection is not None
        wanted = {"capture_id": capture_id}
        with anyio.fail_after(SECONDS):
            while not (found := await search_notes(connection, self.project, SECONDS, metadata_filters=wanted)).hits:  # noqa: ASYNC110 - nothing tells when a server has caught up
                await anyio.sleep(0.05)
        read = await read_note(connection, self.project, found.hits[0].file_path, SECONDS)
        return dict(read.frontmatter)

    async def recalls(self, cwd: Path, name: str = "second") -> Seen:
        """What a fresh session there is told, whose prompt has the checkpoint's own words in it."""
        async with self.process(cwd) as running:
            talk = await running.open(Conversation(name), name)
            composed = (await talk.prompt(f"Go on with: {NEXT}")).brief
            hits = [hit for one in talk.events(RecallAnswered) for hit in one.hits]
            kept = {hit.file_path for hit in hits if hit.treatment == "kept"}
            return Seen(composed.brief.text if composed is not None else "", kept, talk.page)


@pytest.fixture
def land(tmp_path: Path, memory: RealMemory, project: str) -> Land:
    return Land(tmp_path, memory, project)


@pytest.mark.parametrize("another", [Land.worktree, Land.clone, Land.link])
async def test_a_checkpoint_is_recalled_in_another_checkout_of_the_repository_once_that_one_is_approved(
    land: Land, another: Callable[[Land], Path]
) -> None:
    there = another(land)
    told = await land.saves(land.main)
    assert (told["repository"], told["branch"], told["repo_root"]) == (OURS, "peg", str(land.main))
    before = await land.recalls(there, "before")
    assert NEXT not in before.brief
    assert "is not approved, so its work is general; `continuity setup` approves it" in before.page
    land.approve(there)
    after = await land.recalls(there, "after")
    assert NEXT in after.brief
    assert "not approved" not in after.page


async def test_what_is_saved_in_a_worktree_says_so_and_is_recalled_in_the_main_checkout(land: Land) -> None:
    there = land.worktree()
    land.approve(there)
    told = await land.saves(there)
    assert (told["repository"], told["branch"], told["repo_root"]) == (OURS, "side", str(there))
    assert NEXT in (await land.recalls(land.main)).brief


async def test_an_unrelated_repository_of_the_same_name_sees_tasks_and_decisions_and_no_checkpoint_by_any_route(
    land: Land,
) -> None:
    told = await land.saves(land.main)
    at = f"- about [[{told['title']}]] {NEXT}"
    for title, kind, text, status in (("Winch", "task", TASK, "active"), ("Oil", "decision", DECISION, "open")):
        await land.memory.call(
            "write_note", project=land.project, title=title, directory="x", content=f"{text} {at}",
            note_type=kind, metadata={"status": status},
        )  # fmt: skip
    seen = await land.recalls(land.unrelated)
    assert [text for text in (TASK, DECISION) if text not in seen.brief] == []
    assert "Keep the lamp lit." not in seen.brief
    assert seen.kept == {"x/Winch.md", "x/Oil.md"}


async def test_work_in_a_repository_inside_the_checkout_claims_no_branch_of_it_and_is_recalled_with_it(
    land: Land,
) -> None:
    inner = made(land.main / "vendor" / "lib")
    told = await land.saves(inner)
    assert (told["type"], told["scope"], "branch" in told) == ("session", OURS, False)
    assert "a repository of its own inside the approved checkout" in land.said[0]
    assert NEXT in (await land.recalls(land.main)).brief
    land.approve(inner, "lib/lib")
    assert NEXT not in (await land.recalls(inner, "apart")).brief


async def test_a_changed_remote_is_told_and_makes_no_new_identity(land: Land) -> None:
    secret = "ghp_" + "R7x2Lq9Zt4Wm1Vb8Kc3Nd6Pf5Hj0Gs2Ya1Eu"
    await land.saves(land.main)
    git(land.main, "remote", "set-url", "origin", f"https://ada:{secret}@github.com/initech/app.git")
    told = await land.saves(land.main, "moved", "Oil the hinge.")
    assert (told["type"], told["repository"]) == ("coding_session", OURS)
    assert land.said == ["Continuity: git's remote names initech/app; work is filed as acme/app, as the settings say."]
    assert "Oil the hinge." in (await land.recalls(land.main)).brief
    kept = [path.read_bytes() for path in (land.root / "state").rglob("*") if path.is_file()]
    assert not any(secret.encode() in each for each in kept)


async def test_without_git_work_is_kept_under_the_repositorys_name_and_recalled(
    land: Land, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as without:
        without.setenv("PATH", str(land.root))
        told = await land.saves(land.main)
    assert (told["type"], told["scope"], "git_sha" in told) == ("session", OURS, False)
    assert land.said == ["Continuity: filed as general work of acme/app: no git is found outside the checkout."]
    assert NEXT in (await land.recalls(land.main)).brief


async def test_general_work_of_one_name_is_recalled_wherever_it_lies(
    memory: RealMemory, project: str, tmp_path: Path
) -> None:
    waits: dict[str, Any] = {"timeout_seconds": SECONDS, "recall_wait_seconds": SECONDS}
    briefs: list[str] = []
    for number, scope in enumerate(("thesis", "thesis", "other")):
        folder = tmp_path / f"place {number}"
        folder.mkdir()
        async with rig(tmp_path, link=memory.link, cwd=folder, project=project, scope=scope, **waits) as running:
            talk = await running.open(Conversation(f"c{number}"), f"{number}")
            composed = (await talk.prompt("Go on.")).brief
            briefs.append(composed.brief.text if composed is not None else "")
            if number == 0:
                await talk.saved("Light the lamp.")
    assert ["Keep the lamp lit." in brief for brief in briefs] == [False, True, False]


async def test_a_checkout_that_is_gone_leaves_its_memory_to_the_others(land: Land) -> None:
    there = land.clone()
    land.approve(there)
    await land.saves(there)
    await anyio.to_thread.run_sync(shutil.rmtree, there)
    assert NEXT in (await land.recalls(land.main)).brief
