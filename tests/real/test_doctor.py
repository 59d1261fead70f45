"""The doctor finds the real Tau and the real Basic Memory as they are, and the schema notes that are in a project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from continuity.cli.shim import Lead, source
from continuity.notes import ENTITIES, schema_notes
from tests.fakes.basic_memory import BasicMemoryHome
from tests.fakes.real_memory import real_memory

pytestmark = [pytest.mark.real, pytest.mark.timeout(180)]

ROOT = Path(__file__).parents[2]
CALL = (sys.executable, "-c", "from continuity.cli import main; main()", "doctor", "--online", "--json")


def doctor(root: Path) -> dict[str, Any]:
    """Run it as a person would who has Tau and Basic Memory in one environment; return the checks by name."""
    environ = BasicMemoryHome(root).environment()
    programs = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "TAU_HOME": str(root / "tau")}
    done = subprocess.run(
        CALL, cwd=root / "work", env=environ | programs | {"PYTHONPATH": str(ROOT)}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}


@pytest.mark.long
async def test_everything_is_found_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    shim = tmp_path / "tau" / "extensions" / "continuity" / "extension.py"
    shim.parent.mkdir(parents=True)
    shim.write_text(source(Lead(ROOT)))
    (tmp_path / "tau" / "continuity.json").write_text('{"project": "main"}')
    async with real_memory(tmp_path) as memory:
        for note in schema_notes():
            await memory.call("write_note", project="main", title=note.title, directory="schemas", content=note.text)
        await memory.until_files(memory.home.notes.name, len(ENTITIES))
    found = doctor(tmp_path)
    assert {name: check["result"] for name, check in found.items() if check["result"] != "ok"} == {}
    assert found["tau"]["found"].startswith(f"{version('tau-ai')}, level B")
    assert found["memory"]["found"].startswith(f"basic-memory {version('basic-memory')}, ")
    assert found["source"]["found"] == "main is local"
    assert "schemas" in found
