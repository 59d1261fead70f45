"""Approved roots decide where notes go; nothing inside a repository does."""

from pathlib import PurePosixPath

import pytest

from continuity.profile import Profile, Repository, coding_folder, folder_fault, route

WORK = Repository(root="/w/one", repository="ada/one", project="notes", read_projects=("team", "notes", "team"))
INNER = Repository(root="/w/one/sub", repository="ada/sub", project="sub", checkpoint_folder="own/place")


def routed(cwd: str, *repositories: Repository, scope: str | None = None) -> Profile:
    return route(PurePosixPath(cwd), repositories=repositories, project="main", read_projects=("team",), scope=scope)


def test_a_folder_in_an_approved_root_is_coding_work() -> None:
    found = routed("/w/one/src", WORK)
    assert (found.kind, found.project, found.repository, found.root) == ("coding", "notes", "ada/one", "/w/one")
    assert (found.note_type, found.checkpoint_folder, found.scope) == ("coding_session", "tau/one", "ada/one")


def test_the_root_itself_is_inside() -> None:
    assert routed("/w/one", WORK).kind == "coding"


def test_a_folder_whose_name_only_begins_like_a_root_is_general_work() -> None:
    assert routed("/w/one-more", WORK).kind == "general"


@pytest.mark.parametrize("order", [(WORK, INNER), (INNER, WORK)])
def test_the_closest_root_wins_in_any_order(order: tuple[Repository, ...]) -> None:
    assert routed("/w/one/sub/deep", *order).checkpoint_folder == "own/place"


def test_general_work_is_known_by_its_folder_or_by_the_name_the_user_gave() -> None:
    assert routed("/elsewhere").scope == "/elsewhere"
    named = routed("/elsewhere", scope="thesis")
    assert (named.scope, named.cwd, named.note_type) == ("thesis", "/elsewhere", "session")
    assert named.checkpoint_folder == "tau/checkpoints"


def test_two_checkouts_approved_under_one_name_share_their_memory() -> None:
    clone = Repository(root="/w/clone", repository="ada/one", project="notes")
    assert routed("/w/clone", WORK, clone).scope == routed("/w/one", WORK, clone).scope


def test_a_coding_profile_without_a_project_does_not_borrow_the_general_one() -> None:
    assert routed("/w/x", Repository(root="/w/x", repository="ada/x")).project is None


def test_projects_for_reading_are_distinct_and_not_the_one_written_to() -> None:
    assert routed("/w/one", WORK).read_projects == ("team",)


def test_events_keep_a_profile_within_their_bounds() -> None:
    kept = routed("/" + "x" * 2000).recorded()
    assert (kept.kind, len(kept.scope), kept.repository) == ("general", 1024, None)


@pytest.mark.parametrize(
    ("repository", "folder"),
    [
        ("ada/one", "tau/one"),
        ("one", "tau/one"),
        ("https://example.org/ada/One.git", "tau/One"),
        ("ada/one/", "tau/one"),
        ("ada/..", "tau/checkpoints"),
        ("ada/a b:c", "tau/a-b-c"),
    ],
)
def test_a_default_folder_is_a_safe_name(repository: str, folder: str) -> None:
    assert coding_folder(repository) == folder
    assert folder_fault(folder) is None


@pytest.mark.parametrize("folder", ["tau", "tau/x y", "Projekte/Übersicht", "a/b/"])
def test_an_ordinary_folder_is_accepted(folder: str) -> None:
    assert folder_fault(folder) is None


@pytest.mark.parametrize(
    "folder", ["", "x" * 201, "/tau", "~/tau", "../x", "a/../b", "a//b", "a/./b", "a:b", "a\\b", "a\nb", " a", "a./b"]
)
def test_a_folder_that_leaves_the_project_or_a_file_system_is_refused(folder: str) -> None:
    assert folder_fault(folder) is not None
