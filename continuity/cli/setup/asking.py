"""Asks a person, or takes what the command line says; no answer is taken twice. It knows no setting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import click

from continuity.console import MISUSE, escaped, fail, say


class Asker:
    """Where answers come from: the command line first; then, unless `quiet`, a person; then what is so."""

    def __init__(self, *, quiet: bool, first: bool) -> None:
        self.quiet = quiet
        self._first = first

    def tell(self, *lines: str) -> None:
        """Say what a question needs to be understood; nobody reads it where nobody is asked."""
        if not self.quiet:
            say(*lines)

    def confirm(self, question: str, *, given: bool | None = None, now: bool, suggested: bool | None = None) -> bool:
        """Return yes or no. What is `suggested` is Enter's answer in a first setup, what is so `now` later."""
        if given is not None:
            return given
        if self.quiet:
            return now
        usual = suggested if self._first and suggested is not None else now
        return click.confirm(escaped(question), default=usual, err=True)

    def text(self, question: str, fault: Callable[[str], str | None], *, given: str | None = None, now: str) -> str:
        """Return one line in which `fault` finds nothing wrong; Enter's answer is `now`.

        What was given on the command line and is at fault ends the command.
        """
        if given is not None or self.quiet:
            answer = now if given is None else given.strip()
            wrong = fault(answer)
            if wrong is not None:
                fail(f"{question}: {wrong}", "mend it on the command line; nothing was written", MISUSE)
            return answer
        while True:
            told: str = click.prompt(escaped(question), default=escaped(now) or None, err=True)
            answer = now if told == escaped(now) else told.strip()
            wrong = fault(answer)
            if wrong is None:
                return answer
            say(f"  {wrong}")

    def choice(self, question: str, options: Sequence[tuple[str, str]], *, now: str) -> str:
        """Return the word of one of `options`, each a word and what it means; a number will do."""
        for number, (word, meaning) in enumerate(options, start=1):
            self.tell(f"  {number}  {word:<8}  {meaning}")
        words = [word for word, _ in options]

        def fault(answer: str) -> str | None:
            return (
                None if answer in words or _number(answer, len(words)) else f"one of {', '.join(words)}, or its number"
            )

        answer = self.text(question, fault, now=now)
        return words[number - 1] if (number := _number(answer, len(words))) else answer


def _number(text: str, most: int) -> int:
    """The number that `text` is, from 1 to `most`; 0 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and 1 <= int(text) <= most else 0


def numbered(text: str, names: Sequence[str]) -> str:
    """Return the name with this number, unless the text is itself a name."""
    number = 0 if text in names else _number(text, len(names))
    return names[number - 1] if number else text
