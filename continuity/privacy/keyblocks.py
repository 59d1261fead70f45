"""Finds private keys and encrypted messages in PEM or PGP armour, whole or torn; public keys and certificates stay."""

from __future__ import annotations

import re

from continuity.privacy.spans import Span

NAME = "private-key"

_FARTHEST = 16_384
"""Between the two markers; farther apart, they are two mentions and not one block."""

_LABEL = r"(?:(?:[A-Z0-9]{1,20}[ ]){0,4}PRIVATE[ ]KEY(?:[ ]BLOCK)?|PGP[ ]MESSAGE)"
_BEGIN = re.compile(rf"-{{4,5}}[ ]?BEGIN[ ]{_LABEL}[ ]?-{{4,5}}")
_END = re.compile(rf"-{{4,5}}[ ]?END[ ]{_LABEL}[ ]?-{{4,5}}")
_MATERIAL = re.compile(
    r"""(?:
        [\s>|] | \\+[rnt]
      | (?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|Subject):[^\n\\]*+
      | [A-Za-z0-9+/]{20,}+=*+
      | [A-Za-z0-9+/]{1,19}={1,2}
      | =[A-Za-z0-9+/]{4}(?![A-Za-z0-9+/])
    )*+""",
    re.VERBOSE,
)
_LAST_LINE = re.compile(r"(?:[A-Za-z0-9+/]{4}){1,4}(?=[\"'`,]?\s*(?:$|\n|\\+n))")
_BLANK = re.compile(r"\s*+\Z")
_LINE_BREAK = re.compile(r"(?:\n|\\n)[ \t>|]*$")
_KEY_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\\\r\n"


def key_blocks(text: str, *, opened: bool = False) -> tuple[list[Span], bool]:
    """Return the blocks in `text`, and whether the last one is still open at its end.

    `opened` says that an earlier message ended inside a block. Markers without key material are talk about keys and
    stay, unless the text ends with one.
    """
    spans: list[Span] = []
    floor = 0
    marks = sorted([*_BEGIN.finditer(text), *_END.finditer(text)], key=lambda mark: mark.start())
    if opened:
        floor = _continuation(text, marks, spans)
        opened = floor == 0 or (not marks and _BLANK.match(text, floor) is not None)
    for number, mark in enumerate(marks):
        if mark.start() < floor:
            continue
        if _END.match(mark.group()):
            start = floor + len(text[floor : mark.start()].rstrip(_KEY_CHARACTERS))
            if mark.start() - start >= 16:
                spans.append(Span(start, mark.end(), NAME))
            floor, opened = mark.end(), False
            continue
        after = marks[number + 1] if number + 1 < len(marks) else None
        end, opened = _block_end(text, mark, after)
        if end > mark.end() or opened:
            spans.append(Span(mark.start(), end, NAME))
        floor = end
    return spans, opened


def _continuation(text: str, marks: list[re.Match[str]], spans: list[Span]) -> int:
    """Cover the rest of a block begun in an earlier message; return where it ends, 0 if there is none."""
    if marks and _END.match(marks[0].group()) and marks[0].start() <= _FARTHEST:
        end = marks[0].end()
    else:
        end = _material_end(text, 0)
    if end:
        spans.append(Span(0, end, NAME))
    return end


def _block_end(text: str, begin: re.Match[str], after: re.Match[str] | None) -> tuple[int, bool]:
    """Return where the block ends, and whether the text ended before its END marker."""
    if after is not None and _END.match(after.group()) and after.start() - begin.end() <= _FARTHEST:
        torn = text[begin.end() : after.start()].strip(" \t\"'`.,…")
        return (after.end(), False) if torn else (begin.end(), False)
    end = _material_end(text, begin.end())
    return end, _BLANK.match(text, end) is not None


def _material_end(text: str, start: int) -> int:
    found = _MATERIAL.match(text, start)
    end = found.end() if found else start
    if not text[start:end].strip(" \t\r\n>|\\nrt"):
        return start
    if _LINE_BREAK.search(text, max(start, end - 40), end):
        last = _LAST_LINE.match(text, end)
        end = last.end() if last else end
    return start + len(text[start:end].rstrip())
