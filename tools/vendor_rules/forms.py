"""Tells how the tokens of an expression look, and writes it so that it matches in linear time; it reads no rule."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tools.vendor_rules.patterns import Bound, Chars, Either, Node, Row, Several, Unsupported

LONGEST = 1024
"""Most repetitions that a form without an upper bound is given."""

_MOST_PREFIXES = 40
_MOST_BACKTRACKING = 64


def secret_of(node: Node, *, anywhere: bool = False) -> Node:
    """Return what the expression says is the secret: its first capturing group, else all of it, without its edges.

    Raises:
        Unsupported: More than one character must stand before the secret, and it is not wanted `anywhere`.
    """
    if isinstance(node, Row) and node.captured:
        return secret_of(Row(node.parts))
    if not isinstance(node, Row):
        return node
    before = 0
    for part in node.parts:
        if _is_captured(part):
            if before > 1 and not anywhere:
                raise Unsupported("something must stand before it")
            return secret_of(part)
        before += 0 if isinstance(part, Bound) else 1 if is_edge(part) else 2
    kept = [part for part in node.parts if not isinstance(part, Bound)]
    return secret_of(kept[0]) if len(kept) == 1 else Row(tuple(kept))


def is_edge(node: Node) -> bool:
    """True for one character, or none, that only stands beside a token."""
    match node:
        case Chars():
            return len(node.members) > 1
        case Bound():
            return True
        case Either():
            return all(is_edge(option) for option in node.options)
        case _:
            return False


def _is_captured(node: Node) -> bool:
    return isinstance(node, Row) and (node.captured or (len(node.parts) == 1 and _is_captured(node.parts[0])))


def prefixes(node: Node, limit: int = 12) -> tuple[str, ...]:
    """Return the texts one of which `node` begins with, as long as they can be listed."""
    found, _ = _heads(node, limit)
    return tuple(sorted(found))


def _heads(node: Node, limit: int) -> tuple[set[str], bool]:
    """The heads, and whether they are all of the node."""
    match node:
        case Bound():
            return {""}, True
        case Chars():
            return (set(node.members), True) if len(node.members) <= 4 else ({""}, False)
        case Several():
            heads, whole = _heads(node.inner, limit)
            if (node.low, node.high) == (0, 1):
                return heads | {""}, whole
            return (heads, whole) if (node.low, node.high) == (1, 1) else ({""}, False)
        case Either():
            listed = [_heads(option, limit) for option in node.options]
            return set[str]().union(*(heads for heads, _ in listed)), all(whole for _, whole in listed)
        case Row():
            return _row_heads(node, limit)


def _row_heads(node: Row, limit: int) -> tuple[set[str], bool]:
    heads = {""}
    for part in node.parts:
        more, whole = _heads(part, limit)
        longer = {head + tail for head in heads for tail in more}
        if len(longer) > _MOST_PREFIXES:
            return heads, False
        heads = longer
        if not whole or min(map(len, heads)) >= limit:
            return heads, False
    return heads, True


def shortest(node: Node) -> int:
    """Return how many characters `node` has at least."""
    match node:
        case Bound():
            return 0
        case Chars():
            return 1
        case Several():
            return node.low * shortest(node.inner)
        case Either():
            return min(map(shortest, node.options))
        case Row():
            return sum(map(shortest, node.parts))


def alphabet(node: Node) -> frozenset[str]:
    """Return every character that `node` may hold."""
    match node:
        case Bound():
            return frozenset()
        case Chars():
            return node.members
        case Several():
            return alphabet(node.inner)
        case Either():
            return frozenset[str]().union(*map(alphabet, node.options))
        case Row():
            return frozenset[str]().union(*map(alphabet, node.parts))


def is_open(node: Node) -> bool:
    """True if nothing says how long it may be."""
    match node:
        case Several():
            return node.high is None
        case Row():
            return bool(node.parts) and is_open(node.parts[-1])
        case Either():
            return any(map(is_open, node.options))
        case _:
            return False


def first(node: Node) -> frozenset[str]:
    """Return the characters that `node` may begin with."""
    match node:
        case Row():
            found = frozenset[str]()
            for part in node.parts:
                found |= first(part)
                if shortest(part):
                    break
            return found
        case Either():
            return frozenset[str]().union(*map(first, node.options))
        case Several():
            return first(node.inner)
        case _:
            return alphabet(node)


def written(node: Node) -> str:
    """Return `node` as an expression that never tries more than a few ways to match.

    A repetition gives nothing back where what follows could not take it anyway.

    Raises:
        Unsupported: Two repetitions side by side could share their characters in too many ways.
    """
    text, ways = _written(node, frozenset())
    if ways > _MOST_BACKTRACKING:
        raise Unsupported(f"{ways} ways to match")
    return text


def _written(node: Node, after: frozenset[str]) -> tuple[str, int]:
    match node:
        case Bound():
            return "", 1
        case Chars():
            return _set(node.members), 1
        case Several():
            return _several(node, after)
        case Either():
            both = [_written(option, after) for option in node.options]
            return f"(?:{'|'.join(text for text, _ in both)})", max(ways for _, ways in both) * len(both)
        case Row():
            return _row(node, after)


def _row(node: Row, after: frozenset[str]) -> tuple[str, int]:
    texts: list[str] = []
    ways = 1
    for number, part in enumerate(node.parts):
        rest = Row(node.parts[number + 1 :])
        follows = first(rest) if shortest(rest) else first(rest) | after
        text, more = _written(part, follows)
        texts.append(text)
        ways *= more
    return "".join(texts), ways


def _several(node: Several, after: frozenset[str]) -> tuple[str, int]:
    inner, ways = _written(node.inner, after | first(node.inner))
    if not isinstance(node.inner, Chars):
        inner = f"(?:{inner})"
    high = node.high if node.high is not None else max(node.low, LONGEST)
    if node.low == high:
        return inner + ("" if high == 1 else f"{{{high}}}"), ways**high if ways > 1 else 1
    count = "?" if (node.low, high) == (0, 1) else f"{{{node.low},{high}}}"
    shares = not first(node.inner).isdisjoint(after)
    plain = isinstance(node.inner, Chars) and not shares
    return inner + count + ("+" if plain else ""), (high - node.low + 1) * ways if not plain else 1


def _set(members: frozenset[str]) -> str:
    if len(members) == 1:
        (only,) = members
        return _quoted(only)
    return "[" + "".join(_ranges(members)) + "]"


def _quoted(character: str) -> str:
    return character if character.isalnum() or character in "_-/:=%!~@\"'" else "\\" + character


def _ranges(members: frozenset[str]) -> Iterator[str]:
    codes = sorted(map(ord, members))
    start = 0
    for at in range(1, len(codes) + 1):
        if at < len(codes) and codes[at] == codes[at - 1] + 1:
            continue
        low, high = chr(codes[start]), chr(codes[at - 1])
        if codes[at - 1] - codes[start] >= 2:
            yield f"{_member(low)}-{_member(high)}"
        else:
            yield from (_member(chr(code)) for code in codes[start:at])
        start = at


def _member(character: str) -> str:
    return "\\" + character if character in "\\]^-[" else character


def drawn(node: Node, random: Random) -> str:
    """Return a text that `node` describes, no longer than it must be."""
    match node:
        case Bound():
            return ""
        case Chars():
            return random.choice(sorted(node.members))
        case Several():
            return "".join(drawn(node.inner, random) for _ in range(node.low))
        case Either():
            return drawn(random.choice(node.options), random)
        case Row():
            return "".join(drawn(part, random) for part in node.parts)
