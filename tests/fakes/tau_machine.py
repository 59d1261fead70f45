"""A machine with a made-up Tau on its path: its Python answers as the real one does, its installer needs no network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from continuity.cli import shim
from continuity.places import Places, places
from tests.replay.kit import Ran, run

TAG = "cpython-313-made-up"
LIBRARY = "library_of_the_lock.py"

PYTHON = """\
#!/bin/sh
[ "$1" = "-I" ] && exit {pip}
folder=${{4#*FOLDER = \\'}}
folder=${{folder%%\\'*}}
loading=null
if [ -n "$4" ]; then
    loading='"not all of it is there"'
    if [ -f "$folder/continuity/__init__.py" ]; then
        loading='{loading}'
        [ -d "$folder/.git" ] || [ -f "$folder/library_of_the_lock.py" ] || loading='"ModuleNotFoundError: library"'
    fi
fi
{before_proof}
echo '{{"python":[3,13,0],"tau":"{version}","level":"B","tag":"{tag}","instead":{instead},"has":{has},"loading":'"$loading"'}}'
"""
"""A checkout has its libraries elsewhere; an installation has them with it."""

UV = """\
#!/bin/sh
echo "$*" >>{record}
target=
while [ $# -gt 0 ]; do
    [ "$1" = "--target" ] && target=$2
    shift
done
{act}
"""
FETCH = f'echo "# fetched" >"$target/{LIBRARY}"'


class TauMachine(NamedTuple):
    """One person's machine, in one folder."""

    root: Path

    @property
    def tau_home(self) -> Path:
        return self.root / "home" / ".tau"

    @property
    def places(self) -> Places:
        return places(self.tau_home)

    @property
    def packages(self) -> Path:
        return self.places.packages

    @property
    def python(self) -> Path:
        return self.root / "tools" / "tau" / "bin" / "python"

    @property
    def tau(self) -> Path:
        return self.root / "bin" / "tau"

    @property
    def environ(self) -> dict[str, str]:
        return {"HOME": str(self.root / "home"), "PATH": f"{self.root / 'bin'}:/usr/bin:/bin", "TAU_HOME": ""}

    @property
    def installers(self) -> list[str]:
        """What uv was asked to do."""
        record = self.root / "uv.record"
        return record.read_text().splitlines() if record.exists() else []

    def run(self, *words: str, **env: str) -> Ran:
        return run(*words, env=self.environ | env)

    def installed(self) -> list[Path]:
        """The installations that are there, under whatever name."""
        if not self.packages.exists():
            return []
        return sorted(each for each in self.packages.iterdir() if each.is_dir())

    def leads_to(self) -> Path | None:
        lead = shim.lead_at(self.places.shim)
        return lead.folder if lead is not None else None

    def has_tau(
        self, *, tag: str = TAG, version: str = "0.4.8", loading: str = "", instead: tuple[str, ...] = (),
        pip: int = 1, before_proof: str = "", has: Path | None = None,
    ) -> None:  # fmt: skip
        text = PYTHON.format(
            tag=tag, version=version, loading=json.dumps(loading), instead=json.dumps(instead), pip=pip,
            before_proof=before_proof, has=json.dumps(str(has)) if has is not None else "null",
        )  # fmt: skip
        program(self.python, text)
        program(self.tau, f"#!{self.python}\nimport tau\n")

    def has_pip(self, act: str) -> None:
        text = self.python.read_text()
        self.python.write_text(text.replace('[ "$1" = "-I" ] && exit 1', f'if [ "$1" = -I ]; then {act}; fi'))

    def has_uv(self, act: str = FETCH) -> None:
        program(self.root / "bin" / "uv", UV.format(record=self.root / "uv.record", act=act))


def program(path: Path, text: str) -> Path:
    """Write a program that may be run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def tau_machine(root: Path) -> TauMachine:
    """Make a machine under `root` on which installing works, and a folder to stand in."""
    made = TauMachine(root)
    (root / "home").mkdir()
    (root / "work").mkdir()
    made.has_tau()
    made.has_uv()
    return made
