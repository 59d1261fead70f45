"""Settings come from the user's own files; what is wrong with one is said by file, key and remedy, never by its value."""

import json
import traceback
from pathlib import Path

import pytest

from continuity.shell.config import (
    COMPATIBLE_CONFIG,
    OUR_CONFIG,
    STATE_HOME,
    TAU_HOME,
    Loaded,
    SettingsError,
    environment,
    load_places,
    load_settings,
)
from continuity.shell.settings import Settings
from tests.facts import COMPATIBLE_DEFAULTS

SECRET = "sk-" + "SECRETSECRET1234567890"
ROOT = {"kind": "coding", "root": "/w/one", "repository": "ada/one", "project": "notes"}


@pytest.fixture
def tau(tmp_path: Path) -> Path:
    folder = tmp_path / ".tau"
    folder.mkdir()
    return folder


def save(path: Path, content: object) -> Path:
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return path


def load(tau: Path, content: object, **environ: str) -> Loaded:
    save(tau / "continuity.json", content)
    return load_settings(environ, tau.parent)


def refused(tau: Path, content: object) -> SettingsError:
    with pytest.raises(SettingsError) as caught:
        load(tau, content)
    return caught.value


def test_without_a_file_everything_is_at_its_default(tau: Path) -> None:
    loaded = load_settings({}, tau.parent)
    assert loaded == Loaded(Settings(), None, ())
    assert loaded.settings.model_dump(mode="json") == {
        **COMPATIBLE_DEFAULTS,
        "cadence": {"characters": 4000, "minutes": 10},
        "recall_wait_seconds": 3,
        "discovery_seconds": 15,
        "compaction_wait_seconds": 10,
        "exit_timeout_seconds": 10,
        "scope": None,
        "tools": None,
        "env": {},
        "summary_model": None,
        "keep_bodies": True,
        "retention_days": None,
        "mask_candidates": True,
    }


def test_our_file_comes_before_the_compatible_one(tau: Path) -> None:
    save(tau / "basic-memory.json", {"project": "theirs"})
    assert load_settings({}, tau.parent).settings.project == "theirs"
    assert load(tau, {"project": "ours"}).settings.project == "ours"


def test_a_variable_names_another_file(tau: Path) -> None:
    named = save(tau / "x.json", {"project": "named"})
    loaded = load(tau, {"project": "ours"}, **{OUR_CONFIG: str(named)})
    assert (loaded.settings.project, loaded.path) == ("named", named)
    assert load_settings({OUR_CONFIG: "~/.tau/x.json"}, tau.parent).path == named


def test_the_compatible_variable_counts_only_without_a_file_of_ours(tau: Path) -> None:
    named = save(tau / "x.json", {"project": "named"})
    environ = {COMPATIBLE_CONFIG: str(named)}
    assert load_settings(environ, tau.parent).settings.project == "named"
    assert load(tau, {}, **environ).settings.project is None


@pytest.mark.parametrize("variable", [OUR_CONFIG, COMPATIBLE_CONFIG])
def test_a_named_file_must_exist(tau: Path, variable: str) -> None:
    with pytest.raises(SettingsError, match=r"x\.json: does not exist"):
        load_settings({variable: str(tau / "x.json")}, tau.parent)


@pytest.mark.parametrize("variable", [OUR_CONFIG, COMPATIBLE_CONFIG, STATE_HOME, TAU_HOME])
def test_a_variable_must_not_depend_on_the_checkout(tau: Path, variable: str) -> None:
    with pytest.raises(SettingsError, match=f"{variable}: must name an absolute path"):
        load_settings({variable: "relative/x.json"}, tau.parent)


def test_an_empty_variable_names_nothing(tau: Path) -> None:
    assert load_settings({OUR_CONFIG: "", TAU_HOME: ""}, tau.parent).path is None


def test_tau_home_and_state_can_be_moved(tau: Path) -> None:
    assert load_places({}, tau.parent).tau_home == tau
    moved = load_places({TAU_HOME: "~/elsewhere", STATE_HOME: "/state"}, tau.parent)
    assert (moved.tau_home, moved.state) == (tau.parent / "elsewhere", Path("/state"))
    assert load_places({TAU_HOME: "~"}, tau.parent).tau_home == tau.parent


def test_a_byte_order_mark_is_no_part_of_the_file(tau: Path) -> None:
    (tau / "continuity.json").write_bytes(b'\xef\xbb\xbf{"project": "notes"}')
    assert load_settings({}, tau.parent).settings.project == "notes"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not JSON at line 1 column 1"),
        ("{", "is not JSON at line 1 column 2"),
        ('"no"', "must hold one JSON object"),
        ("[]", "must hold one JSON object"),
        ("[" * 100_000, "nested too deeply"),
        (" " * 1_000_001, "too large"),
    ],
)
def test_a_file_that_is_no_settings_is_named(tau: Path, content: str, words: str) -> None:
    error = refused(tau, content)
    assert words in str(error)
    assert str(tau / "continuity.json") in str(error)


def test_a_file_that_is_not_utf8_is_named(tau: Path) -> None:
    (tau / "continuity.json").write_bytes(b'{"project": "\xff"}')
    with pytest.raises(SettingsError, match="is not UTF-8"):
        load_settings({}, tau.parent)


def test_a_folder_in_the_place_of_the_file_is_named(tau: Path) -> None:
    (tau / "continuity.json").mkdir()
    with pytest.raises(SettingsError, match="cannot be read"):
        load_settings({}, tau.parent)


