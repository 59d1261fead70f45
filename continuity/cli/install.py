"""The command `install`: puts the extension into Tau. A file that is not ours is never overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from continuity.cli.common import ask, our_places, package_folder
from continuity.console import FINDINGS, MISUSE, UNREADABLE, escaped, fail, helped, out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from continuity.cli.guides import Step
    from continuity.cli.shim import Plan


@click.command(
    short_help="Put the extension into Tau.",
    help=helped(
        """
        continuity install --dry-run
        continuity install --yes
        continuity install --skill
        """,
        """
        Write one small file that leads Tau to this package. A file that is not ours, or that somebody edited, is
        never overwritten; doing it twice is doing it once. Tau itself is not touched.

        With --skill, Tau's agent also gets a skill on how to use memory, and you four prompts to type: /memory-remember,
        /memory-resume, /memory-decide and /memory-wrap-up. They are files of yours from then on: edit them, and they
        stay as you have them; delete them, and they are gone.

        Without --yes it shows what it would do and asks, if there is a person to ask.
        """,
    ),
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Do it without asking.")
@click.option("--skill", is_flag=True, help="Put a skill and four prompts into Tau too.")
def install(*, dry_run: bool, yes: bool, skill: bool) -> None:
    """Put the extension into Tau."""
    from continuity.cli import guides
    from continuity.cli.shim import plan

    if dry_run and yes:
        fail("--dry-run and --yes exclude each other", "give one of them", MISUSE)
    try:
        planned = plan(our_places().shim, package_folder())
        steps = guides.plan(our_places().tau_home) if skill else ()
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}", "make it readable, or move it away", UNREADABLE)
    _show(planned)
    show_guides(steps)
    idle = planned.standing == "current" and not any(step.wanted for step in steps)
    if idle or dry_run:
        return
    if not yes:
        ask("nothing was written", "say --yes to do it, --dry-run to look")
    _write(planned, steps)


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


def show_guides(steps: Sequence[Step]) -> None:
    """Say what would be done for the skill and the prompts; one that is not ours costs itself alone."""
    words = {"absent": "make {}", "outdated": "renew {}", "current": "{} is up to date"}
    for step in steps:
        foreign = "leave {} as it is: it is not ours, or was edited"
        out(words.get(step.standing, foreign).format(escaped(str(step.path))))


def _write(planned: Plan, steps: Sequence[Step]) -> None:
    from continuity.cli.guides import install as put_guide
    from continuity.cli.shim import install as put

    at = planned.path
    try:
        put(planned)
        for step in steps:
            at = step.path
            put_guide(step)
    except OSError as error:
        hint = "nothing was written" if at == planned.path else "it was not written; what stands above it was"
        fail(f"{at}: {error.strerror}", hint, UNREADABLE)
    out("done; Tau loads it at its next start, or after /reload")
