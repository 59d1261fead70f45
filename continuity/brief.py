"""The recalled text as it is put into a context: bounded, masked, fenced, labelled. It asks nothing and has no clock.

What a reader needs to go on comes before anything is cut, whatever order answers arrived in; the same notes give the
same bytes.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

import msgspec

from continuity.handoff import HEADINGS, sections
from continuity.privacy import cut_point, mask
from continuity.privacy.quoting import fenced, one_line, printable, tame
from continuity.recall import QueryKind
from continuity.selection import Item
from journal.ids import Sha256

type Treatment = Literal["used", "cut", "withheld"]

LABEL = "Untrusted historical reference, not current repository facts."
"""Stands before every brief, outside the fence: what follows is material, never instructions."""

_HEADINGS: Mapping[QueryKind, str] = MappingProxyType(
    {
        "checkpoint": "Checkpoint of this branch",
        "tasks": "Active tasks",
        "decisions": "Open decisions",
        "neighbourhood": "Notes linked to the checkpoint",
        "prior_work": "Prior work",
        "shared": "Shared sources (read-only)",
        "topic": "Matching tasks and decisions",
        "recent": "Recently changed notes",
    }
)
_ESSENTIAL: frozenset[QueryKind] = frozenset({"checkpoint", "tasks", "decisions"})
_LABELS = MappingProxyType(
    {
        "": "",
        "local copy": "local copy, not read from memory now",
        "not found": "local copy, its note was not found",
        "moved": "moved since it was confirmed",
        "edited": "edited since it was confirmed",
        "moved and edited": "moved and edited since it was confirmed",
        "withdrawn": "withdrawn: the note is gone",
    }
)
_SMALLEST = 120
"""Fewer characters of a note tell nothing; it is withheld and counted instead."""
_SMALLEST_SECTION = 40
_MORE = "[{count} more not shown: bm_search_notes finds them]"
_MORE_CHARS = 60
_PLACEMENT = "Where new notes belong (the user's own settings):\n"


class Source(msgspec.Struct, frozen=True):
    """One note a brief was made from, and what became of it."""

    path: str
    checksum: str | None
    characters: int
    used: Treatment
    why: str


class Brief(msgspec.Struct, frozen=True):
    """What is put into the context; an empty text means there is nothing to put."""

    text: str
    sha256: Sha256
    sources: tuple[Source, ...]
    maskings: int

    @property
    def cut(self) -> bool:
        """True if anything was shortened or left out for room."""
        return any(source.used != "used" for source in self.sources)


class _Block(msgspec.Struct, frozen=True):
    """One stretch of text that is shortened on its own: a note, or one section of the checkpoint."""

    item: int
    section: QueryKind
    head: str
    text: str
    mark: str
    """Ends it when it is cut."""
    call: str
    """The call that reads the whole note."""
    smallest: int
    truncated: bool

    @property
    def need(self) -> int:
        return len(self.head) + len(self.text) + (len(self.mark) + 1 if self.truncated else 0) + 3

    @property
    def least(self) -> int:
        return min(self.need, len(self.head) + len(self.mark) + self.smallest)


class _Piece(msgspec.Struct, frozen=True):
    item: int
    text: str
    characters: int
    cut: bool


def render_brief(items: Sequence[Item], recall_chars: int, *, placement: str | None = None) -> Brief:
    """Return the brief of `items`, at most `recall_chars` (>= 100) characters long.

    Items stand in the order of their sections, then as given. `placement` is the user's own policy for new notes; it
    is trusted and stands outside the fence.
    """
    blocks, maskings = _blocks(items)
    if not blocks:
        return Brief("", _sha256(""), tuple(_sources(items, (), ())), maskings)
    tail = _placement(placement, recall_chars)
    room = recall_chars - len(LABEL) - len(tail) - _fence_chars(blocks) - 2
    groups = _groups(blocks)
    budgets = _budgets(groups, room)
    body: list[str] = []
    pieces: list[_Piece] = []
    for section, group in groups.items():
        text, used = _section(section, group, budgets.get(section, 0))
        pieces += used
        body += [text] if text else []
    text = f"{LABEL}\n{fenced('\n\n'.join(body), '')}{tail}\n" if body else ""
    return Brief(text, _sha256(text), tuple(_sources(items, blocks, pieces)), maskings)


def _sha256(text: str) -> Sha256:
    return Sha256(hashlib.sha256(text.encode()).hexdigest())


def _placement(policy: str | None, recall_chars: int) -> str:
    text = printable(policy or "").strip()
    limit = recall_chars // 4 - len(_PLACEMENT) - 2
    if not text or limit < 48:
        return ""
    return f"\n\n{_PLACEMENT}{text if len(text) <= limit else text[: cut_point(text, 0, limit)].rstrip()}"


def _fence_chars(blocks: Sequence[_Block]) -> int:
    """Most characters that the fence around any part of `blocks` adds: no part has longer runs than all of it."""
    whole = tame(
        "\n".join(part for block in blocks for part in (block.head, block.text, block.mark, block.call))
    ).strip()
    return len(fenced(whole, "")) - len(whole)


def _blocks(items: Sequence[Item]) -> tuple[list[_Block], int]:
    blocks: list[_Block] = []
    maskings = 0
    for number, item in enumerate(items):
        quoted, count = _masked(item)
        maskings += count
        text = tame(printable(quoted.text)).strip()
        if text:
            checkpoint = item.section == "checkpoint"
            blocks += _checkpoint(number, quoted, text) if checkpoint else [_note(number, quoted, text)]
    return blocks, maskings


def _masked(item: Item) -> tuple[Item, int]:
    """The item without credentials in anything that is shown of it, and how many there were."""
    text, title, path, project = (mask(shown) for shown in (item.text, item.title, item.path, item.project))
    quoted = msgspec.structs.replace(item, text=text.text, title=title.text, path=path.text, project=project.text)
    return quoted, text.count + title.count + path.count + project.count


def _note(number: int, item: Item, text: str) -> _Block:
    call = _rest(item)
    return _Block(number, item.section, f"### {_name(item)}", text, call, call, _SMALLEST, item.truncated)


def _checkpoint(number: int, item: Item, text: str) -> Iterator[_Block]:
    """The five sections each by itself, so that a long one cannot push out the next action."""
    found = sections(text)
    told = [(name, found[name]) for name in HEADINGS if found.get(name)]
    head = f"{_name(item)}\n\n"
    for name, part in told or [("Text", text)]:
        yield _Block(
            number, "checkpoint", f"{head}### {name}", part, "[cut]", _rest(item), _SMALLEST_SECTION, item.truncated
        )
        head = ""


def _name(item: Item) -> str:
    title, path = one_line(item.title, 120), one_line(item.path, 200)
    marks = [_LABELS[item.label]] if item.label else []
    if item.read_only:
        marks.append(f"read-only project {one_line(item.project, 60)}")
    return f"{title} ({path}){f' [{"; ".join(marks)}]' if marks else ''}"


def _rest(item: Item) -> str:
    if item.label == "withdrawn":
        return "[cut; the note is gone]"
    path, project = (one_line(text, 200).replace('"', "'") for text in (item.path, item.project))
    return f'[cut; the rest: bm_read_note(identifier="{path}", project="{project}")]'


def _groups(blocks: Sequence[_Block]) -> Mapping[QueryKind, list[_Block]]:
    groups: dict[QueryKind, list[_Block]] = {name: [] for name in _HEADINGS}
    for block in blocks:
        groups[block.section].append(block)
    return {name: group for name, group in groups.items() if group}


def _budgets(groups: Mapping[QueryKind, Sequence[_Block]], room: int) -> Mapping[QueryKind, int]:
    """Share the room: first among what is needed to go on, then, if all of that fits, what is left among the rest.

    Where there is too little, sections give way from the last to the first, and those before them have it all. The
    checkpoint counts as one share for each of its own sections.
    """
    budgets: dict[QueryKind, int] = {}
    for essential in (True, False):
        names: list[QueryKind] = [name for name in groups if (name in _ESSENTIAL) is essential]
        shared, whole = _shared({name: groups[name] for name in names}, room)
        budgets |= shared
        room -= sum(shared.values())
        if not whole:
            break
    return budgets


def _shared(groups: Mapping[QueryKind, Sequence[_Block]], room: int) -> tuple[dict[QueryKind, int], bool]:
    """Return what each of `groups` gets of `room`, and whether that is all that they need."""
    names: list[QueryKind] = list(groups)
    fitting = list(_first(names, [_least(name, groups[name]) for name in names], room))
    if names and not fitting:
        return {names[0]: room}, False
    least = [_least(name, groups[name]) for name in fitting]
    wanted = [_need(name, groups[name]) - each for name, each in zip(fitting, least, strict=True)]
    weights = [len(groups[name]) if name == "checkpoint" else 1 for name in fitting]
    more = _shares(wanted, room - sum(least), weights)
    shares: dict[QueryKind, int] = {name: each + extra for name, each, extra in zip(fitting, least, more, strict=True)}
    return shares, len(fitting) == len(names) and more == wanted


def _first[Name](names: Sequence[Name], sizes: Sequence[int], room: int) -> Iterator[Name]:
    """The first of `names` that fit together."""
    for name, size in zip(names, sizes, strict=True):
        room -= size
        if room < 0:
            return
        yield name


def _least(section: QueryKind, group: Sequence[_Block]) -> int:
    """How much room a section takes to say something: of a checkpoint all its parts, of others the first note."""
    head = len(_HEADINGS[section]) + 5
    if section == "checkpoint":
        least = head + len(group[0].call) + 2 + sum(block.least for block in group)
    else:
        least = head + group[0].least + (_MORE_CHARS if len(group) > 1 else 0)
    return min(_need(section, group), least)


def _need(section: QueryKind, group: Sequence[_Block]) -> int:
    closing = len(group[0].call) + 2 if section == "checkpoint" and group[0].truncated else 0
    return len(_HEADINGS[section]) + 5 + closing + sum(block.need for block in group)


def _shares(needs: Sequence[int], room: int, weights: Sequence[int] | None = None) -> list[int]:
    """Give everyone what they need or an equal share, whichever is less; what one leaves goes to the others."""
    shares = [0] * len(needs)
    each = weights or [1] * len(needs)
    left, weight = max(0, room), sum(each)
    for index in sorted(range(len(needs)), key=lambda at: needs[at] / each[at]):
        shares[index] = min(needs[index], left * each[index] // weight)
        left, weight = left - shares[index], weight - each[index]
    return shares


def _section(section: QueryKind, group: Sequence[_Block], budget: int) -> tuple[str, list[_Piece]]:
    """Return the text of one section within `budget`, and what was shown of which item."""
    head = f"## {_HEADINGS[section]}"
    room = budget - len(head) - 2
    closing = ""
    if section == "checkpoint" and (_need(section, group) > budget or group[0].truncated):
        closing = group[0].call
        room -= len(closing) + 2
    fitting = _fitting(group, room)
    if section != "checkpoint" and len(fitting) < len(group):
        room -= _MORE_CHARS
        fitting = _fitting(group, room)
        closing = _MORE.format(count=len(group) - len(fitting))
    spare = _shares([block.need - block.least for block in fitting], room - sum(block.least for block in fitting))
    pieces = [_piece(block, block.least + extra) for block, extra in zip(fitting, spare, strict=True)]
    if not pieces:
        return "", []
    return "\n\n".join([head, *(piece.text for piece in pieces), *([closing] if closing else [])]), pieces


def _fitting(group: Sequence[_Block], room: int) -> list[_Block]:
    """The first blocks that fit with at least a little of each."""
    fitting: list[_Block] = []
    for block in group:
        room -= block.least
        if room < 0:
            break
        fitting.append(block)
    return fitting


def _piece(block: _Block, share: int) -> _Piece:
    """Return what `share` characters hold of a block; at the least its heading and where to read it."""
    if share >= block.need:
        marker = f"\n{block.mark}" if block.truncated else ""
        return _Piece(block.item, f"{block.head}\n{block.text}{marker}", len(block.text), block.truncated)
    room = share - len(block.head) - len(block.mark) - 4
    end = cut_point(block.text, 0, room) if room > 0 else 0
    part = block.text[: end if end <= room else 0].rstrip()
    return _Piece(block.item, f"{block.head}\n{part}\n{block.mark}", len(part), cut=True)


def _sources(items: Sequence[Item], blocks: Sequence[_Block], pieces: Sequence[_Piece]) -> Iterator[Source]:
    asked = Counter(block.item for block in blocks)
    given = Counter(piece.item for piece in pieces)
    for number, item in enumerate(items):
        characters = sum(piece.characters for piece in pieces if piece.item == number)
        if not given[number]:
            yield Source(item.path, item.checksum, 0, "withheld", "no room" if asked[number] else "empty")
        elif given[number] < asked[number] or any(piece.cut for piece in pieces if piece.item == number):
            yield Source(item.path, item.checksum, characters, "cut", "no room")
        else:
            yield Source(item.path, item.checksum, characters, "used", "")
