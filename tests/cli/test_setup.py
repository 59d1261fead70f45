"""A setup does what was agreed to and nothing else, whatever the server does; a walk that is broken off leaves no trace."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from continuity.cli.setup.facts import Here, Kept, Work
from continuity.cli.setup.file import Moved, write
from continuity.cli.setup.gather import work_in
from continuity.cli.setup.naming import Approved
from continuity.notes import schema_notes
from continuity.places import places
from continuity.shell.config import SettingsError, environment
from continuity.shell.settings import RepositorySettings, Settings
from tests.cli.desk import Desk, enter_at_each, furnished
from tests.fakes.checkouts import SYSTEM, executable

USUAL = {"project": "main"}


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    made = furnished(tmp_path)
    monkeypatch.chdir(made.work)
    return made


# -- walks -------------------------------------------------------------------


CHECKOUT = ("coding work?", "Name of the repository", "Project of its notes")
TAU = ("into Tau?", "four prompts")
NEW = ("Project (", *CHECKOUT, "Leave it so?", *TAU, "Write them", "Write one small note", "Do it?")


def test_a_new_user_needs_only_enter(desk: Desk, snapshot: SnapshotAssertion) -> None:
    with desk.at_terminal() as terminal:
        enter_at_each(terminal, *NEW)
        assert terminal.ended() == 0
    assert desk.screen(terminal.shown) == snapshot
    entry = {"root": str(desk.work), "repository": "ada/one", "project": "main"}
    assert desk.now == USUAL | {"repositories": [entry]}
    assert stat.S_IMODE(desk.settings.stat().st_mode) == 0o600
    assert {note.title for note in schema_notes()} <= {each["title"] for each in desk.fake.notes.values()}
    assert places(desk.home / ".tau").shim.exists()


def test_enter_everywhere_changes_nothing_the_second_time(desk: Desk, snapshot: SnapshotAssertion) -> None:
    desk.setup("--yes", "--project", "main", "--repository", "ada/one", "--schemas")
    before = desk.files()
    with desk.at_terminal() as terminal:
        enter_at_each(terminal, "Project (", *CHECKOUT, "Leave it so?", *TAU, "Write one small note")
        assert terminal.ended() == 0
    assert desk.screen(terminal.shown) == snapshot
    assert desk.files() == before


@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "end"])
@pytest.mark.parametrize("question", [NEW[0], NEW[-1]])
def test_a_walk_broken_off_at_the_first_or_the_last_question_wrote_nothing(desk: Desk, question: str, key: str) -> None:
    before = desk.files()
    with desk.at_terminal() as terminal:
        enter_at_each(terminal, *NEW[: NEW.index(question)])
        terminal.until(question)
        terminal.until(": ")
        assert terminal.ended_by(key) == 1
    assert terminal.shown.endswith("nothing was written\nAborted!\n")
    assert desk.files() == before


def test_other_answers_are_taken(desk: Desk) -> None:
    with desk.at_terminal("--no-schemas", "--no-verify") as terminal:
        terminal.answer("Project (", "1")
        terminal.answer("coding work?", "n")
        terminal.answer("Leave it so?", "n")
        terminal.answer("Save by itself?")
        terminal.answer("How often", "2")
        for question in ("At a compaction?", "At exit?"):
            terminal.answer(question, "n")
        terminal.answer("word for word", "y")
        terminal.answer("Recall", "n")
        enter_at_each(terminal, *TAU, "Do it?")
        assert terminal.ended() == 0
    switched = dict.fromkeys(("checkpoint_on_compact", "summarize_on_shutdown", "auto_recall"), False)
    assert desk.now == USUAL | {"cadence": "every", "capture_transcript": True} | switched
    assert desk.fake.notes == {}


def test_a_project_that_is_not_there_is_asked_about_again(desk: Desk) -> None:
    with desk.at_terminal("--general", "--dry-run") as terminal:
        terminal.answer("Project (", "mian")
        terminal.answer("Take that name all the same?")
        terminal.answer("Project (", "none")
        enter_at_each(terminal, "Leave it so?", *TAU)
        assert terminal.ended() == 0
    assert "no project mian; `bm project add mian PATH` makes it" in terminal.shown
    assert not desk.settings.exists()


def test_the_skill_and_the_prompts_are_written_if_one_agrees_and_those_of_a_person_are_left(desk: Desk) -> None:
    mine = desk.home / ".tau" / "prompts" / "memory-decide.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine\n")
    desk.setup("--yes", "--project", "main", "--offline")
    assert list(mine.parent.iterdir()) == [mine]
    ran = desk.setup("--yes", "--project", "main", "--offline", "--skill")
    skill = desk.home / ".tau" / "skills" / "continuity-memory" / "SKILL.md"
    assert f"make {skill}" in ran.out
    assert f"{skill}: written" in ran.out
    assert (len(list(mine.parent.iterdir())), mine.read_text()) == (4, "mine\n")


def test_a_project_whose_name_no_setting_can_hold_is_not_taken_by_its_number(desk: Desk) -> None:
    desk.fake.faults(projects=[{"name": "red\x1b[31m", "source": "local", "path": "/r"}])
    with desk.at_terminal("--general", "--dry-run") as terminal:
        terminal.answer("Project (", "1")
        terminal.until("cannot be named in the settings")
        terminal.answer("Project (", "none")
        enter_at_each(terminal, "Leave it so?", *TAU)
        assert terminal.ended() == 0
    assert "\x1b" not in terminal.shown


def test_without_a_server_a_person_may_go_on(desk: Desk) -> None:
    (desk.root / "bin" / "bm").unlink()
    with desk.at_terminal("--general") as terminal:
        terminal.until("hint: uv tool install basic-memory")
        terminal.answer("Go on without it?")
        terminal.answer("Project (", "thesis")
        enter_at_each(terminal, "Leave it so?")
        for question in TAU:
            terminal.answer(question, "n")
        terminal.answer("Do it?")
        assert terminal.ended() == 0
    assert desk.now == {"project": "thesis"}


def test_the_compatible_file_is_begun_from_and_left_alone(desk: Desk) -> None:
    theirs = desk.settings.with_name("basic-memory.json")
    theirs.parent.mkdir(parents=True)
    theirs.write_text('{"project": "main", "unknown": 1, "recall_chars": 9000}')
    with desk.at_terminal("--general", "--offline") as terminal:
        enter_at_each(terminal, "Begin with its values?", "Project (", "Leave it so?", *TAU, "Do it?")
        assert terminal.ended() == 0
    assert "they mean nothing here: unknown." in terminal.shown
    assert desk.now == {"project": "main", "recall_chars": 9000}
    assert theirs.read_text() == '{"project": "main", "unknown": 1, "recall_chars": 9000}'


def test_a_server_that_hangs_is_given_up_at_once_by_ctrl_c(desk: Desk) -> None:
    desk.fake.faults(initialize="hang", stubborn=True)
    with desk.at_terminal() as terminal:
        terminal.until("Starting the memory server ...")
        assert terminal.ended_by("\x03") == 1
    assert terminal.shown.endswith("nothing was written\nAborted!\n")
    assert (desk.settings.exists(), desk.servers()) == (False, [])


def test_a_no_at_the_end_leaves_everything_as_it_was(desk: Desk) -> None:
    before = desk.files()
    with desk.at_terminal() as terminal:
        enter_at_each(terminal, *NEW[:-1])
        terminal.answer("Do it?", "n")
        assert terminal.ended() == 0
    assert terminal.shown.endswith("nothing was written\n")
    assert desk.files() == before


# -- scripts -----------------------------------------------------------------


def test_without_a_person_and_without_yes_nothing_is_asked_or_done(desk: Desk) -> None:
    ran = desk.setup("--project", "main")
    assert (ran.code, ran.out, desk.fake.requests()) == (2, "", [])
    assert "hint: say --yes" in ran.err


@pytest.mark.parametrize(
    "words",
    [("--general", "--repository", "x"), ("--root", "/x"), ("--offline", "--schemas"), ("--offline", "--verify")],
    ids=" ".join,
)
def test_what_contradicts_itself_is_refused(desk: Desk, words: tuple[str, ...]) -> None:
    assert desk.setup("--yes", *words).code == 2
    assert not desk.settings.exists()


def test_a_script_gets_what_its_options_say_and_no_note_unasked(desk: Desk) -> None:
    ran = desk.setup("--yes", "--project", "main", "--repository", "ada/x", "--cadence", "every", "--transcripts")
    assert ran.code == 0
    entry = {"root": str(desk.work), "repository": "ada/x", "project": "main"}
    assert desk.now == USUAL | {"cadence": "every", "capture_transcript": True, "repositories": [entry]}
    assert desk.fake.notes == {}
    assert not places(desk.home / ".tau").shim.exists()


def test_a_script_that_names_a_repository_where_there_is_no_checkout_is_refused(desk: Desk) -> None:
    shutil.rmtree(desk.work / ".git")
    words = ("--yes", "--offline", "--project", "main", "--repository", "ada/one")
    assert (desk.setup(*words).code, desk.settings.exists()) == (1, False)
    ran = desk.setup(*words, "--root", str(desk.work))
    assert (ran.code, desk.now["repositories"][0]["root"]) == (0, str(desk.work))
    assert "Git finds no checkout there, or does not trust its owner: until that changes" in ran.err


def test_before_the_first_commit_it_is_said_that_work_counts_as_general_until_then(desk: Desk) -> None:
    words = ("--yes", "--offline", "--project", "main", "--repository", "ada/one")
    told = "No commit yet: until that changes, its work is filed as general work of ada/one.\n"
    assert told in desk.setup(*words).err
    git(desk.work, "commit", "-q", "--allow-empty", "-m", "one")
    assert desk.setup(*words).err == ""


def test_git_is_asked_as_quietly_of_a_checkout_that_nobody_approved(desk: Desk) -> None:
    seen = desk.root / "seen"
    real = (desk.root / "bin" / "git").resolve()
    (desk.root / "bin" / "git").unlink()
    executable(desk.root / "bin" / "git", f'#!/bin/sh\nenv >> {seen}\nexec {real} "$@"\n')
    desk.setup("--yes", "--offline", PATH=f"{desk.root / 'bin'}:{SYSTEM}")
    assert {line for line in seen.read_text().splitlines() if line.startswith("GIT_")} == {
        "GIT_ALLOW_PROTOCOL=none",
        "GIT_NO_LAZY_FETCH=1",
        "GIT_OPTIONAL_LOCKS=0",
        "GIT_TERMINAL_PROMPT=0",
    }


def test_a_script_that_says_it_twice_changes_nothing(desk: Desk) -> None:
    words = ("--yes", "--project", "main", "--repository", "ada/one", "--cadence", "every", "--schemas")
    desk.setup(*words)
    before = desk.files()
    ran = desk.setup(*words)
    assert (ran.code, ran.out) == (0, "nothing to change: everything is as you want it\n")
    assert desk.files() == before


def test_an_approval_is_taken_back(desk: Desk) -> None:
    desk.has(project="main", repositories=[{"root": str(desk.work), "repository": "ada/one"}], scope="x")
    assert desk.setup("--yes", "--general", "--offline").code == 0
    assert desk.now == {"project": "main", "repositories": [], "scope": "x"}


def test_a_dry_run_shows_and_does_nothing(desk: Desk) -> None:
    before = desk.files()
    ran = desk.setup("--yes", "--dry-run", "--project", "main", "--schemas", "--verify")
    assert ran.code == 0
    assert "write 4 schema notes into folder schemas of main" in ran.out
    assert desk.files() == before


def test_a_dry_run_without_a_terminal_is_told_what_it_can_show(desk: Desk) -> None:
    ran = desk.setup("--dry-run")
    assert (ran.code, ran.out) == (2, "")
    assert "`--yes --dry-run` shows what the options alone would do, and does nothing" in ran.err
    assert "say --yes, and what you want by options; nothing was written" in desk.setup().err


def test_the_list_of_tools_is_kept_for_the_first_start(desk: Desk) -> None:
    assert "6 tools listed" in desk.setup("--yes").out
    (kept,) = places(desk.home / ".tau").state.glob("inventory-*.json")
    assert len(json.loads(kept.read_text())["inventory"]["tools"]) == 6
    assert "listed" not in desk.setup("--yes").out


# -- files -------------------------------------------------------------------


@pytest.mark.parametrize("text", ['{"projekt": "main"}', "{", '{"project": "a", "project": "b"}', "[]"])
def test_a_file_that_cannot_be_understood_is_left_as_it_is(desk: Desk, text: str) -> None:
    desk.has()
    desk.settings.write_text(text)
    ran = desk.setup("--yes", "--project", "main")
    assert (ran.code, desk.settings.read_text()) == (2, text)
    assert "nothing was written" in ran.err


def test_a_link_is_not_written_through_and_what_it_leads_to_can_be_named(desk: Desk) -> None:
    real = desk.root / "dotfiles.json"
    real.write_text("{}")
    desk.settings.parent.mkdir(parents=True)
    desk.settings.symlink_to(real)
    refused = desk.setup("--yes", "--project", "main", "--offline")
    assert (refused.code, real.read_text()) == (2, "{}")
    assert f"TAU_CONTINUITY_CONFIG={real}" in refused.err
    assert desk.setup("--yes", "--project", "main", "--offline", TAU_CONTINUITY_CONFIG=str(real)).code == 0
    assert (json.loads(real.read_text()), desk.settings.is_symlink()) == (USUAL, True)


def test_a_file_that_is_rewritten_keeps_its_mode(desk: Desk) -> None:
    desk.has(scope="x")
    desk.settings.chmod(0o640)
    desk.setup("--yes", "--project", "main", "--offline")
    assert (desk.now, stat.S_IMODE(desk.settings.stat().st_mode)) == ({"scope": "x", "project": "main"}, 0o640)


def test_what_would_be_no_settings_never_takes_the_files_place(desk: Desk) -> None:
    desk.has(scope="x")
    text = desk.settings.read_text()
    with pytest.raises(SettingsError, match=r"continuity\.json: project: "):
        write(Kept(desk.settings, text, {}, Settings()), '{"project": ""}')
    assert [each.name for each in desk.settings.parent.iterdir()] == ["continuity.json"]
    assert desk.settings.read_text() == text


@pytest.mark.parametrize("read", [None, "{}\n"])
def test_a_file_that_somebody_changed_meanwhile_is_left_as_it_is(desk: Desk, read: str | None) -> None:
    desk.has(scope="theirs")
    with pytest.raises(Moved):
        write(Kept(desk.settings, read, {}, Settings()), "{}")
    assert desk.now == {"scope": "theirs"}
    assert [each.name for each in desk.settings.parent.iterdir()] == ["continuity.json"]


# -- servers -----------------------------------------------------------------


@pytest.mark.parametrize("fault", ["exit", "reject"])
def test_a_script_is_told_of_a_server_that_is_not_there(desk: Desk, fault: str) -> None:
    desk.fake.faults(initialize=fault)
    ran = desk.setup("--yes", "--project", "main")
    assert (ran.code, desk.settings.exists()) == (3, False)
    assert "--offline" in ran.err


def test_a_script_that_names_no_project_of_the_server_is_refused(desk: Desk) -> None:
    ran = desk.setup("--yes", "--project", "mian")
    assert (ran.code, desk.settings.exists()) == (1, False)
    assert "`bm project add mian PATH` makes it" in ran.err


def test_a_list_of_projects_that_is_garbled_costs_only_what_needs_it(desk: Desk) -> None:
    desk.fake.faults(list_memory_projects=["text"])
    assert desk.setup("--yes", "--project", "main").code == 0
    ran = desk.setup("--yes", "--schemas")
    assert (ran.code, desk.fake.notes) == (1, {})
    assert "there is no project to write to" in ran.err


def test_of_two_projects_of_one_name_each_is_chosen_with_its_workspace(desk: Desk) -> None:
    both = [{"name": "main", "source": "cloud", "qualified_name": f"{space}/main", "path": "/"} for space in ("a", "b")]
    desk.fake.faults(projects=both)
    refused = desk.setup("--yes", "--project", "main")
    assert (refused.code, desk.settings.exists()) == (1, False)
    assert (desk.setup("--yes", "--project", "b/main").code, desk.now) == (0, {"project": "b/main"})


# -- checkouts, as the real git has them -------------------------------------


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """An approved checkout with one commit."""
    root = tmp_path.resolve() / "first"
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "one")
    return root


def work(cwd: Path, *approved: Path) -> Work:
    entries = tuple(RepositorySettings(root=str(each), repository="ada/first") for each in approved)
    here = Here(environment(), Path("/home/nobody"), cwd, places(cwd))
    return work_in(here, Settings(repositories=entries))


def test_a_worktree_and_a_clone_are_to_have_the_approved_ones_name(first: Path) -> None:
    tree, clone = first.parent / "tree", first.parent / "clone"
    git(first, "worktree", "add", "-q", str(tree))
    git(first, "clone", "-q", str(first), str(clone))
    for folder in (tree, clone):
        found = work(folder, first)
        assert found.checkout is not None
        assert (found.root, found.at, found.checkout.suggestion) == (folder, None, "ada/first")
        assert found.checkout.why is None


def test_the_root_meant_is_the_innermost_checkouts_whatever_is_approved_around_it(first: Path) -> None:
    inner = first / "vendor" / "inner"
    inner.mkdir(parents=True)
    git(inner, "init", "-q")
    (inner / "src").mkdir()
    found = work(inner / "src", first)
    assert (found.root, found.at, found.around) == (inner, None, Approved(first, "ada/first"))
    outer = work(first / "vendor", first)
    assert (outer.root, outer.at, outer.around) == (first, 0, None)
    assert work(first, first / "vendor").around is None
    below = work(first / "vendor", first / "vendor")
    assert (below.root, below.at, below.around) == (first, None, Approved(first / "vendor", "ada/first"))


def test_an_approval_of_what_is_no_checkout_any_more_can_be_taken_back(first: Path) -> None:
    shutil.rmtree(first / ".git")
    found = work(first, first)
    assert (found.checkout, found.root, found.at) == (None, first, 0)
    assert work(first) == Work(None, None, None, None)
