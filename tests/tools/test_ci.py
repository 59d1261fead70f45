"""One command judges a change: it runs the checks and the tests, each even if the other fails."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools import check

ROOT = Path(__file__).parents[2]

MAKE = """#!/bin/sh
for target; do :; done
echo "$target" >>ran
case "$target" in
    check) echo lint; {check} ;;
    test) echo "===== 3 passed in 1.0s ====="; {test} ;;
esac
"""
FAILS = "echo 'make: *** [Makefile:9: it] Error 1' >&2; exit 2"


@pytest.mark.parametrize(
    ("check_does", "test_does", "status"), [(":", ":", 0), (FAILS, ":", 1), (":", FAILS, 1), (FAILS, FAILS, 1)]
)
def test_it_runs_both_and_ends_with_the_summary(tmp_path: Path, check_does: str, test_does: str, status: int) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    make = tmp_path / "make"
    make.write_text(MAKE.format(check=check_does, test=test_does), encoding="utf-8")
    make.chmod(0o755)
    done = subprocess.run(
        [tmp_path / ".ci" / "run"],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert (tmp_path / "ran").read_text(encoding="utf-8") == "check\ntest\n"
    assert done.stdout.splitlines()[-1] == "===== 3 passed in 1.0s ====="


def test_a_check_that_fails_fails_the_run_and_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    checks = {
        "first": ("python", "-c", "print('mend this'); raise SystemExit(3)"),
        "second": ("python", "-c", "print('not shown')"),
        "third": ("python", "-c", "raise SystemExit('and this')"),
    }
    assert check.run_all(checks) == 1
    out = capsys.readouterr().out
    assert "--- first ---\nmend this\n" in out
    assert "--- third ---\nand this\n" in out
    assert "not shown" not in out


def test_checks_that_pass_pass_and_each_has_its_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert check.run_all({"one": ("python", "-c", ""), "two": ("python", "-c", "")}) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[::2] for line in lines] == [
        ["one", lines[0].split()[2]],
        ["two", lines[1].split()[2]],
        ["checks", "s"],
    ]


def test_a_name_that_is_no_check_is_a_misuse(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        check.main(["nosuch"])
    assert "no such check: nosuch" in capsys.readouterr().err


def test_the_checks_are_all_that_the_style_asks_for() -> None:
    assert set(check.CHECKS) == {"format", "lint", "tidy", "vendors", "golden", "directions", "mypy", "pyright"}
