"""The published schemas are what the code says, all of them and no other, and what commands print fits them."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from replay.shapes import CLI_SHAPES, NotStored
from tests.replay import stories
from tests.replay.kit import run
from tools.gen_schemas import differences, main, schemas

ROOT = Path(__file__).parents[2]


def test_what_is_in_the_checkout_is_what_the_code_says() -> None:
    assert differences(ROOT) == [], "run: .venv/bin/python -m tools.gen_schemas"


def test_they_are_written_where_they_are_missing_and_removed_where_nothing_needs_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "schemas" / "cli").mkdir(parents=True)
    (tmp_path / "schemas" / "cli" / "old.json").touch()
    assert main(["--check", str(tmp_path)]) == 1
    assert "schemas/cli/old.json\n" in capsys.readouterr().out
    assert main([str(tmp_path)]) == 0
    assert differences(tmp_path) == []
    assert not (tmp_path / "schemas" / "cli" / "old.json").exists()


def test_every_part_of_them_is_closed() -> None:
    for name, text in schemas():
        schema: dict[str, Any] = json.loads(text)
        parts: list[dict[str, Any]] = [schema, *schema.get("$defs", {}).values()]
        for part in parts:
            assert part.get("additionalProperties") is False or part.get("type") == "array", name


@pytest.mark.parametrize("command", CLI_SHAPES)
def test_what_a_command_prints_is_of_its_shape(tmp_path: Path, command: str) -> None:
    path = stories.forked().write(tmp_path / "a.journal")
    named: dict[str, list[str | Path]] = {
        "show": [path, "@"],
        "why": ["@", "--in", path],
        "why-brief": ["--brief", "session-1", "--in", path],
    }
    ran = run(command.partition("-")[0], *named.get(command, [path]), "--json")
    printed = ran.lines if command == "log" else ran.json if command == "unproven" else [ran.json]
    assert printed
    for each in printed:
        shape = NotStored if each.get("kind") == "not-stored" else CLI_SHAPES[command]
        assert msgspec.to_builtins(msgspec.convert(each, shape)) == each
