"""What installing into Tau would do, seen before anything is done. Tau's Python is asked once; nothing is written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from continuity.cli import shim
from continuity.cli.doctor.checks import of_tau
from continuity.cli.doctor.facts import Python, Tau
from continuity.cli.doctor.tau import SECONDS, Named, Surroundings, find_tau
from continuity.cli.installing.marks import is_whole
from continuity.cli.installing.own import Own, own
from continuity.memory.server import inside
from continuity.places import Places


class NoTau(Exception):
    """There is no Tau that the extension could be put into; nothing was written."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Wish(NamedTuple):
    """What a person wants installed, and where."""

    named: Named | None = None
    editable: bool = False
    """Tau is to run this very checkout; its Python must have the libraries."""


class Plan(NamedTuple):
    """What would be done."""

    shim: shim.Plan
    lead: shim.Lead
    tau: Tau
    python: Python
    packages: Path
    """The folder of all installations."""
    own: Own | None
    """What would lie in `lead.folder`; null for a checkout, which stays where it is."""
    proven: bool
    """Tau's Python has just loaded it from there, by the shim that is there, and each file is as it was installed."""

    @property
    def build(self) -> bool:
        """The folder is not there as it is meant."""
        return self.own is not None and not self.proven

    @property
    def idle(self) -> bool:
        """Everything is as it would be."""
        return self.shim.standing == "current" and self.proven


def plan(places: Places, packages: Path, around: Surroundings, wish: Wish, seconds: float = SECONDS) -> Plan:
    """Return what installing what lies in `packages` would do.

    Raises:
        NoTau: Tau's Python was not found, does not answer, or is none that will do.
        NotInstalled: This program runs from no installation.
        OSError: Something that is there cannot be read.
    """
    before = shim.lead_at(places.shim)
    chosen = wish.editable or wish.named is not None
    tried = before is not None and (chosen or not inside(before.folder, around.checkout))
    now = places.shim.read_text(encoding="utf-8") if tried else ""
    tau = find_tau(around, now, seconds, wish.named)
    if tau.python is None or tau.tag is None or of_tau(tau).result == "fail":
        found = of_tau(tau)
        raise NoTau(found.found, found.remedy or "--tau or --python names another")
    # A copy would come after what Tau's own environment holds. If that is this very program, Tau is led to it as it is.
    had = None if wish.editable or tau.has == str(packages) else own(packages)
    lead = shim.Lead(
        folder=packages if had is None else places.packages / f"{tau.tag}-{had.digest}",
        tag=None if had is None else tau.tag,
        command=told_command(before),
        named=wish.named is not None,
    )
    proven = before is not None and before.folder == lead.folder and before.tag == lead.tag and tau.loading == ""
    proven = proven and (had is None or is_whole(lead.folder))
    return Plan(shim.plan(places.shim, lead), lead, tau, tau.python, places.packages, had, proven)


def told_command(before: shim.Lead | None) -> str:
    """Return the command that the shim tells: the one it told, as long as that is there, so that nothing is renewed for it."""
    if before is not None and before.command and Path(before.command).is_file():
        return before.command
    run = Path(sys.argv[0])
    beside = Path(sys.executable).parent / "continuity"
    found = next((each for each in (run, beside) if each.name == "continuity" and each.is_file()), None)
    return str(found.absolute()) if found is not None else ""
