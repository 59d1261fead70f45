"""The two commands that carry a journal as text and back; they make the file they are told to make and overwrite none.

Everything but click is imported inside a command, so that `continuity --help` stays quick.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NoReturn, TextIO

import click

from continuity.console import FILE, MISUSE, UNREADABLE, fail, helped, out_lines, say
from replay.console import opened, patience, reported


@click.command(
    short_help="Write a journal as text.",
    help=helped(
        """
        continuity export SESSION.journal > session.jsonl
        continuity export SESSION.journal --bodies -o session.jsonl
        """,
        """
        Write a journal as canonical JSON lines, the same bytes every time.
        """,
    ),
)
@click.argument("file", type=FILE)
@click.option("-o", "--output", type=FILE, help="A file that does not exist yet; by default stdout.")
@click.option("--bodies", is_flag=True, help="Also the kept texts: handoffs, topics, reasons.")
@reported
def export(file: Path, *, output: Path | None, bodies: bool) -> None:
    """Write a journal as canonical JSON lines, the same bytes every time."""
    from journal.interchange import export_lines

    if output is not None:
        _in_a_folder(output)
    with opened(file) as reader:
        lines = export_lines(reader, bodies=bodies)
        if output is None:
            out_lines(lines)
        else:
            _write_new(output, lines)


def _write_new(output: Path, lines: Iterable[bytes]) -> None:
    """Write a file that its owner alone may read, from its first moment on: as private as the journal is."""
    try:
        with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            try:
                stream.writelines(lines)
            except BaseException:
                output.unlink()
                raise
    except FileExistsError:
        fail(f"{output} exists and is never overwritten", "name a file that does not exist yet", MISUSE)
    except OSError as error:
        fail(f"{output}: {error.strerror}", "nothing was exported", UNREADABLE)


@click.command(
    "import",
    short_help="Make a journal from exported text.",
    help=helped(
        """
        continuity import session.jsonl -o copy.journal
        continuity export SESSION.journal | continuity import - -o copy.journal
        """,
        """
        Make a journal from exported text. Every digest is checked before anything is made.
        """,
    ),
)
@click.argument("text", type=FILE)
@click.option("-o", "--output", type=FILE, required=True, help="A file that does not exist yet.")
@reported
def import_(text: Path, *, output: Path) -> None:
    """Make a journal from exported text. Every digest is checked before anything is made."""
    from journal.interchange import import_lines

    _in_a_folder(output)
    with patience(f"importing {text}"), _source(text) as stream:
        count = import_lines(_lines(stream, text), output)
    say(f"{output}: {count} events")


def _in_a_folder(output: Path) -> None:
    """End here if there is no folder to make `output` in: a name that was mistyped makes none."""
    if not output.parent.is_dir():
        fail(f"{output.parent} is no folder", "make it first, or name a file in another one", UNREADABLE)


@contextmanager
def _source(text: Path) -> Generator[BinaryIO]:
    if str(text) == "-":
        yield _stdin(sys.stdin)
        return
    try:
        stream = text.open("rb")
    except OSError as error:
        _unreadable(text, error)
    with stream:
        yield stream


def _lines(stream: BinaryIO, text: Path) -> Iterator[bytes]:
    try:
        yield from stream
    except OSError as error:
        _unreadable(text, error)


def _unreadable(text: Path, error: OSError) -> NoReturn:
    named = "standard input" if str(text) == "-" else text
    fail(f"{named}: {error.strerror}", "name a text that `continuity export` wrote, or - for stdin", UNREADABLE)


def _stdin(stdin: TextIO | None) -> BinaryIO:
    if stdin is None:
        fail("standard input is closed", "name a text that `continuity export` wrote", UNREADABLE)
    return stdin.buffer
