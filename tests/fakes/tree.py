"""What there was to notice in a session, read from its tree by Tau's own means, and what its journal says was noticed.

It knows nothing of how the journal finds its branches: in the tree of public messages the first that goes on from a
message goes on with its branch, and each later one begins a branch of its own. That is all there is to a fork.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

from tau_agent.messages import AssistantMessage, CustomMessage, UserMessage
from tau_agent.session import JsonlSessionStorage, SessionEntry, SessionState, path_to_entry

from continuity.tau.entries import BRIEF_TYPE
from journal.events import (
    BriefDelivered,
    CaptureBegun,
    CompactionEnded,
    CompactionNoticed,
    CompactionStarted,
    Event,
    SessionOpened,
    WorkBegun,
    WriteIntended,
)
from journal.reader import Reader, open_reader
from journal.row import Row

_SUMMARIES = ("Previous conversation summary:\n", "The following is a summary of a branch ")
"""How summaries begin that Tau copies as a user's message when it mends a path that ends with an open tool call."""


class Chain(NamedTuple):
    """One branch: the message it left the others at, and the public messages it then went through."""

    kept: str | None
    tips: tuple[str, ...]


class Tree:
    """A session's entries, oldest first, as Tau itself reads them."""

    def __init__(self, entries: Sequence[SessionEntry]) -> None:
        self.entries = list(entries)
        self._parents = {entry.id: entry.parent_id for entry in entries}
        self.public = [entry.id for entry in entries if _is_public(entry)]
        self._public = frozenset(self.public)
        self.compactions = [entry.id for entry in entries if entry.type == "compaction"]

    @classmethod
    async def read(cls, file: Path) -> Tree:
        """Return the tree in the session file at `file`."""
        return cls(await JsonlSessionStorage(file).read_all())

    @property
    def prompts(self) -> list[str]:
        """The messages a person gave, oldest first."""
        by_id = {entry.id: entry for entry in self.entries if entry.type == "message"}
        return [tip for tip in self.public if isinstance(by_id[tip].message, UserMessage)]

    @property
    def briefs(self) -> list[str]:
        """The messages of ours, oldest first."""
        return [e.id for e in self.entries if e.type == "custom_message" and e.custom_type == BRIEF_TYPE]

    def above(self, entry: str) -> Iterator[str]:
        """Yield what `entry` goes on from, from its parent up to the root."""
        at = self._parents[entry]
        while at is not None:
            yield at
            at = self._parents[at]

    def chains(self) -> list[Chain]:
        """Return the branches there are, in the order in which something was first said on them."""
        chains: list[Chain] = []
        for tip in self.public:
            before = next((entry for entry in self.above(tip) if entry in self._public), None)
            at = next((n for n, chain in enumerate(chains) if chain.tips[-1] == before), None)
            if at is None:
                chains.append(Chain(before, (tip,)))
            else:
                chains[at] = Chain(chains[at].kept, (*chains[at].tips, tip))
        return chains

    def ordered(self, chains: Sequence[Chain]) -> list[Chain]:
        """Return `chains` in that order: what began at a look may have been spoken on much later."""
        places = {tip: place for place, tip in enumerate(self.public)}
        return sorted(chains, key=lambda chain: places.get(chain.tips[0], len(places)))

    def compactions_above(self, entry: str) -> list[str]:
        """Return the compactions `entry` goes on from, oldest first."""
        above = frozenset(self.above(entry))
        return [compaction for compaction in self.compactions if compaction in above]

    def name(self, entry: str | None) -> str:
        """Return how a story calls an entry: by the beginning of its text, or by its place in the file."""
        at = next((n for n, known in enumerate(self.entries) if known.id == entry), None)
        if at is None:
            return str(entry)
        found = self.entries[at]
        said = found.message if found.type == "message" else None
        text = said.text if isinstance(said, UserMessage | AssistantMessage) else ""
        return f"#{at} {text[:16] or found.type!r}"

    def named(self, chain: Chain | None) -> str:
        """Return a branch as a story tells it."""
        if chain is None:
            return "nothing"
        return f"[{', '.join(map(self.name, chain.tips))}] after {self.name(chain.kept)}"

    def moves(self) -> int:
        """How often a prompt went on from elsewhere than from the newest public message."""
        newest: str | None = None
        count = 0
        for tip in self.public:
            count += newest is not None and newest not in self.above(tip)
            newest = tip
        return count

    def seen_twice(self) -> list[str]:
        """Return the briefs of ours that were put in while the model still saw the same text."""
        return [brief for brief in self.briefs if self._shown_before(brief)]

    def _shown_before(self, brief: str) -> bool:
        *before, last = path_to_entry(self.entries, brief)
        assert last.type == "custom_message"
        shown = SessionState.from_entries(self.entries, leaf_id=before[-1].id if before else None).messages
        return any(isinstance(m, CustomMessage) and m.content == last.content for m in shown)


