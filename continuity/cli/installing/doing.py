"""Installs what was planned. Whatever fails, and whenever it is killed, what worked before works on."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

from continuity.cli import shim
from continuity.cli.doctor.facts import Tau
from continuity.cli.doctor.tau import Named, Surroundings, find_tau
from continuity.cli.installing import folders
from continuity.cli.installing.fetching import NotFetched, Wanted, fetch
from continuity.cli.installing.marks import is_whole, mark
from continuity.cli.installing.own import Own, locked_file
from continuity.cli.installing.plan import Plan

PROOF_SECONDS = 90.0
"""Most that Tau's Python may take to load it: the first time it compiles every library too."""


class NotInstalledNow(Exception):
    """It was not installed; everything is as it was."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint


class Done(NamedTuple):
    """What was done."""

    instead: tuple[str, ...]
    """Libraries that Tau brings in another version."""
    removed: tuple[Path, ...]
    kept: Path | None
    """The installation before this one, from which a Tau may still run."""


def loaded_at(planned: Plan) -> str:
    """Return when Tau loads it: a Tau that runs from an earlier installation goes on with that one."""
    return "at its next start, or after /reload" if planned.shim.standing == "absent" else "at its next start"


def told(done: Done) -> Iterator[str]:
    """Yield what a person is told of it."""
    if done.instead:
        yield f"of what Tau brings too, Tau's own is used: {', '.join(done.instead)}"
    yield from (f"removed {folder}" for folder in done.removed)
    if done.kept is not None:
        yield f"kept {done.kept}, for a Tau that may still run from it"


def install(planned: Plan, around: Surroundings, tell: Callable[[str], None], seconds: float = PROOF_SECONDS) -> Done:
    """Put the packages where they belong, prove that Tau's Python loads them, and only then lead Tau there.

    Raises:
        NotInstalledNow: It could not be done; everything is as it was.
        OSError: Likewise.
    """
    if planned.own is None:
        said = _proven(planned, planned.lead, around, seconds)
        shim.install(planned.shim)
        return Done(said.instead, (), None)
    try:
        with ended_orderly(), folders.alone(planned.packages):
            return _led(planned, planned.own, around, tell, seconds)
    except folders.Busy:
        raise NotInstalledNow("another installation is at work", "wait for it, and try again") from None
    except NotFetched as error:
        raise NotInstalledNow(error.what, error.hint) from None


def _led(planned: Plan, own: Own, around: Surroundings, tell: Callable[[str], None], seconds: float) -> Done:
    """Have the packages there, and lead Tau to them."""
    try:
        said = _placed(planned, own, around, tell, seconds) if planned.build else planned.tau
        before = shim.lead_at(planned.shim.path)
        folders.note_shim(planned.packages, planned.shim.path)
        shim.install(planned.shim)
    except BaseException:
        folders.clear(planned.packages)  # if nothing is in it
        raise
    return Done(said.instead, *_tidied(planned, before))


@contextmanager
def ended_orderly() -> Generator[None]:
    """Let a signal that ends us end what we started too, and leave nothing half done."""

    def end(number: int, _: FrameType | None) -> NoReturn:
        raise SystemExit(128 + number)

    mine = threading.current_thread() is threading.main_thread()
    numbers = [each for each in (signal.SIGTERM, signal.SIGHUP) if mine and signal.getsignal(each) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _placed(planned: Plan, own: Own, around: Surroundings, tell: Callable[[str], None], seconds: float) -> Tau:
    """Make the folder, unless it is there as it was made."""
    folder = planned.lead.folder
    if is_whole(folder):
        return _proven(planned, planned.lead, around, seconds)
    folders.refuse(folder)
    tell("fetching the libraries ...")
    with folders.draft(planned.packages) as building:
        target = building / "packages"
        log = planned.packages / folders.LOG
        fetch(Wanted(planned.python.path, locked_file(), target, log, shim.package_folder()), around)
        folders.fill(target, own.contents)
        mark(target, folder.name)
        said = _proven(planned, planned.lead._replace(folder=target), around, seconds)
        folders.put(target, folder)
    return said


def _proven(planned: Plan, lead: shim.Lead, around: Surroundings, seconds: float) -> Tau:
    """Start Tau's Python once with such a shim; return what it says if it loads us."""
    said = _asked(planned, lead, around, seconds)
    if said.loading == "":
        return said
    what = f"{planned.python.path} cannot load it: {said.loading or said.silence or 'it does not say why'}"
    if said.instead:
        what = f"{what}; Tau brings {', '.join(said.instead)}"
    raise NotInstalledNow(what, _remedy(planned, said))


def _remedy(planned: Plan, said: Tau) -> str:
    if planned.own is None:
        return f"Tau's Python needs the libraries: uv pip install --python {planned.python.path} {planned.lead.folder}"
    if said.loading is not None and said.loading.startswith("packages of the same name"):
        return "remove them from Tau's Python; to run a checkout that is installed there: --editable"
    return "uv tool install --force tau-ai renews Tau and its libraries; then try again"


def _asked(planned: Plan, lead: shim.Lead, around: Surroundings, seconds: float) -> Tau:
    return find_tau(around, shim.source(lead), seconds, Named(python=Path(planned.python.path)))


def _tidied(planned: Plan, before: shim.Lead | None) -> tuple[tuple[Path, ...], Path | None]:
    """Remove older installations, but the one before this: a Tau that runs imports from there as it goes."""
    if before is None or before.folder == planned.lead.folder:
        return (), None
    kept = before.folder if before.folder.parent == planned.packages and before.folder.is_dir() else None
    keep = {planned.lead.folder, *folders.led_elsewhere(planned.packages, planned.shim.path)}
    keep |= set() if kept is None else {kept}
    try:
        return folders.remove(planned.packages, keep=keep), kept
    except OSError:
        return (), kept  # it is only room, and the next installation tries again
