"""Our extension in a Tau that dies, by SIGKILL, when it is about to record a chosen event: nothing of it is on disk then.

The file `DIE_AT` in the Tau home names the event by its tag; with `after ` before it, it dies once the event is on disk
and has told nobody. Without the file this is the ordinary extension.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from continuity.tau import extension
from continuity.tau.host import Tau
from journal.ids import BranchId, Sha256
from journal.row import Record, Row
from journal.store import Journal
from tests.fakes.tau_home import TauHome

DIE_AT = "DIE_AT"
AFTER = "after "
_REPOSITORY = Path(__file__).parents[2]
_append = Journal.append


def install(home: TauHome) -> None:
    """Put this in the place of the ordinary extension."""
    home.write_extension(
        "continuity",
        f"import sys\nsys.path.append({str(_REPOSITORY)!r})\nfrom tests.fakes.sudden_death import setup\n",
    )


def die_at(home: TauHome, tag: str | None, *, recorded: bool = False) -> None:
    """Let every Tau of `home` die at the next event with `tag`, before or after it is `recorded`; None lets them live."""
    path = home.home / DIE_AT
    path.unlink(missing_ok=True)
    if tag is not None:
        path.write_text(f"{AFTER}{tag}" if recorded else tag, encoding="utf-8")


def setup(tau: Tau) -> None:
    """Set our extension up over a journal that can die."""
    Journal.append = _mortal  # type: ignore[method-assign] # the place to die at is inside the product
    extension.setup(tau)


async def _mortal(
    self: Journal,
    branch: BranchId,
    records: Sequence[Record],
    *,
    expected: int,
    bodies: Mapping[Sha256, str] | None = None,
    erase: Sequence[Sha256] = (),
) -> tuple[Row, ...]:
    switch = Path(os.environ["TAU_HOME"]) / DIE_AT
    fatal = switch.read_text(encoding="utf-8") if switch.exists() else ""
    dies = any(record.event.__struct_config__.tag == fatal.removeprefix(AFTER) for record in records)
    if dies and not fatal.startswith(AFTER):
        os.kill(os.getpid(), signal.SIGKILL)
    rows = await _append(self, branch, records, expected=expected, bodies=bodies or {}, erase=erase)
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows
