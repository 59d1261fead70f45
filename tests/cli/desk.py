"""A person's machine for the tests of `continuity setup`: a home, a checkout, git and a memory server to be spoilt."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.fakes.memory_server import FakeMemory
from tests.fakes.tau_machine import TauMachine
from tests.fakes.terminal import Terminal
from tests.replay.kit import Ran, run

SERVER = Path(__file__).parents[1] / "fakes" / "memory_server.py"


class Desk(NamedTuple):
    """A person's machine in one folder, with a checkout, git and a memory server that may be spoilt."""

    root: Path
    fake: FakeMemory

    @property
    def home(self) -> Path:
        return self.root / "ada"

    @property
    def work(self) -> Path:
        return self.home / "one"

    @property
    def settings(self) -> Path:
        return self.home / ".tau" / "continuity.json"

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": str(self.root / "bin")}

    def setup(self, *words: str, **env: str) -> Ran:
        return run("setup", *words, env=self.environ | env)

    def at_terminal(self, *words: str) -> Terminal:
        return Terminal("setup", *words, env=self.environ, cwd=self.work)

    def has(self, **settings: Any) -> None:
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(json.dumps(settings, indent=2) + "\n")

    @property
    def now(self) -> Any:
        return json.loads(self.settings.read_text())

    def files(self) -> dict[str, bytes]:
        """Everything of the person's and of the server's notes, but not what the server was asked."""
        paths = (each for each in (*self.home.rglob("*"), self.fake.folder / "notes.json") if each.is_file())
        return {str(each): each.read_bytes() for each in paths if ".git" not in each.parts}

    def screen(self, text: str) -> str:
        """What a person reads; the folder of this test and what is new in each process are named for the reader."""
        named = re.sub(r"\b[0-9a-f]{32}\b", "PROCESS", text.replace(str(self.root), "/home"))
        named = re.sub(r"-made-up-[0-9a-f]{12}\b", "-made-up-DIGEST", named)
        return re.sub(r"continuity-setup-[0-9a-f]+", "continuity-setup-CAPTURE", named)

    def servers(self) -> list[str]:
        """The fake servers that still run for this person."""
        found = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout.splitlines()
        return [line for line in found if str(self.fake.folder) in line and "ps -eo" not in line]


def furnished(root: Path) -> Desk:
    """Make all of it in `root`."""
    made = Desk(root, FakeMemory(root / "server"))
    git = shutil.which("git")
    assert git is not None
    (root / "bin").mkdir()
    (root / "bin" / "git").symlink_to(git)
    tau = TauMachine(root)
    tau.has_tau()
    tau.has_uv()
    bm = root / "bin" / "bm"
    bm.write_text(f"#!/bin/sh\nexec {sys.executable} {SERVER} {made.fake.folder}\n")
    bm.chmod(0o755)
    (made.work / ".git" / "objects").mkdir(parents=True)
    (made.work / ".git" / "refs").mkdir()
    (made.work / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (made.work / ".git" / "config").write_text(
        '[remote "origin"]\n\turl = https://ada:secret@example.org/ada/one.git\n'
    )
    return made


def enter_at_each(terminal: Terminal, *questions: str) -> None:
    """Press Enter at each question."""
    for question in questions:
        terminal.answer(question)