def _is_public(entry: SessionEntry) -> bool:
    """Text a person gave, or an answer that came to its end."""
    if entry.type != "message" or not isinstance(entry.message, UserMessage | AssistantMessage):
        return False
    if isinstance(entry.message, AssistantMessage) and entry.message.stop_reason != "stop":
        return False
    return bool(entry.message.text.strip()) and not entry.message.text.startswith(_SUMMARIES)


class Recorded:
    """What one journal says of its session's life; each row once, on the branch it was recorded on."""

    def __init__(self, reader: Reader) -> None:
        self._histories = [tuple(reader.verified(described.branch)) for described in reader.branches]
        numbers = [described.branch for described in reader.branches]
        self._own = [[row for row in rows if row.branch == n] for n, rows in zip(numbers, self._histories, strict=True)]

    @classmethod
    def read(cls, path: Path) -> Recorded:
        """Return what the journal at `path` says."""
        with open_reader(path) as reader:
            return cls(reader)

    def chains(self) -> list[Chain]:
        """Return the branches as the tips of their rows draw them, but for those on which nothing was said."""
        return [chain for chain, _ in self._drawn() if chain.tips]

    def idle(self) -> list[Chain]:
        """Return the branches begun for nothing: no word or compaction is their own, and no session was taken up there."""
        return [chain for chain, own in self._drawn() if not chain.tips and not any(_begins(row.event) for row in own)]

    def _drawn(self) -> Iterator[tuple[Chain, Sequence[Row]]]:
        return ((_chain(rows, own), own) for rows, own in zip(self._histories, self._own, strict=True))

    def all[E: Event](self, kind: type[E]) -> list[E]:
        """Return the events of one type, on whatever branch."""
        return [row.event for rows in self._own for row in rows if isinstance(row.event, kind)]

    def noticed_before_prompts(self) -> dict[str, Counter[str]]:
        """Return how often each compaction was noticed in the history of each prompt, by the prompt's message."""
        found: dict[str, Counter[str]] = {}
        for rows, own in zip(self._histories, self._own, strict=True):
            noticed: Counter[str] = Counter()
            begun = {row.position for row in own if isinstance(row.event, WorkBegun)}
            for row in rows:
                if isinstance(row.event, CompactionNoticed):
                    noticed[row.event.entry] += 1
                elif row.position in begun and row.tip is not None:
                    assert row.tip not in found, f"{row.tip} begins two turns"
                    found[row.tip] = Counter(noticed)
        return found


def _begins(event: Event) -> bool:
    """Whether an event is enough to begin a branch at a place that was only looked at."""
    if isinstance(event, SessionOpened):
        return event.reason != "branch"
    return isinstance(event, CompactionStarted | CompactionNoticed)


def _chain(rows: Sequence[Row], own: Sequence[Row]) -> Chain:
    kept = next((row.tip for row in reversed(rows[: len(rows) - len(own)]) if row.tip is not None), None)
    tips: list[str] = []
    for row in own:
        if row.tip is not None and row.tip != (tips[-1] if tips else kept):
            tips.append(row.tip)
    return Chain(kept, tuple(tips))


def complaints(tree: Tree, recorded: Recorded, *, announced: bool) -> list[str]:
    """Return how the journal differs from what the tree says there was; all is told in the words of the session."""
    found = [
        f"branch {number}: {tree.named(told)} is recorded as {tree.named(known)}"
        for number, (told, known) in enumerate(zip_longest(tree.chains(), tree.ordered(recorded.chains())), start=1)
        if told != known
    ]
    found += [f"a branch for nothing: {tree.named(idle)}" for idle in recorded.idle()]
    found += _unnoticed(tree, recorded.noticed_before_prompts())
    if announced:
        ended = [event.aborted for event in recorded.all(CompactionEnded)]
        if (ended.count(False), len(ended)) != (len(tree.compactions), len(recorded.all(CompactionStarted))):
            found.append(f"{len(tree.compactions)} compactions are announced as {ended}")
    found += [f"put in twice: {tree.name(brief)}" for brief in tree.seen_twice()]
    if len(recorded.all(BriefDelivered)) != len(tree.briefs):
        found.append(f"{len(tree.briefs)} briefs are recorded as {len(recorded.all(BriefDelivered))}")
    begun = Counter(event.capture_id for event in recorded.all(CaptureBegun))
    sent = Counter((event.capture_id, event.attempt) for event in recorded.all(WriteIntended))
    return found + [f"twice: {what}" for counted in (begun, sent) for what, count in counted.items() if count > 1]


def _unnoticed(tree: Tree, noticed: Mapping[str, Counter[str]]) -> Iterator[str]:
    """Yield the prompts that are not recorded, and the compactions that are not known to one, or known twice."""
    for prompt in tree.prompts:
        if prompt not in noticed:
            yield f"the prompt {tree.name(prompt)} is not recorded"
            continue
        wanted = dict.fromkeys(tree.compactions_above(prompt), 1)
        known = noticed[prompt]
        wrong = {tree.name(c): known[c] for c in {**wanted, **known} if known[c] != 1}
        if wrong:
            yield f"at {tree.name(prompt)}, of {len(wanted)} compactions, noticed so often: {wrong}"