@pytest.mark.parametrize(
    ("content", "key", "remedy"),
    [
        ({"auto_recall": "no"}, "auto_recall", "should be a valid boolean"),
        ({"recall_chars": 99}, "recall_chars", "greater than or equal to 100"),
        ({"recall_chars": 50001}, "recall_chars", "less than or equal to 50000"),
        ({"summary_chunk_chars": 999}, "summary_chunk_chars", "1000"),
        ({"timeout_seconds": 301}, "timeout_seconds", "300"),
        ({"timeout_seconds": 0}, "timeout_seconds", "greater than 0"),
        ({"read_projects": list("abcdefg")}, "read_projects", "at most 6"),
        ({"project": ""}, "project", "at least 1"),
        ({"project": " notes"}, "project", "one line"),
        ({"checkpoint_folder": "../up"}, "checkpoint_folder", "ordinary names"),
        ({"capture_folder": "/abs"}, "capture_folder", "relative to the project"),
        ({"repositories": [ROOT | {"root": "w/one"}]}, "repositories.0.root", "must be an absolute path"),
        ({"repositories": [ROOT, ROOT]}, None, "each root may be approved once"),
        ({"repositories": [ROOT | {"extra": 1}]}, "repositories.0.extra", "no setting of ours"),
        ({"cadence": "never"}, "cadence", 'must be "every" or'),
        ({"cadence": {"minutes": 0}}, "cadence.minutes", "greater than 0"),
        ({"summary_model": "model"}, "summary_model", "match"),
        ({"env": {"A": 1}}, "env.A", "valid string"),
        ({"retention_days": 0}, "retention_days", "1"),
    ],
)
def test_a_value_that_cannot_be_used_is_named_by_its_key(
    tau: Path, content: dict[str, object], key: str | None, remedy: str
) -> None:
    error = refused(tau, content)
    assert error.key == key
    assert remedy in error.remedy


@pytest.mark.parametrize(
    "content",
    [
        {"api_key": SECRET},
        {"recall_chars": SECRET},
        {"project": SECRET + "\n"},
        {"checkpoint_folder": "../" + SECRET},
        {"cadence": SECRET},
        {"summary_model": SECRET},
        {"repositories": [ROOT | {"root": SECRET}]},
        {"repositories": [SECRET]},
        {"env": SECRET},
        '{"project": "' + SECRET,
        f'"{SECRET}"',
    ],
)
def test_a_value_is_never_repeated(tau: Path, content: object) -> None:
    error = refused(tau, content)
    assert SECRET not in "".join(traceback.format_exception(error))
    assert SECRET not in repr(error)


def test_a_key_we_do_not_know_is_refused_in_our_file_and_listed_from_the_other(tau: Path) -> None:
    content = {"project": "notes", "api_key": SECRET, "repositories": [ROOT | {"color": 1}]}
    assert refused(tau, content).remedy.startswith("is no setting of ours")
    (tau / "continuity.json").unlink()
    save(tau / "basic-memory.json", content)
    loaded = load_settings({}, tau.parent)
    assert loaded.ignored_keys == ("api_key", "repositories.0.color")
    assert loaded.settings.repositories[0].repository == "ada/one"


def test_a_wrong_value_in_the_compatible_file_is_named_all_the_same(tau: Path) -> None:
    save(tau / "basic-memory.json", {"repositories": ["x"]})
    with pytest.raises(SettingsError, match=r"basic-memory\.json: repositories\.0"):
        load_settings({}, tau.parent)


@pytest.mark.parametrize("cadence", ["every", {"characters": 1}, {"minutes": 0.5}])
def test_a_cadence_is_a_word_or_its_two_numbers(tau: Path, cadence: object) -> None:
    assert load(tau, {"cadence": cadence}).path is not None


def test_a_link_to_an_approved_checkout_is_the_checkout(tau: Path) -> None:
    home = tau.parent
    (home / "one" / "src").mkdir(parents=True)
    (home / "link").symlink_to(home / "one")
    settings = load(tau, {"repositories": [ROOT | {"root": "~/link"}]}).settings
    assert settings.profile(home / "link" / "src", home).root == str((home / "one").resolve())
    assert settings.profile(home, home).kind == "general"


@pytest.mark.parametrize(
    ("approved", "cwd", "unapproved"),
    [
        ("one", "one/src", None),
        ("one", "one/src/inner", "one/src/inner"),
        ("one", "tree/deep", "tree"),
        ("one/src", "one/src", "one"),
        ("one", "plain", None),
        (None, "tree", None),
    ],
)
def test_a_checkout_around_the_folder_that_is_not_approved_is_known_where_any_is(
    tau: Path, approved: str | None, cwd: str, unapproved: str | None
) -> None:
    home, code = tau.parent, tau.parent / "code"
    for folder in ("one/src/inner", "tree/deep", "plain"):
        (code / folder).mkdir(parents=True)
    for root in (home, code / "one", code / "one" / "src" / "inner"):
        (root / ".git").mkdir()
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main")
    (code / "tree" / ".git").write_text("gitdir: elsewhere")
    (code / "plain" / ".git").mkdir()
    roots = [ROOT | {"root": str(code / approved)}] if approved is not None else []
    found = load(tau, {"repositories": roots}).settings.profile(code / cwd, home)
    assert found.unapproved == (str((code / unapproved).resolve()) if unapproved else None)


def test_the_environment_is_a_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONTINUITY_HOME", "/state")
    copy = dict(environment())
    monkeypatch.delenv("CONTINUITY_HOME")
    assert copy["CONTINUITY_HOME"] == "/state"
