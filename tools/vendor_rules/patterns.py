"""Reads the part of regular expressions that token forms are written in.

What it does not know (looking around, references, any character at all) is `Unsupported`, never guessed at.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

_ANYTHING = frozenset(map(chr, range(1, 127)))
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_ESCAPES = {"d": frozenset(string.digits), "w": _WORD, "s": frozenset(" \t\r\n\f\v")}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_BOUNDS = frozenset("bBAzZ")


class Unsupported(ValueError):
    """The expression holds something that no token form needs; nothing was made of it."""


@dataclass(frozen=True)
class Chars:
    """One character of a set."""

    members: frozenset[str]


@dataclass(frozen=True)
class Bound:
    """A place without width."""


@dataclass(frozen=True)
class Several:
    """`inner`, `low` to `high` times."""

    inner: Node
    low: int
    high: int | None


@dataclass(frozen=True)
class Row:
    """One after the other; `captured` if it was a capturing group."""

    parts: tuple[Node, ...]
    captured: bool = False


@dataclass(frozen=True)
class Either:
    """One of several."""

    options: tuple[Node, ...]


type Node = Chars | Bound | Several | Row | Either


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._ignores_case = False

    def whole(self) -> Node:
        node = self._either()
        if self._at < len(self._text):
            raise Unsupported(self._text[self._at :])
        return node

    def _peek(self, count: int = 1) -> str:
        return self._text[self._at : self._at + count]

    def _take(self, count: int = 1) -> str:
        taken = self._peek(count)
        if len(taken) < count:
            raise Unsupported("ended early")
        self._at += count
        return taken

    def _either(self) -> Node:
        options = [self._row()]
        while self._peek() == "|":
            self._take()
            options.append(self._row())
        return options[0] if len(options) == 1 else Either(tuple(options))

    def _row(self) -> Node:
        parts: list[Node] = []
        while self._peek() not in ("", "|", ")"):
            atom = self._atom()
            if atom is not None:
                parts.append(self._repeated(atom))
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _atom(self) -> Node | None:
        first = self._take()
        match first:
            case "(":
                return self._group()
            case "[":
                return Chars(self._cased(self._class()))
            case "\\":
                return self._escape()
            case "^" | "$":
                return Bound()
            case ".":
                return Chars(_ANYTHING - {"\n"})
            case _:
                return Chars(frozenset(first))

    def _group(self) -> Node | None:
        before = self._ignores_case
        captured = True
        if self._peek() == "?":
            self._take()
            if self._peek(2) == "P<":
                self._at = self._text.index(">", self._at) + 1
            else:
                captured = False
                flags = ""
                while self._peek() not in (":", ")"):
                    flags += self._take()
                self._flags(flags)
                if self._take() == ")":
                    return None
        inner = self._either()
        if self._take() != ")":
            raise Unsupported("an open group")
        self._ignores_case = before
        return Row((inner,), captured=True) if captured else inner

    def _flags(self, flags: str) -> None:
        on, _, off = flags.partition("-")
        if set(on + off) - set("is"):
            raise Unsupported(f"(?{flags})")
        self._ignores_case = "i" not in off and ("i" in on or self._ignores_case)

    def _escape(self) -> Node:
        escaped = self._take()
        if escaped in _BOUNDS:
            return Bound()
        if escaped in _ESCAPES:
            return Chars(_ESCAPES[escaped])
        return Chars(frozenset(self._escaped(escaped)))

    def _escaped(self, escaped: str) -> str:
        if escaped == "x":
            return chr(int(self._take(2), 16))
        if escaped.isalnum() and escaped not in _CONTROLS:
            raise Unsupported(f"\\{escaped}")
        return _CONTROLS.get(escaped, escaped)

    def _class(self) -> frozenset[str]:
        negated = self._peek() == "^" and bool(self._take())
        members: set[str] = set()
        first = True
        while first or self._peek() != "]":
            first = False
            if self._peek(9) == "[:alnum:]":
                self._take(9)
                members |= _WORD - {"_"}
                continue
            if self._peek() == "\\" and self._peek(2)[1:] in _ESCAPES:
                members |= _ESCAPES[self._take(2)[1]]
                continue
            low = self._member()
            if self._peek() == "-" and self._peek(2)[1:] not in ("]", ""):
                self._take()
                members |= set(map(chr, range(ord(low), ord(self._member()) + 1)))
            else:
                members.add(low)
        self._take()
        return _ANYTHING - members if negated else frozenset(members)

    def _member(self) -> str:
        taken = self._take()
        return self._escaped(self._take()) if taken == "\\" else taken

    def _cased(self, members: frozenset[str]) -> frozenset[str]:
        """Only sets lose their case: vendors write the letters of a prefix as they are."""
        if not self._ignores_case:
            return members
        return members | {c.lower() for c in members} | {c.upper() for c in members}

    def _repeated(self, atom: Node) -> Node:
        mark = self._peek()
        if mark in ("?", "*", "+") and mark:
            self._take()
            low, high = {"?": (0, 1), "*": (0, None), "+": (1, None)}[mark]
        elif mark == "{" and "}" in self._text[self._at :]:
            end = self._text.index("}", self._at)
            first, comma, last = self._text[self._at + 1 : end].partition(",")
            self._at = end + 1
            low = int(first)
            high = int(last) if last else None if comma else low
        else:
            return atom
        if self._peek() in ("?", "+"):
            self._take()
        return Several(atom, low, high)


def parsed(pattern: str) -> Node:
    """Return `pattern` as a tree.

    Raises:
        Unsupported: It is not written in the part that is read here.
    """
    return _Reader(pattern).whole()
