"""The offline commands that look: they read journals, and write nothing.

Everything but click is imported inside a command, so that `continuity --help` stays quick.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from continuity.console import (
    FILE,
    FINDINGS,
    MISUSE,
    SOUND,
    UNREADABLE,
    escaped,
    fail,
    helped,
    is_terminal,
    json_option,
    out,
    say,
)
from replay.carrying import export, import_
from replay.console import opened, reported
from replay.rescan import rescan
from replay.surroundings import now_ms, plain, state_folder

if TYPE_CHECKING:
    from journal.errors import RowUnreadable
    from journal.reader import Reader
    from journal.row import RawRow

_file = click.argument("file", type=FILE)


def _color(word: str, color: str) -> str:
    """Color a word on a terminal that wants it."""
    return click.style(word, fg=color) if is_terminal(sys.stdout) and not plain() else word


def _stopped(stop: RowUnreadable | None, then: str) -> None:
    """Name the place where a journal stops being proven, and end with findings."""
    if stop is not None:
        say(f"broken: {stop}", then, "hint: `continuity audit FILE` says what is wrong")
        raise click.exceptions.Exit(FINDINGS)


@click.command(
    short_help="List what was recorded.",
    help=helped(
        """
        continuity log SESSION.journal
        continuity log SESSION.journal -n 20
        continuity log SESSION.journal --json | jq 'select(.type == "write-intended.v1")'
        """,
        """
        List what was recorded: newest first, with --json oldest first.

        A row that does not verify is listed as it is, and named on stderr; the exit code is then 1.
        """,
    ),
)
@_file
@json_option
@click.option("--branch", type=int, help="Only rows that this branch recorded.")
@click.option("-n", "--limit", type=click.IntRange(min=1), help="Only the newest N rows.")
@reported
def log(file: Path, *, as_json: bool, branch: int | None, limit: int | None) -> None:
    """List what was recorded: newest first, with --json oldest first."""
    from journal.errors import NoSuchPlace

    with opened(file) as reader:
        rows = [row for row in reader.rows() if branch in (None, row.branch)]
        if branch is not None and not rows and branch not in {row.branch for row in reader.branches}:
            raise NoSuchPlace(branch)
        shown = rows[-limit:] if limit else rows
        if as_json:
            _log_json(shown)
        else:
            _log_text(shown, rows)
        _stopped(_first_stop(reader), "rows from there on are listed as they are and prove nothing")


def _log_json(rows: list[RawRow]) -> None:
    from replay.render import json_line
    from replay.timeline import log_line

    for row in rows:
        out(json_line(log_line(row)))


def _log_text(shown: list[RawRow], rows: list[RawRow]) -> None:
    from replay.render import id_length, table
    from replay.timeline import line

    length = id_length(row.digest.hex() for row in rows)
    for text in table([line(row, length) for row in reversed(shown)]):
        out(text)


def _first_stop(reader: Reader) -> RowUnreadable | None:
    from replay.fold import folded

    stops = (folded(reader, row.branch).stop for row in reader.branches)
    return next((stop for stop in stops if stop is not None), None)


@click.command(
    short_help="Show one row in full, with the texts it names.",
    help=helped(
        """
        continuity show SESSION.journal @          the newest row
        continuity show SESSION.journal @-         the one before it
        continuity show SESSION.journal 2@17       row 17 of branch 2's history
        continuity show SESSION.journal 3f2a9c1b   the row whose digest begins so
        """,
        """
        Show one row in full, with the kept texts that it names.
        """,
    ),
)
@_file
@click.argument("reference", metavar="REF")
@json_option
@reported
def show(file: Path, reference: str, *, as_json: bool) -> None:
    """Show one row in full, with the kept texts that it names."""
    from replay.references import find
    from replay.render import json_text
    from replay.timeline import details, shown_event

    with opened(file) as reader:
        row = find(reader, reference)
        event = shown_event(reader, row)
    if as_json:
        out(json_text(event))
        return
    for text in details(row):
        out(text)
    for digest, body in event.bodies.items():
        out(f"\n{digest[:10]}:")
        out("  " + escaped(body, keep="\n\t").replace("\n", "\n  "))
    for digest, when in event.erased.items():
        out(f"\n{digest[:10]}: erased, see {escaped(when)}")


@click.command(
    short_help="Show what a branch amounts to.",
    help=helped(
        """
        continuity state SESSION.journal
        continuity state SESSION.journal --branch 2 --at 17 --json
        """,
        """
        Show what a branch amounts to: its checkpoint, what is pending, what recall owes.

        With a broken row it shows the state before it, names it on stderr, and the exit code is 1.
        """,
    ),
)
@_file
@json_option
@click.option("--branch", type=int, help="Which branch; by default the one written last.")
@click.option("--at", type=click.IntRange(min=0), help="After this row of its history; by default its last.")
@reported
def state(file: Path, *, as_json: bool, branch: int | None, at: int | None) -> None:
    """Show what a branch amounts to: its checkpoint, what is pending, what recall owes."""
    from replay.fold import folded
    from replay.projections import state_view
    from replay.render import json_text
    from replay.views import state_text

    with opened(file) as reader:
        chosen = reader.last_branch() if branch is None else branch
        found = folded(reader, chosen, at)
        view = state_view(reader.header, chosen, found.state)
    out(json_text(view) if as_json else state_text(view, found.state))
    _stopped(found.stop, f"this is the state after {view.position} rows, before that one")


@click.command(
    short_help="List the branches.",
    help=helped(
        """
        continuity branches SESSION.journal
        """,
        """
        List the branches: where each left its parent, and how far it goes.
        """,
    ),
)
@_file
@json_option
@reported
def branches(file: Path, *, as_json: bool) -> None:
    """List the branches: where each left its parent, and how far it goes."""
    from replay.projections import branches_view
    from replay.render import json_text
    from replay.views import branches_text

    with opened(file) as reader:
        view = branches_view(reader)
    out(json_text(view) if as_json else branches_text(view))


@click.command(
    short_help="List writes and tool calls that are not settled.",
    help=helped(
        """
        continuity unproven
        continuity unproven ~/elsewhere SESSION.journal
        continuity unproven --json | jq '.[] | select(.unproven and .probes == 0)'
        """,
        """
        List writes and tool calls of which nobody knows what became, and writes that were proven not to be stored
        and wait for a person: since when, why, and what to do. The oldest comes first. What a session keeps and did
        not send yet follows, a line for each journal: it needs no decision, and is stored when the session is resumed.

        PATH is a journal or a folder of them; without one it is the folder that `continuity paths` calls state.
        The exit code is 0 however many there are: it says that all of it was looked at. 1 when a journal is broken,
        and 3 when something cannot be read.
        """,
    ),
)
@click.argument("paths", type=FILE, nargs=-1, metavar="[PATH]...")
@json_option
@reported
def unproven(paths: tuple[Path, ...], *, as_json: bool) -> None:
    """List writes and tool calls that are not settled."""
    from replay.render import json_text
    from replay.views import unproven_text
    from replay.widely import at_home, over

    found = over(paths) if paths else at_home(state_folder())
    every = [*found.items, *found.unsent]
    if as_json or every or not found.troubles:
        out(json_text(every) if as_json else unproven_text(found.items, now_ms(), found.unsent))
    for each in found.without:
        say(f"{each}: no journal was found in this folder")
    for trouble in found.troubles:
        say(trouble)
    if found.troubles:
        say("hint: this is not all: what cannot be read may hold more, and nothing is said of it")
    raise click.exceptions.Exit(UNREADABLE if found.unreadable else FINDINGS if found.troubles else SOUND)


@click.command(
    short_help="Tell how something came about, and what became of it.",
    help=helped(
        """
        continuity why d3847cee41                        a capture or a call, in whatever session
        continuity why 1a841e5b --in SESSION.journal     the row whose digest begins so
        continuity why 1@42 --in SESSION.journal --json
        continuity why --brief 98160f136b6d              the newest brief of that session
        """,
        """
        Tell how a row, a capture or a call came about, from the prompt on, and of a capture or a call also what
        became of it: the intent, the answer, each read with what it found, decisions. The last line says what is
        known now.

        REF is the beginning of an identity that `continuity unproven` or `/bm-pending` shows, or, as for `show`, of a
        row. PATH is a journal or a folder of them; without one it is the folder that `continuity paths` calls state.

        With --brief it tells of one brief instead, note by note: what was put into the model's context, from which
        revision, which question brought it and why, what was cut or withheld, and what was not answered in time.
        """,
    ),
)
@click.argument("reference", metavar="REF", required=False)
@click.option(
    "--brief", "session", metavar="SESSION", help="Tell of the newest brief of the session whose id begins so."
)
@click.option("--at", metavar="REF", help="With --brief: the newest one at or before this row.")
@click.option("--in", "path", type=FILE, metavar="PATH", help="Only in this journal, or in this folder of them.")
@json_option
@reported
def why(reference: str | None, *, session: str | None, at: str | None, path: Path | None, as_json: bool) -> None:
    """Tell how something came about, and what became of it."""
    if (reference is None) is (session is None) or (at is not None and session is None):
        fail("name either REF or --brief SESSION", "--at REF goes with --brief alone", MISUSE)
    if session is not None:
        _why_brief(path or state_folder(), session, at, as_json=as_json)
    elif reference is not None:
        _why(path, reference, as_json=as_json)


def _why_brief(where: Path, session: str, at: str | None, *, as_json: bool) -> None:
    from replay.briefs import find_session, told
    from replay.render import json_text

    found = find_session(where, session)
    for trouble in found.troubles:
        say(f"error: {trouble}; it was not looked into")
    if found.path is None:
        fail(f"nothing that can be read is of a session {session}", "make what is named above readable", UNREADABLE)
    with opened(found.path) as reader:
        story = told(reader, found.path, at)
    out(json_text(story.view) if as_json else "\n".join(story.lines))
    _stopped(story.stop, "rows from there on are no part of what is told")


def _why(path: Path | None, reference: str, *, as_json: bool) -> None:
    from continuity.pending import shown
    from replay.naming import find_named
    from replay.render import json_text
    from replay.views import why_text
    from replay.why import told

    searched = find_named(path or state_folder(), reference, ours=path is None)
    for trouble in searched.troubles:
        say(f"error: {trouble}; it was not looked into")
    if searched.named is None:
        fail(f"nothing that can be read is named {shown(reference)}", "make what is named above readable", UNREADABLE)
    with opened(searched.named.path) as reader:
        story = told(reader, searched.named)
    out(json_text(story.view) if as_json else why_text(story.view))
    _stopped(story.stop, "rows from there on are no part of what is told")


def _print_rules(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    from replay.render import table
    from replay.rules import PROVES

    if wanted:
        for text in table(list(PROVES.items())):
            out(text)
        context.exit(SOUND)


@click.command(
    short_help="Check everything that can be proven.",
    help=helped(
        """
        continuity audit SESSION.journal
        continuity audit SESSION.journal --session ~/.tau/sessions/WORK/ID.jsonl --strict
        continuity audit --rules
        """,
        """
        Check everything that can be proven of a journal, and say how far.

        The exit code is 0 when nothing is broken, 1 when something is (with --strict also when something is
        unproven), 2 for misuse and 3 when the file cannot be read.
        """,
    ),
)
@_file
@json_option
@click.option("--session", type=FILE, metavar="TAUFILE", help="Compare with the receipts in this Tau session file.")
@click.option("--notes", type=FILE, metavar="DIR", help="Compare confirmed notes with this project's folder.")
@click.option("--strict", is_flag=True, help="Exit 1 also when something is unproven.")
@click.option("--rules", is_flag=True, is_eager=True, expose_value=False, callback=_print_rules, help="List the rules.")
@reported
def audit(file: Path, *, as_json: bool, session: Path | None, notes: Path | None, strict: bool) -> None:
    """Check everything that can be proven of a journal, and say how far."""
    from replay.audit import audit as judged
    from replay.render import json_text
    from replay.session import mirrored
    from replay.views import audit_text

    if notes is not None and not notes.is_dir():
        fail(f"{notes} is no folder", "name the folder of the Basic Memory project", UNREADABLE)
    mirror = None if session is None else mirrored(session)
    with opened(file) as reader:
        found = judged(reader, mirror, notes)
    view = found.view()
    words = {word: _color(word, color) for word, color in (("ok", "green"), ("unproven", "yellow"), ("broken", "red"))}
    out(json_text(view) if as_json else audit_text(view, found.asked, words))
    unsure = strict and any(finding.severity == "unproven" for finding in found.findings)
    raise click.exceptions.Exit(FINDINGS if unsure or not found.ok else SOUND)


commands: Mapping[str, click.Command] = {
    "log": log,
    "show": show,
    "state": state,
    "branches": branches,
    "unproven": unproven,
    "why": why,
    "audit": audit,
    "export": export,
    "import": import_,
    "rescan": rescan,
}
"""What `continuity` mounts through the entry point, in the order of its help."""
