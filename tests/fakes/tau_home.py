"""A throw-away Tau home with our extension, settings and a scripted model in it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fakes import relay
from tests.fakes.scripted_model import KEY_ENV, Json, provider_files

SHIM = "from continuity.tau.extension import setup\n"
_KEPT = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")


@dataclass(frozen=True)
class TauHome:
    """Where one made-up person keeps Tau and works."""

    root: Path
    """Holds everything: the Tau home, the person's home and a folder to work in."""

    @property
    def home(self) -> Path:
        return self.root / "tau"

    @property
    def cwd(self) -> Path:
        return self.root / "work"

    @property
    def state(self) -> Path:
        """Where our journals are."""
        return self.home / "state" / "extensions" / "continuity"

    @property
    def settings_path(self) -> Path:
        return self.home / "continuity.json"

    def journals(self) -> tuple[Path, ...]:
        return tuple(sorted(self.state.glob("**/*.journal")))

    def write_settings(self, **settings: Json) -> None:
        self.settings_path.write_text(json.dumps(settings, indent=2), encoding="utf-8")

    def write_extension(self, name: str, source: str) -> Path:
        """Install an extension of one file."""
        path = self.home / "extensions" / name / "extension.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        return path

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the whole environment for a Tau of this home: nothing of ours leaks in but the way to programs."""
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        person = self.root / "person"
        person.mkdir(parents=True, exist_ok=True)
        return {
            **kept,
            "HOME": str(person),
            "TAU_HOME": str(self.home),
            "TAU_OFFLINE": "1",
            "TAU_NO_UPDATE_CHECK": "1",
            "NO_COLOR": "1",
            "PYTHONUTF8": "1",
            KEY_ENV: "not-a-key",
            **(extra or {}),
        }


def relayed(folder: Path, command: str, *args: str) -> dict[str, Json]:
    """Return the settings that put the relay in front of a memory server; its switches and log are in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    return {"command": sys.executable, "args": [relay.__file__, str(folder), command, *args]}


def make_tau_home(
    root: Path,
    model_url: str,
    *,
    settings: Mapping[str, Json] | None = None,
    shim: bool = True,
    context_window: int = 128_000,
) -> TauHome:
    """Make a home under `root` whose default model is at `model_url`; with our extension unless `shim` is False."""
    made = TauHome(root)
    made.cwd.mkdir(parents=True, exist_ok=True)
    provider_files(model_url, made.home, context_window=context_window)
    if settings is not None:
        made.write_settings(**settings)
    if shim:
        made.write_extension("continuity", SHIM)
    return made
