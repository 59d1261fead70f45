"""The command `install`: puts the extension into Tau. A file that is not ours is never overwritten."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from continuity.cli.common import ask, our_places, package_folder
from continuity.console import FILE, FINDINGS, MISUSE, UNREADABLE, escaped, fail, helped, out, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from continuity.cli.doctor.tau import Surroundings
    from continuity.cli.guides import Step
    from continuity.cli.installing.plan import Plan, Wish


@click.command(
    short_help="Put the extension into Tau.",
    help=helped(
        """
        continuity install --dry-run
        continuity install --yes
        continuity install --skill
        continuity install --tau ~/venvs/tau/bin/tau
        """,
        """
        Find the Python that runs Tau, put this program and the libraries it needs, as they are locked, into a folder of
        its own below the state folder, have that Python load it once to see that it will, and write one small file that
        leads Tau there. Tau itself is not touched, and where both bring a library Tau's own is used. What fails, or is
        killed, leaves everything as it was; doing it twice is doing it once; a file that is not ours, or that somebody
        edited, is never overwritten. It outlives updates of Tau. If Tau comes to run in another Python a notice says so
        at the start of a session: do it again then.

        With --skill, Tau's agent also gets a skill on how to use memory, and you four prompts to type: /memory-remember,
        /memory-resume, /memory-decide and /memory-wrap-up. They are files of yours from then on: edit them, and they
        stay as you have them; delete them, and they are gone.

        Without --yes it shows what it would do and asks, if there is a person to ask. `continuity uninstall` takes it
        out again.
        """,
    ),
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--skill", is_flag=True, help="Put a skill and four prompts into Tau too.")
@click.option("--tau", type=FILE, metavar="PATH", help="The `tau` to put it into, instead of the one on PATH.")
@click.option("--python", type=FILE, metavar="PATH", help="The Python that runs Tau, instead of asking its script.")
@click.option("--editable", is_flag=True, help="Lead Tau to this checkout, whose libraries its Python must have.")
def install(*, dry_run: bool, yes: bool, skill: bool, tau: Path | None, python: Path | None, editable: bool) -> None:
    """Put the extension into Tau."""
    from continuity.cli import guides
    from continuity.cli.doctor.tau import Named
    from continuity.cli.installing.plan import Wish

    if dry_run and yes:
        fail("--dry-run and --yes exclude each other", "give one of them", MISUSE)
    if tau is not None and python is not None:
        fail("--tau and --python exclude each other", "give one of them", MISUSE)
    wish = Wish(Named(tau, python) if tau is not None or python is not None else None, editable)
    around = surroundings()
    planned = _planned(around, wish)
    try:
        steps = guides.plan(our_places().tau_home) if skill else ()
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", "make it readable, or move it away", UNREADABLE)
    _show(planned, around)
    show_guides(steps)
    idle = planned.idle and not any(step.wanted for step in steps)
    if idle or dry_run:
        return
    if not yes:
        ask("nothing was written", "say --yes to do it, --dry-run to look")
    carry_out(planned, around)
    _write(steps)


def surroundings() -> Surroundings:
    """Return what decides which programs are run, for somebody who stands in this folder."""
    from continuity.cli.doctor.tau import Surroundings
    from continuity.shell.config import environment
    from continuity.shell.serving import checkout_at

    environ = environment()
    return Surroundings(environ, checkout_at(Path.cwd(), Path.home()))


def _planned(around: Surroundings, wish: Wish) -> Plan:
    """Look at everything; end here if there is no Tau, or something is in the way."""
    from continuity.cli.installing.own import NotInstalled
    from continuity.cli.installing.plan import NoTau, plan

    try:
        planned = plan(our_places(), package_folder(), around, wish)
    except NoTau as error:
        fail(f"Tau: {error.what}", f"{error.hint}; nothing was written", FINDINGS)
    except NotInstalled:
        fail("this program was not installed", "run the `continuity` of an installation", FINDINGS)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", "make it readable, or move it away", UNREADABLE)
    if planned.shim.foreign is not None:
        hint = "move it away, or remove it, and install again"
        fail(f"{planned.shim.foreign} is not ours and is never overwritten", hint, FINDINGS)
    return planned


def _show(planned: Plan, around: Surroundings) -> None:
    """Say what would be done."""
    if planned.idle:
        out(f"{escaped(str(planned.shim.path))} is up to date")
        return
    version = ".".join(map(str, planned.python.version))
    out(f"for Tau {escaped(planned.tau.version or '')} in Python {version}, {escaped(planned.python.path)}")
    for line in lines(planned, around):
        out(line)


def lines(planned: Plan, around: Surroundings) -> Iterator[str]:
    """Yield what a person reads before agreeing to it."""
    from continuity.cli.installing.fetching import installer
    from continuity.cli.installing.own import locked_file

    folder = escaped(str(planned.lead.folder))
    if planned.own is not None and planned.build:
        by = installer(around, planned.python.path, package_folder())
        fetches = (
            f"{by} fetches" if by is not None else f"nothing can fetch: no uv, and no pip in {planned.python.path}"
        )
        yield f"make {folder}"
        yield f"  with tau-continuity {planned.own.version}, and the libraries of its lock, which {escaped(fetches)}:"
        yield f"  {escaped(str(locked_file()))} names them all"
    verb = {"absent": "make", "current": "keep"}.get(planned.shim.standing, "renew")
    yield f"{verb} {escaped(str(planned.shim.path))}"
    yield f"  which adds {folder} to the end of Tau's path and loads continuity.tau.extension"


def carry_out(planned: Plan, around: Surroundings) -> None:
    """Install it, and say what was done; end here if that failed, and everything is as it was."""
    from continuity.cli.installing.doing import NotInstalledNow, loaded_at, told
    from continuity.cli.installing.doing import install as put

    try:
        done = put(planned, around, say)
    except NotInstalledNow as error:
        fail(f"{error.what}; everything is as it was", error.hint, UNREADABLE)
    except OSError as error:
        _failed(error, planned.shim.path, "Tau loads what it loaded before")
    for line in told(done):
        out(escaped(line))
    out(f"done; Tau loads it {loaded_at(planned)}")


def _failed(error: OSError, path: Path, hint: str) -> NoReturn:
    fail(f"{error.filename or path}: {error.strerror}", hint, UNREADABLE)


def show_guides(steps: Sequence[Step]) -> None:
    """Say what would be done for the skill and the prompts; one that is not ours costs itself alone."""
    words = {"absent": "make {}", "outdated": "renew {}", "current": "{} is up to date"}
    for step in steps:
        foreign = "leave {} as it is: it is not ours, or was edited"
        out(words.get(step.standing, foreign).format(escaped(str(step.path))))


def _write(steps: Sequence[Step]) -> None:
    from continuity.cli.guides import install as put_guide

    for step in steps:
        try:
            put_guide(step)
        except OSError as error:
            _failed(error, step.path, "it was not written; what stands above it was")
