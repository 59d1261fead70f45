"""Where a real Basic Memory may run in a test: fresh folders, no network, nothing of the person's own notes.

`PYTEST_CURRENT_TEST` has to go too: with it the server starts no indexer and its projects stay "never indexed".
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

COMMAND = str(Path(sys.executable).parent / "bm")
ARGS = ("mcp", "--transport", "stdio")
START_SECONDS = 60.0
"""Generous: two cores may be busy with another suite."""

_SETTINGS = {
    "HF_HUB_OFFLINE": "1",
    "BASIC_MEMORY_AUTO_UPDATE": "false",
    "BASIC_MEMORY_NO_PROMOS": "1",
}
_HARMFUL = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTEST_CURRENT_TEST")


@dataclass(frozen=True)
class BasicMemoryHome:
    """The folders of one isolated Basic Memory."""

    root: Path

    @property
    def notes(self) -> Path:
        """Where project `main` keeps its files."""
        return self.root / "notes"

    def environment(self, environ: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return `environ` (ours by default) turned away from everything outside `root`; makes the folders."""
        base = dict(os.environ if environ is None else environ)
        kept = {k: v for k, v in base.items() if k not in _HARMFUL and not k.startswith("BASIC_MEMORY_")}
        places = {"HOME": self.root, "BASIC_MEMORY_HOME": self.notes, "BASIC_MEMORY_CONFIG_DIR": self.root / "config"}
        for place in places.values():
            place.mkdir(parents=True, exist_ok=True)
        return kept | {name: str(place) for name, place in places.items()} | _SETTINGS
