"""The command `install`: puts the extension into Tau. A file that is not ours is never overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from continuity.cli.common import ask, our_places, package_folder
from continuity.console import FINDINGS, MISUSE, UNREADABLE, escaped, fail, helped, out

if TYPE_CHECKING:
    from continuity.cli.shim import Plan


@click.command(
    short_help="Put the extension into Tau.",
    help=helped(
        """
        continuity install --dry-run
        continuity install --yes
        """,
        """
        Write one small file that leads Tau to this package. A file that is not ours, or that somebody edited, is
        never overwritten; doing it twice is doing it once. Tau itself is not touched.

        Without --yes it shows what it would do and asks, if there is a person to ask.
        """,
    ),
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
def install(*, dry_run: bool, yes: bool) -> None:
    """Put the extension into Tau."""
    from continuity.cli.shim import plan

    if dry_run and yes:
        fail("--dry-run and --yes exclude each other", "give one of them", MISUSE)
    try:
        planned = plan(our_places().shim, package_folder())
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", "make it readable, or move it away", UNREADABLE)
    _show(planned)
    if planned.standing == "current" or dry_run:
        return
    if not yes:
        ask("nothing was written", "say --yes to do it, --dry-run to look")
    _write(planned)


def _show(planned: Plan) -> None:
    """Say what would be done; end here if something is in the way."""
    path = escaped(str(planned.path))
    if planned.foreign is not None:
        hint = "move it away, or remove it, and install again"
        fail(f"{planned.foreign} is not ours and is never overwritten", hint, FINDINGS)
    if planned.standing == "current":
        out(f"{path} is up to date")
        return
    out(f"{'make' if planned.standing == 'absent' else 'renew'} {path}")
    out(f"  which adds {escaped(str(planned.folder))} to the end of Tau's path and loads continuity.tau.extension")


def _write(planned: Plan) -> None:
    from continuity.cli.shim import install as put

    try:
        put(planned)
    except OSError as error:
        fail(f"{planned.path}: {error.strerror}", "nothing was written", UNREADABLE)
    out("done; Tau loads it at its next start, or after /reload")
