"""`make demo` proves every step of the main job and ends with 0; a step that is not proven ends it and says where to look."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from tools import demo
from tools.demo.__main__ import main, perform
from tools.demo.narrator import Narrator, NotProven
from tools.demo.play import Play
from tools.demo.steps import STEPS

ROOT = Path(demo.__file__).parents[2]


@pytest.mark.long  # kill points, settling and ten cycles show each of its steps too
@pytest.mark.timeout(300)
def test_every_step_is_proven(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.demo"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert len(re.findall(r"(?m)^\[ ?\d+/\d+\]", done.stdout)) == len(STEPS)
    assert "\x1b" not in done.stdout
    assert f"Everything is left in {tmp_path}" in done.stdout


def test_a_step_that_is_not_proven_ends_the_play(tmp_path: Path) -> None:
    said = io.StringIO()
    narrator = Narrator(1, Console(file=said))
    with Play(tmp_path, narrator) as play, pytest.raises(NotProven) as stopped:
        perform(play, [("It claims something", lambda play: play.proves(None, "two is three", tmp_path / "log"))])
    narrator.failed(str(stopped.value), stopped.value.where)
    assert "FAILED at step 1: not so: two is three" in said.getvalue()
    assert f"look at: {tmp_path / 'log'}" in said.getvalue().replace("\n", "")


def test_the_exit_code_tells_whether_all_was_proven(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def breaks(play: Play) -> None:
        raise ValueError("no such luck")

    assert main([("It breaks", breaks)]) == 1
    out = capsys.readouterr().out
    assert "FAILED at step 1: ValueError: no such luck" in out
    [trace] = tmp_path.glob("continuity-demo-*/failure.txt")
    assert "in breaks" in trace.read_text()
