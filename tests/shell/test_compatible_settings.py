"""A settings file written for Basic Memory 0.24.1's own Tau extension loads unchanged here and routes work the same way."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from continuity.places import expanded
from continuity.shell.config import COMPATIBLE_CONFIG, Loaded, SettingsError, load_settings
from tests.facts import COMPATIBLE_DEFAULTS

LEAST: Mapping[str, Any] = {"project": "notes"}
"""What most people have."""

MOST: Mapping[str, Any] = {
    "kind": "general",
    "command": "/opt/bm/bin/bm",
    "args": ["mcp", "--transport", "stdio", "--project", "notes"],
    "project": "team-workspace/notes",
    "read_projects": ["a", "b", "c", "d", "e", "team/shared"],
    "placement_conventions": "Decisions in decisions/, tasks in tasks/. Search before creating notes.\nNever in drafts/.",
    "checkpoint_folder": "logs/tau",
    "repositories": [
        {
            "kind": "coding",
            "root": "/w/one",
            "repository": "ada/one",
            "project": "code",
            "read_projects": ["team/shared", "code"],
            "placement_conventions": "Everything in one/.",
            "checkpoint_folder": "one/sessions",
        },
        {"root": "/w/one/vendor/two", "repository": "bob/two", "project": "code"},
        {"root": "~/three", "repository": "ada/three"},
    ],
    "auto_recall": False,
    "capture_knowledge": False,
    "checkpoint_on_compact": False,
    "summarize_on_shutdown": False,
    "capture_transcript": True,
    "capture_folder": "logs/words",
    "timeout_seconds": 300,
    "summary_timeout_seconds": 299.5,
    "summary_chunk_chars": 50000,
    "recall_chars": 100,
}
"""Every key there is."""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".tau").mkdir()
    return tmp_path


def load(home: Path, content: Mapping[str, Any], *, mark: bytes = b"") -> Loaded:
    (home / ".tau" / "basic-memory.json").write_bytes(mark + json.dumps(content).encode())
    return load_settings({}, home)


def test_every_key_is_taken_as_it_is_written(home: Path) -> None:
    loaded = load(home, MOST)
    assert loaded.ignored_keys == ()
    told = json.loads(loaded.settings.model_dump_json())
    repositories = told.pop("repositories")
    assert {key: told[key] for key in MOST if key not in {"kind", "repositories"}} == {
        key: value for key, value in MOST.items() if key not in {"kind", "repositories"}
    }
    for entry, taken in zip(MOST["repositories"], repositories, strict=True):
        assert {key: taken[key] for key in entry} == entry


def test_what_is_left_out_has_its_documented_default(home: Path) -> None:
    told = json.loads(load(home, {}).settings.model_dump_json())
    assert {key: told[key] for key in COMPATIBLE_DEFAULTS} == COMPATIBLE_DEFAULTS


TOP = ("team-workspace/notes", ("a", "b", "c", "d", "e", "team/shared"), "logs/tau", None)


@pytest.mark.parametrize(
    ("folder", "kind", "routed"),
    [
        ("/w/one", "coding", ("code", ("team/shared",), "one/sessions", "ada/one")),
        ("/w/one/src/deep", "coding", ("code", ("team/shared",), "one/sessions", "ada/one")),
        ("/w/one/vendor/two/src", "coding", ("code", (), "tau/two", "bob/two")),
        ("~/three", "coding", (None, (), "tau/three", "ada/three")),
        ("/w/one-more", "general", TOP),
        ("/w", "general", TOP),
    ],
)
def test_the_closest_root_decides_destination_sources_and_folder_and_borrows_none_from_the_top(
    home: Path, folder: str, kind: str, routed: tuple[object, ...]
) -> None:
    found = load(home, MOST).settings.profile(expanded(folder, home), home)
    assert (found.project, found.read_projects, found.checkpoint_folder, found.repository) == routed
    assert found.kind == kind


@pytest.mark.parametrize(
    ("given", "directory"),
    [({}, "tau/checkpoints"), ({"checkpoint_folder": None}, "tau/checkpoints"), ({"checkpoint_folder": "x"}, "x")],
)
def test_general_work_is_kept_in_its_own_folder_unless_one_is_named(
    home: Path, given: Mapping[str, Any], directory: str
) -> None:
    assert load(home, {**LEAST, **given}).settings.profile(Path("/w"), home).checkpoint_folder == directory


def test_each_profile_has_its_own_placement(home: Path) -> None:
    settings = load(home, MOST).settings
    told = [
        settings.profile(Path(folder), home).placement_conventions for folder in ("/w", "/w/one", "/w/one/vendor/two")
    ]
    assert told == [MOST["placement_conventions"], "Everything in one/.", None]


@pytest.mark.parametrize(
    ("last", "first_refused"),
    [
        ({"timeout_seconds": 300}, {"timeout_seconds": 300.1}),
        ({"timeout_seconds": 0.1}, {"timeout_seconds": 0}),
        ({"summary_timeout_seconds": 300}, {"summary_timeout_seconds": 301}),
        ({"summary_chunk_chars": 1000}, {"summary_chunk_chars": 999}),
        ({"summary_chunk_chars": 50000}, {"summary_chunk_chars": 50001}),
        ({"recall_chars": 100}, {"recall_chars": 99}),
        ({"recall_chars": 50000}, {"recall_chars": 50001}),
        ({"read_projects": list("abcdef")}, {"read_projects": list("abcdefg")}),
        ({"project": "a b"}, {"project": "a b "}),
        ({"command": "b"}, {"command": ""}),
        ({"repositories": [{"root": "/w", "repository": "r"}]}, {"repositories": [{"root": "w", "repository": "r"}]}),
        ({"repositories": [{"root": "~", "repository": "r"}]}, {"repositories": [{"root": "~x", "repository": "r"}]}),
        ({"repositories": [{"root": "/w", "repository": "r"}]}, {"repositories": [{"root": "/w"}]}),
        ({"capture_transcript": False}, {"capture_transcript": "no"}),
        ({"timeout_seconds": "30"}, {"timeout_seconds": "soon"}),
        ({"recall_chars": "12000"}, {"recall_chars": "12000.5"}),
    ],
)
def test_bounds_are_the_same(home: Path, last: Mapping[str, Any], first_refused: Mapping[str, Any]) -> None:
    assert load(home, last).ignored_keys == ()
    with pytest.raises(SettingsError) as caught:
        load(home, first_refused)
    assert (caught.value.key or "").split(".")[0] == next(iter(first_refused))


def test_a_number_that_is_written_as_text_is_one(home: Path) -> None:
    settings = load(home, {"timeout_seconds": "12.5", "summary_chunk_chars": "2000"}).settings
    assert (settings.timeout_seconds, settings.summary_chunk_chars) == (12.5, 2000)


def test_a_byte_order_mark_and_keys_nobody_knows_are_no_obstacle(home: Path) -> None:
    content = {**LEAST, "kind": "special", "colour": 1, "repositories": [{"root": "/w", "repository": "r", "x": 2}]}
    loaded = load(home, content, mark=b"\xef\xbb\xbf")
    assert loaded.settings.project == "notes"
    assert loaded.ignored_keys == ("kind", "colour", "repositories.0.x")


def test_two_names_of_one_folder_are_refused_by_key(home: Path) -> None:
    (home / "one").mkdir()
    (home / "link").symlink_to(home / "one")
    entries = [
        {"root": "/w", "repository": "r"},
        *({"root": f"~/{name}", "repository": name} for name in ("one", "link")),
    ]
    with pytest.raises(SettingsError) as caught:
        load(home, {"repositories": entries})
    assert caught.value.key == "repositories.2.root"
    assert caught.value.remedy.startswith("is the folder of repositories.1 by another name")
    assert load(home, {"repositories": entries[:2]}).settings.profile(home / "link", home).repository == "one"


def test_a_root_whose_links_lead_in_a_circle_is_the_root_of_nothing(home: Path) -> None:
    (home / "a").symlink_to(home / "b")
    (home / "b").symlink_to(home / "a")
    settings = load(home, {"repositories": [{"root": "~/a", "repository": "r"}]}).settings
    assert settings.profile(home, home).kind == "general"


@pytest.mark.parametrize(
    "root",
    [
        r"C:\Users\ada\one",
        "c:/Users/ada/one",
        r"\\server\share\one",
        "//wsl$/Ubuntu/home/ada/one",
        r"\\wsl.localhost\U\one",
    ],
)
def test_a_path_of_windows_is_refused_with_what_to_give_instead_and_is_not_repeated(home: Path, root: str) -> None:
    with pytest.raises(SettingsError) as caught:
        load(home, {"repositories": [{"root": root, "repository": "r"}]})
    assert caught.value.key == "repositories.0.root"
    assert "must be a path of this system" in caught.value.remedy
    assert root not in str(caught.value)


def test_a_drive_as_wsl_mounts_it_is_a_path_like_any_other(home: Path) -> None:
    loaded = load(home, {"repositories": [{"root": "/mnt/c/Users/ada/one", "repository": "r"}]})
    assert loaded.settings.profile(Path("/mnt/c/Users/ada/one/src"), home).repository == "r"


def test_the_file_that_the_variable_names_is_the_one(home: Path) -> None:
    named = home / "theirs.json"
    named.write_text(json.dumps(MOST))
    loaded = load_settings({COMPATIBLE_CONFIG: "~/theirs.json"}, home)
    assert (loaded.path, loaded.settings.project) == (named, "team-workspace/notes")
