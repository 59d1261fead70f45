"""What every command shares: data on stdout, talk on stderr, four exit codes. It imports click alone, to start quickly."""

from __future__ import annotations

import json
import os
import sys
import textwrap
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn, TextIO

import click

SOUND, FINDINGS, MISUSE, UNREADABLE = range(4)
"""Exit codes of every command."""

FILE = click.Path(path_type=Path, readable=False)
"""A file is opened when it is wanted: what cannot be read is unreadable, not misuse."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON; its schema is in schemas/cli.")

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def escaped(text: str, *, keep: str = "") -> str:
    r"""Return `text` with everything that could act on a terminal spelled out, such as `\x1b`.

    Control characters, direction overrides, invisible and unassigned
    characters are all of them; those in `keep` stay.
    """
    if text.isprintable():
        return text
    return "".join(char if char in keep or char.isprintable() else _spelled(char) for char in text)


def _spelled(char: str) -> str:
    code = ord(char)
    if char in _NAMED:
        return _NAMED[char]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def escaped_json(text: str) -> str:
    """Spell out what JSON allows and a terminal may obey; such characters stand inside strings only."""
    return "\n".join(_spelled_json(line) for line in text.split("\n"))


def _spelled_json(line: str) -> str:
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1].replace("\x7f", "\\u007f") for char in line)


def out(text: str) -> None:
    """Write one line or many of data to stdout: UTF-8 into a file or a pipe, what it can show on a terminal."""
    with guarded():
        stream = _opened(sys.stdout)
        encoding = stream.encoding if stream.isatty() else "utf-8"
        click.echo(text.encode(encoding, "backslashreplace"))


def out_lines(lines: Iterable[bytes]) -> None:
    """Write `lines`, each with its end, to stdout as they are."""
    with guarded():
        stream = _opened(sys.stdout).buffer
        stream.writelines(lines)
        stream.flush()


@contextmanager
def guarded() -> Generator[None]:
    """Write to stdout within, which may fail.

    A reader that closed early, such as `head`, wants no more: what is left goes nowhere, and the command runs
    on to the exit code that it would have had. Any other failure ends it in words.
    """
    try:
        yield
    except BrokenPipeError:
        _leave(sys.stdout)
    except OSError as error:
        _leave(sys.stdout)
        hint = "make it accessible, or name another" if error.filename else "what was printed is not all of it"
        fail(f"{error.filename or 'standard output'}: {error.strerror or error}", hint, UNREADABLE)


def _opened(stdout: TextIO | None) -> TextIO:
    if stdout is None:
        fail("standard output is closed", "leave it open, or send it to a file", UNREADABLE)
    return stdout


def is_terminal(stream: TextIO | None) -> bool:
    """Tell whether a person is at the other end; a standard stream that was closed before we began is None."""
    return stream is not None and stream.isatty()


def _leave(stream: TextIO) -> None:
    """Let what is still buffered go nowhere: Python writes it at exit, and would fail again."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def say(*lines: str) -> None:
    """Tell the person something that is no data; if nobody can hear it, the exit code still speaks.

    What is named in a line, such as a file, makes no other line: a line end in it is spelled out.
    """
    try:
        click.echo("\n".join(escaped(line) for line in lines), err=True)
    except OSError:
        _leave(sys.stderr)


def fail(what: str, hint: str, code: int) -> NoReturn:
    """End with words about what is wrong, and what to do."""
    say(f"error: {what}", f"hint: {hint}")
    raise click.exceptions.Exit(code)


def helped(examples: str, what: str) -> str:
    """Return the help of a command: examples first."""
    return f"\b\n{textwrap.dedent(examples).strip()}\n\n{textwrap.dedent(what).strip()}"
