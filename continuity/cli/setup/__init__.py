"""The command `setup`: asks what should be so, shows what that changes, and does it once agreed to. It can be run again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from continuity.console import MISUSE, fail, helped, is_terminal

if TYPE_CHECKING:
    from continuity.cli.setup.facts import Cadence, Flags


@click.command(
    short_help="Ask where notes go, and what is saved when.",
    help=helped(
        """
        continuity setup
        continuity setup --dry-run
        continuity setup --yes --project main --repository ada/one --schemas
        """,
        """
        Ask where notes go, whether the checkout you stand in is coding work, and what is saved when. The memory server that
        the settings name is started for it, and ended.

        What would be changed is shown, and nothing is written before you agree; no note is ever written over. Run again,
        Enter at every question keeps what is so. With --yes nobody is asked: what the options do not say stays as it is, and
        no note is written unasked.
        """,
    ),
)
@click.option("--project", metavar="NAME", help="Where notes go.")
@click.option(
    "--repository",
    metavar="NAME",
    help="File work in this checkout as coding work of this repository; --project is then that checkout's too.",
)
@click.option(
    "--root", type=click.Path(path_type=Path), metavar="PATH", help="The checkout; by default the one you are in."
)
@click.option("--general", is_flag=True, help="File work in this checkout as general work.")
@click.option("--cadence", type=click.Choice(["gather", "every"]), help="Save as work gathers, or after every turn.")
@click.option("--transcripts/--no-transcripts", default=None, help="Save each message too, as a note of its own.")
@click.option("--schemas/--no-schemas", default=None, help="Write the schema notes that the project lacks.")
@click.option("--skill/--no-skill", default=None, help="Put a skill and four prompts into Tau.")
@click.option("--verify/--no-verify", default=None, help="Write one small note and read it back.")
@click.option("--offline", is_flag=True, help="Start no server; names are taken unseen.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", is_flag=True, help="Ask nothing.")
def setup(
    *,
    project: str | None,
    repository: str | None,
    root: Path | None,
    general: bool,
    cadence: Cadence | None,
    transcripts: bool | None,
    schemas: bool | None,
    skill: bool | None,
    verify: bool | None,
    offline: bool,
    dry_run: bool,
    yes: bool,
) -> None:
    """Ask where notes go, and what is saved when."""
    import sys

    from continuity.cli.setup.facts import Flags
    from continuity.cli.setup.walk import walk

    flags = Flags(
        project=project,
        repository=repository,
        root=root,
        general=general,
        cadence=cadence,
        transcripts=transcripts,
        skill=skill,
        schemas=schemas,
        verify=verify,
        offline=offline,
        dry_run=dry_run,
        yes=yes,
    )
    _checked(flags)
    if not flags.yes and not is_terminal(sys.stdin):
        hint = "say --yes, and what you want by options; nothing was written"
        shows = "`--yes --dry-run` shows what the options alone would do, and does nothing"
        fail("there is nobody to ask", shows if flags.dry_run else hint, MISUSE)
    walk(flags)


def _checked(flags: Flags) -> None:
    """Refuse what contradicts itself."""
    if flags.general and flags.repository is not None:
        fail("--general and --repository exclude each other", "give one of them", MISUSE)
    if flags.root is not None and flags.repository is None and not flags.general:
        fail("--root alone says nothing of that checkout", "add --repository NAME, or --general", MISUSE)
    if flags.offline and (flags.schemas or flags.verify):
        fail("--offline writes no notes", "leave out --schemas and --verify, or --offline", MISUSE)
