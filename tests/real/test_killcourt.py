"""Ten real kills around real writes leave a journal that is never wrong, and a run that is over is not run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tools.killcourt.table import Table

pytestmark = [pytest.mark.real, pytest.mark.timeout(400)]

ROOT = Path(__file__).parents[2]
KILLS = 10


def court(folder: Path, *more: str) -> subprocess.CompletedProcess[bytes]:
    told = ("--kills", str(KILLS), "--sitting", str(KILLS // 2), "--no-tau", "--json", "--folder", str(folder))
    command = [sys.executable, "-m", "tools.killcourt", *told, *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=380, check=False)


def test_ten_kills_are_judged_without_a_false_word(tmp_path: Path) -> None:
    done = court(tmp_path)
    said = done.stderr.decode()
    table = msgspec.json.decode(done.stdout, type=Table)
    assert (table.false_verdicts, table.duplicates, table.unaccounted) == ((), (), ()), said
    assert table.kills + len(table.mistrials) == KILLS, said
    assert sum(row.stored + row.absent for row in table.verdicts) + table.between == table.kills
    again = court(tmp_path)
    assert again.stdout == done.stdout
    assert again.stderr == b""
