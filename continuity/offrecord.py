"""Which messages of a path were said off the record. Where a place is not known it leaves out rather than lets through."""

from __future__ import annotations

from collections.abc import Sequence

from continuity.capture import PublicMessage
from continuity.commands import Pause, Resume
from continuity.state import Span, State
from journal.ids import EntryId


def on_record(messages: Sequence[PublicMessage], spans: Sequence[Span]) -> tuple[PublicMessage, ...]:
    """Return those of `messages`, a path from its root, that none of `spans` covers.

    An answer that was cut off moves no tip, so no span ends at one: it belongs to the message before it, and where a span
    begins at that message, to the span.
    """
    off = withheld([message.entry_id for message in messages if not message.cut], spans)
    edges = {span.after for span in spans}
    kept: list[PublicMessage] = []
    before: EntryId | None = None
    for message in messages:
        if not message.cut:
            before = message.entry_id
        if before not in off and not (message.cut and before in edges):
            kept.append(message)
    return tuple(kept)


def entered(
    state: State, path: Sequence[EntryId], *, seen: EntryId | None, paused: bool, left: Sequence[Span]
) -> tuple[Pause | Resume, EntryId | None] | None:
    """Return what is to be recorded, and at which message, where a session that is `paused` or not goes on with a branch.

    A stretch ends where the path was when the branch was entered again, and not where the journal stood: `seen` is the
    newest message that was on `path` by then. What lies between the branch's tip and that one was never recorded. It is
    left out if somebody may have said it off the record: if the branch was paused where its tip is, or if `left`, the
    stretches of the branch it begins from, are more than it knows itself.
    """
    place = {entry: index for index, entry in enumerate(path)}
    beyond = seen is not None and place.get(seen, -1) > (-1 if state.tip is None else place.get(state.tip, -1))
    if paused:
        return None if state.paused else (Pause(), None)
    if state.paused:
        return Resume(), seen if beyond else None
    doubted = state.off != tuple(left) or (bool(state.off) and state.off[-1].through == state.tip)
    return (Resume(doubted=True), seen) if beyond and doubted else None


def withheld(path: Sequence[EntryId], spans: Sequence[Span], *, whole: bool = True) -> frozenset[EntryId]:
    """Return the entries of `path`, public messages from the root, that were said off the record.

    A span neither end of which lies on the path is another branch's and covers nothing. Where only one end does, it is
    not known how far it reached on this path: then it reaches to the root, or to the tip. With `whole` false `path` is
    the end of one: what began before anything was said began before it.
    """
    place = {entry: index for index, entry in enumerate(path)}
    off: set[EntryId] = set()
    for span in spans:
        begins = (-1 if whole else None) if span.after is None else place.get(span.after)
        ends = len(path) if span.through is None else place.get(span.through)
        if begins is not None or ends is not None:
            off.update(path[(-1 if begins is None else begins) + 1 : (len(path) if ends is None else ends) + 1])
    return frozenset(off)
