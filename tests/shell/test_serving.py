"""Nothing of the repository we stand in is run, wherever in it that is; a home folder is no repository to be kept out."""

from __future__ import annotations

from pathlib import Path

import pytest

from continuity.memory.errors import CommandRefused
from continuity.places import places
from continuity.shell.config import load_settings
from continuity.shell.serving import checkout_at, server_spec


@pytest.mark.parametrize(
    ("repositories", "cwd", "kept_out"),
    [
        (["home/repo"], "home/repo/sub/folder", "home/repo"),
        (["home/repo", "home/repo/vendor"], "home/repo/vendor/sub", "home/repo"),
        (["home"], "home/work/sub", "home/work/sub"),
        (["home", "home/repo"], "home/repo/sub", "home/repo"),
        (["repo"], "repo/sub", "repo"),
        (["."], "work/sub", "work/sub"),
        ([], "work/sub", "work/sub"),
        (["home"], "home", None),
        (["home"], ".", None),
    ],
)
def test_the_outermost_repository_around_a_folder_is_kept_out_and_never_a_home(
    tmp_path: Path, repositories: list[str], cwd: str, kept_out: str | None
) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / cwd).mkdir(parents=True, exist_ok=True)
    for number, each in enumerate(repositories):  # of a worktree it is a file
        (tmp_path / each / ".git").write_text("") if number else (tmp_path / each / ".git").mkdir()
    found = checkout_at(tmp_path / cwd, tmp_path / "home")
    assert found == (None if kept_out is None else tmp_path / kept_out)


def test_a_link_to_a_folder_of_a_repository_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "sub").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "repo" / "sub")
    assert checkout_at(tmp_path / "link", tmp_path / "home") == (tmp_path / "repo").resolve()


def test_a_memory_server_of_the_repository_is_not_started_from_a_folder_below(tmp_path: Path) -> None:
    cwd, server = tmp_path / "repo" / "sub", tmp_path / "repo" / ".venv" / "bin" / "bm"
    for folder in (cwd, server.parent, tmp_path / "repo" / ".git"):
        folder.mkdir(parents=True)
    server.touch(0o755)
    environ = {"HOME": str(tmp_path / "home"), "PATH": str(server.parent)}
    loaded = load_settings(environ, tmp_path / "home")
    refused = server_spec(loaded, places(tmp_path / "home"), environ, home=tmp_path / "home", cwd=cwd)
    assert isinstance(refused, CommandRefused)
    assert refused.reason == "inside-checkout"
