"""The command that looks whether kept texts hold what only newer rules know, and erases them if it is told to.

Everything but click is imported inside the command, so that `continuity --help` stays quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from continuity.console import FILE, FINDINGS, SOUND, UNREADABLE, escaped, helped, json_option, out, say
from replay.console import patience, reported
from replay.surroundings import now_ms, state_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from replay.shapes import Rescan, RescanFinding


@click.command(
    short_help="Look for credentials in kept texts, by the rules of today.",
    help=helped(
        """
        continuity rescan
        continuity rescan SESSION.journal --json
        continuity rescan --erase
        """,
        """
        Look for credentials in kept texts, by the rules of today: what is kept was masked by those of its time. Each
        text found is told by journal, row and number of values, never by the value.

        With --erase these texts are erased and the journal says so; its chain still verifies. A handoff that is needed
        again is made anew, or taken from its note; a note that is not known to be stored is kept. A journal that a
        session has open is left as it is. While another program reads a journal its files keep what was taken out:
        that is told, and --erase again finishes it.

        PATH is a journal or a folder of them; without one it is the folder that `continuity paths` calls state. The
        exit code is 0 when nothing is found, 1 when something is, and 3 when something cannot be read.
        """,
    ),
)
@click.argument("paths", type=FILE, nargs=-1, metavar="[PATH]...")
@json_option
@click.option("--erase", is_flag=True, help="Erase the texts that are found.")
@reported
def rescan(paths: tuple[Path, ...], *, as_json: bool, erase: bool) -> None:
    """Look for credentials in kept texts, by the rules of today."""
    from replay.render import json_text
    from replay.rescanning import rescan as looked

    with patience("looking at kept texts"):
        found = looked(paths or _at_home(), erase_at_ms=now_ms() if erase else None)
    out(json_text(found.view) if as_json else _text(found.view))
    for each in found.without:
        say(f"{each}: no journal was found in this folder")
    for trouble in found.troubles:
        say(f"error: {trouble}; it was not looked into to its end")
    for refusal in found.live:
        say(f"not erased: {refusal}", "hint: end that session, or erase there once it has ended")
    for journal in found.view.unfinished:
        say(
            f"not erased to the end: {journal}: another program reads it, so its files still hold what was taken out",
            "hint: `continuity rescan --erase` finishes it once that program has ended",
        )
    if found.view.findings:
        _advise(found.view)
    findings = FINDINGS if found.view.findings or found.view.unfinished else SOUND
    raise click.exceptions.Exit(UNREADABLE if found.troubles else findings)


def _at_home() -> Sequence[Path]:
    """Our own folder, which need not be made yet: nothing is kept then."""
    import os

    folder = state_folder()
    return (folder,) if os.path.lexists(folder) else ()


def _text(view: Rescan) -> str:
    """A journal a block, a text a line, and at the end what was looked at."""
    from itertools import groupby

    from replay.render import table

    lines: list[str] = []
    for journal, findings in groupby(view.findings, key=lambda each: each.journal):
        lines += [escaped(journal), *(f"  {line}" for line in table([_row(each) for each in findings]))]
    looked = f"rule set {view.rule_set}, {_counted(view.journals, 'journal')}"
    lines.append(
        f"{len(view.findings) or 'none'} of {_counted(view.texts, 'kept text')} would be masked now ({looked})"
    )
    return "\n".join(lines)


def _row(found: RescanFinding) -> tuple[str, ...]:
    place = f"{found.branch}@{found.position}" if found.position is not None else "no row"
    kind = escaped((found.type or "-").partition(".v")[0])
    what = ", erased" if found.erased else ", not stored yet" if found.unstored else ""
    return place, kind, found.digest[:10], f"{_counted(found.values, 'value')}{what}"


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _advise(view: Rescan) -> None:
    """What is found here may have been sent: erasing it here is no remedy for that."""
    say("hint: change such a credential, for what was sent holds it too; `continuity show JOURNAL ROW` shows the text")
    held = sum(each.unstored for each in view.findings)
    if held:
        say(
            f"not erased: {_counted(held, 'note')} not known to be stored, which nothing would bring back",
            "hint: such a note can be erased once it is stored or let go of; `continuity unproven` lists what was sent",
        )
    if not all(each.erased or each.unstored or each.journal in view.unfinished for each in view.findings):
        say("hint: `continuity rescan --erase` erases these texts")
