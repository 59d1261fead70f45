"""What every command shares: data on stdout, talk on stderr, four exit codes. It imports click alone, to start quickly."""

from __future__ import annotations

import sys
import textwrap
from typing import NoReturn

import click

SOUND, FINDINGS, MISUSE, UNREADABLE = range(4)
"""Exit codes of every command."""

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


def out(text: str) -> None:
    """Write one line or many of data to stdout: UTF-8 into a file or a pipe, what it can show on a terminal."""
    encoding = sys.stdout.encoding if sys.stdout.isatty() else "utf-8"
    click.echo(text.encode(encoding, "backslashreplace"))


def say(text: str) -> None:
    """Tell the person something that is no data."""
    click.echo(escaped(text, keep="\n"), err=True)


def fail(what: str, hint: str, code: int) -> NoReturn:
    """End with words about what is wrong, and what to do."""
    say(f"error: {what}\nhint: {hint}")
    raise click.exceptions.Exit(code)


def helped(examples: str, what: str) -> str:
    """Return the help of a command: examples first."""
    return f"\b\n{textwrap.dedent(examples).strip()}\n\n{textwrap.dedent(what).strip()}"
