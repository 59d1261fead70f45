"""Whatever a settings file holds or is, it is settings or it is refused by key: never waited for, never a traceback."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from continuity.shell.config import SettingsError, read_settings
from continuity.shell.settings import Settings

TEXT = st.text(max_size=20) | st.sampled_from(["\x00", "\ud800", "/w", "~/\x00", "a/b", "=", "\u2028", "every"])
KEY = st.sampled_from([*Settings.model_fields, "kind", "root", "repository", "characters"]) | TEXT
LEAF = st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats() | TEXT
VALUE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tau") / "continuity.json"


def refused(path: Path, content: str) -> SettingsError:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError) as caught:
        read_settings(path, ours=True)
    return caught.value


def read(path: Path, content: bytes) -> None:
    """Read it as ours and as the compatible one; what is no fault of the settings comes out of here."""
    path.write_bytes(content)
    for ours in (True, False):
        with suppress(SettingsError):
            assert read_settings(path, ours=ours).path == path


@settings(deadline=None)
@given(content=st.dictionaries(KEY, VALUE, max_size=4))
def test_any_object_is_settings_or_a_fault_of_them(path: Path, content: dict[str, Any]) -> None:
    read(path, json.dumps(content).encode())


@settings(deadline=None)
@given(content=st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_are_settings_or_a_fault_of_them(path: Path, content: bytes) -> None:
    read(path, content)


@pytest.mark.parametrize("key", ["recall_chars", "unheard_of"])
def test_a_number_of_thousands_of_digits_is_refused(path: Path, key: str) -> None:
    assert "too many digits" in refused(path, f'{{"{key}": {"9" * 5000}}}').remedy


@pytest.mark.parametrize(
    ("told", "key"),
    [
        ({"command": "b\x00m"}, "command"),
        ({"args": ["mcp", "a\x00b"]}, "args.1"),
        ({"env": {"A": "a\x00b"}}, "env.A"),
        ({"env": {"A\x00B": "a"}}, "env.A"),
        ({"env": {"A=B": "a"}}, "env.A=B"),
    ],
)
def test_what_no_program_can_be_started_with_is_refused_by_its_key(path: Path, told: object, key: str) -> None:
    assert (refused(path, json.dumps(told)).key or "").startswith(key)


@pytest.mark.parametrize(
    ("content", "key"),
    [('{"comand": "canary"}', "comand"), ('{"timeout_seconds": "canary"}', "timeout_seconds"), ("{canary", "")],
)
def test_what_is_refused_is_named_by_its_file_and_key_and_never_by_its_value(
    path: Path, content: str, key: str
) -> None:
    said = str(error := refused(path, content)) + error.remedy
    assert (str(path) in said, key in said, "canary" in said) == (True, True, False)


def test_a_pipe_a_folder_and_a_device_are_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for each in (tmp_path / "pipe", tmp_path, Path("/dev/zero")):
        with pytest.raises(SettingsError, match=r"no regular file|directory"):
            read_settings(each, ours=True)


def test_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "dotfiles.json").write_text('{"project": "notes"}')
    (tmp_path / "continuity.json").symlink_to(tmp_path / "dotfiles.json")
    assert read_settings(tmp_path / "continuity.json", ours=True).settings.project == "notes"
