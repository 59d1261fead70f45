"""The command `probe`: reads now what became of one open thing, and records it where nobody else works. It sends nothing."""

from __future__ import annotations

from pathlib import Path

import click

from continuity.cli.common import in_option, our_server, reported, run, standing_named
from continuity.cli.texts import show_call, show_probe
from continuity.console import FINDINGS, SOUND, UNREADABLE, fail, helped, json_option, out, say


@click.command(
    short_help="Read now what became of a write.",
    help=helped(
        """
        continuity probe 3f2a9c1b04
        continuity probe 3f2a9c1b04 --in SESSION.journal --json
        """,
        """
        Read now what became of one write that `continuity unproven` lists: by its address, by its title, by search.
        Every read is shown, what they prove together, and what that means. Nothing is written to memory.

        It is recorded in the write's journal, unless a running process has that open. The server that the settings name
        is started for it. The exit code is 0 when the question is settled, 1 when it is still open, 2 for misuse, 3 when
        the journal or the server cannot be reached.
        """,
    ),
)
@click.argument("reference", metavar="REF")
@in_option
@json_option
@reported
def probe(reference: str, *, where: Path | None, as_json: bool) -> None:
    """Read now what became of a write."""
    from continuity.pending import next_step
    from continuity.shell.online import read, visitor
    from journal.lock import holder

    standing = standing_named(reference, where)
    if standing.item.kind == "call":
        show_call(standing, as_json=as_json)
        raise click.exceptions.Exit(FINDINGS)
    if standing.item.unsent:
        what = f"{standing.item.short} was not sent yet, so there is nothing to read"
        fail(what, next_step(standing.item, live=holder(standing.left.path).live), FINDINGS)
    settings, spec = our_server()
    say(f"asking the memory server about {standing.item.short} ...")
    asked = run(lambda: read(standing, spec, settings.timeout_seconds, visitor()))
    if asked.again:
        say("somebody worked in the journal while it was being read for; everything was read again")
    if asked.settled is None:
        fail(
            f"the memory server cannot be asked: {asked.error}",
            "nothing was recorded; see `command` in the settings",
            UNREADABLE,
        )
    if not asked.settled.looks:
        out(f"{standing.item.short} was settled by somebody else meanwhile")
        raise click.exceptions.Exit(SOUND)
    raise click.exceptions.Exit(show_probe(standing, asked.settled, as_json=as_json))
