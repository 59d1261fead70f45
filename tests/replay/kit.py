"""Runs the command line as a person would, in this process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from click.testing import CliRunner

from continuity.cli import main


class Ran(NamedTuple):
    """What became of one command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed, as one JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """What it printed, as one JSON value a line."""
        return [json.loads(line) for line in self.out.splitlines()]


def run(*arguments: str | Path, input: bytes | None = None, env: dict[str, str] | None = None) -> Ran:  # noqa: A002
    """Run `continuity` with these arguments."""
    done = CliRunner().invoke(main, [str(each) for each in arguments], input=input, env=env, catch_exceptions=False)
    return Ran(done.exit_code, done.stdout_bytes.decode(), done.stderr)


def findings(path: Path, *options: str | Path) -> set[tuple[str, str, int | None, int | None]]:
    """Rule, severity and place of what an audit finds."""
    found = run("audit", path, "--json", *options).json["findings"]
    return {(each["rule"], each["severity"], each["branch"], each["position"]) for each in found}
